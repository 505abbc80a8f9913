package smartenv

import (
	"context"
	"fmt"
	"time"
)

// An attempt reads the index once. For a packed index its steps are in the order
// of format section 12: the log, then the vectors (which the plugin writes first),
// then a look whether all of it still fits together. In an inline index each
// file stands for itself, so the look is part of reading it.
type attempt struct {
	*loader
	force bool // go on although the plugin seems to renumber rows

	files      listing
	settings   config
	incomplete string // what could not be read of the settings
	counts     lineCounts
	table      *inlineTable // of an inline index
	scan       *scan
	refs       found
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
func (a *attempt) list(context.Context) (err error) {
	a.files, err = list(a.dir)
	if err != nil && a.files.swapping() {
		return &retryError{"smart_sources.ajson is missing beside its backup, so the plugin is replacing it, or a crash cut that short (then quit Obsidian and rename smart_sources.ajson.bak)"}
	}
	if err != nil {
		return err
	}
	return a.checkBusy(&a.files, a.force)
}

// configure reads the settings.
func (a *attempt) configure(ctx context.Context) (err error) {
	a.settings, a.incomplete, err = a.readConfig(ctx)
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
	a.inline = inlineStore{} // let go of what an update of the plugin has packed
	if a.replay, err = a.replay.update(ctx, a.dir, a.files.shards); err == nil {
		a.records, a.counts = a.replay.records, a.replay.counts
	}
	return err
}

// scanNotes looks at the notes on disk.
func (a *attempt) scanNotes(ctx context.Context) (err error) {
	a.excluded = excluder(a.settings.settings.exclusions)
	a.scan, err = scanNotes(ctx, a.fresh, a.records, a.excluded)
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
	a.snap.Model, a.snap.Fingerprint, a.snap.Refusal = ch.model, ch.fingerprint, ch.refusal
	a.snap.warn(ch.warning)
	if ch.refusal != nil {
		a.snap.warn(ch.refusal.Error())
	}
	for _, p := range a.pools {
		p.closed = ch.refusal != nil
	}
	return a.snap.assemble(ctx, a.scan, a.fresh, a.pools[0], a.pools[1])
}

// openPacked chooses among the models of the multifiles and opens the pools.
func (a *attempt) openPacked() (choice, error) {
	a.refs = countReferences(a.records, a.files.multifiles)
	ch := chooseModel(a.snap.Configured, a.refs, a.model, knownModel)
	if ch.model.Dims == 0 && ch.refusal == nil {
		ch.model.Dims = deriveDims(a.records, ch.fingerprint, a.files.infos)
		if ch.model.Dims == 0 && a.refs.readable[ch.fingerprint] > 0 {
			ch.refusal = refusal(fmt.Sprintf("the vault's model %s has no number of dimensions in its settings, and its vector files do not tell: choose the model again in the plugin's settings", ch.model.Name))
		}
	}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		file, err := openMultifile(a.dir, collection, ch.fingerprint, max(1, ch.model.Dims), a.files.infos)
		if err != nil {
			return ch, err
		}
		a.pools = append(a.pools, newPool(collection, ch.fingerprint, file, file.read))
	}
	return ch, nil
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
	}
	files, err := list(a.dir)
	if err != nil {
		return &retryError{"the index's files changed while they were read"}
	}
	if err := a.checkBusy(&files, a.force); err != nil {
		return err
	}
	read := a.replay
	if a.replay, err = read.update(ctx, a.dir, files.shards); err != nil {
		return err
	}
	if a.replay != read {
		return &retryError{"the log was rewritten while the index was read"}
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
func (a *attempt) describe(context.Context) error {
	a.describeFiles()
	a.warnFiles()
	for _, p := range a.pools {
		a.snap.warnReferences(p, &a.files)
	}
	a.snap.warnNotes(a.scan)
	a.snap.warn(a.incomplete)
	a.scanned(a.scan)
	if a.table != nil {
		a.table.adopt(a.pools, &a.snap.Notes, &a.snap.Blocks)
	}
	return nil
}
