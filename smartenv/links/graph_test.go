package links

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func linkedGraph() *Graph {
	return graphWith(
		"Hub.md", "[[A]] [[A|again]] [[B#Nowhere]] ![[p.png]] [[Hub]] [[#Nowhere]] [[Gone]]",
		"A.md", "Text\n\n[[Hub]]\n\n`[[B]]` ![[gone.png]] [[gone]] [x](Gone.md)",
		"B.md", "# Here\n[x](p.png) [[Lost]] [[Shut]]",
		"F/C.md", "[[../Lost]] [x](./Lost.md) [[/Lost]] [[F/Lost]] [[B#nowhere!]] `[[Unreal]]`",
		"Alone.md", "[[Alone]] `[[Hub]]` [[Gone]] [[p.png]]",
		"Quiet.md", "", "Shut.md", "excluded", "p.png", "", "unused.png", "")
}

// said are references as text.
func said(refs []Reference) string {
	var b []string
	for _, r := range refs {
		b = append(b, fmt.Sprintf("%s:%d%s", r.From.Path, r.Link.Line, r.Link.Raw))
	}
	return strings.Join(b, " ")
}

func TestTo(t *testing.T) {
	g := linkedGraph()
	for path, want := range map[string]string{
		"Hub.md":     "A.md:3[[Hub]] Alone.md:1[[Hub]]",
		"A.md":       "Hub.md:1[[A]] Hub.md:1[[A|again]]",
		"B.md":       "A.md:5[[B]] F/C.md:1[[B#nowhere!]] Hub.md:1[[B#Nowhere]]",
		"p.png":      "Alone.md:1[[p.png]] B.md:2[x](p.png) Hub.md:1![[p.png]]",
		"Quiet.md":   "",
		"unused.png": "",
		"Shut.md":    "",
		"Gone.md":    "",
		"hub.md":     "", // no exact path
	} {
		if got := said(g.To(path)); got != want {
			t.Errorf("To(%q) = %s, want %s", path, got, want)
		}
	}
	if n, ok := g.Note("F/C.md"); !ok || n.Path != "F/C.md" {
		t.Errorf("Note(F/C.md) = %v, %t", n, ok)
	}
	for _, path := range []string{"", "f/c.md", "p.png", "Shut.md", "Gone.md"} {
		if n, ok := g.Note(path); ok {
			t.Errorf("Note(%q) = %v", path, n)
		}
	}
}

func TestNeighbours(t *testing.T) {
	g := linkedGraph()
	for path, want := range map[string]string{
		"Hub.md":   "A.md B.md",
		"A.md":     "Hub.md",
		"B.md":     "F/C.md Hub.md",
		"Alone.md": "",
		"p.png":    "Alone.md B.md Hub.md",
		"Gone.md":  "",
	} {
		got := g.Neighbours(path)
		if strings.Join(got, " ") != want {
			t.Errorf("Neighbours(%q) = %q, want %s", path, got, want)
		}
		for i := range g.Notes {
			if other := g.Notes[i].Path; g.Linked(path, other) != slices.Contains(got, other) || g.Linked(other, path) != g.Linked(path, other) {
				t.Errorf("Linked(%q, %q) = %t, Neighbours = %q", path, other, g.Linked(path, other), got)
			}
		}
	}
	if got, want := g.Orphans(), []string{"Alone.md", "Quiet.md"}; !slices.Equal(got, want) {
		t.Errorf("Orphans() = %q, want %q", got, want)
	}
}

func TestMissing(t *testing.T) {
	var got []string
	for _, m := range linkedGraph().Missing() {
		got = append(got, fmt.Sprintf("%s %s %d: %s", m.Kind, m.Name, m.Notes, said(m.Links)))
	}
	want := []string{
		"note Gone 3: A.md:5[[gone]] A.md:5[x](Gone.md) Alone.md:1[[Gone]] Hub.md:1[[Gone]]",
		"heading B.md#Nowhere 2: F/C.md:1[[B#nowhere!]] Hub.md:1[[B#Nowhere]]",
		"note ../Lost 1: F/C.md:1[[../Lost]] F/C.md:1[[/Lost]]",
		"note ./Lost.md 1: F/C.md:1[x](./Lost.md)",
		"note F/Lost 1: F/C.md:1[[F/Lost]]",
		"heading Hub.md#Nowhere 1: Hub.md:1[[#Nowhere]]",
		"note Lost 1: B.md:2[[Lost]]",
		"attachment gone.png 1: A.md:5![[gone.png]]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Missing() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := new(Graph).Missing(); len(got) > 0 {
		t.Errorf("Missing of an empty graph = %v", got)
	}
}
