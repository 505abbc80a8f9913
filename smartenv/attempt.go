package smartenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// An attempt reads the index once. For a packed index its steps are in the order
// of format section 12: the log, then the vectors (which the plugin writes first),
// then a look whether all of it still fits together. In an inline index each
// file stands for itself, so the look is part of reading it.
type attempt struct {
	*loader
	force bool // go on although a multifile seems to be missing for a moment only

	files      listing
	settings   config
	incomplete string // what could not be read of the settings
	counts     lineCounts
	table      *inlineTable // of an inline index
	older      *base        // what the load before has left; nil when there is nothing to build on
	diff       difference   // of scan, from older's
	scan       *scan
	partial    bool // not all notes were examined for it
	refs       found
	choice     choice
	pools      []*pool // notes, blocks
	snap       *Snapshot
}

func (a *attempt) run(ctx context.Context) error {
	for _, step := range a.steps() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) steps() []func(context.Context) error {
	return []func(context.Context) error{a.list, a.configure, a.readRecords, a.scanNotes, a.readVectors, a.verify, a.describe}
}

// list finds the index's files and remembers what stood there before anything was
// read.
func (a *attempt) list(ctx context.Context) (err error) {
	a.files, err = list(ctx, a.in)
	if err != nil && a.files.swapping() {
		return &retryError{"smart_sources.ajson is missing beside its backup, so the plugin is replacing it, or a crash cut that short (then quit Obsidian and rename smart_sources.ajson.bak)"}
	}
	if err != nil {
		return a.unlisted(err)
	}
	if err := a.checkBusy(&a.files, a.force); err != nil {
		return err
	}
	a.older, a.base = a.base, nil // if what follows fails, who knows what is left
	return nil
}

// configure reads the settings.
func (a *attempt) configure(ctx context.Context) (err error) {
	a.settings, a.incomplete, err = a.readConfig(ctx, a.files.infos)
	a.snap = &Snapshot{
		Generation: "packed",
		Configured: a.settings.model,
		Settings:   a.settings.settings,
		LoadedAt:   time.Now(),
	}
	if a.files.isInline {
		a.snap.Generation = "inline"
	}
	return err
}

// readRecords brings the records up to date.
func (a *attempt) readRecords(ctx context.Context) (err error) {
	if a.files.isInline {
		return a.readInline(ctx)
	}
	if a.inline.files != nil { // let go of what an update of the plugin has packed
		a.inline, a.lastScan = inlineStore{}, nil
	}
	if a.replay, err = a.replay.update(ctx, a.in, a.files.shards); err != nil {
		return err
	}
	if a.lastScan != nil && a.replay.unfinished(a.lastScan) {
		return &retryError{"the log lacks notes that it had a moment ago, so it is being written anew"}
	}
	a.records, a.counts = a.replay.records, a.replay.counts
	return nil
}

// scanNotes looks at the notes on disk: at all of them, or, when there are many and
// that was done a moment ago, at those with another record than then.
func (a *attempt) scanNotes(ctx context.Context) (err error) {
	a.excluded = excluder(a.settings.settings.exclusions)
	if older := a.older; older != nil && (a.files.isInline || !reflect.DeepEqual(older.settings, a.settings.settings) ||
		!maps.EqualFunc(older.multifiles, a.files.multifiles, slices.Equal)) {
		a.older = nil
	}
	if a.older != nil && len(a.records) > a.few && time.Now().Before(a.rescanAt) {
		a.partial = true
		a.scan, err = a.lastScan.update(ctx, a.fresh, a.records, a.excluded)
	} else {
		a.scan, err = scanNotes(ctx, a.fresh, a.records, a.excluded)
	}
	if err == nil && a.older != nil {
		a.diff = a.scan.since(a.older.scan)
	}
	return err
}

// readVectors chooses the model and fills the snapshot's collections.
func (a *attempt) readVectors(ctx context.Context) (err error) {
	open := a.openPacked
	if a.files.isInline {
		open = a.openInline
	}
	ch, err := open()
	if err != nil {
		return err
	}
	a.choice = ch
	a.snap.Model, a.snap.Fingerprint, a.snap.Refusal = ch.model, ch.fingerprint, ch.refusal
	a.snap.warn(ch.warning)
	if ch.refusal != nil {
		a.snap.warn(ch.refusal.Error())
	}
	for _, p := range a.pools {
		p.closed = ch.refusal != nil
	}
	if !a.files.isInline {
		if err := a.keepVectors(); err != nil {
			return err
		}
	}
	err = a.snap.assemble(ctx, a.scan, a.fresh, a.pools[0], a.pools[1], a.older, a.diff)
	if err == nil && !a.files.isInline && crossed(a.pools[0], a.pools[1]) {
		return a.refuseCrossed(ctx)
	}
	return err
}

// crossed says whether the multifiles of notes and blocks, which have one name,
// stand in each other's place: references lead beyond the end, and all would fit
// into the other file. Where the two have about as many rows that does not show.
func crossed(notes, blocks *pool) bool {
	return notes.refused[reasonOutOfRange]+blocks.refused[reasonOutOfRange] > 0 &&
		notes.maxRow < blocks.file.rows && blocks.maxRow < notes.file.rows
}

// refuseCrossed makes the snapshot one without vectors.
func (a *attempt) refuseCrossed(ctx context.Context) error {
	lost := a.pools[0].refused[reasonOutOfRange] + a.pools[1].refused[reasonOutOfRange]
	a.choice.refusal = refusal(fmt.Sprintf("the vector files of notes and blocks, both named %s, seem to be in each other's folder (%s past the end of one would fit into the other): "+
		"exchange the two below .smart-env, or re-index in the plugin's settings", a.choice.fingerprint, count(lost, "reference")))
	a.snap.Refusal = a.choice.refusal
	a.snap.warn(a.snap.Refusal.Error())
	a.snap.Status = Status{}
	a.older, a.diff = nil, difference{}
	for i, p := range a.pools {
		a.pools[i] = newPool(p.name, p.fingerprint, p.file, p.read)
		a.pools[i].closed = true
	}
	return a.snap.assemble(ctx, a.scan, a.fresh, a.pools[0], a.pools[1], nil, a.diff)
}

