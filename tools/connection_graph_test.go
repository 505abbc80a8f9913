package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/search"
)

// connectedNotes are notes that are similar, linked or both. Their vectors are those
// of the words alone, so that A and G have the cosine 2/√5, A and B 1/√2, B and G
// 3/√10, B and C 1/√2, C and G 1/√5, and all others 0.
func connectedNotes() []testNote {
	text := func(words, links string) string { return "# T\n" + para(words, 240) + " " + links + "\n" }
	return []testNote{
		{path: "A.md", text: text("rose", "[[D]] [[G]]")},
		{path: "B.md", text: text("rose kiln", "[[A]] [[D]]")},
		{path: "C.md", text: text("kiln", "")},
		{path: "D.md", text: text("ferry", "[[E]] [[Private/P]]")},
		{path: "E.md", text: "[[A]] and [[F]]"}, // too short for a vector
		{path: "F.md", text: text("tax", "")},
		{path: "G.md", text: text("rose rose kiln", "")},
		{path: "H.md", text: text("soup", "`[[A]]`")},
		{path: "Private/P.md", text: text("rose", "[[A]]")},
	}
}

func connections(out ConnectionsOutput) []string {
	var rows []string
	for _, c := range out.Connections {
		score := "none"
		if c.Score != nil {
			score = fmt.Sprint(*c.Score)
		}
		row := fmt.Sprintf("%d %s<%s %s %s", c.Depth, c.Path, c.From, score, c.Kind)
		if c.Matched != "" {
			row += fmt.Sprintf(" %s %s", c.Matched, c.Section)
		}
		rows = append(rows, row)
	}
	return rows
}

// connectedVault serves connectedNotes, of which Private is left out.
func connectedVault(t testing.TB) *Server {
	t.Helper()
	s := serverOf(t, connectedNotes())
	write(t, filepath.Join(s.vault.Root(), ".smart-env", "smart_env.json"),
		[]byte(`{"smart_blocks":{"embed_blocks":true,"min_chars":200},"smart_sources":{"min_chars":200,"folder_exclusions":"Private"},"embedding_models":{"default_model_key":"transformers#1"}}`))
	return s
}

func TestConnections(t *testing.T) {
	s := connectedVault(t)
	for _, tt := range []struct {
		name, path string
		edit       func(*ConnectionsInput)
		want       []string
	}{
		{"the best edge to each note, similar or linked", "A.md", func(in *ConnectionsInput) {}, []string{
			"1 G.md<A.md 0.8944 both block #T#{1}", "1 B.md<A.md 0.7071 both block #T#{1}", "1 D.md<A.md 0 link", "1 E.md<A.md none link",
			"2 C.md<B.md 0.7071 similar block #T#{1}", "2 F.md<E.md none link",
		}},
		{"depth", "A.md", func(in *ConnectionsInput) { in.Depth, in.MinScore = 1, 0.8 }, []string{
			"1 G.md<A.md 0.8944 both block #T#{1}", "1 B.md<A.md 0.7071 link", "1 D.md<A.md 0 link", "1 E.md<A.md none link",
		}},
		{"few on each level", "a", func(in *ConnectionsInput) { in.Depth, in.MaxPerLevel = 5, 1 }, []string{
			"1 G.md<A.md 0.8944 both block #T#{1}", "2 B.md<G.md 0.9487 similar block #T#{1}", "3 C.md<B.md 0.7071 similar block #T#{1}",
		}},
		{"from a note without a vector", "E.md", func(in *ConnectionsInput) {}, []string{
			"1 A.md<E.md none link", "1 D.md<E.md none link", "1 F.md<E.md none link",
			"2 G.md<A.md 0.8944 both block #T#{1}", "2 B.md<A.md 0.7071 both block #T#{1}",
		}},
		{"equal scores by path", "F.md", func(in *ConnectionsInput) { in.MinScore, in.Depth, in.MaxPerLevel = 0, 1, 3 }, []string{
			"1 A.md<F.md 0 similar block #T#{1}", "1 B.md<F.md 0 similar block #T#{1}", "1 C.md<F.md 0 similar block #T#{1}",
		}},
		{"of equal edges to a note the one from the first path", "A.md", func(in *ConnectionsInput) { in.MinScore = 0 }, []string{
			"1 G.md<A.md 0.8944 both block #T#{1}", "1 B.md<A.md 0.7071 both block #T#{1}", "1 C.md<A.md 0 similar block #T#{1}",
			"1 D.md<A.md 0 both block #T#{1}", "1 F.md<A.md 0 similar block #T#{1}",
			"2 H.md<B.md 0 similar block #T#{1}", "2 E.md<D.md none link",
		}},
	} {
		in := defaultConnections(tt.path)
		tt.edit(&in)
		out, err := s.Connections(t.Context(), in)
		if got := connections(out); err != nil || !slices.Equal(got, tt.want) || out.Mode != "semantic+links" || out.Model != testModel.Name || out.Reason != "" || out.Truncated {
			t.Errorf("%s: got %q, mode %q, %v; want %q", tt.name, got, out.Mode, err, tt.want)
		}
	}
}

