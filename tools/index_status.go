package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/search"
)

const (
	shownFolders = 60 // folders of index_status
	folderDepth  = 2
	shownNames   = 20 // names in its other lists
)

// StatusOutput is the answer of index_status. Numbers of a kind that is kept
// per collection are under "smart_sources" (notes) and "smart_blocks".
type StatusOutput struct {
	Vault           string `json:"vault"`      // name of the vault's folder; where it lies is not told
	Generation      string `json:"generation"` // of the index format
	Model           string `json:"model"`
	Fingerprint     string `json:"fingerprint"`
	Dims            int    `json:"dims"`
	ConfiguredModel string `json:"configured_model"`
	QueryEmbedder   string `json:"query_embedder"`
	EmbedderReady   bool   `json:"query_embedder_ready"`
	EmbedderMatches bool   `json:"model_matches_query_embedder"`
	EmbedderProof   Proof  `json:"query_embedder_proof"`
	Refusal         string `json:"refusal,omitempty"` // why semantic search is refused
	Behind          string `json:"behind,omitempty"`  // why this is not the newest state

	EmbeddedNotes  int        `json:"embedded_notes"`
	EmbeddedBlocks int        `json:"embedded_blocks"`
	StaleNotes     int        `json:"stale_notes"`
	StaleBlocks    int        `json:"stale_blocks"`
	MissingNotes   int        `json:"notes_missing_on_disk"`
	NotIndexed     int        `json:"notes_not_indexed"`
	Freshness      Freshness  `json:"freshness"`
	BlocksTotal    int        `json:"blocks_total"`
	BlocksWaiting  int        `json:"blocks_waiting"`       // selected for embedding, without a usable vector
	NotesWithout   tally      `json:"notes_without_vector"` // by reason
	Folders        folderList `json:"folders"`
	FoldersLeftOut int        `json:"folders_left_out,omitempty"`

	Shards       []indexFile        `json:"shards"`
	InlineFiles  int                `json:"inline_files,omitempty"`        // of an inline index, one a note
	Ghosts       int                `json:"ghost_block_records,omitempty"` // of an inline index: blocks that no note lists
	Multifiles   map[string]vectors `json:"multifiles"`
	FilesInUse   map[string]int     `json:"embedding_files_in_use"` // file → items
	Records      int                `json:"records"`
	Tombstones   int                `json:"deletion_tombstones_applied"`
	Unresolvable int                `json:"unresolvable_pointers"`
	Refused      map[string]tally   `json:"refused_references"`
	Quarantined  map[string]tally   `json:"quarantined_vectors"`
	Normalised   map[string]int     `json:"normalised_vectors"`
	Skipped      skippedLines       `json:"skipped_lines"`
	Ignored      ignoredFiles       `json:"ignored_files"`
	LegacyStore  string             `json:"legacy_store_ignored,omitempty"` // newest date of an old multi/ folder
	Retries      int                `json:"load_retries_from_concurrent_reindex"`
	LoadedAt     string             `json:"index_loaded_at"`
	Links        *linkStatus        `json:"links,omitempty"` // nil while the notes are being read for them
	Note         string             `json:"note"`
	CoverageNote string             `json:"coverage_note"`
	Warnings     []string           `json:"warnings"`
}

// Freshness counts the notes of the index by what became of them, and the
// notes that are not in it.
type Freshness struct {
	Fresh         int `json:"fresh"`
	Stale         int `json:"stale"`
	Unknown       int `json:"unknown"`
	Missing       int `json:"missing"`
	Unreadable    int `json:"unreadable"`
	NotDownloaded int `json:"not_downloaded,omitempty"` // of the unreadable
	Excluded      int `json:"excluded"`
	NotIndexed    int `json:"not_indexed"`
}

type (
	tally      map[smartenv.Reason]int
	folderList map[string]vectorCount

	vectorCount struct {
		Notes  int `json:"notes"`
		Blocks int `json:"blocks"`
	}
	indexFile struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
	}
	vectors struct {
		Bytes      int64 `json:"bytes"`
		Rows       int64 `json:"rows"`       // 0 when the model is unknown
		Referenced int   `json:"referenced"` // items that use a row
	}
	skippedLines struct {
		Count int      `json:"count"`
		First []string `json:"first"`
	}
	ignoredFiles struct {
		Count int      `json:"count"`
		Names []string `json:"names"`
	}
	linkStatus struct {
		Behind        string       `json:"behind,omitempty"` // why this is not the newest state
		Notes         int          `json:"notes"`            // that were read
		Links         int          `json:"links"`
		Unreadable    ignoredFiles `json:"unreadable"`
		BadProperties skippedLines `json:"bad_properties"` // notes whose frontmatter is not valid YAML
	}
)

