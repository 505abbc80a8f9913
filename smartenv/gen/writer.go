package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// The plugin's defaults, under which a vault of ours is indexed.
const (
	minChars  = 200
	madeAt    = 1790000000000 // ms; fixed, so that the same notes give the same bytes
	recordKey = "transformers#1790000000000"
)

// writer indexes one vault: a log line a note, a row a vector.
type writer struct {
	vault *note.Vault
	model *bert.Model
	id    smartenv.Model

	log          bytes.Buffer
	noteVectors  bytes.Buffer // float32, row-major, little-endian
	blockVectors bytes.Buffer
}

// The records as the plugin writes them, members in its order.
type (
	readMark struct {
		Hash string `json:"hash"`
		At   int64  `json:"at"`
	}
	importMark struct {
		Mtime int64  `json:"mtime"`
		Size  int    `json:"size"`
		At    int64  `json:"at"`
		Hash  string `json:"hash"`
	}
	reference struct {
		File     string `json:"file"`
		FileI    int    `json:"file_i"`
		ReadHash string `json:"read_hash"`
		At       int64  `json:"at"`
	}
	embedding struct {
		History []reference          `json:"history"`
		Default map[string]reference `json:"default,omitempty"`
	}
	block struct {
		Text        *string    `json:"text"`
		Length      int        `json:"length"`
		LastRead    readMark   `json:"last_read"`
		Key         string     `json:"key"`
		Lines       [2]*int    `json:"lines"`
		Size        int        `json:"size"`
		ShouldEmbed bool       `json:"should_embed"`
		Embedding   *embedding `json:"embedding,omitempty"`
	}
	selection struct {
		Version          int    `json:"version"`
		MinChars         int    `json:"min_chars"`
		MaxInputChars    int    `json:"max_input_chars"`
		SourceKey        string `json:"source_key"`
		RequiresReimport bool   `json:"requires_reimport"`
	}
	source struct {
		ClassName       string         `json:"class_name"`
		LastRead        readMark       `json:"last_read"`
		Embedding       embedding      `json:"embedding"`
		Path            string         `json:"path"`
		LastImport      importMark     `json:"last_import"`
		Outlinks        []string       `json:"outlinks"`
		BlocksData      orderedBlocks  `json:"blocks_data"`
		Selection       selection      `json:"block_embedding_selection"`
		TaskLines       []int          `json:"task_lines"`
		Tasks           map[string]any `json:"tasks"`
		CodeblockRanges [][2]int       `json:"codeblock_ranges"`
		OutlinksVersion int            `json:"outlinks_version"`
	}
)

// orderedBlocks marshals as an object whose members keep the note's order.
type orderedBlocks struct {
	keys   []string
	blocks []block
}

func (o orderedBlocks) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, part := range []any{key, o.blocks[i]} {
			text, err := marshal(part)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				out.WriteByte(':')
			}
			out.Write(text)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// marshal is json.Marshal as JavaScript writes it: & < > stay as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

// index reads, cuts and embeds every note.
func (w *writer) index(ctx context.Context) error {
	paths, _, err := w.vault.List()
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no notes below %s", w.vault.Root())
	}
	for _, path := range paths {
		if err := w.note(ctx, path); err != nil {
			return fmt.Errorf("indexing %q: %w", path, err)
		}
	}
	return nil
}

// note appends one note's record and vectors.
func (w *writer) note(ctx context.Context, path string) error {
	raw, err := w.vault.Read(path)
	if err != nil {
		return err
	}
	rules := note.Rules{MinChars: minChars, MaxTokens: w.id.MaxTokens}
	parsed := note.Parse(path, raw, rules)
	mark := readMark{note.Hash(raw), madeAt}
	s := source{
		ClassName:       "SmartSource",
		LastRead:        mark,
		Embedding:       embedding{History: []reference{}},
		Path:            path,
		LastImport:      importMark{Mtime: madeAt, Size: len(raw), At: madeAt, Hash: mark.Hash},
		Outlinks:        []string{},
		Selection:       selection{2, minChars, int(math.Floor(float64(w.id.MaxTokens) * 3.7)), path, parsed.Reimport},
		TaskLines:       append([]int{}, parsed.TaskLines...),
		Tasks:           map[string]any{},
		CodeblockRanges: append([][2]int{}, parsed.CodeRanges...),
		OutlinksVersion: 2,
	}
	if len(raw) > minChars {
		ref, err := w.vector(ctx, &w.noteVectors, note.NoteInput(path, raw, rules), mark.Hash)
		if err != nil {
			return err
		}
		s.Embedding.Default = ref
	}
	for _, b := range parsed.Blocks {
		if err := w.block(ctx, &s, raw, b); err != nil {
			return err
		}
	}
	return w.append(path, s)
}

