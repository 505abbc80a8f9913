package smartenv

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// readInline brings the records of an inline index up to date. A file that looked
// unfinished is read again at the next look.
func (a *attempt) readInline(ctx context.Context) error {
	if err := a.inline.update(ctx, a.in, a.files.inline); err != nil {
		return err
	}
	for i := range a.files.inline {
		if slices.Contains(a.inline.unsettled, a.files.inline[i].name) {
			a.files.inline[i].modTime = time.Time{}
		}
	}
	a.table = a.inline.table(a.settings)
	a.records, a.counts = a.table.records, a.inline.counts()
	return nil
}

// openInline chooses among the models of the table and opens the pools.
func (a *attempt) openInline() (choice, error) {
	a.refs = found{readable: map[string]int{}}
	for _, rec := range a.records {
		a.refs.add(rec.refs)
		for i := range rec.blocks {
			a.refs.add(rec.blocks[i].refs)
		}
	}
	a.snap.Configured = a.table.configured(a.settings.inlineModel(), a.refs)
	ch := chooseModel(a.snap.Configured, a.refs, a.model, func(fingerprint string) (Model, bool) {
		m, ok := a.table.models[fingerprint]
		return m, ok
	})
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		p := newPool(collection, ch.fingerprint, &multifile{name: inlineFolder, rows: int64(len(a.table.rows))}, a.table.read)
		p.lenient, p.rounded = true, true
		a.pools = append(a.pools, p)
	}
	return ch, nil
}

// add counts references whose vectors are at hand.
func (f found) add(refs []reference) {
	for _, ref := range refs {
		f.readable[ref.fingerprint]++
	}
}

// configured returns the model of the settings as the records know it. They tell
// a model by its key and the length of its vectors: when there are vectors of the
// key but not of the length in the settings, that length is wrong (it was
// guessed, or changed), and the one most vectors have is meant.
func (t *inlineTable) configured(m Model, f found) Model {
	if f.readable[m.Fingerprint()] > 0 {
		return m
	}
	best, most := m, 0
	for _, fingerprint := range slices.Sorted(maps.Keys(t.models)) {
		if other := t.models[fingerprint]; other.Name == m.Name && f.readable[fingerprint] > most {
			best, most = other, f.readable[fingerprint]
		}
	}
	return best
}

// warnInline says once what an inline index means, and what is odd about its
// files.
func (a *attempt) warnInline() {
	snap := a.snap
	snap.warn("the index is of the older inline kind (.smart-env/multi, Smart Connections 2.1 to 4.5); it is read as it is: " +
		"update the plugin to 4.7 or later for an index that is smaller and loads faster")
	snap.warnIf(len(a.inline.unreadable), "file", "%s of .smart-env/multi cannot be read (%s), so what the notes are ranked by may be missing or old: check the permissions",
		strings.Join(a.inline.unreadable[:min(2, len(a.inline.unreadable))], ", "))
}

// describeInline fills in the status of the files of an inline index.
func (a *attempt) describeInline() {
	st := &a.snap.Status
	var size int64
	for i := range a.files.inline {
		size += a.files.inline[i].size
	}
	st.Shards = []File{{Name: inlineFolder, Size: size}}
	st.IgnoredFiles = slices.Concat(st.IgnoredFiles, a.table.copies)
	st.InlineFiles, st.Ghosts = len(a.files.inline), a.table.ghosts+a.table.orphans
}
