package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
)

func mustStatus(t *testing.T, s *Server) StatusOutput {
	t.Helper()
	out, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStatus(t *testing.T) {
	s := serverOf(t, append(vaultNotes(), testNote{path: "Inbox/New.md", text: "x", unindexed: true}))
	out := mustStatus(t, s)
	if want := (Freshness{Fresh: 6, Stale: 1, Missing: 1, NotIndexed: 1}); out.Freshness != want {
		t.Errorf("freshness %+v, want %+v", out.Freshness, want)
	}
	if want := (folderList{"Garden": {2, 3}, "Journey": {1, 1}, "Office": {1, 1}, "Workshop": {2, 3}}); !reflect.DeepEqual(out.Folders, want) {
		t.Errorf("folders %v, want %v", out.Folders, want)
	}
	if want := (tally{"missing": 1, "short": 1}); !reflect.DeepEqual(out.NotesWithout, want) {
		t.Errorf("notes_without_vector %v, want %v", out.NotesWithout, want)
	}
	name := testModel.Fingerprint()
	if want := map[string]vectors{"smart_sources/" + name: {224, 7, 7}, "smart_blocks/" + name: {288, 9, 9}}; !reflect.DeepEqual(out.Multifiles, want) {
		t.Errorf("multifiles %v, want %v", out.Multifiles, want)
	}
	if out.Vault != "Test vault" || out.Model != "test/axes" || out.Fingerprint != name || out.Dims != 8 || !out.EmbedderMatches ||
		out.EmbeddedNotes != 6 || out.EmbeddedBlocks != 8 || out.StaleNotes != 1 || out.StaleBlocks != 1 || out.NotIndexed != 1 || out.MissingNotes != 1 {
		t.Errorf("status %+v", out)
	}
	if len(out.Warnings) == 0 {
		t.Error("no warnings for a vault with a stale, a missing and a new note")
	}
}

// The cases of the collection, each with the trouble that status must show.
func TestStatusOfCases(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   func(StatusOutput) bool
	}{
		{"02-tombstone-then-recreated", func(o StatusOutput) bool { return o.Tombstones > 0 }},
		{"03-new-vault-no-vectors-yet", func(o StatusOutput) bool { return o.EmbeddedNotes == 0 && len(o.Warnings) > 0 }},
		{"06-two-models-newer-file-missing", func(o StatusOutput) bool { return len(o.Warnings) > 0 }},
		{"07-stale-ref-after-edit-no-reembed", func(o StatusOutput) bool { return o.Refused["smart_sources"]["outdated"] > 0 }},
		{"11-short-notes-without-vector", func(o StatusOutput) bool { return o.NotesWithout["short"] > 0 }},
		{"14-note-missing-on-disk", func(o StatusOutput) bool { return o.MissingNotes > 0 && len(o.Warnings) > 0 }},
		{"15-most-notes-not-indexed", func(o StatusOutput) bool { return o.NotIndexed == 9 && len(o.Warnings) > 0 }},
		{"17-two-shards", func(o StatusOutput) bool { return len(o.Shards) == 3 && o.Shards[2].Name == "smart_sources_10.ajson" }},
	} {
		out := mustStatus(t, newTestServer(t, filepath.Join("..", "testdata", "cases", tt.name, "vault")))
		if !tt.ok(out) {
			t.Errorf("%s: %+v", tt.name, out)
		}
	}
}

// A copy made by a sync and an old store are named.
func TestStatusNamesForeignFiles(t *testing.T) {
	dir := writeVault(t, vaultNotes())
	write(t, filepath.Join(dir, ".smart-env", "smart_sources", "smart_sources-DESKTOP-AB12.ajson"), []byte("x"))
	write(t, filepath.Join(dir, ".smart-env", "multi", "A_md.ajson"), []byte(`"smart_sources:A.md": {},`))
	out := mustStatus(t, newTestServer(t, dir))
	if out.Ignored.Count != 1 || !strings.Contains(strings.Join(out.Ignored.Names, " "), "DESKTOP-AB12") {
		t.Errorf("ignored_files %+v", out.Ignored)
	}
	if len(out.LegacyStore) != len("2006-01-02") {
		t.Errorf("legacy_store_ignored %q, want a date", out.LegacyStore)
	}
}

func TestStatusOfEmbedder(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.name = func() (string, bool) { return "another/model", false }
	out := mustStatus(t, s)
	if out.EmbedderMatches || out.EmbedderReady || !slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "another/model") }) {
		t.Errorf("matches %v, ready %v, warnings %q", out.EmbedderMatches, out.EmbedderReady, out.Warnings)
	}
}

