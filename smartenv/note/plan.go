package note

import (
	"cmp"
	"math"
	"slices"
)

// selectBlocks sets ShouldEmbed of the blocks that the plugin's selection plan
// picks: those that together lose the least text, either to the model's limit
// or by being too short, with a parent winning only over a worse set of
// children. It reports whether the plugin would read the note again because a
// range is open or two overlap without one holding the other; in the latter
// case nothing is picked (format section 7.3).
func selectBlocks(path string, blocks []Block, r Rules) (reimport bool) {
	nodes := make([]*planNode, 0, len(blocks))
	for i := range blocks {
		if b := &blocks[i]; b.End >= b.Start {
			nodes = append(nodes, &planNode{block: b})
		} else {
			reimport = true
		}
	}
	slices.SortStableFunc(nodes, func(a, b *planNode) int {
		return cmp.Or(
			cmp.Compare(a.block.Start, b.block.Start),
			cmp.Compare(b.block.End, a.block.End),
			cmp.Compare(Len16(a.block.Key), Len16(b.block.Key)),
		)
	})
	roots, ok := nest(nodes)
	if !ok {
		return true
	}
	p := planner{path: path, minChars: r.MinChars, maxUnits: r.MaxUnits()}
	for _, root := range roots {
		picked, _ := p.plan(root)
		for _, b := range picked {
			b.ShouldEmbed = true
		}
	}
	return reimport
}

type planNode struct {
	block    *Block
	children []*planNode
}

// nest builds the forest of blocks that hold one another. nodes are sorted so
// that a holder comes before what it holds; ok is false on a partial overlap.
func nest(nodes []*planNode) (roots []*planNode, ok bool) {
	var open []*planNode
	for _, n := range nodes {
		for len(open) > 0 && open[len(open)-1].block.End < n.block.Start {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			roots = append(roots, n)
		} else {
			holder := open[len(open)-1]
			if n.block.End > holder.block.End {
				return nil, false
			}
			holder.children = append(holder.children, n)
		}
		open = append(open, n)
	}
	return roots, true
}

type planner struct {
	path               string
	minChars, maxUnits int
}

// plan returns the best selection below and including n, and how many UTF-16
// units of n's text it loses.
func (p planner) plan(n *planNode) (picked []*Block, loss int) {
	b := n.block
	eligible := b.Size >= p.minChars
	own := math.MaxInt
	if eligible {
		own = max(0, b.Size-p.room(b.Key))
	}
	if len(n.children) == 0 {
		if eligible {
			return []*Block{b}, own
		}
		return nil, b.Size
	}
	for _, child := range n.children {
		below, lost := p.plan(child)
		picked = append(picked, below...)
		loss += lost
	}
	if b.Key == rootKey {
		loss += uncovered(n)
	}
	if eligible && (len(picked) == 0 || own < loss) {
		return []*Block{b}, own
	}
	return picked, loss
}

// room is how many units of a block's text fit beside its breadcrumbs.
func (p planner) room(key string) int {
	return max(0, p.maxUnits-Len16(breadcrumbs(p.path, key))-1)
}

// uncovered is how much of the root block's text lies in none of its children,
// line breaks between them not counted.
func uncovered(n *planNode) int {
	rest := n.block.Size - (len(n.children) - 1) - lineCount(n.block)
	for _, child := range n.children {
		rest -= child.block.Size - lineCount(child.block)
	}
	return max(0, rest)
}

func lineCount(b *Block) int { return b.End - b.Start + 1 }
