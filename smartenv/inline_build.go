package smartenv

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// An inlineTable is multi/ as the rest of the package sees an index: records whose
// references name a row of the table.
type inlineTable struct {
	records map[string]*record
	rows    []*inlineVector
	models  map[string]Model // by fingerprint
	ghosts  int              // block records that their note no longer lists
	orphans int              // block records without a note
	copies  []string         // files that speak for none of the notes they hold, sorted
}

// An inlineBuilder makes a table.
type inlineBuilder struct {
	inlineTable
	config       config
	fingerprints map[inlineSpace]string
	zeroBased    bool // records of 2024 count lines from 0
}

// An inlineSpace is what a record tells of a vector's model.
type inlineSpace struct {
	model string
	dims  int
}

// table makes the present state of the folder into records.
func (st *inlineStore) table(c config) *inlineTable {
	b := inlineBuilder{config: c, fingerprints: map[inlineSpace]string{}}
	b.records, b.models = map[string]*record{}, map[string]Model{}
	notes := st.notes()
	b.zeroBased = slices.ContainsFunc(notes, func(n inlineNote) bool {
		rec := n.file.notes[n.path]
		return rec.old && rec.beginsAtZero()
	})
	for _, n := range notes {
		b.add(n)
	}
	speaks := map[*inlineFile]bool{}
	for _, n := range notes {
		speaks[n.file] = true
	}
	for _, f := range st.files {
		if len(f.notes) > 0 && !speaks[f] {
			b.copies = append(b.copies, inlineFolder+"/"+f.stat.name)
		}
		for path, blocks := range f.blocks {
			if b.records[path] == nil {
				b.orphans += len(blocks)
			}
		}
	}
	slices.Sort(b.copies)
	return &b.inlineTable
}

// beginsAtZero says whether one of the note's blocks begins at line 0, so that
// all of them count from there.
func (rec *inlineRecord) beginsAtZero() bool {
	return slices.ContainsFunc(rec.blocks, func(r blockRange) bool { return r.ok && r.start == 0 })
}

// add makes a note's record. Which blocks it has, and where, is what the note's
// own record says; block records that it does not list are leftovers.
func (b *inlineBuilder) add(n inlineNote) {
	own, blocks := n.file.notes[n.path], n.file.blocks[n.path]
	rec := &record{path: n.path, hash: own.hash, imported: own.imported, refs: b.references(own)}
	ranges := own.blocks
	if !own.hasBlocks {
		for _, key := range slices.Sorted(maps.Keys(blocks)) {
			r := blocks[key].lines
			r.key = key
			ranges = append(ranges, r)
		}
	}
	shift := int64(0)
	if own.beginsAtZero() || own.old && b.zeroBased {
		shift = 1
	}
	listed := 0
	for _, r := range ranges {
		blk := block{key: r.key}
		if blocks[r.key] != nil {
			listed++
			blk.hash, blk.refs = blocks[r.key].hash, b.references(blocks[r.key])
			if !r.ok {
				r.start, r.end, r.ok = blocks[r.key].lines.start, blocks[r.key].lines.end, blocks[r.key].lines.ok
			}
		}
		blk.start, blk.end = r.lines(shift)
		rec.blocks = append(rec.blocks, blk)
	}
	b.ghosts += len(blocks) - listed
	b.wanted(rec, blocks)
	b.records[n.path] = rec
}

// lines returns the range counted from 1; end 0 means that there is none.
func (r blockRange) lines(shift int64) (start, end int) {
	const most = 1 << 31
	first, last := r.start+shift, r.end+shift
	if !r.ok || first < 1 || last > most {
		return 0, 0
	}
	if last < first {
		return int(first), 0
	}
	return int(first), int(last)
}

// references gives every vector of a record a row. A hash that is missing, of the
// text or of what was embedded, cannot speak against the vector.
func (b *inlineBuilder) references(rec *inlineRecord) []reference {
	var refs []reference
	for i := range rec.vectors {
		v := &rec.vectors[i]
		ref := reference{fingerprint: b.fingerprint(v), row: int64(len(b.rows)), readHash: v.hash}
		if v.hash == "" || rec.hash == "" {
			ref.readHash = rec.hash
		}
		ref.file = ref.fingerprint
		b.rows = append(b.rows, v)
		refs = put(refs, ref)
	}
	return refs
}

