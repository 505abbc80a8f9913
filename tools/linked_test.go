package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/links"
)

// linkedVault serves a vault of notes that link to each other, with a picture, and
// with a folder that the plugin is set to leave out. It has no index.
func linkedVault(t testing.TB) *Server {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Test vault")
	for path, text := range map[string]string{
		"Home.md":                   "[[Roses]], [[Roses#Pruning|how to prune]]\n![[rose.png]] and [[Gone]]\n`[[Kiln]]` [[Diary]] [[Nobody]]\n",
		"Garden/Roses.md":           "---\nup: \"[[Home]]\"\naliases: [Queen]\n---\n# Roses\n\n## Pruning\nSee [start](../Home.md) and [[gone|what is gone]].\n\n```\n[[Home]]\n```\n",
		"Garden/Index.md":           "[[Roses#Felling]] [[Roses#felling]] [[Gone#Part]] ![[lost.png]] [[#Nowhere]]\n",
		"Workshop/Kiln.md":          "[[Index]] [[Gone]] [[Gone]]\n",
		"Workshop/Index.md":         "Nothing.\n",
		"Private/Diary.md":          "[[Home]] [[Nothing here]]\n",
		"Alone.md":                  "`[[Home]]`\n",
		"rose.png":                  "\x89PNG",
		".smart-env/smart_env.json": `{"smart_sources":{"folder_exclusions":"Private"}}`,
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(path)), []byte(text))
	}
	return newTestServer(t, dir)
}

func TestResolveLink(t *testing.T) {
	s := linkedVault(t)
	for _, tt := range []struct{ link, from, want string }{
		{"[[Roses]]", "", "Garden/Roses.md note filename"},
		{"[[Roses#Pruning|how]]", "Home.md", `Garden/Roses.md note filename section "Pruning" 7`},
		{"![[rose.png]]", "home", "rose.png attachment path"},
		{"[start](../Home.md)", "Garden/Roses.md", "Home.md note path"},
		{"Queen", "", "Garden/Roses.md note alias"},
		{"how to prune", "", "Garden/Roses.md note link_text"},
		{"Garden/Roses", "", "Garden/Roses.md note path"},
		{"note://Garden/Roses.md", "", "Garden/Roses.md note path"},
		{"note://Garden%2FRoses.md#Pruning", "", `Garden/Roses.md note path section "Pruning" 7`},
		{"[[Roses#Felling]]", "", `Garden/Roses.md note filename missing ["Roses" "Pruning"] note "the note has no section \"Felling\"; it has 2 headings"`},
		{"[[#Pruning]]", "Garden/Roses.md", `Garden/Roses.md note path section "Pruning" 7`},
		{"[[#Pruning]]", "", `nowhere note "it names a place within the note it stands in: pass that note as from"`},
		{"[[Index]]", "Workshop/Kiln.md", "Workshop/Index.md note filename"},
		{"Nobody", "", `nowhere note "no note or attachment has this path, name or alias, and no note is linked`},
	} {
		out, err := s.ResolveLink(t.Context(), LinkInput{tt.link, tt.from})
		got := strings.Join([]string{out.Path, out.Kind, out.MatchedBy}, " ")
		if !out.Resolved {
			got = "nowhere"
		}
		if out.Line > 0 || out.Section != "" {
			got += fmt.Sprintf(" section %q %d", out.Section, out.Line)
		}
		if out.MissingSection {
			got += fmt.Sprintf(" missing %q", out.Headings)
		}
		if out.Note != "" {
			got += fmt.Sprintf(" note %q", out.Note)
		}
		got, _, _ = strings.Cut(got, " under this text: ")
		if err != nil || got != tt.want || out.Link != tt.link || out.Ambiguous || out.Warning != "" {
			t.Errorf("ResolveLink(%q, %q) = %s, %v; want %s", tt.link, tt.from, got, err, tt.want)
		}
	}
}

