package links

import (
	"strings"
	"unicode/utf8"
)

const maxParens = 32 // in each other in the target of a Markdown link, as in CommonMark

// wikiEnd is where the wikilink ends whose "[[" may be at i; -1 when there is none. It
// ends on its line, and a further "[[" begins anew.
func wikiEnd(text string, i, to int) int {
	if i+2 >= to || text[i+1] != '[' || text[i+2] == '[' {
		return -1
	}
	for at := i + 2; at+1 < to; at++ {
		switch c := text[at]; {
		case c == '\n', c == '[' && text[at+1] == '[':
			return -1
		case c == ']' && text[at+1] == ']':
			return at + 2
		}
	}
	return -1
}

// wikilink reads "[[Note#Heading|text]]" or "![[…]]". A "|" may be escaped, as in tables.
func wikilink(raw string) (l Link, ok bool) {
	raw, embed := strings.CutPrefix(raw, "!")
	path, label, labelled := strings.Cut(raw[2:len(raw)-2], "|")
	if labelled {
		path = strings.TrimSuffix(path, `\`)
	}
	path, subpath, _ := strings.Cut(path, "#")
	path, subpath = strings.TrimSpace(path), strings.TrimSpace(subpath)
	if path == "" && subpath == "" || strings.Contains(path, "://") && hasScheme(path) {
		return Link{}, false
	}
	return kept(raw, path, subpath, label, embed), true
}

// markdownLink makes a link of "[label](dest)"; false when it leads out of the vault.
func markdownLink(raw, label, dest string, embed bool) (l Link, ok bool) {
	if strings.HasPrefix(dest, "//") || hasScheme(dest) {
		return Link{}, false
	}
	path, subpath, _ := strings.Cut(dest, "#")
	path, subpath = strings.TrimSpace(decoded(path)), strings.TrimSpace(decoded(subpath))
	if path == "" && subpath == "" {
		return Link{}, false
	}
	if strings.IndexByte(label, '\n') >= 0 {
		label = strings.Join(strings.Fields(label), " ")
	}
	raw = strings.TrimPrefix(raw, "!")
	l = kept(raw, path, subpath, label, embed)
	l.Markdown = true
	return l, true
}

// kept makes a Link that shares no memory with the note's text. raw is without "!".
func kept(raw, path, subpath, label string, embed bool) Link {
	label = strings.TrimSpace(label)
	if embed {
		label = unsized(label)
		raw = "!" + raw
	} else {
		raw = strings.Clone(raw)
	}
	if label == path {
		label = ""
	}
	return Link{Raw: raw, Target: within(raw, path), Subpath: within(raw, subpath), Text: within(raw, label), Embed: embed}
}

// within is s as a part of whole, if it is one, or else a copy.
func within(whole, s string) string {
	if s == "" {
		return ""
	}
	if at := strings.Index(whole, s); at >= 0 {
		return whole[at : at+len(s)]
	}
	return strings.Clone(s)
}

// unsized is the label of an embed without the size of the picture: "a|100x50", "100".
func unsized(label string) string {
	at := strings.LastIndexByte(label, '|')
	width, height, both := strings.Cut(label[at+1:], "x")
	if !digits(width) || both && !digits(height) {
		return label
	}
	return strings.TrimSpace(strings.TrimSuffix(label[:max(0, at)], `\`))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// hasScheme reports whether a target begins like "https:".
func hasScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && (s[i] == '+' || s[i] == '-' || s[i] == '.' || '0' <= s[i] && s[i] <= '9'):
		default:
			return i > 1 && s[i] == ':'
		}
	}
	return false
}

// destination reads the target of a Markdown link after its "(", with the title that may
// follow; end is after the ")".
func destination(text string, i int) (dest string, end int, ok bool) {
	i = blanks(text, i)
	from, angle := i, i < len(text) && text[i] == '<'
	if angle {
		from, i = i+1, inAngles(text, i+1)
	} else {
		i = unspaced(text, i)
	}
	if i < 0 || i == from && !angle {
		return "", 0, false
	}
	dest = unescaped(text[from:i])
	if angle {
		i++
	}
	if at := blanks(text, i); at > i {
		if i = title(text, at); i < 0 {
			return "", 0, false
		}
		i = blanks(text, i)
	}
	if i >= len(text) || text[i] != ')' {
		return "", 0, false
	}
	return dest, i + 1, true
}

// inAngles is where the ">" of a target in angle brackets is; -1 when there is none.
func inAngles(text string, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '>':
			return i
		case '<', '\n':
			return -1
		case '\\':
			if i+1 < len(text) && punctuation(text[i+1]) {
				i++
			}
		}
	}
	return -1
}

// unspaced is where a target ends that is not in angle brackets; -1 when its parentheses
// nest too deep.
func unspaced(text string, i int) int {
	for open := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ':
			return i
		case c == '\\' && i+1 < len(text) && punctuation(text[i+1]):
			i++
		case c == '(':
			if open++; open > maxParens {
				return -1
			}
		case c == ')':
			if open--; open < 0 {
				return i
			}
		}
	}
	return i
}

// title is where a title that may begin at i ends; -1 when it does not.
func title(text string, i int) int {
	if i >= len(text) {
		return -1
	}
	open, close := text[i], text[i]
	switch open {
	case '(':
		close = ')'
	case '"', '\'':
	default:
		return i
	}
	for i++; i < len(text); i++ {
		switch text[i] {
		case close:
			return i + 1
		case open:
			return -1
		case '\\':
			i++
		}
	}
	return -1
}

func blanks(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

func punctuation(c byte) bool {
	return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z')
}

// unescaped is s with each "\(" turned into "(".
func unescaped(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && punctuation(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// decoded is s with each "%20" turned into what it stands for. A "%" that encodes nothing
// stays; what would be no text stays as a whole.
func decoded(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && nibble(s[i+1]) >= 0 && nibble(s[i+2]) >= 0 {
			b = append(b, byte(nibble(s[i+1])<<4|nibble(s[i+2])))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	if !utf8.Valid(b) {
		return s
	}
	return string(b)
}

func nibble(c byte) int {
	if '0' <= c && c <= '9' {
		return int(c - '0')
	}
	if c |= 0x20; 'a' <= c && c <= 'f' {
		return int(c-'a') + 10
	}
	return -1
}
