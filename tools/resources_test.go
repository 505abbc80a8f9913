package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bug 61: names with blanks, percent signs and other scripts go from completion to a
// URI and back to the note.
func TestBug61Resources(t *testing.T) {
	odd := "Garden/100% sure – ü 😀.md"
	s := serverOf(t, append(vaultNotes(),
		testNote{path: odd, text: "odd\r\n"},
		testNote{path: "50%25.md", text: "percent"},
		testNote{path: "a+b & c?d.md", text: "plus"}))
	client := connect(t, s)
	for uri, want := range map[string]string{
		noteURI(odd):             "odd\r\n",
		"note://" + odd:          "odd\r\n", // not encoded, as people write it
		"note:///" + odd:         "odd\r\n",
		noteURI("50%25.md"):      "percent",
		"note://50%25.md":        "percent", // meant as the name itself
		noteURI("a+b & c?d.md"):  "plus",
		"note://a+b & c?d.md":    "plus",
		"note://Garden%2FRoses":  "# Roses",
		`note://Garden\Roses.md`: "# Roses",
	} {
		res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.HasPrefix(res.Contents[0].Text, want) || res.Contents[0].MIMEType != "text/markdown" {
			t.Errorf("ReadResource(%q) = %+v, %v, want %q", uri, res, err, want)
		}
	}
	for _, uri := range []string{"note://../etc/passwd", "note://%2e%2e/x.md", "note://.obsidian/app.json", "note://.smart-env/smart_env.json", "note:///etc/passwd", "note://gone.md", "note://", "vault://other", "vault://\x00\u009b", "file:///\x7f", "", "note:///", "note://\x00", "note://a\u202eb"} {
		if res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("ReadResource(%q) = %+v, want an error", uri, res.Contents[0])
		} else if strings.Contains(err.Error(), s.vault.Root()) {
			t.Errorf("ReadResource(%q) names the vault's place: %v", uri, err)
		} else if err := client.Ping(t.Context(), nil); err != nil {
			t.Fatalf("ReadResource(%q) ended the session: %v", uri, err)
		}
	}
}

func TestStatusResource(t *testing.T) {
	client := connect(t, serverOf(t, vaultNotes()))
	list, err := client.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != statusURI {
		t.Fatalf("ListResources = %+v, %v, want the status alone", list, err)
	}
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("ListResourceTemplates = %+v, %v, want one", templates, err)
	}
	res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: statusURI})
	if err != nil {
		t.Fatal(err)
	}
	var status StatusOutput
	if err := json.Unmarshal([]byte(res.Contents[0].Text), &status); err != nil || status.EmbeddedNotes == 0 {
		t.Errorf("status = %.200s, %v", res.Contents[0].Text, err)
	}
}

func TestComplete(t *testing.T) {
	notes := append(vaultNotes(), testNote{path: "Private/Secret.md", text: "x"}, testNote{path: "Cafe\u0301/Menu.md", text: "x", unindexed: true})
	for i := range 120 {
		notes = append(notes, testNote{path: "Many/N" + strings.Repeat("i", i) + ".md", text: "x"})
	}
	s := serverOf(t, notes)
	client := connect(t, s)
	complete := func(argument, value string) mcp.CompletionResultDetails {
		t.Helper()
		ref := &mcp.CompleteReference{Type: "ref/resource", URI: "note://{+path}"}
		if argument != "path" {
			ref = &mcp.CompleteReference{Type: "ref/prompt", Name: "check_my_links"}
		}
		res, err := client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Completion
	}
	tests := []struct {
		argument, value string
		want            []string
	}{
		{"path", "garden/r", []string{"Garden/Roses.md"}},
		{"path", "ros", []string{"Garden/Roses.md"}},
		{"path", `Garden\comp`, []string{"Garden/Compost.md"}},
		{"path", "caf\u00e9", []string{"Cafe\u0301/Menu.md"}},
		{"path", ".obsidian", []string{}},
		{"folder", "wor", []string{"Workshop"}},
		{"topic", "x", []string{}},
	}
	for _, tt := range tests {
		if got := complete(tt.argument, tt.value).Values; !slices.Equal(got, tt.want) {
			t.Errorf("complete(%s, %q) = %q, want %q", tt.argument, tt.value, got, tt.want)
		}
	}
	if many := complete("path", "Many/"); len(many.Values) != 100 || !many.HasMore || many.Total != 120 {
		t.Errorf("complete of 120 = %d values of %d, more %v", len(many.Values), many.Total, many.HasMore)
	}
	if s.loaded.Load() != nil {
		t.Error("completion loaded the index")
	}
	if _, err := s.snapshot(t.Context()); err != nil { // the index knows nothing of notes it has not
		t.Fatal(err)
	}
	if got := complete("path", "ros").Values; !slices.Equal(got, []string{"Garden/Roses.md"}) {
		t.Errorf("complete with the index = %q", got)
	}
}

func TestPrompts(t *testing.T) {
	client := connect(t, serverOf(t, vaultNotes()))
	list, err := client.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 3 {
		t.Fatalf("ListPrompts = %+v, %v, want three", list, err)
	}
	get := func(name string, arguments map[string]string) (string, error) {
		res, err := client.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: name, Arguments: arguments})
		if err != nil {
			return "", err
		}
		return res.Messages[0].Content.(*mcp.TextContent).Text, nil
	}
	for _, tt := range []struct {
		name      string
		arguments map[string]string
		want      string // in the text, or in the error
		fails     bool
	}{
		{"find_related_work", map[string]string{"path": "Garden/Roses.md"}, `the note "Garden/Roses.md"`, false},
		{"what_do_i_know", map[string]string{"topic": "frost"}, `say about "frost"?`, false},
		{"check_my_links", nil, "links of my vault", false},
		{"check_my_links", map[string]string{"folder": "Garden"}, `folder "Garden"`, false},
		{"what_do_i_know", nil, "topic is missing", true},
		{"find_related_work", map[string]string{"path": " "}, "path is missing", true},
		{"what_do_i_know", map[string]string{"topic": strings.Repeat("x", 501)}, "pass at most 500", true},
	} {
		text, err := get(tt.name, tt.arguments)
		if tt.fails != (err != nil) || !tt.fails && (!strings.Contains(text, tt.want) || strings.Contains(text, "%!")) || tt.fails && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("GetPrompt(%s, %v) = %q, %v, want %q", tt.name, tt.arguments, text, err, tt.want)
		}
	}
}

// The tools that the prompts speak of exist, with the arguments they name.
func TestPromptsNameTools(t *testing.T) {
	known := map[string]bool{}
	for _, tool := range everything() {
		known[tool.name] = true
		for _, argument := range tool.arguments {
			known[argument] = true
		}
	}
	for _, p := range prompts() {
		for _, word := range strings.FieldsFunc(p.text+" "+p.without, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			if strings.Contains(word, "_") && !known[word] {
				t.Errorf("%s speaks of %s, which no tool has", p.name, word)
			}
		}
	}
}
