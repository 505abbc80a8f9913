package main

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// Every vector of a generated vault is accepted, none taken for stale, and each
// is of length 1.
func TestGenerate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	if err := generate(dir, 25); err != nil {
		t.Fatal(err)
	}
	vault, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer vault.Close()
	snap, err := smartenv.Open(vault, smartenv.Options{}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Refusal != nil || snap.Model.Name != vaultModel.Name || len(snap.Notes.Items) != 3 || len(snap.Blocks.Items) != 25 {
		t.Fatalf("%d notes and %d blocks of %s, refusal %v, want 3 and 25", len(snap.Notes.Items), len(snap.Blocks.Items), snap.Model.Name, snap.Refusal)
	}
	for i, it := range append(slices.Clone(snap.Notes.Items), snap.Blocks.Items...) {
		if it.Stale {
			t.Errorf("item %d %s%s is stale", i, it.Path, it.Key)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, ".smart-env", "smart_blocks", vaultModel.Fingerprint()))
	if err != nil {
		t.Fatal(err)
	}
	for row := range slices.Chunk(raw, 4*vaultModel.Dims) {
		sum := 0.0
		for value := range slices.Chunk(row, 4) {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(value)))
			sum += v * v
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("a row has the length %v, want 1", math.Sqrt(sum))
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, ".smart-env", "smart_sources", "smart_sources.ajson"))
	if n := bytes.Count(log, []byte(`"should_embed":true`)); err != nil || n != 25 || !bytes.HasSuffix(log, []byte("},")) {
		t.Errorf("the log has %d blocks, %v, and ends with %q, want 25 and no newline", n, err, log[max(0, len(log)-5):])
	}
	if got, err := vectorBytes(dir); err != nil || got != 28*4*384 {
		t.Errorf("vectorBytes = %d, %v, want %d", got, err, 28*4*384)
	}
}

// The same number of blocks gives the same bytes.
func TestGenerateAgain(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, vault := range []string{one, two} {
		if err := generate(vault, 12); err != nil {
			t.Fatal(err)
		}
	}
	files := 0
	err := fs.WalkDir(os.DirFS(one), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		a, errA := os.ReadFile(filepath.Join(one, path))
		b, errB := os.ReadFile(filepath.Join(two, path))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", path, errA, errB)
		}
		return nil
	})
	if err != nil || files != 7 { // two notes, settings, model, log, two files of vectors
		t.Errorf("%d files, %v, want 7", files, err)
	}
	if err := needVectors(dir); err == nil {
		t.Error("needVectors takes a folder without vectors")
	}
}
