package links

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// expected is what someone who has read the vault testdata/vaults/links says of it.
type expected struct {
	Closed      []string
	Attachments []string
	Notes       map[string]struct {
		Links []struct {
			Line           int
			Raw            string
			Kind           Kind
			Path           string
			MissingSubpath bool `json:"missing_subpath"`
			TargetLine     int  `json:"target_line"`
			Code           bool
		}
	}
	Backlinks map[string][]string
	Missing   []struct {
		Kind  MissingKind
		Name  string
		Notes int
		Links []string
	}
	Orphans []string
}

// places are references as the fixture spells them.
func places(refs []Reference) (list []string) {
	for _, r := range refs {
		place := fmt.Sprintf("%s:%d", r.From.Path, r.Link.Line)
		if r.Link.Code {
			place += " code"
		}
		list = append(list, place)
	}
	return list
}

// Every form of link leads to where it was found to lead by hand.
func TestFixture(t *testing.T) {
	const root = "../../testdata/vaults/"
	data, err := os.ReadFile(root + "links.expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want expected
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	g := graphOf(t, Open(openVault(t, filepath.FromSlash(root+"links")), func() func(string) bool {
		return func(path string) bool {
			return slices.ContainsFunc(want.Closed, func(folder string) bool { return strings.HasPrefix(path, folder) })
		}
	}))
	if len(g.Notes) != len(want.Notes) || !slices.Equal(g.Attachments, want.Attachments) || len(g.Unreadable)+g.Unlisted > 0 {
		t.Errorf("%d notes, attachments %q, %q unreadable, want %d, %q", len(g.Notes), g.Attachments, g.Unreadable, len(want.Notes), want.Attachments)
	}
	for i := range g.Notes {
		n := &g.Notes[i]
		links := want.Notes[n.Path].Links
		if len(n.Links) != len(links) {
			t.Errorf("%s: %d links, want %d", n.Path, len(n.Links), len(links))
			continue
		}
		for j, l := range n.Links {
			w := links[j]
			if to := (Target{w.Kind, w.Path, w.MissingSubpath, w.TargetLine}); l.Raw != w.Raw || l.To != to {
				t.Errorf("%s:%d: %s leads to %+v, want %s to %+v", n.Path, l.Line, l.Raw, l.To, w.Raw, to)
			}
		}
	}
	backlinks := map[string][]string{}
	for i := range g.files.all {
		if path := g.files.all[i].path; len(g.To(path)) > 0 {
			backlinks[path] = places(g.To(path))
		}
	}
	if !reflect.DeepEqual(backlinks, want.Backlinks) {
		t.Errorf("backlinks are %v, want %v", backlinks, want.Backlinks)
	}
	missing := g.Missing()
	if len(missing) != len(want.Missing) {
		t.Fatalf("Missing() = %d targets, want %d", len(missing), len(want.Missing))
	}
	for i, w := range want.Missing {
		if m := missing[i]; m.Kind != w.Kind || m.Name != w.Name || m.Notes != w.Notes || !slices.Equal(places(m.Links), w.Links) {
			t.Errorf("Missing()[%d] = %s %q %d %q, want %v", i, m.Kind, m.Name, m.Notes, places(m.Links), w)
		}
	}
	if got := g.Orphans(); !slices.Equal(got, want.Orphans) {
		t.Errorf("Orphans() = %q, want %q", got, want.Orphans)
	}
}