// A link that leads nowhere is answered with what it may have meant.
func TestResolveLinkNearest(t *testing.T) {
	s := serverOf(t, vaultNotes())
	if _, err := s.snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"[[Elsewhere/Roses#Pruning|x]]", "Elsewhere/roses.md", "[x](Elsewhere/Roses.md)", "note://Elsewhere%2FRoses"} {
		out, err := s.ResolveLink(t.Context(), LinkInput{Link: link})
		if err != nil || out.Resolved || out.Path != "" || out.Kind != "" || !strings.Contains(out.Note, `did you mean "Garden/Roses.md"?`) {
			t.Errorf("ResolveLink(%q) = %+v, %v; want Garden/Roses.md proposed", link, out, err)
		}
	}
	for _, tt := range []struct {
		in   LinkInput
		want string
	}{
		{LinkInput{Link: " "}, "link is empty"},
		{LinkInput{Link: strings.Repeat("x", maxLink+1)}, "link has 4097 bytes"},
		{LinkInput{Link: "[[Roses]]", From: "Gone.md"}, "no note at"},
	} {
		if _, err := s.ResolveLink(t.Context(), tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ResolveLink(%.20q, %q) = %v, want %q", tt.in.Link, tt.in.From, err, tt.want)
		}
	}
}

func TestResolveAmbiguousLink(t *testing.T) {
	s := linkedVault(t)
	for i := range 24 {
		write(t, filepath.Join(s.vault.Root(), fmt.Sprint(i), "Same.md"), []byte("x"))
	}
	out, err := s.ResolveLink(t.Context(), LinkInput{Link: "[[Index]]"})
	want := []string{"Garden/Index.md", "Workshop/Index.md"}
	if err != nil || !out.Resolved || !out.Ambiguous || !slices.Equal(out.Candidates, want) || !slices.Contains(want, out.Path) || !strings.Contains(out.Note, "2 files fit equally well") {
		t.Errorf("ResolveLink(Index) = %+v, %v; want the candidates %q", out, err, want)
	}
	out, err = s.ResolveLink(t.Context(), LinkInput{Link: "Same"})
	if err != nil || len(out.Candidates) != maxCandidates || !strings.Contains(out.Note, "24 files") {
		t.Errorf("ResolveLink(Same) = %+v, %v; want %d of 24 candidates", out, err, maxCandidates)
	}
}

// A note that the user has closed is not named by any of the tools, nor is what
// stands in it; that a link to it is not broken can be said.
func TestLinksToClosedNotes(t *testing.T) {
	s := linkedVault(t)
	for _, tt := range []struct{ tool, arguments, want string }{
		{"resolve_link", `{"link":"[[Diary]]"}`, `"resolved":false,"note":"it leads into a folder that the exclusion settings`},
		{"resolve_link", `{"link":"Nothing here"}`, `"resolved":false`},
		{"backlinks", `{"path":"Home.md","include_outbound":true}`, `"warning":"1 links of the note lead into folders`},
		{"broken_links", `{"min_references":1,"include_orphans":true}`, `"total":{"attachment":1,"heading":2,"note":2}`},
		{"connection_graph", `{"path":"Home.md","depth":5}`, `"mode":"links"`},
	} {
		text, isError := callTool(t, s, tt.tool, tt.arguments)
		if isError || !strings.Contains(text, tt.want) || strings.Contains(text, "Private") || strings.Contains(text, "Nothing here\"],") {
			t.Errorf("%s %s = %s, want %s and nothing of the closed folder", tt.tool, tt.arguments, text, tt.want)
		}
	}
	for _, tool := range []string{"backlinks", "connection_graph"} {
		if text, isError := callTool(t, s, tool, `{"path":"Private/Diary.md"}`); !isError || !strings.Contains(text, "exclusion settings") {
			t.Errorf("%s of a closed note = %s, want it refused", tool, text)
		}
	}
	if text, isError := callTool(t, s, "resolve_link", `{"link":"[[Home]]","from":"private/diary"}`); !isError || !strings.Contains(text, "exclusion settings") {
		t.Errorf("resolve_link from a closed note = %s, want it refused", text)
	}
}