// Before anything is loaded there is no mismatch to warn of.
func TestStatusBeforeWeights(t *testing.T) {
	s := serverOf(t, vaultNotes())
	s.name = func() (string, bool) { return "", false }
	out := mustStatus(t, s)
	if !out.EmbedderMatches || out.EmbedderReady || out.QueryEmbedder != testModel.Name || strings.Contains(strings.Join(out.Warnings, " "), "SMART_MODEL_PATH") {
		t.Errorf("matches %v, ready %v, query_embedder %q, warnings %q", out.EmbedderMatches, out.EmbedderReady, out.QueryEmbedder, out.Warnings)
	}
}

// A vault of vectors that belong to no known model: the index is described,
// semantic search is refused with both names.
func TestRefusal(t *testing.T) {
	dir := writeVault(t, vaultNotes())
	write(t, filepath.Join(dir, ".smart-env", "embedding_models", "embedding_models.ajson"),
		[]byte(`"embedding_models:transformers#1": {"provider_key":"transformers","model_key":"test/other","dims":8,"max_tokens":512},`))
	s := newTestServer(t, dir)
	for name, arguments := range map[string]string{"search_notes": `{"query":"rose"}`, "related_notes": `{"path":"Garden/Roses.md"}`} {
		text, isError := callTool(t, s, name, arguments)
		if !isError || !strings.Contains(text, "test/other") || !strings.Contains(text, testModel.Fingerprint()) || !strings.Contains(text, "get_note and index_status still work") {
			t.Errorf("%s = %s, want the refusal with both models", name, text)
		}
	}
	out := mustStatus(t, s)
	if out.Refusal == "" || !slices.Contains(out.Warnings, out.Refusal) || out.EmbeddedNotes != 0 {
		t.Errorf("refusal %q, warnings %q", out.Refusal, out.Warnings)
	}
	if got := s.instructions(); !strings.Contains(got, "search_notes and related_notes are refused") {
		t.Errorf("instructions do not tell of the refusal: %s", got)
	}
}

// Where the vault lies must not be told, whatever error comes from below.
func TestScrub(t *testing.T) {
	s := serverOf(t, nil)
	root := s.vault.Root()
	for _, err := range []error{
		fmt.Errorf("open %s: no", filepath.Join(root, "a.md")),
		fmt.Errorf("open %q: no", filepath.Join(root, "a.md")),
	} {
		if got := s.scrubError(err).Error(); strings.Contains(got, root) || strings.Contains(got, filepath.Dir(root)) {
			t.Errorf("scrub(%v) = %s", err, got)
		}
	}
	plain := errors.New("nothing to hide")
	if got := s.scrubError(plain); got != plain {
		t.Errorf("scrub(%v) = %v", plain, got)
	}
	behind := *mustSnapshot(t, s)
	behind.Behind = "could not read " + filepath.Join(root, ".smart-env")
	if got := s.warning(&behind); strings.Contains(got, root) || !strings.Contains(got, "an earlier state of the index") {
		t.Errorf("warning %q", got)
	}
}

func mustSnapshot(t *testing.T, s *Server) *smartenv.Snapshot {
	t.Helper()
	snap, err := s.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// Bugs 42, 46: a note whose properties are no YAML, or a bomb of it, is found and read
// all the same, and is counted and named.
func TestBug42BadProperties(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	s := serverOf(t, append(vaultNotes(),
		testNote{path: "Bad.md", text: "---\ntags: [unclosed\nstatus: open\n---\n# Bad\n" + para("Pay the invoice", 240) + " [[Roses]]\n"},
		testNote{path: "Bomb.md", text: "---\n" + bomb + "---\n# Bomb\n" + para("Pay the tax", 240) + "\n"}))
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad := status.Links.BadProperties
	if bad.Count != 2 || !strings.HasPrefix(bad.First[0], "Bad.md: line ") || !strings.Contains(bad.First[1], "Bomb.md: line ") {
		t.Errorf("bad_properties = %+v, want both notes with a line", bad)
	}
	if !slices.ContainsFunc(status.Warnings, func(w string) bool { return strings.Contains(w, "properties of 2 notes") }) {
		t.Errorf("warnings = %q, want one about the properties", status.Warnings)
	}
	for query, want := range map[string]string{"invoice": "Bad.md", "tax": "Bomb.md"} {
		if out, err := s.Search(t.Context(), DefaultSearch(query)); err != nil || len(out.Results) == 0 || out.Results[0].Path != want {
			t.Errorf("Search(%s) = %+v, %v, want %s", query, out.Results, err, want)
		}
		if out, err := s.Note(t.Context(), DefaultNote(want)); err != nil || !strings.HasPrefix(out.Text, "---\n") {
			t.Errorf("Note(%s) = %.20q, %v", want, out.Text, err)
		}
	}
	if out, err := s.Backlinks(t.Context(), defaultBacklinks("Garden/Roses.md")); err != nil || out.Count != 1 {
		t.Errorf("Backlinks = %+v, %v, want the link of the note with bad properties", out, err)
	}
}
