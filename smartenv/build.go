package smartenv

import (
	"context"
	"maps"
	"sort"
)

// A pool gathers the items of one collection that have an accepted reference,
// and turns them into it.
type pool struct {
	*acceptor
	name    string // collection
	read    readRows
	rounded bool   // vectors were rounded on their way to the disk
	items   []Item // in their order
	rows    []int64
	store   *store
	bad     map[Reason]int
	scaled  int
}

// readRows copies rows of vectors: row rows[i] to dst[i*dims:(i+1)*dims].
type readRows func(ctx context.Context, dst []float32, rows []int64, dims int) error

func newPool(name, fingerprint string, file *multifile, read readRows) *pool {
	return &pool{name: name, acceptor: newAcceptor(fingerprint, file), read: read, store: &store{}, bad: map[Reason]int{}}
}

// goOn makes the counts those of an earlier pool, which what has changed is
// subtracted from and added to.
func (p *pool) goOn(from *pool) {
	p.refused, p.accepted, p.maxRow = maps.Clone(from.refused), from.accepted, from.maxRow
}

// sound says whether an item's row and reason follow from the item alone, so that
// they stay while the item does: nothing was wrong with the file.
func (p *pool) sound() bool {
	return !p.file.missing && p.refused[reasonOutOfRange] == 0 && len(p.bad) == 0
}

// add appends an item.
func (p *pool) add(item Item, row int64) {
	p.items, p.rows = append(p.items, item), append(p.rows, row)
}

// load reads the items' rows and returns the collection of those that have a
// direction.
func (p *pool) load(ctx context.Context, s *Snapshot) (c Collection, err error) {
	tolerance := unitTolerance
	if p.rounded {
		tolerance = unitRounding
	}
	c.Dims = s.Model.Dims
	if err := p.store.load(ctx, p.read, p.rows, c.Dims, tolerance); err != nil {
		return c, err
	}
	p.quarantine(s)
	c.Items, c.Vectors, c.places = p.items, p.store.vectors, make([]int32, len(p.rows))
	for i, row := range p.rows {
		c.places[i] = p.store.places[row]
		if p.store.states[row] == rowScaled {
			p.scaled++
		}
	}
	return c, nil
}

// quarantine takes out the items whose row has no direction.
func (p *pool) quarantine(s *Snapshot) {
	kept := 0
	for i, row := range p.rows {
		if bad := p.store.states[row].bad(); bad != "" {
			p.bad[bad]++
			if p.name == sourcesCollection {
				s.Sources[p.items[i].Source].Reason = bad
			}
			continue
		}
		if kept < i {
			p.items[kept], p.rows[kept] = p.items[i], row
		}
		kept++
	}
	p.items, p.rows = p.items[:kept], p.rows[:kept]
}

// assemble builds the parts of a snapshot that depend on the notes: Sources,
// Notes, Blocks and the counters about them. With a refusal the pools accept
// nothing, and both collections stay empty. What a note is made of is taken over
// from base, unless that is nil, where diff says that nothing has changed.
func (s *Snapshot) assemble(ctx context.Context, sc *scan, fresh *freshness, notes, blocks *pool, base *base, diff difference) error {
	s.Sources = make([]Source, len(sc.notes))
	s.reserve(sc, notes, blocks)
	if base != nil {
		notes.goOn(base.pools[0])
		blocks.goOn(base.pools[1])
		s.Status.Blocks.Wanted, s.Status.Blocks.Total = base.snap.Status.Blocks.Wanted, base.snap.Status.Blocks.Total
		for _, i := range diff.gone {
			s.subtract(&base.scan.notes[i], notes, blocks)
		}
	}
	for i := range sc.notes {
		if base != nil && diff.same[i] >= 0 {
			s.takeOver(i, diff.same[i], notes, blocks, base)
		} else {
			s.addSource(i, &sc.notes[i], fresh, notes, blocks)
		}
	}
	s.Status.Notes.NotIndexed, s.Status.Notes.Unlisted = len(sc.unindexed), sc.unlisted
	for _, part := range []struct {
		pool *pool
		into *Collection
	}{{notes, &s.Notes}, {blocks, &s.Blocks}} {
		var err error
		if *part.into, err = part.pool.load(ctx, s); err != nil {
			return err
		}
	}
	if len(notes.bad)+len(blocks.bad) > 0 {
		s.link()
	}
	s.countItems(notes, blocks)
	return nil
}

// reserve makes room for as many items as there can be.
func (s *Snapshot) reserve(sc *scan, notes, blocks *pool) {
	if notes.closed {
		notes.items, blocks.items = []Item{}, []Item{}
		return
	}
	count := 0
	for i := range sc.notes {
		count += len(sc.notes[i].rec.blocks)
	}
	notes.items, notes.rows = make([]Item, 0, len(sc.notes)), make([]int64, 0, len(sc.notes))
	blocks.items, blocks.rows = make([]Item, 0, count), make([]int64, 0, count)
}

// takeOver makes Sources[i] the one at place was of base, with its items.
func (s *Snapshot) takeOver(i, was int, notes, blocks *pool, base *base) {
	src := base.snap.Sources[was]
	if row := src.Row; row >= 0 {
		src.Row = len(notes.items)
		notes.add(base.snap.Notes.Items[row], base.pools[0].rows[row])
		notes.items[src.Row].Source = i
	}
	if from, end := src.BlockRows[0], src.BlockRows[1]; from < end {
		first := len(blocks.items)
		blocks.items = append(blocks.items, base.snap.Blocks.Items[from:end]...)
		blocks.rows = append(blocks.rows, base.pools[1].rows[from:end]...)
		for j := first; i != was && j < len(blocks.items); j++ {
			blocks.items[j].Source = i
		}
		src.BlockRows = [2]int{first, len(blocks.items)}
	}
	s.Sources[i] = src
}

