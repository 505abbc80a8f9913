package smartenv

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseSettings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		change     func(*Settings) // from the defaults
	}{
		{"empty object", `{}`, func(*Settings) {}},
		{"BOM and blanks", "\ufeff {}\r\n", func(*Settings) {}},
		{"numbers", `{"smart_blocks":{"min_chars":150,"embed_blocks":false},"smart_sources":{"min_chars":300}}`,
			func(s *Settings) { s.MinChars, s.EmbedBlocks, s.NoteMinBytes = 150, false, 300 }},
		{"numbers as strings", `{"smart_blocks":{"min_chars":"150"},"smart_sources":{"min_chars":"300","excluded_headings":null}}`,
			func(s *Settings) { s.MinChars, s.NoteMinBytes = 150, 300 }},
		{"nonsense", `{"smart_blocks":[],"smart_sources":{"min_chars":{"a":1},"file_exclusions":7},"embedding_models":"x"}`,
			func(s *Settings) { s.exclusions = exclusionGlobs(nil, nil, nil) }},
		{"negative", `{"smart_blocks":{"min_chars":-5}}`, func(*Settings) {}},
		{"headings", `{"smart_sources":{"excluded_headings":" A , B,,C"}}`,
			func(s *Settings) { s.ExcludedHeadings = []string{"A", "B", "C"} }},
		{"model key", `{"embedding_models":{"default_model_key":"transformers#1"}}`,
			func(s *Settings) { s.modelKey = "transformers#1" }},
		{"exclusions as text", `{"smart_sources":{"file_exclusions":"Draft, Old","folder_exclusions":"x"}}`,
			func(s *Settings) {
				s.exclusions = exclusionGlobs([]string{"Draft", "Old"}, []string{"x"}, nil)
				s.closed = []string{"x"}
			}},
		{"a list wins", `{"smart_sources":{"file_exclusions_list":["A"],"file_exclusions":"B","folder_exclusions":"C","folder_exclusions_list":[]}}`,
			func(s *Settings) { s.exclusions = exclusionGlobs([]string{"A"}, nil, nil) }},
		{"gitignore", `{"gitignore_exclusions":["dist/**","*.log"]}`,
			func(s *Settings) {
				s.exclusions = exclusionGlobs([]string{"Untitled"}, nil, []string{"dist/**", "*.log"})
			}},
		{"gitignore skipped", `{"gitignore_exclusions":["dist/**"],"skip_excluding_gitignore":true}`, func(*Settings) {}},
		{"gitignore skipped, first", `{"smart_sources":{"skip_excluding_gitignore":true},"gitignore_exclusions":["dist/**"]}`, func(*Settings) {}},
	} {
		want := defaultSettings()
		c.change(&want)
		got, err := parseSettings([]byte(c.text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: parseSettings = %+v, %v, want %+v", c.name, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "null", "[]", `{"smart_sources":{"min_chars":3`, "\x00\x00"} {
		if got, err := parseSettings([]byte(text)); err == nil {
			t.Errorf("parseSettings(%q) = %+v, want an error", text, got)
		}
	}
}

func TestConfiguredModel(t *testing.T) {
	bge := defaultModel()
	e5 := catalogue[3]
	for _, c := range []struct {
		name, key, log string
		want           Model
		damaged        bool
	}{
		{"no record", "", "", bge, false},
		{"the named record", "m#1", `"embedding_models:m#1": {"model_key":"x/y","dims":100,"max_tokens":64,"created_at":1},` + "\n" +
			`"embedding_models:m#2": {"model_key":"z","created_at":2},`, Model{"transformers", "x/y", "", 100, 64}, false},
		{"the newest when the key is gone", "m#9", `"embedding_models:m#1": {"model_key":"old","created_at":1},` + "\n" +
			`"embedding_models:m#2": {"model_key":"new","created_at":2},`, Model{"transformers", "new", "", 384, 512}, false},
		{"last record wins", "m#1", `"embedding_models:m#1": {"model_key":"a"},` + "\n" + `"embedding_models:m#1": {"model_key":"b"},`,
			Model{"transformers", "b", "", 384, 512}, false},
		{"deleted", "m#1", `"embedding_models:m#1": {"model_key":"a"},` + "\n" + `"embedding_models:m#1": null,`, bge, false},
		{"leading line break", "m#1", "\n" + `"embedding_models:m#1": {"model_key":"a"},`, Model{"transformers", "a", "", 384, 512}, false},
		{"defaults", "m#1", `"embedding_models:m#1": {"created_at":3}`, bge, false},
		{"the built-in list knows better", "m#1", `"embedding_models:m#1": {"model_key":"Xenova/multilingual-e5-small","dims":7,"dimensions":8,"max_tokens":9}`, e5, false},
		{"numbers as strings", "m#1", `"embedding_models:m#1": {"model_key":"a","dims":"96","max_tokens":"128","created_at":"5"}`,
			Model{"transformers", "a", "", 96, 128}, false},
		{"dimensions", "m#1", `"embedding_models:m#1": {"provider_key":"openai","model_key":"text-embedding-3-large","dimensions":512,"max_tokens":8191,"api_key":"sk-secret"}`,
			Model{"openai", "text-embedding-3-large", "", 512, 8191}, false},
		{"unknown dims of another provider", "m#1", `"embedding_models:m#1": {"provider_key":"ollama","model_key":"nomic"}`, Model{Provider: "ollama", Name: "nomic"}, false},
		{"absurd dims", "m#1", `"embedding_models:m#1": {"provider_key":"ollama","model_key":"nomic","dims":99999999}`, Model{Provider: "ollama", Name: "nomic"}, false},
		{"torn line", "m#1", `"embedding_models:m#1": {"model_key":"a"},` + "\n" + `"embedding_models:m#2": {"model`, Model{"transformers", "a", "", 384, 512}, true},
	} {
		models, complete := parseModels([]byte(c.log))
		if got := configuredModel(c.key, models); got != c.want || complete == c.damaged {
			t.Errorf("%s: model = %+v, complete %v, want %+v, %v", c.name, got, complete, c.want, !c.damaged)
		}
	}
}

// A model record may hold an API key; nothing of a snapshot may show it.
func TestKeysAreNotKept(t *testing.T) {
	const key = "sk-very-secret"
	v := newFakeVault(t)
	v.append(".smart-env/embedding_models/embedding_models.ajson",
		[]byte("\n"+`"embedding_models:m#1": {"provider_key":"openai","model_key":"a","dims":8,"api_key":"`+key+`"},`+"\n"+`"embedding_models:m#3": {"api_key":"`+key))
	v.log(simpleLine("a.md", 1))
	snap := loadFake(t, v)
	for _, text := range append(snap.Warnings, snap.Configured.String(), snap.Model.Name) {
		if strings.Contains(text, key) {
			t.Errorf("%q shows the key", text)
		}
	}
	if snap.Configured.Provider != "openai" {
		t.Errorf("configured = %+v, want the record's", snap.Configured)
	}
}

// While settings are half written, those read before serve, then the defaults.
func TestHalfWrittenSettings(t *testing.T) {
	const half = `{"smart_blocks":{"min_chars":77},"embedding_models":{"default_mod`
	v := newFakeVault(t)
	v.write(".smart-env/smart_env.json", `{"smart_blocks":{"min_chars":77},"embedding_models":{"default_model_key":"m#1"}}`)
	v.addNote("a.md", "text", 1)
	x := openIndex(t, v.dir, Options{Recheck: 1})
	if snap, err := x.Snapshot(t.Context()); err != nil || snap.Settings.MinChars != 77 || len(snap.Notes.Items) != 1 {
		t.Fatalf("min chars = %+v, %v, want 77", snap, err)
	}
	v.write(".smart-env/smart_env.json", half)
	v.addNote("b.md", "text", 2)
	snap, err := x.Snapshot(t.Context())
	if err != nil || snap.Settings.MinChars != 77 || len(snap.Notes.Items) != 2 || !hasWarning(snap, "those read before") {
		t.Errorf("after a half-written file: min chars %d, %d notes, warnings %q, %v", snap.Settings.MinChars, len(snap.Notes.Items), snap.Warnings, err)
	}
	v.write(".smart-env/smart_env.json", `{"smart_blocks":{"min_chars":77}}`)
	v.write(".smart-env/embedding_models/embedding_models.ajson", "\n")
	if snap, err = x.Snapshot(t.Context()); err != nil || snap.Configured != fakeModel || !hasWarning(snap, "those read before") {
		t.Errorf("with empty model records: configured %v, warnings %q, %v", snap.Configured, snap.Warnings, err)
	}
	v.write(".smart-env/smart_env.json", half)
	v.write(".smart-env/embedding_models/embedding_models.ajson", `"embedding_models:m#1": {"model_key":"test/model","dims":8,"max_tokens":512},`)
	fresh := loadFake(t, v)
	if fresh.Settings.MinChars != 200 || fresh.Configured != fakeModel || !hasWarning(fresh, "defaults are used") {
		t.Errorf("first load of a half-written file: min chars %d, model %v, warnings %q", fresh.Settings.MinChars, fresh.Configured, fresh.Warnings)
	}
}

func TestMissingSettings(t *testing.T) {
	v := newFakeVault(t)
	for _, name := range []string{"smart_env.json", "embedding_models/embedding_models.ajson"} {
		v.remove(".smart-env/" + name)
	}
	v.log(simpleLine("a.md", 1))
	snap := loadFake(t, v)
	if snap.Configured != defaultModel() || !reflect.DeepEqual(snap.Settings, defaultSettings()) {
		t.Errorf("configured %+v, settings %+v, want the defaults", snap.Configured, snap.Settings)
	}
}

func hasWarning(snap *Snapshot, part string) bool {
	return strings.Contains(strings.Join(snap.Warnings, "\n"), part)
}
