package smartenv

import (
	"errors"
	"testing"

	"smart-connections-mcp/smartenv/note"
)

func TestGlance(t *testing.T) {
	tests := []struct {
		vault         string
		model         string
		notes, blocks int64
	}{
		{"../testdata/vaults/edge-mini", "builtin/mini-2l-128", 13, 14},
		{"../testdata/cases/03-new-vault-no-vectors-yet/vault", "TaylorAI/bge-micro-v2", 0, 0},
		{"../testdata/cases/05-orphan-rows/vault", "TaylorAI/bge-micro-v2", 5, 3},
	}
	for _, test := range tests {
		v, err := note.OpenVault(test.vault)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		g, err := Open(v, Options{}).Glance()
		if err != nil || g.Model.Name != test.model || g.Notes != test.notes || g.Blocks != test.blocks {
			t.Errorf("Glance(%s) = %+v, %v, want %s, %d and %d", test.vault, g, err, test.model, test.notes, test.blocks)
		}
	}
	v, err := note.OpenVault(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var none *GenerationError
	if _, err := Open(v, Options{}).Glance(); !errors.As(err, &none) {
		t.Errorf("Glance of a folder without index = %v, want a GenerationError", err)
	}
}