// In vaults of all sorts the levels are those that come of comparing each note with
// each, without any bound on the way.
func TestConnectionsAgainstOracle(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		var notes []testNote
		for i := range 40 {
			text := "# N\n" + para(strings.Repeat("rose ", r.IntN(4))+strings.Repeat("kiln ", r.IntN(4))+strings.Repeat("ferry ", r.IntN(3)), 240)
			if r.IntN(5) == 0 {
				text = "short"
			}
			for range r.IntN(4) {
				text += fmt.Sprintf(" [[%02d]]", r.IntN(40))
			}
			notes = append(notes, testNote{path: fmt.Sprintf("%02d.md", i), text: text + "\n"})
		}
		s := serverOf(t, notes)
		for range 40 {
			in := ConnectionsInput{Path: notes[r.IntN(40)].path, Depth: 1 + r.IntN(5), MinScore: float64(r.IntN(10)) / 10, MaxPerLevel: 1 + r.IntN(6)}
			out, err := s.Connections(t.Context(), in)
			if got, want := connections(out), connectionsByHand(t, s, in, notes); err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v:\ngot  %q, %v\nwant %q", seed, in, got, err, want)
			}
		}
	}
}

func connectionsByHand(t *testing.T, s *Server, in ConnectionsInput, notes []testNote) []string {
	snap, err := s.snapshot(t.Context())
	g, err2 := s.links.Graph(t.Context())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	var out ConnectionsOutput
	level, seen := []string{in.Path}, map[string]bool{in.Path: true}
	for depth := 1; depth <= in.Depth; depth++ {
		var edges []connection
		for _, from := range level {
			hits := map[string]search.Hit{}
			all, _ := search.Related(snap, from, search.Query{Limit: len(notes), MinScore: -1, Scope: search.Auto})
			for _, h := range all.Hits {
				hits[h.Path] = h
			}
			for _, n := range notes {
				e := connection{Path: n.path, Depth: depth, From: from}
				isLinked := g.Linked(from, n.path)
				h, compared := hits[n.path]
				score := fourDecimals(h.Score)
				switch similar := compared && h.Score >= float32(in.MinScore); {
				case seen[n.path]:
					continue
				case similar:
					e.Score, e.Kind, e.Matched, e.Section = &score, map[bool]string{true: "both", false: "similar"}[isLinked], string(h.Matched), h.Section()
				case isLinked && compared:
					e.Score, e.Kind = &score, "link"
				case isLinked:
					e.Kind = "link"
				default:
					continue
				}
				edges = append(edges, e)
			}
		}
		slices.SortFunc(edges, byScore)
		level = nil
		for _, e := range edges {
			if !seen[e.Path] && len(level) < in.MaxPerLevel {
				seen[e.Path] = true
				level = append(level, e.Path)
				out.Connections = append(out.Connections, e)
			}
		}
	}
	return connections(out)
}

func TestConnectionsSayWhatIsMissing(t *testing.T) {
	s := connectedVault(t)
	for _, tt := range []struct{ arguments, want string }{
		{`{"path":"A.md","depth":2}`, `"warning":"1 notes on the way have no vector to compare, only links."`},
		{`{"path":"E.md","depth":1}`, `"warning":"This note has no vector to compare, only links: `},
		{`{"path":"H.md"}`, `"connections":[],"reason":"no note links to it and it links to none; nothing scored 0.6 or more: the best was 0 for \"A.md\"; lower min_score"`},
		{`{"path":"A.md","depth":1}`, `"coverage":{"notes_searched":6,"blocks_searched":6,`},
	} {
		if text, isError := callTool(t, s, "connection_graph", tt.arguments); isError || !strings.Contains(text, tt.want) {
			t.Errorf("connection_graph %s = %s, want %s", tt.arguments, text, tt.want)
		}
	}
	if text, _ := callTool(t, s, "connection_graph", `{"path":"A.md","depth":1}`); strings.Contains(text, "warning") {
		t.Errorf("nothing is missing on the first level, but %s", text)
	}
	write(t, filepath.Join(s.vault.Root(), "image.png"), []byte("\x89PNG"))
	for arguments, want := range map[string]string{
		`{"path":"image.png"}`:              "is not a note",
		`{"path":"Z.md"}`:                   "no note at",
		`{"path":"A.md","depth":6}`:         "depth is 6: pass 1 to 5",
		`{"path":"A.md","max_per_level":0}`: "max_per_level is 0: pass 1 to 20",
		`{"path":"A.md","min_score":"2"}`:   "min_score is 2: pass -1 to 1",
	} {
		if text, isError := callTool(t, s, "connection_graph", arguments); !isError || !strings.Contains(text, want) {
			t.Errorf("connection_graph %s = %s, want %s", arguments, text, want)
		}
	}
}

