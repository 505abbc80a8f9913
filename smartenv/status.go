package smartenv

import "time"

// Status counts what the loader met, for people who ask whether they can rely on
// the answers.
type Status struct {
	Shards       []File    // the log, in the order of replay; of an inline index "multi", the sum of its files
	InlineFiles  int       // files of an inline index
	Ghosts       int       // block records of an inline index that no note lists
	Multifiles   []File    // every vector file, also of other models
	IgnoredFiles []string  // files that are none of the index's, as conflict copies
	LegacyNewest time.Time // newest file of a multi/ folder left by a migration; zero when there is none

	Records      int // lines of the log that are records of notes, tombstones included
	Tombstones   int
	SkippedLines int      // damaged lines
	SkippedFirst []string // the first of them: file, line, beginning

	Notes struct {
		Live          int // notes with a record
		Referenced    int // of them, with an accepted reference under the model
		WithVector    int // of them, in Snapshot.Notes
		Stale         int // with a vector, also one that is not ranked any more, of an earlier text
		Missing       int
		Unreadable    int
		NotDownloaded int // of them, kept by iCloud
		Excluded      int
		Unknown       int
		NotIndexed    int // notes on disk without a record, exclusions apart
		Unlisted      int // folders and files that could not be listed
	}
	Blocks struct {
		Total      int // blocks of all live records
		Referenced int // of them, with an accepted reference under the model
		WithVector int // of them, in Snapshot.Blocks
		Stale      int // with a vector, also one that is not ranked any more, of an earlier text
		Wanted     int // selected for embedding by the plugin, without an accepted reference
	}

	Refused     map[string]map[Reason]int // collection → why references are not accepted → how many items
	Quarantined map[string]map[Reason]int // collection → "nan", "inf", "zero" → rows
	Normalised  map[string]int            // collection → rows that were not of unit length
	Retries     int                       // attempts that met a rewrite, since the program started
}

// A File is one file of the index.
type File struct {
	Name       string // a shard's bare name; "smart_blocks/mf_ccarbz" for a multifile
	Size       int64  // bytes
	Rows       int64  // of a multifile; 0 when the model is unknown
	Referenced int    // items whose reference to it is accepted
}

// A Reason says why an item has no vector that can be ranked.
type Reason string

const (
	reasonShort       Reason = "short"
	reasonNotEmbedded Reason = "not_embedded"
	reasonOtherModel  Reason = "other_model"
	reasonWrongFile   Reason = "wrong_file"
	reasonOutdated    Reason = "outdated"
	reasonBadRow      Reason = "bad_row"
	reasonNoFile      Reason = "missing_multifile"
	reasonOutOfRange  Reason = "out_of_range"
	reasonMissing     Reason = "missing"
	reasonExcluded    Reason = "excluded"
	reasonRefused     Reason = "refused"

	// A row with one of these has no direction.
	badNaN  Reason = "nan"
	badInf  Reason = "inf"
	badZero Reason = "zero"
)

// Explain returns the reason as a clause that ends with the way out.
func (r Reason) Explain() string {
	switch r {
	case reasonShort:
		return "the note is too short for the plugin to embed it"
	case reasonNotEmbedded:
		return "the plugin has not embedded it yet: open the vault in Obsidian and wait for Smart Connections"
	case reasonOtherModel:
		return "it was embedded with another model only: let Smart Connections embed the vault again"
	case reasonOutdated:
		return "it was changed after it was embedded, and the plugin has not embedded the new text yet: open the vault in Obsidian"
	case reasonWrongFile, reasonBadRow, reasonOutOfRange:
		return "its reference into the vector file is damaged: re-index in the plugin's settings"
	case reasonNoFile:
		return "the vector file is missing: let the sync finish, or re-index in the plugin's settings"
	case badNaN, badInf, badZero:
		return "its stored vector is damaged (not finite, or zero): re-index in the plugin's settings"
	case reasonMissing:
		return "there is no such file in the vault any more"
	case reasonExcluded:
		return "the plugin's exclusion settings leave it out, or it lies outside the vault"
	case reasonRefused:
		return "the vault's vectors cannot be used: see index_status"
	}
	return ""
}