func TestBacklinks(t *testing.T) {
	s := linkedVault(t)
	for _, tt := range []struct {
		path         string
		count, notes int
		want         string
	}{
		{"Home.md", 2, 1, `[{"path":"Alone.md","line":1,"link":"[[Home]]","in_code":true},` +
			`{"path":"Garden/Roses.md","line":2,"link":"[[Home]]","property":"up"},` +
			`{"path":"Garden/Roses.md","line":8,"link":"[start](../Home.md)","text":"start"},` +
			`{"path":"Garden/Roses.md","line":11,"link":"[[Home]]","in_code":true}]`},
		{"garden/roses", 4, 2, `[{"path":"Garden/Index.md","line":1,"link":"[[Roses#Felling]]","section":"Felling"},` +
			`{"path":"Garden/Index.md","line":1,"link":"[[Roses#felling]]","section":"felling"},` +
			`{"path":"Home.md","line":1,"link":"[[Roses]]"},` +
			`{"path":"Home.md","line":1,"link":"[[Roses#Pruning|how to prune]]","text":"how to prune","section":"Pruning"}]`},
		{"rose.png", 1, 1, `[{"path":"Home.md","line":2,"link":"![[rose.png]]","embed":true}]`},
		{"Workshop/Kiln.md", 0, 0, `[{"path":"Home.md","line":3,"link":"[[Kiln]]","in_code":true}]`},
		{"Alone.md", 0, 0, `[]`},
	} {
		out, err := s.Backlinks(t.Context(), defaultBacklinks(tt.path))
		got, _ := encode(out.Backlinks)
		if err != nil || string(got) != tt.want || out.Count != tt.count || out.Notes != tt.notes || out.LinksTo != nil || out.Unresolved != nil {
			t.Errorf("Backlinks(%q) = %s, count %d, notes %d, %v; want %s, %d, %d", tt.path, got, out.Count, out.Notes, err, tt.want, tt.count, tt.notes)
		}
		if empty := out.Reason != ""; empty != (len(out.Backlinks) == 0) || out.Truncated {
			t.Errorf("Backlinks(%q): reason %q, truncated %v", tt.path, out.Reason, out.Truncated)
		}
	}
	for path, want := range map[string]string{"Gone.md": "no note at", " ": "path is empty", "../x.md": "is refused"} {
		if _, err := s.Backlinks(t.Context(), defaultBacklinks(path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Backlinks(%q) = %v, want %q", path, err, want)
		}
	}
}

func TestBacklinksOutbound(t *testing.T) {
	s := linkedVault(t)
	for path, want := range map[string]string{
		"Home.md": `"links_to":[{"path":"Garden/Roses.md","kind":"note","line":1,"link":"[[Roses]]"},` +
			`{"path":"Garden/Roses.md","kind":"note","line":1,"link":"[[Roses#Pruning|how to prune]]"},` +
			`{"path":"rose.png","kind":"attachment","line":2,"link":"![[rose.png]]","embed":true},` +
			`{"path":"Workshop/Kiln.md","kind":"note","line":3,"link":"[[Kiln]]","in_code":true}],` +
			`"unresolved":[{"kind":"note","line":2,"link":"[[Gone]]"},{"kind":"note","line":3,"link":"[[Nobody]]"}]`,
		"Garden/Index.md": `"links_to":[],"unresolved":[` +
			`{"path":"Garden/Roses.md","kind":"heading","line":1,"link":"[[Roses#Felling]]"},` +
			`{"path":"Garden/Roses.md","kind":"heading","line":1,"link":"[[Roses#felling]]"},` +
			`{"kind":"note","line":1,"link":"[[Gone#Part]]"},{"kind":"attachment","line":1,"link":"![[lost.png]]","embed":true},` +
			`{"path":"Garden/Index.md","kind":"heading","line":1,"link":"[[#Nowhere]]"}]`,
		"Workshop/Index.md": `"links_to":[],"unresolved":[]`,
		"rose.png":          `"links_to":[],"unresolved":[]`,
	} {
		text, _ := callTool(t, s, "backlinks", fmt.Sprintf(`{"path":%q,"include_outbound":"true"}`, path))
		if !strings.Contains(text, want) {
			t.Errorf("backlinks of %s = %s, want %s", path, text, want)
		}
	}
}

func TestBrokenLinks(t *testing.T) {
	s := linkedVault(t)
	const (
		gone    = `Gone note 4 5 ["Garden/Index.md:1" "Garden/Roses.md:8" "Home.md:2" "Workshop/Kiln.md:1"]`
		nobody  = `Nobody note 1 1 ["Home.md:3"]`
		lost    = `lost.png attachment 1 1 ["Garden/Index.md:1"]`
		felling = `Garden/Roses.md#Felling heading 1 2 ["Garden/Index.md:1"]`
		nowhere = `Garden/Index.md#Nowhere heading 1 1 ["Garden/Index.md:1"]`
	)
	all := map[string]int{"note": 2, "attachment": 1, "heading": 2}
	garden := map[string]int{"note": 1, "attachment": 1, "heading": 2}
	for _, tt := range []struct {
		name   string
		edit   func(*BrokenInput)
		want   []string
		total  map[string]int
		reason string
	}{
		{"default", func(*BrokenInput) {}, []string{gone}, all, ""},
		{"all", func(in *BrokenInput) { in.MinReferences = 1 }, []string{gone, nowhere, felling, nobody, lost}, all, ""},
		{"kinds", func(in *BrokenInput) { in.MinReferences, in.Kinds = 1, []string{"heading", "attachment"} }, []string{nowhere, felling, lost}, all, ""},
		{"too few", func(in *BrokenInput) { in.MinReferences = 5 }, nil, all, "nothing that is missing is named by 5 or more notes; 5 targets by fewer: pass min_references 1"},
		{"too few of a kind", func(in *BrokenInput) { in.Kinds = []string{"heading"} }, nil, all, "nothing that is missing is named by 3 or more notes; 2 targets by fewer: pass min_references 1"},
		{"folder", func(in *BrokenInput) { in.MinReferences, in.Folder = 2, []string{"garden"} },
			[]string{`Gone note 2 2 ["Garden/Index.md:1" "Garden/Roses.md:8"]`}, garden, ""},
		{"folder, none of a kind", func(in *BrokenInput) { in.Kinds, in.Folder = []string{"heading"}, []string{"Workshop"} }, nil,
			map[string]int{"note": 1, "attachment": 0, "heading": 0}, "no link in the folder names a missing target of kind heading; total counts the others"},
	} {
		in := defaultBroken()
		tt.edit(&in)
		out, err := s.BrokenLinks(t.Context(), in)
		var got []string
		for _, b := range out.Broken {
			got = append(got, fmt.Sprintf("%s %s %d %d %q", b.Target, b.Kind, b.Notes, b.References, b.Examples))
		}
		if err != nil || !slices.Equal(got, tt.want) || fmt.Sprint(out.Total) != fmt.Sprint(tt.total) || out.Reason != tt.reason || out.Orphans != nil || out.OrphansCount != nil || out.Truncated {
			t.Errorf("%s: got %q, total %v, reason %q, %v; want %q, %v, %q", tt.name, got, out.Total, out.Reason, err, tt.want, tt.total, tt.reason)
		}
	}
	for arguments, want := range map[string]string{
		`{"kinds":["notes"]}`:     `kinds has "notes": pass note, attachment, heading`,
		`{"folder":["Nowhere"]}`:  `folder "Nowhere" is not in this vault: pass one of "Garden", "Workshop"`,
		`{"min_references":"0"}`:  "min_references is 0: pass 1 to 1000",
		`{"limit":201}`:           "limit is 201: pass 1 to 200",
		`{"orphans":true}`:        `unknown argument "orphans"`,
		`{"include_orphans":"x"}`: "pass true or false",
	} {
		if text, isError := callTool(t, s, "broken_links", arguments); !isError || !strings.Contains(text, want) {
			t.Errorf("broken_links %s = %s, want %s", arguments, text, want)
		}
	}
}

// In a folder the order is that of the notes there, and equal ones go by name.
func TestBrokenLinksOrder(t *testing.T) {
	var notes []testNote
	for i := range 7 {
		notes = append(notes, testNote{path: fmt.Sprintf("F/%d.md", i), text: "[[Most]]"}, testNote{path: fmt.Sprintf("%d.md", i), text: "[[Zeta]]"})
	}
	notes = append(notes, testNote{path: "F/A.md", text: "[[Zeta]] [[Alpha]] [[Alpha]]"})
	s := serverOf(t, notes)
	in := defaultBroken()
	in.MinReferences, in.Folder = 1, []string{"F"}
	out, err := s.BrokenLinks(t.Context(), in)
	got, _ := encode(out.Broken)
	const want = `[{"target":"Most","kind":"note","notes":7,"references":7,"examples":["F/0.md:1","F/1.md:1","F/2.md:1","F/3.md:1","F/4.md:1"]},` +
		`{"target":"Alpha","kind":"note","notes":1,"references":2,"examples":["F/A.md:1"]},{"target":"Zeta","kind":"note","notes":1,"references":1,"examples":["F/A.md:1"]}]`
	if err != nil || string(got) != want {
		t.Errorf("BrokenLinks = %s, %v; want %s", got, err, want)
	}
}

func TestOrphans(t *testing.T) {
	s := linkedVault(t)
	for arguments, want := range map[string]string{
		`{"include_orphans":true}`:                         `"orphans":["Alone.md"],"orphans_count":1`,
		`{"include_orphans":true,"folder":["Garden"]}`:     `"orphans":[],"orphans_count":0`,
		`{"include_orphans":true,"folder":"./","limit":1}`: `"orphans":["Alone.md"],"orphans_count":1`,
	} {
		if text, _ := callTool(t, s, "broken_links", arguments); !strings.Contains(text, want) {
			t.Errorf("broken_links %s = %s, want %s", arguments, text, want)
		}
	}
	s = serverOf(t, []testNote{{path: "A.md", text: "[[B]]"}, {path: "B.md", text: "x"}})
	out, err := s.BrokenLinks(t.Context(), defaultBroken())
	if err != nil || out.Reason != "every link leads to something that exists" {
		t.Errorf("broken_links of a sound vault: %+v, %v", out, err)
	}
}

// A note that cannot be read is no note without links: every answer says so.
func TestLinksOfUnreadableNotes(t *testing.T) {
	s := linkedVault(t)
	big := filepath.Join(s.vault.Root(), "Big.md")
	write(t, big, nil)
	if err := os.Truncate(big, 64<<20+1); err != nil { // more than is read of any note
		t.Fatal(err)
	}
	const unread = `1 notes (\"Big.md\" is the first) cannot be read`
	for _, tt := range []struct{ tool, arguments, want string }{
		{"resolve_link", `{"link":"Home"}`, unread},
		{"resolve_link", `{"link":"Big"}`, `"path":"Big.md","kind":"note"`},
		{"backlinks", `{"path":"Home.md"}`, unread},
		{"backlinks", `{"path":"Big.md"}`, `"warning":"` + unread},
		{"backlinks", `{"path":"Big.md","include_outbound":true}`, `"warning":"The note itself was not read, so what it links to is not known. ` + unread},
		{"broken_links", `{"include_orphans":true}`, unread},
		{"connection_graph", `{"path":"Home.md"}`, unread},
	} {
		if text, isError := callTool(t, s, tt.tool, tt.arguments); isError || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s = %s, want %s", tt.tool, tt.arguments, text, tt.want)
		}
	}
	for want, g := range map[string]*links.Graph{
		"": {}, `2 notes ("a.md" is the first) cannot be read just now, so`: {Unreadable: []string{"a.md", "b.md"}},
		"3 folders or notes cannot be listed just now": {Unlisted: 3}, "cannot be read and 3 folders or notes cannot be listed": {Unlisted: 3, Unreadable: []string{"a.md"}},
		"are those of an earlier moment: the disk is away. 3 folders": {Unlisted: 3, Behind: "the disk is away"},
	} {
		if got := unreadLinks(g); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("unreadLinks(%v) = %q, want %q", g, got, want)
		}
	}
}

