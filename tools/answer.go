package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/search"
)

// Coverage tells how much of the vault an answer is drawn from.
type Coverage struct {
	NotesSearched  int `json:"notes_searched"`  // note vectors that were compared
	BlocksSearched int `json:"blocks_searched"` // block vectors that were compared
	NotesTotal     int `json:"notes_total"`     // notes in the index that are still in the vault
	BlocksTotal    int `json:"blocks_total"`    // blocks in the index, also those too short for a vector
	Stale          int `json:"stale"`           // notes changed since they were embedded
	Missing        int `json:"missing"`         // notes in the index that are no longer in the vault; not searched
	Unreadable     int `json:"unreadable"`      // notes that cannot be read just now; searched
	NotIndexed     int `json:"not_indexed"`     // notes in the vault that the plugin has not seen yet; not searched
}

func coverage(snap *smartenv.Snapshot) Coverage {
	n := snap.Status.Notes
	return Coverage{
		NotesTotal:  n.Live - n.Missing - n.Excluded,
		BlocksTotal: snap.Status.Blocks.Total,
		Stale:       n.Stale,
		Missing:     n.Missing,
		Unreadable:  n.Unreadable,
		NotIndexed:  n.NotIndexed,
	}
}

func (c *Coverage) searched(a search.Answer) {
	c.NotesSearched, c.BlocksSearched = a.SearchedNotes, a.SearchedBlocks
}

// ScopedOut reports what filters kept out of an answer.
type ScopedOut struct {
	NotesHidden  int            `json:"notes_hidden_by_folder"` // by folder and exclude_folder
	BestHidden   *Best          `json:"best_hidden,omitempty"`  // absent when nothing was hidden
	BetterMatch  bool           `json:"better_match_outside_folder"`
	BetterHidden bool           `json:"better_match_hidden"`
	HiddenBy     map[string]int `json:"hidden_by,omitempty"` // notes by filter; each counts once, under the first that hides it
	Hint         string         `json:"hint,omitempty"`
}

// Best is a note with its score.
type Best struct {
	Path  string  `json:"path"`
	Score float64 `json:"score"`
}

// scopedOut is nil when there is no filter by folder and no other filter hid anything.
func scopedOut(snap *smartenv.Snapshot, a search.Answer, filters []search.Filter) *ScopedOut {
	out := &ScopedOut{HiddenBy: map[string]int{}}
	asked := false
	var best *search.Scored
	for _, h := range a.Hidden {
		if h.Filter == byFolder || h.Filter == byExcludeFolder {
			asked = true
			out.NotesHidden += h.Notes
			out.BetterMatch = out.BetterMatch || h.Better
		}
		if h.Notes > 0 {
			out.HiddenBy[h.Filter] = h.Notes
		}
		out.BetterHidden = out.BetterHidden || h.Better
		if h.Best != nil && (best == nil || h.Best.Score > best.Score) {
			best = h.Best
		}
	}
	if best != nil {
		out.BestHidden = &Best{Path: best.Path, Score: fourDecimals(best.Score)}
	}
	if out.BetterHidden {
		out.Hint = wayTo(snap, best.Path, filters)
	}
	if !asked && len(out.HiddenBy) == 0 {
		return nil
	}
	return out
}

// wayTo says which filters to leave out to see the note at path.
func wayTo(snap *smartenv.Snapshot, path string, filters []search.Filter) string {
	source, _ := snap.Source(path)
	var hiding []string
	for _, f := range filters {
		switch {
		case f.Keep(source):
		case f.Name == byModified:
			hiding = append(hiding, "modified_after and modified_before")
		default:
			hiding = append(hiding, f.Name)
		}
	}
	if len(hiding) == 1 && hiding[0] == byFolder {
		return "a note outside the folder matches better than every note inside: leave folder out to see it"
	}
	return "a note that was left out matches better than every note shown: leave out " + strings.Join(hiding, " and ") + " to see it"
}

// nothingEmbedded is the reason of an empty answer from a vault without vectors.
const nothingEmbedded = "nothing in this vault has a vector that can be used: index_status says why; mostly it helps to open the vault in Obsidian and let Smart Connections finish"

// emptyReason says why an answer has no rows; "" when it has some. scope is the name of
// the argument that chose the pools, advice what to do when all scores were too low.
func emptyReason(a search.Answer, q search.Query, scope, advice string) string {
	hidden := slices.DeleteFunc(slices.Clone(a.Hidden), func(h search.Hidden) bool { return h.Notes == 0 })
	switch {
	case len(a.Hits) > 0:
		return ""
	case a.Best != nil:
		return fmt.Sprintf("nothing scored %s or more: the best was %s for %q; %s",
			decimal(fourDecimals(q.MinScore)), decimal(fourDecimals(a.Best.Score)), a.Best.Path, advice)
	case len(hidden) == 1 && hidden[0].Filter == byFolder:
		return "nothing in the folder has a vector in this scope: leave folder out, or take another (index_status lists them)"
	case len(hidden) > 0:
		return "every note with a vector is left out by filters: " + tell(hidden) + "; change them or leave some out"
	case q.Scope == search.Notes || q.Scope == search.Blocks:
		return fmt.Sprintf("no %s have vectors to compare: try %s auto", q.Scope, scope)
	}
	return nothingEmbedded
}

// tell names filters with the number of notes that each hid.
func tell(hidden []search.Hidden) string {
	var parts []string
	for _, h := range hidden {
		parts = append(parts, fmt.Sprintf("%s (%d)", h.Filter, h.Notes))
	}
	return strings.Join(parts, ", ")
}

// What an answer may lack without a warning: one note in ten that is left out,
// one in four that is ranked by an older text (each such row says so itself).
const (
	tolerated      = 10
	toleratedStale = 4
)

