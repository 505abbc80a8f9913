package smartenv

import (
	"fmt"
	"os"
	"strings"
)

// The inline index of a genVault: a file for each note in multi/, all of one
// length, since every vector is a one among zeros.

func (g *genVault) inlineFile(i int) string { return ".smart-env/multi/" + inlineName(genPath(i)) }

// inlineText is what the plugin keeps of a note.
func (g *genVault) inlineText(i int) string {
	generation := g.items[i].generation
	record := func(key string, slot int, more string) string {
		values := make([]string, genModel.Dims)
		for axis := range values {
			values[axis] = "0"
		}
		values[genAxis(slot, generation)] = "1"
		hash := genHash(generation)
		return fmt.Sprintf(`%q: {"last_read":{"hash":%q},"embeddings":{%q:{"vec":[%s],"last_embed":{"hash":%q}}}%s},`,
			key, hash, genModel.Name, strings.Join(values, ","), hash, more)
	}
	return record("smart_sources:"+genPath(i), i, `,"blocks":{"#A":[1,1]}`) + "\n" +
		record("smart_blocks:"+genPath(i)+"#A", genBlocks+i, `,"lines":[1,1]`) + "\n"
}

func (g *genVault) beginInline() {
	next := &fakeVault{g.t, g.path(".next")}
	next.write(".smart-env/smart_env.json", fmt.Sprintf(
		`{"smart_sources":{"embed_model":{"adapter":%q,%q:{"model_key":%q}}}}`, genModel.Provider, genModel.Provider, genModel.Name))
	g.generation++
	for i := range g.items {
		g.items[i] = genItem{generation: g.generation}
		next.write(g.inlineFile(i), g.inlineText(i))
	}
	g.exchange(next)
}

// next gives a note a new generation.
func (g *genVault) next() (name, text string) {
	i := g.rng.IntN(genNotes)
	g.generation++
	g.items[i].generation = g.generation
	return g.inlineFile(i), g.inlineText(i)
}

// stepInline appends to the file of a note, replaces it, or writes it in place.
func (g *genVault) stepInline() {
	name, text := g.next()
	switch g.rng.IntN(3) {
	case 0:
		g.pieces(name, os.O_APPEND, []byte("\n"+text))
	case 1:
		g.replace(name, text)
	default:
		g.pieces(name, os.O_TRUNC, []byte(text))
	}
}

// inPlaceInline writes the file of a note in place, without a change of its size
// and time.
func (g *genVault) inPlaceInline() {
	name, text := g.next()
	g.pieces(name, 0, []byte(text))
	g.date(g.path(name))
}
