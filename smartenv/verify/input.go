package verify

import (
	"errors"
	"io/fs"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
)

// Input rebuilds the text that the plugin gave to its model for item. It is
// false when the note's text is no longer the one that was embedded.
func Input(v *note.Vault, item smartenv.Item, rules note.Rules) (string, bool, error) {
	raw, err := v.Read(item.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if item.Key == "" {
		text, ok := note.Match(raw, item.Hash)
		return note.NoteInput(item.Path, text, rules), ok, nil
	}
	text, ok := note.Block{Start: item.Start, End: item.End, Hash: item.Hash}.In(item.Path, raw)
	return note.BlockInput(item.Path, item.Key, text), ok, nil
}
