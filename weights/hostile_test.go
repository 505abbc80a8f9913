package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"smart-connections-mcp/weights/values"
)

// A model folder may come from anybody: no file of it makes the program panic,
// and what is allocated stays in proportion to the files, whatever they claim.
func TestHostileFolder(t *testing.T) {
	sizes := func(n int) int { // in the short form, a tenth
		if hostile(t) {
			return n
		}
		return n / 10
	}
	deep := strings.Repeat("[", 100_000)
	text := func(name, config string, change map[string]string) map[string]string {
		files := map[string]string{tokenizerFile: "", vocabFile: vocab(t), tokenizerConfigFile: config}
		for name, text := range change {
			files[name] = text
		}
		return files
	}
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "t%d\n", i)
		}
		return b.String()
	}
	entries := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	tokenizer := func(vocab string) map[string]string {
		return map[string]string{tokenizerFile: `{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},
			"model":{"type":"WordPiece","vocab":` + vocab + `}}`}
	}
	pieces := func(vocab string) map[string]string {
		return map[string]string{tokenizerFile: `{"normalizer":{"type":"Precompiled"},"pre_tokenizer":{"type":"Metaspace"},
			"model":{"type":"Unigram","unk_id":0,"vocab":` + vocab + `}}`}
	}
	config := model(t, nil)[configFile]
	huge := func(field string) map[string]string {
		return map[string]string{configFile: replaceNumber(t, config, field, "1152921504606846976")}
	}
	const exa = 1 << 60
	for name, change := range map[string]map[string]string{
		"config.json, deep":                       {configFile: `{"a":` + deep},
		"config.json, 2^60 layers":                huge("num_hidden_layers"),
		"config.json, 2^60 dimensions":            huge("hidden_size"),
		"config.json, 2^60 tokens":                huge("vocab_size"),
		"config.json, 2^60 positions":             huge("max_position_embeddings"),
		"config.json, all that is believed":       {configFile: replaceNumber(t, replaceNumber(t, config, "num_hidden_layers", "1024"), "vocab_size", "16777216")},
		"tokenizer.json, deep":                    {tokenizerFile: `{"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 50_000)},
		"tokenizer.json, a piece of colons":       tokenizer(`{"` + strings.Repeat(":", sizes(30_000_000)) + `":0}`),
		"tokenizer.json, empty pieces":            tokenizer(`{` + strings.Repeat(`"":0,`, sizes(3_000_000)) + `"":0}`),
		"tokenizer.json, a piece of brackets":     pieces(`[["` + strings.Repeat("[", sizes(30_000_000)) + `",0]]`),
		"tokenizer.json, empty lists":             pieces(`[` + strings.Repeat(`[],`, sizes(10_000_000)) + `[]]`),
		"vocab.txt, 10^7 empty lines":             text("", "", map[string]string{vocabFile: strings.Repeat("\n", sizes(10_000_000))}),
		"vocab.txt, more lines than are believed": text("", "", map[string]string{vocabFile: strings.Repeat("\n", 1<<24+1)}),
		"vocab.txt, one line":                     text("", "", map[string]string{vocabFile: strings.Repeat("a", sizes(30_000_000))}),
		"tokenizer_config.json, deep":             text("", `{"additional_special_tokens":`+deep, nil),
		"safetensors, a header of 2^60 bytes":     {weightsFile: string(binary.LittleEndian.AppendUint64(nil, exa)) + "{}"},
		"safetensors, a tensor of 2^60 bytes":     {weightsFile: string(file(fmt.Sprintf(`{"a":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}`, exa/4, exa), 8))},
		"safetensors, 10^6 tensors":               {weightsFile: string(file("{"+entries(sizes(1_000_000)/6)+"}", 0))},
		"safetensors, a long shape":               {weightsFile: string(file(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", sizes(4_000_000))+`1],"data_offsets":[0,1]}}`, 1))},
		"safetensors, deep":                       {weightsFile: string(file(`{"a":`+deep, 0))},
		"ONNX, a graph of 2^60 bytes":             {weightsFile: "", onnxFile: "\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x10"},
		"ONNX, 10^6 nodes":                        {weightsFile: "", onnxFile: graphOf(strings.Repeat("\x0a\x00", 1_000_000))},
		"ONNX, 10^6 tensors":                      {weightsFile: "", onnxFile: graphOf(strings.Repeat("\x2a\x00", 1_000_000))},
		"ONNX, a node of 10^6 inputs":             {weightsFile: "", onnxFile: graphOf("\x0a" + length(2_000_000) + strings.Repeat("\x0a\x00", 1_000_000))},
		"ONNX, a tensor of 10^6 sides":            {weightsFile: "", onnxFile: graphOf("\x2a" + length(2_000_000) + strings.Repeat("\x08\x01", 1_000_000))},
		"ONNX, a name of 10^7 bytes":              {weightsFile: "", onnxFile: graphOf("\x2a" + length(10_000_005) + "\x42" + length(10_000_000) + strings.Repeat("a", 10_000_000))},
		"special tokens and a long vocab.txt":     text("", `{"additional_special_tokens":["`+strings.ReplaceAll(strings.TrimSpace(names(sizes(500_000))), "\n", `","`)+`"]}`, map[string]string{vocabFile: names(sizes(500_000))}),
	} {
		files, all := fstest.MapFS{}, 0
		for name, text := range model(t, change) {
			files[name] = &fstest.MapFile{Data: []byte(text)}
			all += len(text)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := folder{files: files}.load()
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: it loads", name)
		}
		if len(fmt.Sprint(err)) > 4<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		most := 16 // bytes for each of the files
		if name == "safetensors, a long shape" || name == "special tokens and a long vocab.txt" {
			most = 30 // lists of short things, which grow
		}
		got := int(after.TotalAlloc - before.TotalAlloc)
		if got > 4<<20+most*all {
			t.Errorf("%s: %d bytes allocated for files of %d", name, got, all)
		}
		t.Logf("%s: %.1f bytes allocated for each of %d: %.200v", name, float64(got)/float64(all), all, err)
	}
}

// replaceNumber changes a number in a JSON text.
func replaceNumber(t *testing.T, text, field, by string) string {
	t.Helper()
	before, after, found := strings.Cut(text, `"`+field+`": `)
	if !found {
		t.Fatalf("no %s in %s", field, text)
	}
	return before + `"` + field + `": ` + by + strings.TrimLeft(after, "0123456789")
}

// graphOf is an ONNX file with a graph of those bytes.
func graphOf(fields string) string { return "\x3a" + length(len(fields)) + fields }

// length is n as protobuf writes it.
func length(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// A weights file that is a hole in the disk is refused at once, however long.
func TestHole(t *testing.T) {
	for _, name := range []string{weightsFile, onnxFile} {
		change := map[string]string{weightsFile: "", onnxFile: "", name: "\x00"}
		dir := write(t, model(t, change))
		if err := os.Truncate(filepath.Join(dir, filepath.FromSlash(name)), sizeLimit(name)); err != nil {
			t.Skip(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Folder(dir)
		runtime.ReadMemStats(&after)
		expect(t, "a hole", err, name)
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("%s: %d bytes allocated for a hole", name, got)
		}
	}
}

// FuzzFolder: whatever the files, no panic; what is accepted has the shapes of
// its configuration, of finite values; and memory stays in proportion to them.
func FuzzFolder(f *testing.F) {
	read := func(dir, name string) []byte {
		data, _ := os.ReadFile(filepath.Join(dir, name))
		return data
	}
	weights := read(tiny, weightsFile)
	for _, dir := range append(globbed(f, shared+"/*"), tiny) {
		if tok := read(dir, tokenizerFile); len(tok) < 200<<10 {
			f.Add(read(dir, configFile), tok, []byte(nil))
		}
		if text := read(dir, vocabFile); len(text) < 200<<10 {
			f.Add(read(dir, configFile), text, read(dir, tokenizerConfigFile))
		}
	}
	unigram, _ := os.ReadFile("../testdata/golden/unigram/tokenizer.json")
	f.Add(read(tiny, configFile), unigram[:min(len(unigram), 200<<10)], []byte(nil))
	f.Fuzz(func(t *testing.T, config, tokenizer, settings []byte) {
		files := fstest.MapFS{configFile: {Data: config}, weightsFile: {Data: weights}}
		if bytes.HasPrefix(tokenizer, []byte("{")) {
			files[tokenizerFile] = &fstest.MapFile{Data: tokenizer}
		} else {
			files[vocabFile], files[tokenizerConfigFile] = &fstest.MapFile{Data: tokenizer}, &fstest.MapFile{Data: settings}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := folder{files: files}.load()
		runtime.ReadMemStats(&after)
		all := len(config) + len(tokenizer) + len(settings) + len(weights)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8<<20+200*all); got > most {
			t.Errorf("%d bytes allocated for files of %d", got, all)
		}
		if err != nil {
			return
		}
		checkShapes(t, c)
		for name, p := range c.Params {
			v := valuesOf(p)
			if err := (values.Slice{Floats: v.Floats, Halves: v.Halves}).Finite(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