// keepVectors takes over the vectors of multifiles that are still the ones that
// were read, or decides that nothing can be built on what the load before left,
// but for vectors that may be found again.
func (a *attempt) keepVectors() error {
	older := a.older
	if older != nil && (a.choice != older.choice || a.choice.refusal != nil) {
		a.older = nil
	}
	for i, p := range a.pools {
		if older != nil && older.pools[i].store.continues(p.file, a.snap.Model.Dims) {
			p.store = older.pools[i].store
		} else {
			a.older = nil
			if older != nil && older.pools[i].store.dims == a.snap.Model.Dims {
				p.store = older.pools[i].store
				p.store.renumber()
			}
		}
		if older != nil && !older.pools[i].sound() {
			a.older = nil
		}
		if err := p.store.follow(p.file); err != nil {
			return err
		}
	}
	return nil
}

// openPacked chooses among the models of the multifiles and opens the pools.
func (a *attempt) openPacked() (choice, error) {
	a.countReferences()
	ch := chooseModel(a.snap.Configured, a.refs, a.model, knownModel)
	if ch.model.Dims == 0 && ch.refusal == nil {
		ch.model.Dims = deriveDims(a.records, ch.fingerprint, a.files.infos)
		if ch.model.Dims == 0 && a.refs.readable[ch.fingerprint] > 0 {
			ch.refusal = refusal(fmt.Sprintf("the vault's model %s has no number of dimensions in its settings, and its vector files do not tell: choose the model again in the plugin's settings", ch.model.Name))
		}
	}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		file, err := openMultifile(a.in, collection, ch.fingerprint, max(1, ch.model.Dims), a.files.infos)
		if err != nil {
			return ch, err
		}
		a.pools = append(a.pools, newPool(collection, ch.fingerprint, file, file.read))
	}
	return ch, nil
}

// countReferences counts the references of all records, by what has changed.
func (a *attempt) countReferences() {
	if a.older == nil {
		a.refs = found{map[string]int{}, map[string]int{}}
		for _, rec := range a.records {
			a.refs.count(rec, a.files.multifiles, 1)
		}
		return
	}
	a.refs = found{maps.Clone(a.older.refs.readable), maps.Clone(a.older.refs.lost)}
	for _, i := range a.diff.gone {
		a.refs.count(a.older.scan.notes[i].rec, a.files.multifiles, -1)
	}
	for i, was := range a.diff.same {
		if was < 0 {
			a.refs.count(a.scan.notes[i].rec, a.files.multifiles, 1)
		}
	}
}

// verify checks that the vectors that were read are those the log points to: every
// file is still in its place, the plugin has not begun to renumber rows, and no
// reference was taken back meanwhile. The second matters because the plugin's
// Optimize swaps the vector files first and the log last, and in between only
// *.optimize.tmp tells; the third because its Re-index takes back all references
// before it deletes the vector files, and a new file may look like the old one
// that grew.
func (a *attempt) verify(ctx context.Context) error {
	if a.files.isInline {
		return nil
	}
	for _, p := range a.pools {
		if err := p.file.verify(); err != nil {
			return err
		}
		if f := p.file; p.refused[reasonOutOfRange] > 0 && f.size < a.sizes[f.name] && young(f.info.ModTime()) {
			return &retryError{f.name + " is shorter than a moment ago, so it is being written anew"}
		}
	}
	files, err := listFew(a.in)
	if gone := (*GenerationError)(nil); errors.As(err, &gone) {
		return &retryError{"the index's files changed while they were read"}
	}
	if err != nil {
		return err
	}
	if err := a.checkBusy(&files, a.force); err != nil {
		return err
	}
	for _, name := range []string{settingsFile, modelsFile} { // which say whose vectors these are
		if !untouched(a.files.infos[name], files.infos[name]) {
			return &retryError{name + " changed while the index was read"}
		}
	}
	read, changes := a.replay, a.replay.changes
	if a.replay, err = read.update(ctx, a.in, files.shards); err != nil {
		return err
	}
	if a.replay != read {
		return &retryError{"the log was rewritten while the index was read"}
	}
	if a.replay.changes == changes {
		return nil
	}
	for i := range a.scan.notes {
		rec := a.scan.notes[i].rec
		if now := a.replay.records[rec.path]; now != rec && !now.keeps(rec, a.snap.Fingerprint) {
			return &retryError{"references were taken back while the index was read"}
		}
	}
	return nil
}

// describe fills in the status and the warnings.
func (a *attempt) describe(ctx context.Context) error {
	a.describeFiles(ctx)
	a.warnFiles()
	for _, p := range a.pools {
		a.snap.warnReferences(p, &a.files)
	}
	a.snap.warnNotes(a.scan)
	a.snap.warn(a.incomplete)
	if a.lastScan = a.scan; !a.partial {
		a.scanned(a.scan)
	}
	if a.table != nil {
		a.table.adopt(a.pools, &a.snap.Notes, &a.snap.Blocks)
		return nil
	}
	a.replay.trusted, a.sizes = true, map[string]int64{}
	for _, p := range a.pools {
		a.sizes[p.file.name] = p.file.size
	}
	a.base = &base{a.settings.settings, a.files.multifiles, a.scan, a.refs, a.choice, a.pools, a.snap}
	return nil
}