// put adds ref, in place of an earlier one of the same fingerprint.
func put(refs []reference, ref reference) []reference {
	for i := range refs {
		if refs[i].fingerprint == ref.fingerprint {
			refs[i] = ref
			return refs
		}
	}
	return append(refs, ref)
}

func (b *inlineBuilder) fingerprint(v *inlineVector) string {
	space := inlineSpace{v.model, len(v.values)}
	fingerprint, known := b.fingerprints[space]
	if !known {
		provider := ""
		if m := b.config.inlineModel(); m.Name == v.model {
			provider = m.Provider
		}
		m := inlineModel(provider, v.model, len(v.values))
		fingerprint = m.Fingerprint()
		b.fingerprints[space], b.models[fingerprint] = fingerprint, m
	}
	return fingerprint
}

// wanted marks the blocks that the plugin of that time embeds (format section
// 7.3): those of the least size, unless children that are embedded themselves
// begin right below the block's first line and end with it.
func (b *inlineBuilder) wanted(rec *record, blocks map[string]*inlineRecord) {
	long := func(blk *block) bool {
		own := blocks[blk.key]
		return own != nil && own.size >= int64(b.config.settings.MinChars)
	}
	type place struct {
		parent string
		line   int
	}
	begins, ends := map[place]bool{}, map[place]bool{}
	// Children before parents.
	order := make([]*block, len(rec.blocks))
	for i := range rec.blocks {
		order[i] = &rec.blocks[i]
	}
	slices.SortStableFunc(order, func(x, y *block) int {
		return strings.Count(y.key, "#") - strings.Count(x.key, "#")
	})
	for _, blk := range order {
		covered := begins[place{blk.key, blk.start + 1}] && ends[place{blk.key, blk.end}]
		if !long(blk) {
			continue
		}
		blk.shouldEmbed = !covered
		for parent := parentKey(blk.key); parent != ""; parent = parentKey(parent) {
			begins[place{parent, blk.start}] = true
			ends[place{parent, blk.end}] = true
		}
	}
}

// parentKey is the key of the block around a block, "" when there is none.
func parentKey(key string) string {
	return key[:strings.LastIndexByte(key, '#')]
}

// inlineModel is the model that a record calls by its key. All of them were
// used with mean pooling and without prefixes then (format section 9.1), so it
// has no Space. Without a provider that is known from elsewhere, the catalogue
// and the form of the name decide.
func inlineModel(provider, name string, dims int) Model {
	m := Model{Provider: provider, Name: name, Dims: dims}
	for _, known := range catalogue {
		if known.Name == name && (provider == "" || provider == known.Provider) {
			m.Provider, m.MaxTokens = known.Provider, known.MaxTokens
			if m.Dims == 0 {
				m.Dims = known.Dims
			}
			return m
		}
	}
	standard := defaultModel()
	if m.Provider == "" && strings.Count(name, "/") == 1 {
		m.Provider = standard.Provider
	}
	if m.Provider == standard.Provider {
		m.MaxTokens = standard.MaxTokens
	}
	return m
}

// read copies rows of the table, as multifile.read does.
func (t *inlineTable) read(_ context.Context, dst []float32, rows []int64, dims int) error {
	for i, row := range rows {
		copy(dst[i*dims:(i+1)*dims], t.rows[row].values)
	}
	return nil
}

// adopt lets the vectors that a snapshot has taken over lie there only. Others
// that lay in an earlier snapshot are copied out, so that it can be let go.
func (t *inlineTable) adopt(pools []*pool, collections ...*Collection) {
	taken := make([]bool, len(t.rows))
	for i, p := range pools {
		for item, row := range p.rows {
			v := t.rows[row]
			v.values, v.shared, taken[row] = collections[i].Row(item), true, true
		}
	}
	for row, v := range t.rows {
		if v.shared && !taken[row] {
			v.values, v.shared = slices.Clone(v.values), false
		}
	}
}
