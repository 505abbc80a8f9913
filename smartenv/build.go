package smartenv

import (
	"cmp"
	"context"
	"slices"
)

// A candidate is an item with an accepted reference whose row is yet to be read.
type candidate struct {
	item Item
	row  int64
}

// A pool gathers the candidates of one collection and turns them into it.
type pool struct {
	*acceptor
	name       string // collection
	read       readRows
	rounded    bool    // vectors were rounded on their way to the disk
	kept       []int64 // row of each item of the collection
	candidates []candidate
	bad        map[Reason]int
	scaled     int
	dropped    map[Item]Reason // quarantined items
}

// readRows copies rows of vectors: row rows[i] to dst[i*dims:(i+1)*dims].
type readRows func(ctx context.Context, dst []float32, rows []int64, dims int) error

func newPool(name, fingerprint string, file *multifile, read readRows) *pool {
	return &pool{
		name: name, acceptor: newAcceptor(fingerprint, file), read: read,
		bad: map[Reason]int{}, dropped: map[Item]Reason{},
	}
}

// load reads the candidates' rows and returns the collection of those that have
// a direction. Candidates must be in the order of Items.
func (p *pool) load(ctx context.Context, dims int) (Collection, error) {
	c := Collection{Dims: dims, Items: []Item{}}
	rows := make([]int64, len(p.candidates))
	for i := range rows {
		rows[i] = p.candidates[i].row
	}
	c.Vectors = make([]float32, len(rows)*dims)
	if err := p.read(ctx, c.Vectors, rows, dims); err != nil {
		return c, err
	}
	tolerance := unitTolerance
	if p.rounded {
		tolerance = unitRounding
	}
	for i := range p.candidates {
		item := p.candidates[i].item
		row := c.Vectors[i*dims : (i+1)*dims]
		scaled, bad := repair(row, tolerance)
		if bad != "" {
			p.bad[bad]++
			p.dropped[item] = bad
			continue
		}
		if scaled {
			p.scaled++
		}
		copy(c.Vectors[len(c.Items)*dims:], row)
		c.Items = append(c.Items, item)
		p.kept = append(p.kept, rows[i])
	}
	c.Vectors = c.Vectors[:len(c.Items)*dims]
	return c, nil
}

// assemble builds the parts of a snapshot that depend on the notes: Sources,
// Notes, Blocks and the counters about them. With a refusal the pools accept
// nothing, and both collections stay empty.
func (s *Snapshot) assemble(ctx context.Context, sc *scan, fresh *freshness, notes, blocks *pool) error {
	s.Sources = make([]Source, len(sc.notes))
	for i := range sc.notes {
		s.addSource(i, &sc.notes[i], fresh, notes, blocks)
	}
	s.Status.Notes.NotIndexed, s.Status.Notes.Unlisted = sc.notIndexed, sc.unlisted
	pools, into, errs := [2]*pool{notes, blocks}, [2]*Collection{&s.Notes, &s.Blocks}, [2]error{}
	shareOut(2, 2, 1, func(i, _ int) { *into[i], errs[i] = pools[i].load(ctx, s.Model.Dims) })
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	s.link(notes)
	s.countItems(notes, blocks)
	return nil
}

// addSource fills in Sources[i] and adds the note's and its blocks' candidates.
func (s *Snapshot) addSource(i int, n *noteState, fresh *freshness, notes, blocks *pool) {
	rec, src := n.rec, &s.Sources[i]
	*src = Source{
		Path: rec.path, State: n.state, Hash: rec.hash, Row: -1,
		Size: n.info.Size, ModTime: n.info.ModTime,
	}
	ranked := n.state != Missing && n.state != Excluded
	row, reason := notes.row(rec.refs, rec.hash)
	src.Reason = s.noteReason(n, reason)
	if reason == reasonOutdated && src.State == Fresh {
		src.State = Stale
	}
	if reason == "" && ranked {
		notes.candidates = append(notes.candidates, candidate{
			item: Item{Path: rec.path, Hash: rec.hash, Stale: n.state == Stale, Source: i},
			row:  row,
		})
	}
	first := len(blocks.candidates)
	for j := range rec.blocks {
		b := &rec.blocks[j]
		row, reason := blocks.row(b.refs, b.hash)
		if reason != "" && b.shouldEmbed && ranked {
			s.Status.Blocks.Wanted++
		}
		if reason != "" || !ranked {
			continue
		}
		blocks.candidates = append(blocks.candidates, candidate{
			item: Item{
				Path: rec.path, Key: b.key, Start: b.start, End: b.end, Hash: b.hash,
				Stale: fresh.staleBlock(rec, b, n.state), Source: i,
			},
			row: row,
		})
	}
	slices.SortFunc(blocks.candidates[first:], func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.item.Start, b.item.Start), cmp.Compare(a.item.Key, b.item.Key))
	})
	s.Status.Blocks.Total += len(rec.blocks)
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

// link records in Sources which rows belong to them.
func (s *Snapshot) link(notes *pool) {
	for row := range s.Notes.Items {
		s.Sources[s.Notes.Items[row].Source].Row = row
	}
	for item, bad := range notes.dropped {
		s.Sources[item.Source].Reason = bad
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