// subtract takes a note that was counted out of the counters.
func (s *Snapshot) subtract(n *noteState, notes, blocks *pool) {
	_, reason := notes.judge(n.rec.refs, n.rec.hash)
	notes.count(reason, -1)
	for j := range n.rec.blocks {
		b := &n.rec.blocks[j]
		_, reason := blocks.judge(b.refs, b.hash)
		blocks.count(reason, -1)
		if reason != "" && b.shouldEmbed && n.ranked() {
			s.Status.Blocks.Wanted--
		}
	}
	s.Status.Blocks.Total -= len(n.rec.blocks)
}

// ranked says whether the note's vectors are among those that are ranked.
func (n *noteState) ranked() bool { return n.state != Missing && n.state != Excluded }

// addSource fills in Sources[i] and adds the note and its blocks to the pools.
func (s *Snapshot) addSource(i int, n *noteState, fresh *freshness, notes, blocks *pool) {
	rec, src := n.rec, &s.Sources[i]
	*src = Source{
		Path: rec.path, State: n.state, Hash: rec.hash, Row: -1,
		Size: n.info.Size, ModTime: n.info.ModTime,
	}
	row, reason := notes.row(rec.refs, rec.hash)
	src.Reason = s.noteReason(n, reason)
	if reason == reasonOutdated && src.State == Fresh {
		src.State = Stale
	}
	if reason == "" && n.ranked() {
		src.Row = len(notes.items)
		notes.add(Item{Path: rec.path, Hash: rec.hash, Stale: n.state == Stale, Source: i}, row)
	}
	first := len(blocks.items)
	for j := range rec.blocks {
		b := &rec.blocks[j]
		row, reason := blocks.row(b.refs, b.hash)
		if reason != "" && b.shouldEmbed && n.ranked() {
			s.Status.Blocks.Wanted++
		}
		if reason != "" || !n.ranked() {
			continue
		}
		blocks.add(Item{
			Path: rec.path, Key: b.key, Start: b.start, End: b.end, Hash: b.hash,
			Stale: fresh.staleBlock(rec, b, n.state), Source: i,
		}, row)
	}
	if first < len(blocks.items) {
		sort.Sort(byPlace{blocks.items[first:], blocks.rows[first:]})
		src.BlockRows = [2]int{first, len(blocks.items)}
	}
	s.Status.Blocks.Total += len(rec.blocks)
}

// byPlace sorts a note's blocks by first line, then key.
type byPlace struct {
	items []Item
	rows  []int64
}

func (p byPlace) Len() int { return len(p.items) }

func (p byPlace) Less(i, j int) bool {
	a, b := &p.items[i], &p.items[j]
	return a.Start < b.Start || a.Start == b.Start && a.Key < b.Key
}

func (p byPlace) Swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	p.rows[i], p.rows[j] = p.rows[j], p.rows[i]
}

// noteReason refines why a note has no vector.
func (s *Snapshot) noteReason(n *noteState, reason Reason) Reason {
	switch {
	case n.state == Missing:
		return reasonMissing
	case n.state == Excluded:
		return reasonExcluded
	case reason == reasonNotEmbedded && n.state != Unreadable && n.info.Size <= int64(s.Settings.NoteMinBytes):
		return reasonShort
	}
	return reason
}

// link records anew in Sources which rows belong to them, after some were taken
// out.
func (s *Snapshot) link() {
	for i := range s.Sources {
		s.Sources[i].Row, s.Sources[i].BlockRows = -1, [2]int{}
	}
	for row := range s.Notes.Items {
		s.Sources[s.Notes.Items[row].Source].Row = row
	}
	for row := range s.Blocks.Items {
		src := &s.Sources[s.Blocks.Items[row].Source]
		if src.BlockRows[1] == 0 {
			src.BlockRows[0] = row
		}
		src.BlockRows[1] = row + 1
	}
}

// countItems fills in the counters about notes, blocks and references.
func (s *Snapshot) countItems(notes, blocks *pool) {
	st := &s.Status
	st.Notes.Live = len(s.Sources)
	for i := range s.Sources {
		src := &s.Sources[i]
		switch src.State {
		case Stale:
			if src.Row >= 0 || src.Reason == reasonOutdated {
				st.Notes.Stale++
			}
		case Missing:
			st.Notes.Missing++
		case Unreadable:
			st.Notes.Unreadable++
		case Excluded:
			st.Notes.Excluded++
		case Unknown:
			st.Notes.Unknown++
		}
	}
	st.Notes.Referenced, st.Notes.WithVector = notes.accepted, len(s.Notes.Items)
	st.Blocks.Referenced, st.Blocks.WithVector = blocks.accepted, len(s.Blocks.Items)
	st.Blocks.Stale = blocks.refused[reasonOutdated]
	for i := range s.Blocks.Items {
		if s.Blocks.Items[i].Stale {
			st.Blocks.Stale++
		}
	}
	st.Refused, st.Quarantined, st.Normalised = map[string]map[Reason]int{}, map[string]map[Reason]int{}, map[string]int{}
	for _, p := range []*pool{notes, blocks} {
		st.Refused[p.name], st.Quarantined[p.name], st.Normalised[p.name] = p.refused, p.bad, p.scaled
	}
}
