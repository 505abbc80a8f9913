package links

import (
	"runtime"
	"slices"

	"smart-connections-mcp/smartenv/parallel"
)

// newGraph resolves the links of notes, sorted by path, among the files of the vault.
// Lists of links that are in own are new and may be written to; the others are those
// of the graph before. When the files are still the same, these are right but for
// places in notes that are new.
func newGraph(notes []Note, own []bool, fs *files, same bool) *Graph {
	g := &Graph{Notes: notes, files: fs, notes: make([]int32, len(fs.all))}
	for i := range fs.all {
		if g.notes[i] = -1; fs.all[i].kind == ToAttachment {
			g.Attachments = append(g.Attachments, fs.all[i].path)
		}
	}
	for i := range notes {
		g.notes[fs.at[notes[i].Path]] = int32(i)
	}
	right := func(l *Link) bool {
		i, ok := fs.at[l.To.Path]
		return l.Subpath == "" || !ok || g.notes[i] < 0 || !own[g.notes[i]]
	}
	cpus := runtime.GOMAXPROCS(0)
	parallel.Do(cpus, len(notes), len(notes)/(4*cpus)+1, func(first, end int) {
		known := outlines{}
		for i := first; i < end; i++ {
			n, own := &notes[i], own[i]
			for j := range n.Links {
				l := &n.Links[j]
				if same && !own && right(l) {
					continue
				}
				to := g.resolve(l.Target, l.Subpath, n.Path, known).Target
				if to != l.To && !own {
					n.Links, own = slices.Clone(n.Links), true
				}
				n.Links[j].To = to
			}
		}
	})
	parallel.Do(2, 2, 1, func(i, _ int) {
		if i == 0 {
			g.turn()
		} else {
			g.names = newNames(notes)
		}
	})
	return g
}

// turn lists the links by what they lead to.
func (g *Graph) turn() {
	g.upto = make([]int32, len(g.files.all)+1)
	eachLink := func(do func(target int32, r ref)) {
		for i := range g.Notes {
			n := &g.Notes[i]
			for j := range n.Links {
				if path := n.Links[j].To.Path; path != "" && path != n.Path {
					do(g.files.at[path], ref{int32(i), int32(j)})
				}
			}
		}
	}
	eachLink(func(target int32, _ ref) { g.upto[target+1]++ })
	for i := range g.upto[1:] {
		g.upto[i+1] += g.upto[i]
	}
	g.refs = make([]ref, g.upto[len(g.upto)-1])
	eachLink(func(target int32, r ref) { // upto[target] is where the next one goes
		g.refs[g.upto[target]] = r
		g.upto[target]++
	})
}