// Every answer conforms to its output schema.
func TestLinkAnswersConform(t *testing.T) {
	bare, whole := linkedVault(t), connectedVault(t)
	for _, tt := range []struct{ tool, arguments string }{
		{"resolve_link", `{"link":"[[Roses#Felling]]"}`},
		{"resolve_link", `{"link":"[[Roses#Pruning]]","from":"Home.md"}`},
		{"resolve_link", `{"link":"Index"}`},
		{"resolve_link", `{"link":"[[Diary]]"}`},
		{"backlinks", `{"path":"Home.md","include_outbound":true,"limit":1}`},
		{"backlinks", `{"path":"Alone.md"}`},
		{"broken_links", `{"include_orphans":true,"limit":1,"min_references":1}`},
		{"broken_links", `{"kinds":"heading"}`},
		{"connection_graph", `{"path":"Home.md"}`},
	} {
		conforms(t, bare, tt.tool, tt.arguments)
	}
	for _, path := range []string{"A.md", "E.md", "H.md"} {
		conforms(t, whole, "connection_graph", fmt.Sprintf(`{"path":%q}`, path))
	}
}

func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		path    string
		folders []string
		want    bool
	}{
		{"a/b.md", nil, true}, {"a/b.md", []string{"a"}, true}, {"ab/b.md", []string{"a"}, false}, {"a.md", []string{"a"}, false},
		{"a/b.md", []string{"c", "a"}, true}, {"a/b.md", []string{""}, false}, {"b.md", []string{"a", ""}, true},
	} {
		if got := below(tt.path, tt.folders); got != tt.want {
			t.Errorf("below(%q, %q) = %v, want %v", tt.path, tt.folders, got, tt.want)
		}
	}
}