func indexStatus() tool {
	return tool{
		name:  "index_status",
		title: "Index status",
		description: `Tells what part of the vault can be searched and whether the index is sound. Use it when other tools return little or a warning, when asked whether the vault is up to date, and for the names of folders.

Read warnings first; each says what the user can do. embedded_notes and embedded_blocks (sections) can be found; notes_not_indexed and notes_missing_on_disk cannot; stale_* are ranked by an older text. folders: two levels, with vectors. links: notes read for links, properties that cannot be read. The rest is for diagnosis.`,
		input:  statusInputSchema,
		output: statusOutputSchema,
		run: func(ctx context.Context, s *Server, a *args) (any, error) {
			if err := a.err(); err != nil {
				return nil, err
			}
			return s.Status(ctx)
		},
	}
}

// Status describes the index as it is now. The error says why there is none.
func (s *Server) Status(ctx context.Context) (StatusOutput, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return StatusOutput{}, err
	}
	name, ready := s.name()
	if name == "" {
		name = snap.Model.Name // nothing is loaded yet; what will be is the vault's own
	}
	status := snap.Status
	out := StatusOutput{
		Vault:           s.vaultName(),
		Generation:      snap.Generation,
		Model:           snap.Model.Name,
		Fingerprint:     snap.Fingerprint,
		Dims:            snap.Model.Dims,
		ConfiguredModel: snap.Configured.Name,
		QueryEmbedder:   name,
		EmbedderReady:   ready,
		EmbedderMatches: name == snap.Model.Name,
		Behind:          s.scrub(snap.Behind),
		EmbeddedNotes:   len(snap.Notes.Items),
		EmbeddedBlocks:  len(snap.Blocks.Items),
		StaleNotes:      staleItems(snap.Notes.Items),
		StaleBlocks:     staleItems(snap.Blocks.Items),
		MissingNotes:    status.Notes.Missing,
		NotIndexed:      status.Notes.NotIndexed,
		Freshness:       freshness(snap),
		BlocksTotal:     status.Blocks.Total,
		BlocksWaiting:   status.Blocks.Wanted,
		NotesWithout:    withoutVector(snap),
		InlineFiles:     status.InlineFiles,
		Ghosts:          status.Ghosts,
		Records:         status.Records,
		Tombstones:      status.Tombstones,
		Unresolvable:    unresolvable(status.Refused),
		Refused:         tallies(status.Refused),
		Quarantined:     tallies(status.Quarantined),
		Normalised:      orEmpty(status.Normalised),
		Skipped:         skippedLines{status.SkippedLines, first(status.SkippedFirst)},
		Ignored:         ignoredFiles{len(status.IgnoredFiles), first(status.IgnoredFiles)},
		Retries:         status.Retries,
		LoadedAt:        snap.LoadedAt.UTC().Format(time.RFC3339),
		Note:            statusNote(snap.Settings),
		CoverageNote:    "A note's vector covers only the beginning of a long note; the vectors of its sections cover more of it. Text that no vector covers cannot be found by search_notes.",
		Warnings:        []string{},
	}
	var finding string
	if out.EmbedderProof, finding = s.proved(snap.Model); out.EmbedderProof.Verdict == proofRefused {
		out.Refusal = finding
	}
	if snap.Refusal != nil {
		out.Refusal = snap.Refusal.Error()
	}
	if newest := status.LegacyNewest; !newest.IsZero() {
		out.LegacyStore = newest.UTC().Format(time.DateOnly)
	}
	out.files(status)
	out.listFolders(snap)
	out.Links = s.linkStatus(ctx)
	if lack := s.lacking.Load(); lack != nil && lack.model == snap.Model {
		finding = "search_notes cannot embed queries: " + s.scrubError(lack.err).Error() + " (related_notes and get_note need no model and still work)"
	}
	out.warn(snap, finding)
	out.fit()
	return out, nil
}

// linkPatience is how long index_status waits for notes that are read for their
// links: a large vault on a slow disk takes longer, and then the next call has them.
const linkPatience = 2 * time.Second

// linkStatus tells what was read for links and properties; nil when that is not known
// within linkPatience.
func (s *Server) linkStatus(ctx context.Context) *linkStatus {
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	graph, err := s.graph(ctx)
	if err != nil {
		if graph = s.links.Peek(); graph == nil {
			return nil
		}
	}
	out := &linkStatus{Behind: s.scrub(graph.Behind), Notes: len(graph.Notes), Unreadable: ignoredFiles{len(graph.Unreadable), first(graph.Unreadable)}}
	var bad []string
	for i := range graph.Notes {
		n := &graph.Notes[i]
		out.Links += len(n.Links)
		if n.BadYAML != "" {
			bad = append(bad, n.Path+": "+n.BadYAML)
		}
	}
	out.BadProperties = skippedLines{len(bad), first(bad)}
	return out
}

// vaultName is the name of the vault's folder, all that clients are told. A whole
// drive or share is named as such.
func (s *Server) vaultName() string { return folderName(s.vault.Root()) }

func folderName(dir string) string {
	volume := filepath.VolumeName(dir)
	if name := filepath.Base(dir); name != string(filepath.Separator) || volume == "" {
		return name
	}
	return volume[strings.LastIndexByte(volume, '\\')+1:]
}

func statusNote(set smartenv.Settings) string {
	return fmt.Sprintf("Vectors are those that the Smart Connections plugin stored. It gives none to notes of %d bytes or fewer and to sections shorter than %d characters.", set.NoteMinBytes, set.MinChars)
}