// warning says why answers from this index should not be taken at face value;
// "" when nothing speaks against it.
func (s *Server) warning(snap *smartenv.Snapshot) string {
	n := snap.Status.Notes
	present := n.Live - n.Missing - n.Excluded
	var parts []string
	add := func(format string, v ...any) { parts = append(parts, fmt.Sprintf(format, v...)) }
	if snap.Behind != "" {
		add("This answer is from an earlier state of the index: %s.", strings.TrimSuffix(s.scrub(snap.Behind), "."))
	}
	if n.NotIndexed > 0 && n.NotIndexed*tolerated >= present+n.NotIndexed {
		add("%d of the vault's %d notes are not in the index, so they cannot be found: open the vault in Obsidian and let Smart Connections finish.", n.NotIndexed, present+n.NotIndexed)
	}
	if waiting := unembedded(snap); waiting > 0 && waiting*tolerated >= present {
		add("%d of %d indexed notes have no usable vector of their own: open the vault in Obsidian and let Smart Connections finish.", waiting, present)
	}
	if wanted := snap.Status.Blocks.Wanted; wanted > 0 && wanted*tolerated >= wanted+snap.Status.Blocks.WithVector {
		add("%d sections have no usable vector: open the vault in Obsidian and let Smart Connections finish.", wanted)
	}
	if n.Stale > 0 && n.Stale*toleratedStale >= present {
		add("%d of %d notes have changed since they were embedded; they are ranked by their older text.", n.Stale, present)
	}
	if n.Unlisted > 0 {
		add("Parts of the vault could not be listed; see index_status.")
	}
	return strings.Join(parts, " ")
}

// unembedded counts the notes that should have a vector of their own and have
// none that can be used.
func unembedded(snap *smartenv.Snapshot) int {
	count := 0
	for i := range snap.Sources {
		switch source := &snap.Sources[i]; source.Reason {
		case "", "short", "missing", "excluded":
		default:
			count++
		}
	}
	return count
}

// semantic returns the index, or why it cannot be searched by meaning.
func (s *Server) semantic(ctx context.Context) (*smartenv.Snapshot, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snap.Refusal != nil {
		return nil, fmt.Errorf("%w (get_note and index_status still work)", snap.Refusal)
	}
	return snap, nil
}

// folders resolves the folder argument. "/" and what else means the whole vault is no
// filter.
func (s *Server) folders(snap *smartenv.Snapshot, names []string) ([]string, error) {
	if slices.ContainsFunc(names, everywhere) {
		return nil, nil
	}
	return search.ResolveFolders(snap, names)
}

// everywhere says whether a folder name means the vault with all its folders. The empty
// one means the root alone.
func everywhere(name string) bool {
	name = strings.TrimSpace(name)
	return name != "" && strings.Trim(name, "./\\ ") == ""
}

// resolve turns a path argument into the exact path of a file in the vault.
func (s *Server) resolve(ctx context.Context, asked string) (string, error) {
	exact, err := s.vault.Resolve(asked)
	if err != nil {
		return "", s.fileError(ctx, asked, err)
	}
	return exact, nil
}

// fileError words an error of the vault for a model. It never names a place on
// the host.
func (s *Server) fileError(ctx context.Context, asked string, err error) error {
	var ambiguous *note.AmbiguousError
	var refused *note.RefusedError
	var lost *note.LostError
	switch {
	case errors.As(err, &ambiguous):
		return ambiguous
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &lost):
		return lost
	case errors.Is(err, note.ErrNotDownloaded):
		return fmt.Errorf("%q is not read: %w: open it in Finder or Obsidian, then try again", shorten(asked, 300), note.ErrNotDownloaded)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no note at %q: %s", shorten(note.Discreet(asked), 300), s.instead(ctx, asked))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q may not be read: check its permissions (on macOS, give the app that runs this server access under Privacy & Security, Files & Folders or Full Disk Access)", shorten(asked, 300))
	}
	s.log.Warn("reading a note", "path", asked, "err", err)
	return fmt.Errorf("%q cannot be read just now: check that the vault's disk is connected, then try again", shorten(asked, 300))
}

// scrub takes places on the host out of a text that comes from elsewhere.
func (s *Server) scrub(text string) string {
	root := s.vault.Root()
	for _, spelling := range []string{root, strings.Trim(strconv.Quote(root), `"`)} {
		text = strings.ReplaceAll(text, spelling, "the vault")
	}
	return text
}

// scrubError is scrub for an error, in which also the file that the system
// complained about is reduced to its name.
func (s *Server) scrubError(err error) error {
	text := s.scrub(err.Error())
	if file := (*fs.PathError)(nil); errors.As(err, &file) && filepath.IsAbs(file.Path) {
		text = strings.ReplaceAll(text, file.Path, "…/"+filepath.Base(file.Path))
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func checkPath(p string) error {
	if strings.TrimSpace(p) == "" {
		return errors.New("path is empty: pass the path of a note, such as Folder/Note.md")
	}
	return nil
}

// between checks the range of a number.
func between[N cmp.Ordered](name string, n, low, high N) error {
	if n < low || n > high {
		return fmt.Errorf("%s is %v: pass %v to %v", name, n, low, high)
	}
	return nil
}

// fourDecimals rounds a score as all peers show it.
func fourDecimals(score float32) float64 {
	return math.Round(float64(score)*1e4)/1e4 + 0 // + 0 makes -0 plain 0
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// lines is a range for JSON: two numbers, or nothing when it is unknown.
func lines(start, end int) []int {
	if start == 0 || end == 0 {
		return nil
	}
	return []int{start, end}
}
