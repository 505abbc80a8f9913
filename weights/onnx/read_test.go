package onnx

import (
	"bufio"
	stdbytes "bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/weights/values"
)

func same(name string) string { return name }

func read(data []byte, want map[string][]int) (map[string]values.Slice, error) {
	return Read(stdbytes.NewReader(data), int64(len(data)), want, same)
}

// widened is the values of s.
func widened(s values.Slice) []float32 {
	wide := slices.Clone(s.Floats)
	for _, h := range s.Halves {
		wide = append(wide, unhalf(h))
	}
	return wide
}

func readTensor(m message) (*tensor, error) {
	w := &wire{r: bufio.NewReader(stdbytes.NewReader(m))}
	return w.tensor(int64(len(m)), make([]byte, values.Chunk))
}

// Whatever the habits of an exporter, the parameters come out to the bit, or,
// where nothing tells a layer's product, not at all.
func TestEveryExporter(t *testing.T) {
	want := shapes()
	right := content(want)
	count := 0
	for i := range int(factors) * int(addends) * int(storages) * 8 {
		if testing.Short() && i%7 != 0 {
			continue
		}
		e := exporter{
			factor: factor(i % int(factors)), addend: addend(i / int(factors) % int(addends)),
			storage: storage(i / int(factors) / int(addends) % int(storages)),
		}
		rest := i / int(factors) / int(addends) / int(storages)
		e.paths, e.first = rest&1 != 0, rest&2 != 0
		if rest&4 != 0 {
			e.prefix = "model.0.auto_model."
		}
		got, err := read(e.export(want).encode(), want)
		known := e.paths || e.addend != unnamed || e.factor != anonymous && e.factor != gemm && e.factor != constant && e.factor != cast
		if !known {
			if err == nil || !strings.Contains(err.Error(), "no product in the graph is known as its") {
				t.Errorf("%+v: Read = %v, want an error: nothing tells the layers", e, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", e, err)
			continue
		}
		count++
		for name := range want {
			if x := widened(got[name]); !slices.Equal(x, right[name]) {
				t.Errorf("%+v: %s = %v, want %v", e, name, x, right[name])
			}
			if halves := e.storage == rawF16 || e.storage == halvesF16; halves != (got[name].Halves != nil) {
				t.Errorf("%+v: %s is kept as halves: %v, want %v", e, name, !halves, halves)
			}
		}
	}
	t.Logf("%d exports read", count)
}

// Two parameters may be one tensor: exporters put an Identity node for the
// second name, optimisers use the tensor twice.
func TestSharedTensors(t *testing.T) {
	want := shapes()
	const first, second = "encoder.layer.0.attention.self.key", "encoder.layer.1.attention.self.key"
	for _, identity := range []bool{true, false} {
		for _, paths := range []bool{true, false} {
			f := exporter{paths: paths}.export(want)
			drop(f, second+biasEnd)
			if identity {
				f.node(writeNode("Identity", "", []string{first + biasEnd}, second+biasEnd))
			} else {
				rename(f, second+biasEnd, first+biasEnd)
			}
			got, err := read(f.encode(), want)
			if !identity && !paths {
				if err == nil || !strings.Contains(err.Error(), "could both be its") {
					t.Errorf("one bias at two products without names: Read = %v, want an error", err)
				}
				continue
			}
			if err != nil {
				t.Errorf("identity %v, paths %v: %v", identity, paths, err)
				continue
			}
			right := content(want)
			right[second+biasEnd] = right[first+biasEnd]
			for name := range want {
				if x := widened(got[name]); !slices.Equal(x, right[name]) {
					t.Errorf("identity %v, paths %v: %s = %v, want %v", identity, paths, name, x, right[name])
				}
			}
		}
	}
}

// drop removes the tensor of that name.
func drop(f *file, name string) {
	n := len(f.tensors)
	f.tensors = slices.DeleteFunc(f.tensors, func(m message) bool {
		t, err := readTensor(m)
		return err == nil && t.name == name
	})
	if len(f.tensors) != n-1 {
		panic(fmt.Sprintf("%d tensors are called %s", n-len(f.tensors), name))
	}
}

// rename changes an input of nodes. The names must be of one length.
func rename(f *file, from, to string) {
	if len(from) != len(to) {
		panic("names of two lengths")
	}
	for i, m := range f.nodes {
		f.nodes[i] = stdbytes.ReplaceAll(m, []byte(from), []byte(to))
	}
}

func TestTransposed(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {3, 5}, {31, 33}, {32, 32}, {64, 33}, {100, 7}} {
		out, in := c[0], c[1]
		x := make([]float32, out*in)
		for i := range x {
			x[i] = float32(i)
		}
		y := transposed(x, out, in)
		for o := range out {
			for i := range in {
				if y[o*in+i] != x[i*out+o] {
					t.Fatalf("transposed [%d×%d]: value %d,%d is %v, want %v", in, out, o, i, y[o*in+i], x[i*out+o])
				}
			}
		}
	}
}

// The file may be cut anywhere and damaged anywhere: an error, or the shapes.
func TestCutAnywhere(t *testing.T) {
	want := shapes()
	data := exporter{paths: true}.export(want).encode()
	for n := range len(data) - 12 { // what follows the graph is not needed
		if testing.Short() && n%7 != 0 {
			continue
		}
		_, err := read(data[:n], want)
		if err == nil {
			t.Fatalf("a file cut after %d of %d bytes is read", n, len(data))
		}
		// The same when the disk lies about the size.
		_, err = Read(stdbytes.NewReader(data[:n]), int64(len(data)), want, same)
		if err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Fatalf("a file that ends after %d of %d bytes: %v, want cut short", n, len(data), err)
		}
	}
}

// FuzzRead: whatever the bytes, no panic; what is accepted is finite and has
// the wanted shape; and memory stays in proportion to the file.
func FuzzRead(f *testing.F) {
	want := shapes()
	for i := range max(int(factors), int(addends), int(storages)) {
		e := exporter{factor: factor(i) % factors, addend: addend(i) % addends, storage: storage(i) % storages, paths: true, first: i%2 == 0}
		f.Add(e.export(want).encode())
	}
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	f.Add(stdbytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		params, err := read(data, want)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+200*len(data)); got > most {
			t.Errorf("%d bytes allocated for a file of %d", got, len(data))
		}
		if err != nil {
			return
		}
		for name, shape := range want {
			n := 1
			for _, d := range shape {
				n *= d
			}
			if got := widened(params[name]); len(got) != n || slices.ContainsFunc(got, func(x float32) bool { return math.IsNaN(float64(x - x)) }) {
				t.Errorf("Read: %s is %v, want %d finite values", name, got, n)
			}
		}
	})
}

// The values that are handed out are the only copy of the file's.
func TestValuesAreNotCopied(t *testing.T) {
	const name = "embeddings.word_embeddings.weight"
	want := map[string][]int{name: {1024, 1024}}
	for _, how := range []storage{rawF32, rawF16} {
		f := &file{}
		f.tensor(writeTensor(name, want[name], make([]float32, 1<<20), how))
		data := f.encode()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := read(data, want); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := int(after.TotalAlloc - before.TotalAlloc); got > len(data)+len(data)/10 {
			t.Errorf("reading %d bytes allocated %d", len(data), got)
		}
	}
}
