package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"smart-connections-mcp/smartenv"
)

// The generated vault: notes with ten blocks each, in the space of the plugin's
// default model, with random vectors. Its records are as long as the plugin's.
const blocksPerNote = 10

var vaultModel = smartenv.Model{Provider: "transformers", Name: "TaylorAI/bge-micro-v2", Dims: 384, MaxTokens: 512}

// written is the time of every note, so that the same count gives the same bytes.
var written = time.UnixMilli(1_790_000_000_000)

// generate writes a vault with an index of so many blocks. It appears whole or
// not at all.
func generate(dir string, blocks int) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	notes := (blocks + blocksPerNote - 1) / blocksPerNote
	if err := writeIndex(part, notes, blocks); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

// writeIndex writes notes, settings, vectors and the log of records.
func writeIndex(dir string, notes, blocks int) error {
	env := filepath.Join(dir, ".smart-env")
	key := "transformers#1790000000000"
	record, err := json.Marshal(map[string]any{"provider_key": vaultModel.Provider, "model_key": vaultModel.Name,
		"dims": vaultModel.Dims, "max_tokens": vaultModel.MaxTokens, "created_at": written.UnixMilli(), "key": key})
	if err != nil {
		return err
	}
	name, rng := vaultModel.Fingerprint(), rand.New(rand.NewPCG(5, 115))
	files := []struct {
		path  string
		write func(io.Writer) error
	}{
		{"smart_env.json", text(`{"is_obsidian_vault":true,"embedding_models":{"default_model_key":"` + key + `"}}`)},
		{"embedding_models/embedding_models.ajson", text(fmt.Sprintf("\n%q: %s,", "embedding_models:"+key, record))},
		{"smart_sources/" + name, func(w io.Writer) error { return writeVectors(w, notes, rng) }},
		{"smart_blocks/" + name, func(w io.Writer) error { return writeVectors(w, blocks, rng) }},
		{"smart_sources/smart_sources.ajson", func(w io.Writer) error { return writeLog(w, dir, notes, blocks) }},
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(env, filepath.FromSlash(f.path)), f.write); err != nil {
			return err
		}
	}
	return nil
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// writeFile writes a file through a buffer, with its folder.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// writeVectors writes random directions: float32, row-major, little-endian, of
// length 1.
func writeVectors(w io.Writer, rows int, rng *rand.Rand) error {
	row := make([]float64, vaultModel.Dims)
	raw := make([]byte, 4*len(row))
	for range rows {
		sum := 0.0
		for i := range row {
			row[i] = rng.NormFloat64()
			sum += row[i] * row[i]
		}
		for i, v := range row {
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(float32(v/math.Sqrt(sum))))
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

// writeLog writes the notes and, a line each, their records. A line ends with a
// comma and the log without a newline.
func writeLog(w io.Writer, dir string, notes, blocks int) error {
	for i := range notes {
		path := fmt.Sprintf("Folder %d/Note number %d.md", i%97, i)
		content := strings.Repeat(fmt.Sprintf("text of the note %d\n", i), 2*blocksPerNote)
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := writeFile(full, text(content)); err != nil {
			return err
		}
		if err := os.Chtimes(full, written, written); err != nil {
			return err
		}
		first := i * blocksPerNote
		record, err := json.Marshal(noteRecord(path, i, len(content), first, min(first+blocksPerNote, blocks)))
		if err != nil {
			return err
		}
		end := ",\n"
		if i == notes-1 {
			end = ","
		}
		if _, err := fmt.Fprintf(w, "%q: %s%s", "smart_sources:"+path, record, end); err != nil {
			return err
		}
	}
	return nil
}

// object is a JSON object.
type object = map[string]any

// noteRecord is the record of note i with the blocks [first, end). The hashes are
// of nothing: the index trusts the time and size of a note that match, and a
// query's embedder finds no stored text to be proved on, as it must not with
// vectors that no model made.
func noteRecord(path string, i, size, first, end int) object {
	at, name := written.UnixMilli(), vaultModel.Fingerprint()
	stored := func(row int, hash string) object {
		ref := object{"file": name, "file_i": row, "read_hash": hash, "at": at}
		return object{"history": []any{}, "default": object{name: ref}}
	}
	blocks := object{}
	for b := first; b < end; b++ {
		n, hash := b-first, fmt.Sprintf("b%d", b)
		key := fmt.Sprintf("#Heading %d#Sub heading of some length#{%d}", n, n)
		blocks[key] = object{"text": nil, "length": 0, "last_read": object{"hash": hash, "at": at}, "key": path + key,
			"lines": []int{2*n + 1, 2*n + 2}, "size": 400, "should_embed": true, "embedding": stored(b, hash)}
	}
	var links []object
	for n := range 5 {
		links = append(links, object{"title": fmt.Sprintf("x%d", n), "target": fmt.Sprintf("target %d", n), "line": n})
	}
	hash := fmt.Sprintf("n%d", i)
	return object{"class_name": "SmartSource", "last_read": object{"hash": hash, "at": at}, "embedding": stored(i, hash), "path": path,
		"last_import": object{"mtime": at, "size": size, "at": at, "hash": hash}, "blocks_data": blocks,
		"outlinks": links, "metadata": object{"tags": []string{"#a", "#b"}}}
}
