package bert

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// vaultTexts are the notes of a real vault, each whole.
func vaultTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	err := filepath.WalkDir(need(t, "../../shared/vaults/obsidian-help-minilm"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil || len(texts) != 173 {
		t.Fatalf("%d notes, %v, want 173", len(texts), err)
	}
	return texts
}

// bigWordPiece is the tokenizer of bert-base-uncased, of 30,522 pieces.
func bigWordPiece(t testing.TB) *tokenizer {
	t.Helper()
	return patched(t, need(t, "../../shared/models/all-MiniLM-L6-v2/tokenizer.json"), nil)
}
