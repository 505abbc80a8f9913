package bert

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/weights/builtin"
)

func TestMain(m *testing.M) {
	if err := simd.Use(os.Getenv("SMART_SIMD")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(run(m))
}

// run runs the tests with the built-in model in a folder of its own.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mini-2l-128")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.CopyFS(dir, builtin.FS())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fixtures[1].model = dir
	return m.Run()
}

// fixture is one model with the goldens that transformers.js and onnxruntime
// made of it.
type fixture struct {
	name   string
	model  string // folder of config.json, tokenizer.json, model.safetensors
	golden string // folder of NAME.jsonl and NAME.activations.jsonl
	inRepo bool
}

var fixtures = []fixture{
	{"tiny-bert-48", "../testdata/models/tiny-bert-48", "../testdata/golden/embedding", true},
	{"mini-2l-128", "", // unpacked by TestMain
		"../testdata/golden/embedding", true},
	{"synth-bge-micro-3l", "../../shared/models/synth-bge-micro-3l", "../../shared/golden/embedding", false},
	{"all-MiniLM-L6-v2", "../../shared/models/all-MiniLM-L6-v2", "../../shared/golden/embedding", false},
}

// need skips the test when shared data is missing, which CI does not allow.
func need(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v, but CI=true", err)
		}
		t.Skipf("not on this machine: %v", err)
	}
	return path
}

// checkpoint reads the fixture's model. Each call gives tensors of its own.
func (f fixture) checkpoint(t testing.TB) Checkpoint {
	t.Helper()
	if !f.inRepo {
		need(t, f.model)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(f.model, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	c, err := ParseConfig(read("config.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVocabulary(read("tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return Checkpoint{Name: f.name, Config: c, Vocabulary: v, Params: tensors(t, c, read("model.safetensors"))}
}

// load makes the fixture's model under the plain profile.
func (f fixture) load(t testing.TB) *Model {
	t.Helper()
	return build(t, f.checkpoint(t), Profile{MaxTokens: 512})
}

func build(t testing.TB, c Checkpoint, p Profile) *Model {
	t.Helper()
	m, err := New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tensors reads a safetensors file that is known to be sound: an 8-byte
// length, a JSON header, values. Package weights has the reader for all others.
func tensors(t testing.TB, c Config, file []byte) map[string]*tensor.Dense {
	t.Helper()
	size := binary.LittleEndian.Uint64(file)
	var header map[string]struct {
		DType   string `json:"dtype"`
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:8+size], &header); err != nil {
		t.Fatal(err)
	}
	params := make(map[string]*tensor.Dense)
	for name, shape := range c.Shapes() {
		entry := header[name]
		raw := file[8+size:][entry.Offsets[0]:entry.Offsets[1]]
		var backing any
		switch entry.DType {
		case "F32":
			backing = floats(raw)
		case "F16":
			backing = halves(raw)
		default:
			t.Fatalf("%s: dtype %q", name, entry.DType)
		}
		params[name] = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
	}
	return params
}

func floats(raw []byte) []float32 {
	values := make([]float32, len(raw)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return values
}

func halves(raw []byte) []uint16 {
	values := make([]uint16, len(raw)/2)
	for i := range values {
		values[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return values
}

// wide is a parameter's values as float32, in memory of their own. It widens
// IEEE half precision by the formula.
func wide(p *tensor.Dense) []float32 {
	if values, ok := p.Data().([]float32); ok {
		return slices.Clone(values)
	}
	var values []float32
	for _, h := range p.Data().([]uint16) {
		exponent, fraction := int(h>>10&0x1F), float64(h&0x3FF)
		v := math.Ldexp(1024+fraction, exponent-25)
		if exponent == 0 {
			v = math.Ldexp(fraction, -24)
		}
		if h>>15 == 1 {
			v = -v
		}
		values = append(values, float32(v))
	}
	return values
}

// golden is one text with what transformers.js made of it.
type golden struct {
	ID    string
	Class string `json:"cat"`
	Text  string
	N     int          // tokens before the cut at 512
	IDs   []int        // after it
	Vec   base64Floats // [H]
}

// base64Floats is float32 values as base64 of their little-endian bytes.
type base64Floats []float32

func (b *base64Floats) UnmarshalJSON(data []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(bytes.Trim(data, `"`)))
	*b = floats(raw)
	return err
}

// goldens reads the fixture's texts. The file of all-MiniLM-L6-v2 has vectors
// only; its texts and ids are those of the other model with that vocabulary.
func (f fixture) goldens(t testing.TB) []golden {
	t.Helper()
	list := readLines[golden](t, filepath.Join(f.golden, f.name+".jsonl"))
	if list[0].IDs == nil {
		texts := readLines[golden](t, filepath.Join(f.golden, "synth-bge-micro-3l.jsonl"))
		for i, text := range texts {
			if list[i].ID != text.ID || list[i].N != text.N {
				t.Fatalf("golden %d is %s with %d tokens, its text is %s with %d", i, list[i].ID, list[i].N, text.ID, text.N)
			}
			list[i].Text, list[i].IDs = text.Text, text.IDs
		}
	}
	if len(list) != 552 {
		t.Fatalf("%d goldens, want 552", len(list))
	}
	return list
}

// readLines reads a file of one JSON value per line. None at all is fatal.
func readLines[E any](t testing.TB, path string) []E {
	t.Helper()
	file, err := os.Open(need(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []E
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e E
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s line %d: %v", path, len(list)+1, err)
		}
		list = append(list, e)
	}
	if err := lines.Err(); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(list), err)
	}
	return list
}

// worst is the greatest absolute difference of two vectors; unequal lengths
// and NaN are infinitely far apart.
func worst(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var most float64
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		most = max(most, d)
	}
	return most
}

// skipShort leaves out a test of numbers that takes long and shares nothing
// between goroutines; .ci/run runs the race detector with -short.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("numbers only")
	}
}
