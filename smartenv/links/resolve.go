package links

// A Match is how a text was found to name a note or attachment.
type Match string

// The ways of matching, in the order in which they are tried.
const (
	ByPath     Match = "path"      // exact path, with or without ".md"
	ByFilename Match = "filename"  // name, or end of the path
	ByAlias    Match = "alias"     // one of the note's aliases
	ByLinkText Match = "link_text" // notes link to it under this text
)

// A Resolution is what a text leads to.
type Resolution struct {
	Target     Target
	MatchedBy  Match    // "" when nothing was found
	Candidates []string // when several fit equally well: their paths, sorted, Target.Path among them
}

// Resolve follows a link text as Obsidian does for a note at from ("" for none):
// of the files whose path ends in target, the one at exactly that path, else the one
// in the fewest folders, else the one in the folder of from. Upper and lower case
// and Unicode normalisation make no difference, unless two files differ in nothing
// else. "./", "../" and "/" at the beginning count from the folder of from and from the
// vault's root. Target and subpath are as in Link.
func (g *Graph) Resolve(target, subpath, from string) Resolution { return Resolution{} }

// Find resolves what a person or model writes: "[[Note#Heading|text]]", "![[…]]", a
// Markdown link, bare text or a path; when no file fits, the aliases of notes and the
// texts under which notes are linked are tried.
func (g *Graph) Find(text, from string) Resolution { return Resolution{} }
