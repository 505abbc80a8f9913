package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// file is a safetensors file of that header and so many bytes of values.
func file(header string, values int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, values)...)
}

// tensors makes a safetensors file of F32 tensors, each value different, in the
// order of their names.
func tensors(shapes map[string][]int) []byte {
	var header []string
	var values []byte
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin, n := len(values), 1
		for _, side := range shapes[name] {
			n *= side
		}
		for range n {
			values = binary.LittleEndian.AppendUint32(values, math.Float32bits(float32(len(values)/4)))
		}
		side := strings.ReplaceAll(fmt.Sprint(shapes[name]), " ", ",")
		header = append(header, fmt.Sprintf(`%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, side, begin, len(values)))
	}
	head := file("{"+strings.Join(header, ",")+"}", 0)
	return append(head, values...)
}

func TestHeader(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}`
	for _, c := range []struct {
		name string
		data []byte
		want string // in the error; "" = none
	}{
		{"one tensor", file(`{`+a+`}`, 24), ""},
		{"padded with spaces", file(`{`+a+`}     `, 24), ""},
		{"metadata", file(`{"__metadata__":{"format":"pt"},`+a+`}`, 24), ""},
		{"scalar and empty", file(`{"s":{"dtype":"F16","shape":[],"data_offsets":[0,2]},"e":{"dtype":"F16","shape":[0,7],"data_offsets":[2,2]}}`, 2), ""},
		{"unknown dtype", file(`{"q":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2), ""},
		{"not in the order of the bytes", file(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[24,25]},`+a+`}`, 25), ""},
		{"no tensors", file(`{}`, 0), ""},

		{"empty file", nil, "too few"},
		{"7 bytes", make([]byte, 7), "too few"},
		{"no header", make([]byte, 8), "not a JSON object"},
		{"longer than the file", file(`{`+a+`}`, 0)[:40], "not a safetensors file"},
		{"length of 2^64-1", bytes.Repeat([]byte{0xff}, 64), "not a safetensors file"},
		{"length of 2^63", append([]byte{7: 0x80}, make([]byte, 64)...), "not a safetensors file"},
		{"length above the cap", append(binary.LittleEndian.AppendUint64(nil, maxHeader+1), make([]byte, maxHeader+1)...), "not a safetensors file"},
		{"an array", file(`[]`, 0), "not a JSON object"},
		{"null", file(`null`, 0), "not a JSON object"},
		{"cut JSON", file(`{`+a, 24), "EOF"},
		{"HTML", []byte("<!DOCTYPE html><html><body>Sign in</body></html>"), "not a safetensors file"},
		{"text after it", file(`{`+a+`} x`, 24), "follows"},
		{"second object", file(`{`+a+`}{}`, 24), "follows"},
		{"same name twice", file(`{`+a+`,`+a+`}`, 48), "twice"},
		{"shape missing", file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), "missing"},
		{"dtype missing", file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), "missing"},
		{"one offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4), "missing"},
		{"a number for a tensor", file(`{"a":1}`, 0), "a"},
		{"fraction in the shape", file(`{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,6]}}`, 6), "1.5"},
		{"negative side", file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 4), "negative"},
		{"negative offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 4), "no range"},
		{"offsets backwards", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4), "no range"},
		{"shape larger than range", file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "takes 12"},
		{"product overflows to 0", file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0), "too large"},
		{"product overflows int64", file(`{"a":{"dtype":"F32","shape":[4294967296,1073741824],"data_offsets":[0,0]}}`, 0), "too large"},
		{"side above int64", file(`{"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}}`, 4), "18446744073709551615"},
		{"exabytes", file(`{"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`, 4), "cut short"},
		{"overlap", file(`{`+a+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[20,28]}}`, 28), "overlaps"},
		{"same place", file(`{`+a+`,"b":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}}`, 24), "overlaps"},
		{"hole", file(`{`+a+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[28,32]}}`, 32), "belong to no tensor"},
		{"one byte short", file(`{`+a+`}`, 23), "cut short"},
		{"one byte more", file(`{`+a+`}`, 25), "1 bytes follow"},
		{"deep nesting", file(`{"__metadata__":`+strings.Repeat("[", 1<<20), 0), "depth"},
	} {
		_, err := readHeader(bytes.NewReader(c.data), int64(len(c.data)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: readHeader = %v, want error with %q", c.name, err, c.want)
		}
	}
}

func TestHeaderWithTooManyTensors(t *testing.T) {
	var b strings.Builder
	for i := range maxTensors + 1 {
		fmt.Fprintf(&b, `,"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	data := file("{"+b.String()[1:]+"}", 0)
	if _, err := readHeader(bytes.NewReader(data), int64(len(data))); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("readHeader(%d tensors) = %v, want an error", maxTensors+1, err)
	}
}

// globbed is the files that are there.
func globbed(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// beginning is the first bytes of a file, at most so many.
func beginning(t testing.TB, path string, most int64) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzReadParams: whatever the bytes, no panic; what is accepted has the wanted
// shape; and memory stays in proportion to the file, whatever the header says.
func FuzzReadParams(f *testing.F) {
	want := map[string][]int{"w": {2, 3}, "encoder.layer.0.b": {4}}
	f.Add(tensors(want))
	f.Add(tensors(map[string][]int{"bert.w": {2, 3}, "bert.encoder.layer.0.b": {4}, "pooler": {1}}))
	f.Add(file(`{"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"encoder.layer.0.b":{"dtype":"BF16","shape":[4],"data_offsets":[12,20]}}`, 20))
	f.Add(file(`{"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	for _, path := range append(globbed(f, shared+"/*/"+weightsFile), filepath.Join(tiny, weightsFile)) {
		f.Add(beginning(f, path, 64<<10)) // a header as it comes, whose values are cut
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		params, err := readParams(bytes.NewReader(data), int64(len(data)), want)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+200*len(data)); got > most {
			t.Errorf("%d bytes allocated for a file of %d", got, len(data))
		}
		if err != nil {
			return
		}
		for name, shape := range want {
			if p := params[name]; p == nil || !slices.Equal([]int(p.Shape()), shape) || valuesOf(p).Len() != p.Shape().TotalSize() {
				t.Errorf("readParams(%q): %s is %v, want shape %v", data, name, p, shape)
			}
		}
	})
}