// block adds one block to its note's record, with a vector where the plugin's
// selection asks for one.
func (w *writer) block(ctx context.Context, s *source, raw string, b note.Block) error {
	record := block{
		LastRead:    readMark{b.Hash, madeAt},
		Key:         s.Path + b.Key,
		Lines:       [2]*int{&b.Start, &b.End},
		Size:        b.Size,
		ShouldEmbed: b.ShouldEmbed,
	}
	if b.End == 0 {
		record.Lines[1] = nil
	}
	if b.ShouldEmbed {
		text, _ := note.BlockText(raw, b.Start, b.End)
		ref, err := w.vector(ctx, &w.blockVectors, note.BlockInput(s.Path, b.Key, text), b.Hash)
		if err != nil {
			return err
		}
		record.Embedding = &embedding{History: []reference{}, Default: ref}
	}
	s.BlocksData.keys = append(s.BlocksData.keys, b.Key)
	s.BlocksData.blocks = append(s.BlocksData.blocks, record)
	return nil
}

// vector embeds input and appends it as a row of file.
func (w *writer) vector(ctx context.Context, file *bytes.Buffer, input, hash string) (map[string]reference, error) {
	vector, err := w.model.EmbedDocument(ctx, input)
	if err != nil {
		return nil, err
	}
	row := file.Len() / (4 * w.id.Dims)
	if err := binary.Write(file, binary.LittleEndian, vector); err != nil {
		return nil, err
	}
	name := w.id.Fingerprint()
	return map[string]reference{name: {File: name, FileI: row, ReadHash: hash, At: madeAt}}, nil
}

// append adds a line to the log; a line ends with a comma and the file without
// a newline.
func (w *writer) append(path string, s source) error {
	key, err := marshal("smart_sources:" + path)
	if err != nil {
		return err
	}
	value, err := marshal(s)
	if err != nil {
		return err
	}
	if w.log.Len() > 0 {
		w.log.WriteByte('\n')
	}
	fmt.Fprintf(&w.log, "%s: %s,", key, value)
	return nil
}

// save replaces the vault's .smart-env with what was indexed.
func (w *writer) save(dir string) error {
	env := filepath.Join(dir, ".smart-env")
	if err := os.RemoveAll(env); err != nil {
		return err
	}
	settings, err := json.MarshalIndent(map[string]any{
		"is_obsidian_vault": true,
		"smart_blocks":      map[string]any{"embed_blocks": true, "min_chars": minChars},
		"smart_sources":     map[string]any{"min_chars": minChars, "excluded_headings": "", "file_exclusions": "Untitled", "folder_exclusions": ""},
		"embedding_models":  map[string]any{"default_model_key": recordKey},
	}, "", "  ")
	if err != nil {
		return err
	}
	model, err := marshal(map[string]any{
		"provider_key": w.id.Provider, "model_key": w.id.Name, "dims": w.id.Dims, "max_tokens": w.id.MaxTokens,
		"class_name": "EmbeddingModel", "created_at": madeAt, "key": recordKey,
	})
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"smart_env.json": settings,
		"embedding_models/embedding_models.ajson": fmt.Appendf(nil, "\n%q: %s,", "embedding_models:"+recordKey, model),
		"smart_sources/smart_sources.ajson":       w.log.Bytes(),
		"smart_sources/" + w.id.Fingerprint():     w.noteVectors.Bytes(),
		"smart_blocks/" + w.id.Fingerprint():      w.blockVectors.Bytes(),
	}
	for name, data := range files {
		path := filepath.Join(env, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
