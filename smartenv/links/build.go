package links

import "slices"

// newGraph resolves the links of notes, sorted by path, among the files of the vault.
// Links lists that are in own may be written to; the others belong to a Graph before.
func newGraph(notes []Note, own []bool, fs *files) *Graph {
	g := &Graph{Notes: notes, files: fs, ids: make(map[string]int32, len(notes))}
	for i := range notes {
		g.ids[notes[i].Path] = int32(i)
	}
	for i := range fs.all {
		if f := &fs.all[i]; f.kind == ToAttachment {
			g.Attachments = append(g.Attachments, f.path)
		}
	}
	known := outlines{}
	for i := range notes {
		n := &notes[i]
		for j := range n.Links {
			l := &n.Links[j]
			to := g.resolve(l.Target, l.Subpath, n.Path, known).Target
			if to == l.To {
				continue
			}
			if !own[i] {
				n.Links, own[i] = slices.Clone(n.Links), true
			}
			n.Links[j].To = to
		}
	}
	g.turn()
	g.names = newNames(notes)
	return g
}

// turn lists the links by what they lead to.
func (g *Graph) turn() {
	g.upto = make([]int32, len(g.files.all)+1)
	eachLink := func(do func(target int, r ref)) {
		for i := range g.Notes {
			n := &g.Notes[i]
			for j := range n.Links {
				if path := n.Links[j].To.Path; path != "" && path != n.Path {
					if target, ok := g.files.index(path); ok {
						do(target, ref{int32(i), int32(j)})
					}
				}
			}
		}
	}
	eachLink(func(target int, _ ref) { g.upto[target+1]++ })
	for i := range g.upto[1:] {
		g.upto[i+1] += g.upto[i]
	}
	g.refs = make([]ref, g.upto[len(g.upto)-1])
	eachLink(func(target int, r ref) { // upto[target] is where the next one goes
		g.refs[g.upto[target]] = r
		g.upto[target]++
	})
}
