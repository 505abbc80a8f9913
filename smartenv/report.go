package smartenv

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"smart-connections-mcp/smartenv/disk"
)

// warn adds a sentence to the warnings, unless it is empty.
func (s *Snapshot) warn(sentence string) {
	if sentence != "" {
		s.Warnings = append(s.Warnings, sentence)
	}
}

// warnIf adds a sentence that begins with a number, unless the number is zero.
// format has one %s, for the number with its noun.
func (s *Snapshot) warnIf(n int, noun, format string, args ...any) {
	if n > 0 {
		s.warn(fmt.Sprintf(format, append([]any{count(n, noun)}, args...)...))
	}
}

// count returns "1 note" or "3 notes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// describeFiles fills in the status of the files and of the log.
func (a *attempt) describeFiles(ctx context.Context) {
	st := &a.snap.Status
	counts := a.counts
	st.Records, st.Tombstones = counts.records, counts.tombstones
	st.SkippedLines, st.SkippedFirst = counts.skipped, slices.Clone(counts.examples)
	st.IgnoredFiles, st.Retries = a.files.ignored, a.retries
	if a.files.isInline {
		a.describeInline()
		return
	}
	st.LegacyNewest = newestInline(ctx, a.in)
	for i := range a.replay.shards {
		sh := &a.replay.shards[i]
		st.Shards = append(st.Shards, File{Name: sh.name, Size: sh.info.Size()})
	}
	for _, p := range a.pools {
		for _, name := range a.files.multifiles[p.name] {
			if info := a.files.infos[p.name+"/"+name]; info != nil {
				st.Multifiles = append(st.Multifiles, p.describe(name, a.snap.Model, info.Size()))
			}
		}
	}
}

// describe returns one of the collection's files.
func (p *pool) describe(name string, model Model, size int64) File {
	f := File{Name: p.name + "/" + name, Size: size}
	m, _ := knownModel(name)
	if name == p.fingerprint {
		m, f.Referenced = model, p.accepted
		f.Size = max(f.Size, p.file.size)
	}
	if m.Dims > 0 {
		f.Rows = f.Size / int64(4*m.Dims)
	}
	return f
}

// warnFiles warns of what is odd about the set of files and the log's lines.
func (a *attempt) warnFiles() {
	snap, files := a.snap, &a.files
	if a.files.isInline {
		a.warnInline()
	}
	if len(files.rewriting) > 0 {
		snap.warn("the plugin's Optimize has left " + files.rewriting[0] + " behind, so vectors and notes may be mixed up: " +
			"wait until it has ended, and if it has not in a minute, re-index in the plugin's settings")
	}
	if newest := snap.Status.LegacyNewest; !newest.IsZero() {
		snap.warn("an older index (.smart-env/multi, last written " + newest.Format(time.DateOnly) +
			") lies beside the packed one; it is ignored and can be deleted")
	}
	if first := snap.Status.SkippedFirst; len(first) > 0 {
		snap.warnIf(snap.Status.SkippedLines, "line", "%s of the index's log could not be read and had no effect (first: %s): "+
			"notes they were about may be out of date until the plugin saves them again", first[0])
	}
	var conflicts []string
	for _, name := range snap.Status.IgnoredFiles {
		if !isLeftover(name) {
			conflicts = append(conflicts, name)
		}
	}
	snap.warnIf(len(conflicts), "file", "%s in the index's folders cannot be part of the index and will be ignored (%s): "+
		"conflict copies come from syncing .smart-env, which the plugin advises against", quoteFirst(conflicts))
	if want := snap.Configured.Fingerprint(); want != snap.Fingerprint {
		snap.warnIf(a.refs.lost[want], "reference", "%s to vectors of the configured model cannot be followed, since the multifile "+want+
			" is missing: let the sync finish, or let Smart Connections embed the vault again")
	}
}