// What is longer than an answer may be is cut, and the answer says so.
func TestLinksFit(t *testing.T) {
	dir := t.TempDir()
	folder := strings.TrimSpace(strings.Repeat("Ordner mit langem Namen ", 10))
	for i := range 250 {
		write(t, filepath.Join(dir, folder, folder, fmt.Sprintf("%03d.md", i)), []byte(fmt.Sprintf("[[Hub|%s]] [[Gone %03d]] \u202e\n", strings.Repeat("<&>", 200), i)))
		write(t, filepath.Join(dir, "Alone", fmt.Sprintf("%03d.md", i)), []byte("x"))
	}
	write(t, filepath.Join(dir, "Hub.md"), []byte(strings.Repeat("[[Alone/000]] [[Nothing]]\n", 300)))
	s := newTestServer(t, dir)
	for _, tt := range []struct {
		tool, arguments, next string
		rows                  map[string]int // by list; -1: fewer than the limit
	}{
		{"backlinks", `{"path":"Hub.md","limit":7}`, "ends after 7 rows, and the longest has 250: pass a higher limit, up to 200", map[string]int{"backlinks": 7}},
		{"backlinks", `{"path":"Hub.md","limit":7,"include_outbound":true}`, "and the longest has 300", map[string]int{"backlinks": 7, "links_to": 7, "unresolved": 7}},
		{"backlinks", `{"path":"Hub.md","limit":200}`, "to keep the answer under 60000 bytes", map[string]int{"backlinks": -1}},
		{"backlinks", `{"path":"Alone/000.md","limit":200}`, "and the longest has 300: count and notes count all links to it", map[string]int{"backlinks": 200}},
		{"broken_links", `{"min_references":1,"limit":3,"include_orphans":true}`, "ends after 3 rows", map[string]int{"broken": 3, "orphans": 3}},
		{"broken_links", `{"min_references":1,"limit":200,"include_orphans":true}`, "to keep the answer under 60000 bytes", map[string]int{"broken": -1}},
	} {
		text, isError := callTool(t, s, tt.tool, tt.arguments)
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil || isError {
			t.Fatal(err, text)
		}
		if next, _ := out["next_step"].(string); len(text) > maxAnswer || out["truncated"] != true || !strings.Contains(next, tt.next) {
			t.Errorf("%s %s: %d bytes, truncated %v, next_step %q; want %q", tt.tool, tt.arguments, len(text), out["truncated"], next, tt.next)
		}
		for list, want := range tt.rows {
			if got := len(out[list].([]any)); got != want && (want >= 0 || got < 50 || got >= 200) {
				t.Errorf("%s %s: %d rows of %s, want %d", tt.tool, tt.arguments, got, list, want)
			}
		}
	}
}
