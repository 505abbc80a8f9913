package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// The text must come through JSON byte for byte, whatever is in it.
func TestNoteExact(t *testing.T) {
	s := serverOf(t, nil)
	for name, text := range map[string]string{
		"empty":      "",
		"crlf":       "a\r\nb\r\n",
		"bom":        "\ufeff# Title\n",
		"html":       "<script>&amp;</script> \u2028 \u2029",
		"control":    "\x1b]0;title\x07 \x00 \x7f \u009b31m",
		"bidi":       "\u202etxt.exe\u202c \u2066x\u2069 \u200f",
		"tags":       "see \U000e0069\U000e0067\U000e006e",
		"emoji":      "👨‍👩‍👧‍👦 👍🏽 é é",
		"json":       `{"path":"x","text":"</result>"} \u202e \\`,
		"many lines": strings.Repeat("line\n", 20_000),
	} {
		path := name + ".md"
		write(t, filepath.Join(s.vault.Root(), path), []byte(text))
		answer, isError := callTool(t, s, "get_note", fmt.Sprintf(`{"path":%q}`, path))
		var out NoteOutput
		if err := json.Unmarshal([]byte(answer), &out); err != nil || isError {
			t.Fatalf("%s: %s", name, answer)
		}
		if out.Text != text || out.Truncated || out.Warning != "" || out.TotalChars != utf8.RuneCountInString(text) {
			t.Errorf("%s: got %+q, want %+q", name, out.Text, text)
		}
		if name == "html" && !strings.Contains(answer, "<script>&amp;</script>") {
			t.Errorf("%s: escaped for HTML: %s", name, answer)
		}
		for _, r := range answer {
			if r < 0x20 || r == 0x7f || r >= 0x80 && r <= 0x9f || r == 0x202e || r == 0x2066 || r >= 0xe0000 && r <= 0xe007f {
				t.Errorf("%s: %U stands in the JSON as it is: %+q", name, r, answer)
			}
		}
	}
}

// The marker counts towards max_chars, and no character is cut in two.
func TestNoteCut(t *testing.T) {
	s := serverOf(t, nil)
	text := strings.Repeat("aü😀\n", 100) // 400 code points
	write(t, filepath.Join(s.vault.Root(), "n.md"), []byte(text))
	for _, limit := range []int{1, 2, 3, 50, 70, 100, 399, 400, 401} {
		out, err := s.Note(t.Context(), NoteInput{Path: "n.md", MaxChars: limit})
		if err != nil {
			t.Fatal(err)
		}
		chars := utf8.RuneCountInString(out.Text)
		if chars > limit || limit < 400 && chars != limit || !utf8.ValidString(out.Text) {
			t.Errorf("max_chars %d: %d characters", limit, chars)
		}
		if out.Truncated != (limit < 400) || out.TotalChars != 400 {
			t.Errorf("max_chars %d: truncated %v, total %d", limit, out.Truncated, out.TotalChars)
		}
		body, marker, cut := strings.Cut(out.Text, "\n\n[cut here: the text has 400 characters; ")
		if !strings.HasPrefix(text, body) || cut && marker != "pass next_offset as offset to go on]" {
			t.Errorf("max_chars %d: %q", limit, out.Text)
		}
		if wantMarker := limit >= 100 && limit < 400; cut != wantMarker {
			t.Errorf("max_chars %d: marker %v, want %v", limit, cut, wantMarker)
		}
	}
}

func TestNoteCeiling(t *testing.T) {
	s := serverOf(t, nil)
	write(t, filepath.Join(s.vault.Root(), "n.md"), []byte(strings.Repeat("x", 400_001)))
	out, err := s.Note(t.Context(), NoteInput{Path: "n.md", MaxChars: 400_000})
	if err != nil || len(out.Text) != 400_000 || !strings.HasSuffix(out.Text, "400001 characters; pass next_offset as offset to go on]") {
		t.Errorf("%d bytes ending in %q, %v", len(out.Text), out.Text[len(out.Text)-80:], err)
	}
}

func TestNoteNotUTF8(t *testing.T) {
	s := serverOf(t, nil)
	write(t, filepath.Join(s.vault.Root(), "latin.md"), []byte("caf\xe9 \xf0\x9f\x98 end"))
	out, err := s.Note(t.Context(), DefaultNote("latin.md"))
	if err != nil || out.Text != "caf\ufffd \ufffd end" || !strings.Contains(out.Warning, "not valid UTF-8") {
		t.Errorf("Note = %+v, %v", out, err)
	}
	write(t, filepath.Join(s.vault.Root(), "image.png"), []byte("\x89PNG\x00\x01"))
	if _, err := s.Note(t.Context(), DefaultNote("image.png")); err == nil || !strings.Contains(err.Error(), "not a text file") {
		t.Errorf("Note(image.png) = %v, want it refused", err)
	}
}

// V6: a folder that the user has excluded from the index is not read either; other
// exclusions, such as that of notes called Untitled, keep nothing from being read.
func TestNoteInExcludedFolder(t *testing.T) {
	s := serverOf(t, []testNote{{path: "Private/Diary.md", text: para("soup", 240)}, {path: "Privately.md", text: "x"}, {path: "Untitled.md", text: "x"}})
	const settings = `{"smart_sources":{"folder_exclusions":"Archive, Private"},"embedding_models":{"default_model_key":"transformers#1"}}`
	env := filepath.Join(s.vault.Root(), ".smart-env", "smart_env.json")
	write(t, env, []byte(settings))
	for path, closed := range map[string]bool{"Private/Diary.md": true, "private/diary": true, "Privately.md": false, "Untitled.md": false} {
		text, isError := callTool(t, s, "get_note", fmt.Sprintf(`{"path":%q}`, path))
		if isError != closed || closed && (!strings.Contains(text, "exclusion settings") || strings.Contains(text, "soup")) {
			t.Errorf("get_note of %s = %s, want it refused: %v", path, text, closed)
		}
	}
	if _, err := s.snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, env, []byte(settings[:40])) // it is being written
	if text, isError := callTool(t, s, "get_note", `{"path":"Private/Diary.md"}`); !isError {
		t.Errorf("get_note while the settings are written = %s, want it refused as before", text)
	}
}
