package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxAnswer is the size in bytes up to which a listing may grow, measured on
// its JSON. Clients cut answers at 25,000 tokens, and count this JSON once.
const maxAnswer = 60_000

// maxError is the size in bytes of an error text, which may list folders or
// notes with long names.
const maxError = 8_000

// encode writes v as compact JSON: no HTML escapes, and invisible characters
// that could deceive a reader (control, direction and tag characters) as \u
// escapes. Whoever parses the JSON gets every value exactly as it is; whoever
// reads it as text, as language models do, sees what is there.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return escapeInvisible(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// size is the length of v's JSON in bytes.
func size(v any) int {
	data, err := encode(v)
	if err != nil {
		return 0 // reported when the answer itself is encoded
	}
	return len(data)
}

// escapeInvisible replaces invisible characters in JSON by \u escapes. They
// can only stand in strings.
func escapeInvisible(data []byte) []byte {
	if bytes.IndexFunc(data, invisible) < 0 {
		return data
	}
	escaped := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case !invisible(r):
			escaped = append(escaped, data[:n]...)
		case r > 0xFFFF:
			r -= 0x10000
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		data = data[n:]
	}
	return escaped
}

// invisible reports whether r is shown as nothing while it changes what a
// reader sees or believes. Joiners and variation selectors that scripts and emoji
// need are not among them. C0 controls are already escapes in JSON.
func invisible(r rune) bool {
	switch {
	case r < 0x7F:
		return false
	case r <= 0x9F, // DEL and C1: terminal escapes
		r == 0x00AD, r == 0x180E, r == 0x200B, r >= 0x2060 && r <= 0x2064, // of no width
		r == 0x061C, r == 0x200E, r == 0x200F, // direction marks
		r >= 0x2028 && r <= 0x202E, r >= 0x2066 && r <= 0x206F, // separators, direction overrides and isolates
		r == 0xFEFF,                  // byte order mark inside text
		r >= 0xFFF9 && r <= 0xFFFB,   // annotations
		r >= 0xE0000 && r <= 0xE0FFF: // tags and selectors: bytes that nobody sees
		return true
	}
	return false
}

// success makes a tool result of an answer: structured content and one text
// that is the same JSON, byte for byte.
func success(answer any) (*mcp.CallToolResult, error) {
	data, err := encode(answer)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{plainText{&mcp.TextContent{Text: string(data)}}},
		StructuredContent: json.RawMessage(data),
	}, nil
}

// failure makes a tool result of an error. It is no protocol error, because a
// client does not show those to the model, which could mend it.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{plainText{&mcp.TextContent{Text: shorten(errorText(err), maxError)}}},
	}
}

// errorText is what an error says, which may quote a client, a file name or the
// plugin's settings, with what is not to be seen shown as \u escapes. Only errors
// that were joined stand in lines of their own.
func errorText(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, errorText(e))
		}
		return strings.Join(lines, "\n")
	}
	return Printable(err.Error(), "")
}

// Printable is Visible, with the controls of ASCII as escapes, too, but for those to
// keep.
func Printable(s, keep string) string {
	s = Visible(s)
	control := func(r rune) bool { return r < ' ' && !strings.ContainsRune(keep, r) }
	if strings.IndexFunc(s, control) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if control(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Visible shows the characters of s that no reader would see, but for the
// controls of ASCII, as the escapes that JSON has for them. It serves for text
// and for JSON, which means the same afterwards.
func Visible(s string) string { return string(escapeInvisible([]byte(s))) }

// plainText is text content without the HTML escapes that the SDK would add
// ("\u003c" for "<"), which cost bytes and say nothing.
type plainText struct{ *mcp.TextContent }

func (t plainText) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", t.Text})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
