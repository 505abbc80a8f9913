package note

import "strings"

// Block is a section of a note as the plugin cuts it: frontmatter, a heading
// with all that stands below it, a list item, or a run of text. Blocks nest.
type Block struct {
	Key         string // "#A#B", "#A#{1}", "#" (text before the first heading), "#---frontmatter---"
	Start, End  int    // lines, 1-based and inclusive; End is 0 for a frontmatter that is never closed
	Size        int    // length of the text in UTF-16 units
	Hash        string // Hash of the text
	ShouldEmbed bool   // picked by the plugin's selection plan
}

// Rules are the settings of a vault that decide what is embedded.
type Rules struct {
	MinChars         int      // least Size of a block that is embedded (smart_blocks.min_chars)
	MaxTokens        int      // the model's limit; 0 means the plugin's default of 500
	ExcludedHeadings []string // smart_sources.excluded_headings
}

// FrontmatterKey is the key of the block that a note's frontmatter is.
const FrontmatterKey = "#---frontmatter---"

const (
	defaultMaxTokens = 500
	charsPerToken    = 3.7
	maxImportBytes   = 300_000 // the plugin parses no larger note
	rootKey          = "#"
)

// MaxUnits is the cap of an embed input in UTF-16 units: 1894 for 512 tokens.
func (r Rules) MaxUnits() int {
	tokens := r.MaxTokens
	if tokens <= 0 {
		tokens = defaultMaxTokens
	}
	return int(float64(tokens) * charsPerToken)
}

// Parsed is what the plugin derives from a note's text.
type Parsed struct {
	Blocks     []Block // in the order in which the plugin records them
	Reimport   bool    // the plugin would read the note again: ranges are open or overlap
	TaskLines  []int   // lines that are tasks, done or not
	OpenTasks  []int   // lines of tasks not done
	TopTasks   []int   // those of OpenTasks that are not indented
	CodeRanges [][2]int
}

// Parse cuts the text of the note at path into blocks and picks those to embed,
// as the plugin does (format sections 6 and 7.3). The text must be the one the
// plugin saw: see Decode and Match. Notes over 300,000 bytes are never parsed
// by the plugin and have no blocks. For a drawing (*.excalidraw.md) the lines
// count in Body(path, text).
func Parse(path, text string, r Rules) Parsed {
	text = Body(path, text)
	var p Parsed
	p.Blocks = parseBlocks(text, &p)
	p.Reimport = selectBlocks(path, p.Blocks, r)
	return p
}

// BlockText returns lines start to end of text, as the plugin reads a block:
// joined with "\n", "\r" kept. It is "" for an unclosed block (end 0), and ok
// is false when the text has fewer lines.
func BlockText(text string, start, end int) (block string, ok bool) {
	if end == 0 {
		return "", true
	}
	from, to, ok := lineSpan(text, start, end)
	return text[from:to], ok
}

// parseBlocks returns the blocks of text with all but ShouldEmbed, and notes
// tasks and code ranges in extra unless that is nil.
func parseBlocks(text string, extra *Parsed) []Block {
	if len(text) > maxImportBytes {
		return nil
	}
	if extra == nil {
		extra = new(Parsed)
	}
	p := parser{
		extra:  extra,
		index:  map[string]int{},
		parts:  map[string]int{},
		titles: map[[2]string]int{},
	}
	var starts []int // byte offset of each line
	for at := 0; ; {
		starts = append(starts, at)
		length := strings.IndexByte(text[at:], '\n')
		if length < 0 {
			p.line(text[at:], len(starts))
			break
		}
		p.line(text[at:at+length], len(starts))
		at += length + 1
	}
	p.finish(len(starts))
	starts = append(starts, len(text)+1)
	for i := range p.blocks {
		b := &p.blocks[i]
		body := ""
		if b.End >= b.Start {
			body = text[starts[b.Start-1] : starts[b.End]-1]
		}
		b.Size, b.Hash = Len16(body), Hash(body)
	}
	return p.blocks
}

// parser holds the plugin's block parser between two lines. Keys of open blocks
// are "" when there is none.
type parser struct {
	extra  *Parsed
	blocks []Block
	index  map[string]int    // key to position in blocks
	parts  map[string]int    // numbered parts so far, by parent key
	titles map[[2]string]int // how often a title occurred below a parent
	stack  []heading         // open headings, outermost first
	body   string            // open run of text
	item   string            // open list item
	front  frontmatter
	fence  int // line of the open code fence, 0 when outside
}

type heading struct {
	level int
	key   string
}

type frontmatter int

const (
	frontNone frontmatter = iota
	frontOpen
	frontClosed
)

