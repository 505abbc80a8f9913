package links

// A Graph is what all notes of a vault say, with every link resolved. It is
// immutable.
type Graph struct {
	Notes       []Note   // sorted by path
	Attachments []string // exact paths of the files that are no notes, sorted
	Unreadable  []string // notes that could not be read, sorted: what they link to is unknown
	Unlisted    int      // folders and notes that could not be listed
}

// A Reference is a link together with the note it stands in.
type Reference struct {
	From *Note
	Link *Link
}

// Note returns the note with exactly this path.
func (g *Graph) Note(path string) (*Note, bool) { return nil, false }

// To returns the links of other notes that lead to the note or attachment at path, by
// the path of the note they stand in, then by line; those in code too.
func (g *Graph) To(path string) []Reference { return nil }

// Linked says whether one of two notes links to the other (not in code).
func (g *Graph) Linked(a, b string) bool { return false }

// Neighbours are the paths of all notes that the note at path links to or that link
// to it (not in code), each once, sorted.
func (g *Graph) Neighbours(path string) []string { return nil }

// Orphans are the notes without a link either way (links in code and to itself do
// not count), sorted.
func (g *Graph) Orphans() []string { return nil }

// A Missing is a target that does not exist, with every link that names it.
type Missing struct {
	Kind  MissingKind
	Name  string      // as most links spell it: "Note", "img.png", "Folder/Note.md#Heading"
	Notes int         // distinct notes that link to it
	Links []Reference // sorted as in To
}

// A MissingKind says what is missing.
type MissingKind string

// The kinds of missing target.
const (
	MissingNote       MissingKind = "note"
	MissingAttachment MissingKind = "attachment"
	MissingHeading    MissingKind = "heading" // or block: the note exists, the place in it does not
)

// Missing lists the targets of links (not in code) that do not exist: those that
// most notes link to first, then by name.
func (g *Graph) Missing() []Missing { return nil }
