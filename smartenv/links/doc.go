// Package links knows what the notes of a vault say about each other: links,
// headings, tags and properties, read from the Markdown files themselves.
//
// An Index reads the notes when it is first asked, in parallel, and afterwards
// only those whose size or time has changed. What it hands out is a Graph, which
// is immutable: one answer is drawn from one Graph.
package links

import (
	"time"

	"smart-connections-mcp/smartenv/property"
)

// A Note is what one note says.
type Note struct {
	Path       string
	Size       int64 // bytes
	ModTime    time.Time
	Properties property.Properties // nil: it has none, or they cannot be read
	BadYAML    string              // why the properties cannot be read; "" when they can
	Aliases    []string            // from its properties
	Tags       []string            // from properties and text, without "#", each once, as first written
	Headings   []Heading           // in the order of the text
	BlockIDs   []string            // without "^"
	Links      []Link              // in the order of the text; those of properties come first
}

// A Heading is a heading of a note.
type Heading struct {
	Text  string // as written, without the "#"s
	Level int    // 1 to 6
	Line  int    // 1-based
}

// A Link is one link of a note to something in the vault. Links to the web and
// other schemes are none.
type Link struct {
	Line     int    // 1-based
	Raw      string // as written: "[[Note#Heading|text]]", "![alt](img.png)"
	Target   string // path part, percent-decoded; "" for a link within the note
	Subpath  string // "Heading", "A#B", "^block"; without the first "#"; "" when there is none
	Text     string // what a reader sees: alias or label; "" when that is the target itself
	Embed    bool   // "![[…]]", "![…](…)"
	Markdown bool   // "[…](…)" and not a wikilink
	Code     bool   // stands in a code block or code span, where Obsidian shows no link
	Property string // name of the property it stands in; "" in the text
	To       Target // what it leads to; set by the Graph
}

// A Kind says what a link leads to.
type Kind string

// The kinds of target.
const (
	ToNote       Kind = "note"
	ToAttachment Kind = "attachment" // a file that is no note
	ToNothing    Kind = "missing"    // no such file
	ToExcluded   Kind = "excluded"   // a note that Smart Connections is set to leave out
)

// A Target is what a link leads to.
type Target struct {
	Kind           Kind
	Path           string // exact; "" when it is missing or excluded
	MissingSubpath bool   // the note has no such heading or block
	Line           int    // of the heading, when the link names one that exists
}