// quoteFirst shows the first three names of a list.
func quoteFirst(names []string) string {
	var quoted []string
	for _, name := range names[:min(3, len(names))] {
		quoted = append(quoted, strconv.Quote(name))
	}
	if len(names) > len(quoted) {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}

// isLeftover says whether a file is one the plugin itself leaves for a moment, or
// one that file managers put everywhere.
func isLeftover(name string) bool {
	if strings.Contains(name, "/.") {
		return true
	}
	for _, suffix := range []string{".tmp", ".bak", ".backup"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// warnReferences warns of references of one collection that could not be
// followed, and of rows that were mended or left out.
func (s *Snapshot) warnReferences(p *pool, files *listing) {
	const reindex = "re-index in the plugin's settings if that does not pass"
	noun := "note"
	if p.name == blocksCollection {
		noun = "block"
	}
	name := p.file.name
	if p.refused[reasonNoFile] > 0 {
		hint := "let the sync finish, or re-index in the plugin's settings"
		if slices.Contains(files.ignored, name+".bak") {
			hint = "a crash has left it as " + name + ".bak; quit Obsidian and rename that to " + p.fingerprint + ", or re-index"
		}
		s.warnIf(p.refused[reasonNoFile], noun, "%s cannot be ranked, since the multifile "+name+" is missing or cannot be read: "+hint)
	}
	if n := p.refused[reasonOutOfRange]; n > 0 {
		s.warnIf(n, noun, "%s cannot be ranked, since the row lies past the end of "+name+": the file is older than the log; let the sync finish, "+reindex)
		if fit := fittingDims(p.file.size, p.maxRow); fit > 0 {
			s.warn(fmt.Sprintf("%s would fit vectors of %d values, but the model's have %d: check the model in the plugin's settings", name, fit, s.Model.Dims))
		}
	}
	s.warnIf(p.refused[reasonWrongFile]+p.refused[reasonBadRow], noun, "%s cannot be ranked, since the reference into "+name+" is damaged: "+reindex)
	s.warnIf(p.refused[reasonOutdated], noun, "%s changed without being embedded anew, so the old vector is not ranked (nor does the plugin rank it): open the vault in Obsidian and let it finish")
	s.warnIf(p.refused[reasonOtherModel], noun, "%s cannot be ranked, having vectors of another model only: let Smart Connections embed the vault with one model")
	bad := 0
	for _, n := range p.bad {
		bad += n
	}
	s.warnIf(bad, "vector", "%s of "+name+" had to be left out, not being finite or being zero: re-index in the plugin's settings")
	if s.Model.Provider == defaultModel().Provider {
		s.warnIf(p.scaled, "vector", "%s of "+name+" had to be scaled to the unit length that this model's should have: "+reindex)
	}
	if !p.closed && !p.file.missing && p.file.torn(max(1, s.Model.Dims)) {
		s.warn(name + " ends within a row, which is ignored: the plugin is writing it, or an append was cut off")
	}
}

// warnNotes warns of the difference between the index and the notes on disk.
func (s *Snapshot) warnNotes(sc *scan) {
	st := &s.Status
	if total := st.Notes.NotIndexed + st.Notes.Live - st.Notes.Missing - st.Notes.Excluded; st.Notes.NotIndexed > 0 {
		s.warnIf(st.Notes.NotIndexed, "note", "%s of %d on disk cannot be found, having no record in the index: open the vault in Obsidian and let Smart Connections finish", total)
	}
	if st.Notes.Live > 0 && st.Notes.Referenced == 0 && st.Blocks.Referenced == 0 && s.Refusal == nil {
		s.warn(s.emptyWarning())
	}
	s.warnIf(st.Blocks.Wanted, "block", "%s selected for embedding cannot be ranked, having no vector that can be used: open the vault in Obsidian and let Smart Connections finish")
	s.warnIf(st.Notes.Stale-s.outdatedNotes(), "note", "%s changed since being embedded, so results are marked stale: open the vault in Obsidian and let Smart Connections embed the new text")
	s.warnIf(st.Notes.Missing, "note", "%s of the index cannot be found on disk and will not be ranked: open the vault in Obsidian, and the plugin drops what is gone")
	away := sc.paths(func(n *noteState) bool { return n.away })
	st.Notes.NotDownloaded = len(away)
	s.warnIf(len(away), "note", "%s of the index can be found, but no text is shown, since iCloud keeps it elsewhere (%s): download the vault's folder in Finder", quoteFirst(away))
	if at := slices.IndexFunc(sc.notes, func(n noteState) bool { return n.trouble != nil }); at >= 0 {
		first := &sc.notes[at]
		s.warnIf(st.Notes.Unreadable-len(away), "note", "%s cannot be read (first: %q: %v), so the vectors may be out of date and no text is shown: %s",
			first.rec.path, disk.Cause(first.trouble), disk.Hint(first.trouble))
	}
	s.warnIf(st.Notes.Unlisted, "folder or file", "%s of the vault could not be listed: check permissions and names")
	s.warnIf(st.Notes.Unknown, "note", "%s cannot be compared with the text on disk, since the index holds no hash or one of an older plugin version: let Smart Connections import the vault again")
	refused := sc.paths(func(n *noteState) bool { return n.refused })
	s.warnIf(len(refused), "note", "%s of the index will be left out, since the path leads out of the vault or to no regular file of at most 64 MiB (%s): "+
		"move what is linked into the vault to have it searched", quoteFirst(refused))
	if !s.Settings.EmbedBlocks {
		s.warn("the plugin is set not to embed blocks, so sections of notes may be missing from the results: turn block embedding on in its settings")
	}
}

// emptyWarning explains an index without vectors.
func (s *Snapshot) emptyWarning() string {
	for i := range s.Sources {
		if s.Sources[i].Reason != reasonShort {
			return "the index has no vectors that can be used yet: open the vault in Obsidian and let Smart Connections embed it"
		}
	}
	return fmt.Sprintf("the index has no vectors, since every note is of %d bytes or fewer, which the plugin does not embed: write longer notes, or lower the minimum in its settings", s.Settings.NoteMinBytes)
}

// outdatedNotes counts the notes that are stale because the plugin itself knows
// their vector to be out of date.
func (s *Snapshot) outdatedNotes() (n int) {
	for i := range s.Sources {
		if s.Sources[i].Reason == reasonOutdated {
			n++
		}
	}
	return n
}