func TestConnectionsOfChangedNoteWarn(t *testing.T) {
	notes := connectedNotes()
	notes[0].now = "[[C]]"
	out, err := serverOf(t, notes).Connections(t.Context(), defaultConnections("A.md"))
	if err != nil || !strings.HasPrefix(out.Warning, "This note has changed since it was embedded") || len(out.Connections) == 0 || out.Connections[0].Stale {
		t.Errorf("warning %q, %q, %v", out.Warning, connections(out), err)
	}
}

// Without an index that can be searched the links are followed all the same; without
// links there is no answer for what cannot be compared.
func TestConnectionsByLinksAlone(t *testing.T) {
	refused := connectedVault(t)
	write(t, filepath.Join(refused.vault.Root(), ".smart-env", "embedding_models", "embedding_models.ajson"),
		[]byte(`"embedding_models:transformers#1": {"provider_key":"transformers","model_key":"test/other","dims":8,"max_tokens":512,"key":"transformers#1"},`))
	bare := linkedVault(t)
	for _, tt := range []struct {
		server *Server
		path   string
		want   []string
	}{
		{bare, "Garden/Index.md", []string{"1 Garden/Roses.md<Garden/Index.md none link", "2 Home.md<Garden/Roses.md none link"}},
		{bare, "Alone.md", nil},
		{refused, "C.md", nil},
		{refused, "D.md", []string{"1 A.md<D.md none link", "1 B.md<D.md none link", "1 E.md<D.md none link", "2 F.md<E.md none link", "2 G.md<A.md none link"}},
	} {
		out, err := tt.server.Connections(t.Context(), defaultConnections(tt.path))
		if got := connections(out); err != nil || !slices.Equal(got, tt.want) || out.Mode != "links" || out.Coverage != nil || !strings.HasPrefix(out.Warning, "Only links were followed: ") {
			t.Errorf("Connections(%s) = %q, mode %q, warning %q, %v; want %q", tt.path, got, out.Mode, out.Warning, err, tt.want)
		}
		if (out.Reason != "") != (len(tt.want) == 0) || strings.Contains(out.Warning, tt.server.vault.Root()) {
			t.Errorf("Connections(%s): reason %q, warning %q", tt.path, out.Reason, out.Warning)
		}
	}
}

// When the links cannot be read, what is similar is found all the same.
func TestConnectionsWithoutLinks(t *testing.T) {
	s := connectedVault(t)
	snap, err := s.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"A.md": {"1 G.md<A.md 0.8944 similar block #T#{1}", "1 B.md<A.md 0.7071 similar block #T#{1}", "2 C.md<B.md 0.7071 similar block #T#{1}"}, "F.md": nil, "E.md": nil} {
		w := walk{in: defaultConnections(path), root: path, snap: snap, unlinked: errors.New("the vault is away.")}
		if err := w.run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		out := w.answer(s)
		if got := connections(out); !slices.Equal(got, want) || out.Mode != "semantic" || !strings.HasSuffix(out.Warning, "Links were not followed: the vault is away.") || out.Coverage == nil {
			t.Errorf("from %s: %q, mode %q, warning %q; want %q", path, got, out.Mode, out.Warning, want)
		}
		if (out.Reason == "") != (len(want) > 0) || strings.Contains(out.Reason, "links to none") {
			t.Errorf("from %s: reason %q", path, out.Reason)
		}
	}
}

// The walk ends between two notes when the call does.
func TestConnectionsCancelled(t *testing.T) {
	s := connectedVault(t)
	ctx, cancel := context.WithCancel(t.Context())
	snap, err := s.snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	w := walk{in: defaultConnections("A.md"), root: "A.md", snap: snap}
	if err := w.run(ctx, s); !errors.Is(err, context.Canceled) || len(w.found) > 0 {
		t.Errorf("run = %v with %d notes, want it cancelled", err, len(w.found))
	}
}

func TestConnectionsFit(t *testing.T) {
	folder := strings.TrimSpace(strings.Repeat("Ordner mit langem Namen ", 10))
	s := serverOf(t, longNotes(110, folder+"/"+folder+"/"+folder+"/%03d.md", "A rose is a rose"))
	text, _ := callTool(t, s, "connection_graph", fmt.Sprintf(`{"path":%q,"depth":5,"max_per_level":20}`, folder+"/"+folder+"/"+folder+"/000.md"))
	var out ConnectionsOutput
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err, text)
	}
	want := fmt.Sprintf("rows %d to 100 were left out", len(out.Connections)+1)
	if n := len(out.Connections); len(text) > maxAnswer || n < 20 || n >= 100 || !out.Truncated || !strings.Contains(out.NextStep, want) {
		t.Errorf("%d rows in %d bytes, truncated %v, next_step %q; want %q", n, len(text), out.Truncated, out.NextStep, want)
	}
}