func staleItems(items []smartenv.Item) (count int) {
	for i := range items {
		if items[i].Stale {
			count++
		}
	}
	return count
}

func freshness(snap *smartenv.Snapshot) Freshness {
	n := snap.Status.Notes
	return Freshness{
		Fresh:         n.Live - n.Stale - n.Unknown - n.Missing - n.Unreadable - n.Excluded,
		Stale:         n.Stale,
		Unknown:       n.Unknown,
		Missing:       n.Missing,
		Unreadable:    n.Unreadable,
		NotDownloaded: n.NotDownloaded,
		Excluded:      n.Excluded,
		NotIndexed:    n.NotIndexed,
	}
}

func withoutVector(snap *smartenv.Snapshot) tally {
	t := tally{}
	for i := range snap.Sources {
		if reason := snap.Sources[i].Reason; reason != "" {
			t[reason]++
		}
	}
	return t
}

// unresolvable counts references to rows that are not there.
func unresolvable(refused map[string]map[smartenv.Reason]int) (count int) {
	for _, reasons := range refused {
		count += reasons["out_of_range"] + reasons["missing_multifile"] + reasons["bad_row"]
	}
	return count
}

func (o *StatusOutput) files(status smartenv.Status) {
	o.Shards, o.Multifiles, o.FilesInUse = []indexFile{}, map[string]vectors{}, map[string]int{}
	for _, f := range status.Shards {
		o.Shards = append(o.Shards, indexFile{f.Name, f.Size})
	}
	for _, f := range status.Multifiles {
		o.Multifiles[f.Name] = vectors{f.Size, f.Rows, f.Referenced}
		if f.Referenced > 0 {
			o.FilesInUse[f.Name] = f.Referenced
		}
	}
}

// listFolders keeps the folders with the most vectors.
func (o *StatusOutput) listFolders(snap *smartenv.Snapshot) {
	all := search.Folders(snap, folderDepth)
	slices.SortStableFunc(all, func(a, b search.Folder) int { return b.Notes + b.Blocks - a.Notes - a.Blocks })
	shown := all[:min(len(all), shownFolders)]
	o.Folders, o.FoldersLeftOut = folderList{}, len(all)-len(shown)
	for _, f := range shown {
		o.Folders[f.Path] = vectorCount{f.Notes, f.Blocks}
	}
}

func (o *StatusOutput) warn(snap *smartenv.Snapshot, finding string) {
	o.Warnings = append(o.Warnings, first(snap.Warnings)...)
	// The index says most of it itself; it does not know what embeds the queries.
	if o.Refusal != "" && !slices.Contains(o.Warnings, o.Refusal) {
		o.Warnings = append(o.Warnings, o.Refusal)
	}
	if finding != "" && finding != o.Refusal {
		o.Warnings = append(o.Warnings, finding)
	}
	if o.Behind != "" {
		o.Warnings = append(o.Warnings, o.Behind)
	}
	if o.Links != nil && o.Links.BadProperties.Count > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the properties of %d notes cannot be read, so filters and aliases do not know them: mend the YAML of those under links.bad_properties", o.Links.BadProperties.Count))
	}
	if !o.EmbedderMatches && o.Refusal == "" {
		o.Warnings = append(o.Warnings, fmt.Sprintf("queries would be embedded with %q but the vault's vectors belong to %q: start the server with the weights of that model (SMART_MODEL_PATH)", o.QueryEmbedder, o.Model))
	}
}

// fit drops the smallest folders until the answer is small enough. All other
// lists are short by construction.
func (o *StatusOutput) fit() {
	for size(o) > maxAnswer && len(o.Folders) > 0 {
		paths := slices.SortedFunc(maps.Keys(o.Folders), func(a, b string) int {
			most := o.Folders[b].Notes + o.Folders[b].Blocks - o.Folders[a].Notes - o.Folders[a].Blocks
			return cmp.Or(most, strings.Compare(a, b))
		})
		for _, p := range paths[len(paths)/2:] {
			delete(o.Folders, p)
			o.FoldersLeftOut++
		}
	}
}

// first returns the first names of a list, each shortened; never nil.
func first(names []string) []string {
	shown := []string{}
	for _, name := range names[:min(len(names), shownNames)] {
		shown = append(shown, shorten(strings.TrimSpace(name), 500))
	}
	return shown
}

func tallies(counts map[string]map[smartenv.Reason]int) map[string]tally {
	out := map[string]tally{}
	for collection, reasons := range counts {
		out[collection] = orEmpty(tally(reasons))
	}
	return out
}

func orEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

const statusInputSchema = `{"type": "object", "properties": {}, "additionalProperties": false}`

const statusOutputSchema = `{
  "type": "object",
  "properties": {
    "vault": {"type": "string"},
    "model": {"type": "string"},
    "embedded_notes": {"type": "integer"},
    "embedded_blocks": {"type": "integer"},
    "warnings": ` + stringArray + `
  },
  "required": ["vault", "model", "embedded_notes", "embedded_blocks", "warnings"]
}`