// line takes the next line of the note. The order of its cases is the plugin's
// and decides what a line is that could be several things.
func (p *parser) line(raw string, ln int) {
	trimmed := trimSpace(raw)
	if trimmed == "---" && p.rule(ln) || p.front == frontOpen {
		return
	}
	if p.fence == 0 {
		p.task(raw, trimmed, ln)
	}
	if strings.HasPrefix(trimmed, "```") {
		p.toggleFence(ln)
		return
	}
	if p.fence == 0 {
		if level, title, ok := parseHeading(trimmed); ok {
			p.heading(level, title, ln)
			return
		}
		if indented, ok := parseItem(raw); ok {
			if !indented {
				p.listItem(ln)
				return
			}
			if p.item != "" {
				return // a nested item belongs to the open one
			}
		}
	}
	if trimmed != "" && p.body == "" {
		p.close(&p.item, ln-1)
		p.openBody(ln)
	}
}

// rule handles a line "---" and reports whether it delimits the frontmatter.
func (p *parser) rule(ln int) bool {
	switch {
	case p.front == frontNone && ln == 1:
		p.front = frontOpen
		p.open(FrontmatterKey, ln)
		return true
	case p.front == frontOpen:
		p.front = frontClosed
		p.end(FrontmatterKey, ln)
		return true
	}
	return false
}

func (p *parser) task(raw, trimmed string, ln int) {
	mark, ok := taskMark(trimmed)
	if !ok {
		return
	}
	p.extra.TaskLines = append(p.extra.TaskLines, ln)
	if mark != ' ' {
		return
	}
	p.extra.OpenTasks = append(p.extra.OpenTasks, ln)
	if _, ok := taskMark(raw); ok {
		p.extra.TopTasks = append(p.extra.TopTasks, ln)
	}
}

func (p *parser) toggleFence(ln int) {
	if p.fence == 0 {
		p.fence = ln
	} else {
		p.extra.CodeRanges = append(p.extra.CodeRanges, [2]int{p.fence, ln})
		p.fence = 0
	}
	if p.body == "" {
		p.openBody(ln) // an open list item stays open
	}
}

func (p *parser) heading(level int, title string, ln int) {
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].level >= level {
		p.end(p.stack[len(p.stack)-1].key, ln-1)
		p.stack = p.stack[:len(p.stack)-1]
	}
	if len(p.stack) == 0 {
		p.end(rootKey, ln-1)
	}
	p.close(&p.body, ln-1)
	p.close(&p.item, ln-1)

	var parent heading
	if len(p.stack) > 0 {
		parent = p.stack[len(p.stack)-1]
	}
	p.titles[[2]string{parent.key, title}]++
	if n := p.titles[[2]string{parent.key, title}]; n > 1 {
		if parent.key == "" {
			title += "[" + itoa(n) + "]"
		} else {
			title += "#{" + itoa(n) + "}"
		}
	}
	key := parent.key + strings.Repeat("#", level-parent.level) + title
	p.open(key, ln)
	p.parts[key] = 0
	p.stack = append(p.stack, heading{level, key})
}

func (p *parser) listItem(ln int) {
	p.close(&p.item, ln-1)
	if p.body != rootKey { // an open root body stays open
		p.close(&p.body, ln-1)
	}
	parent := p.parent()
	if parent == rootKey {
		p.openRoot(ln)
	}
	p.item = p.part(parent, ln)
}

// openBody begins a run of text: a numbered part of the open heading, or before
// the first heading the root block.
func (p *parser) openBody(ln int) {
	parent := p.parent()
	if parent != rootKey {
		p.body = p.part(parent, ln)
		return
	}
	p.openRoot(ln)
	p.body = rootKey
}

func (p *parser) openRoot(ln int) {
	if _, ok := p.index[rootKey]; !ok {
		p.open(rootKey, ln)
	}
}

func (p *parser) finish(lines int) {
	for _, h := range p.stack {
		p.end(h.key, lines)
	}
	p.close(&p.item, lines)
	p.close(&p.body, lines)
	p.end(rootKey, lines)
}

// parent is the key of the innermost open heading, or the root's.
func (p *parser) parent() string {
	if len(p.stack) == 0 {
		return rootKey
	}
	return p.stack[len(p.stack)-1].key
}

// part opens the next numbered part below parent and returns its key.
func (p *parser) part(parent string, ln int) string {
	p.parts[parent]++
	key := parent + "#{" + itoa(p.parts[parent]) + "}"
	p.open(key, ln)
	return key
}

// open begins a block. A key that exists already keeps its place but takes the
// new range: the plugin lets the later of two colliding blocks win.
func (p *parser) open(key string, ln int) {
	at, ok := p.index[key]
	if !ok {
		at = len(p.blocks)
		p.index[key] = at
		p.blocks = append(p.blocks, Block{})
	}
	p.blocks[at] = Block{Key: key, Start: ln}
}

// end closes the block at ln unless it is closed or does not exist.
func (p *parser) end(key string, ln int) {
	if at, ok := p.index[key]; ok && p.blocks[at].End == 0 {
		p.blocks[at].End = ln
	}
}

// close ends the block that key names and forgets it.
func (p *parser) close(key *string, ln int) {
	if *key != "" {
		p.end(*key, ln)
		*key = ""
	}
}
