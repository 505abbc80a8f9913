package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/note"
)

var update = flag.Bool("update", false, "rewrite the recorded goldens in testdata/rpc and testdata/schema")

// schema is a JSON Schema as far as ours go.
type schema struct {
	Type                 json.RawMessage            `json:"type"`
	Description          string                     `json:"description"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Items                json.RawMessage            `json:"items"`
	Required             []string                   `json:"required"`
	Enum                 []any                      `json:"enum"`
	Default              any                        `json:"default"`
	Minimum              *float64                   `json:"minimum"`
	Maximum              *float64                   `json:"maximum"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
}

// lint checks one schema and all inside it against what clients accept: Gemini,
// Copilot and strict JSON Schema libraries have each dropped all tools of a
// server for one schema that broke one of these rules.
func lint(t *testing.T, at string, raw json.RawMessage) schema {
	t.Helper()
	var keys map[string]json.RawMessage
	var s schema
	if err := json.Unmarshal(raw, &keys); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	allowed := []string{"type", "description", "properties", "items", "required", "enum", "default", "minimum", "maximum", "minLength", "maxLength", "additionalProperties"}
	for key := range keys {
		if !slices.Contains(allowed, key) {
			t.Errorf("%s has %q: some clients refuse it", at, key)
		}
	}
	var typ string
	if json.Unmarshal(s.Type, &typ) != nil || !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, typ) {
		t.Errorf("%s has type %s, want one of the plain types", at, s.Type)
	}
	for _, value := range s.Enum {
		if _, ok := value.(string); !ok || typ != "string" {
			t.Errorf("%s: enum of type %q with %v, want strings only", at, typ, value)
		}
	}
	if (typ == "array") != (s.Items != nil) {
		t.Errorf("%s: an array has items and nothing else has", at)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			t.Errorf("%s requires %q, which it does not describe", at, name)
		}
	}
	for name, property := range s.Properties {
		if !regexp.MustCompile(`^[a-z_]{1,64}$`).MatchString(name) {
			t.Errorf("%s: property name %q", at, name)
		}
		lint(t, at+"."+name, property)
	}
	if s.Items != nil {
		lint(t, at+"[]", s.Items)
	}
	if more := string(s.AdditionalProperties); more != "" && more != "false" {
		lint(t, at+".*", s.AdditionalProperties)
	}
	return s
}

func TestSchemas(t *testing.T) {
	if n := len(everything()); n > 12 {
		t.Fatalf("%d tools, want at most 12", n)
	}
	for _, tool := range everything() {
		in := lint(t, tool.name+" input", json.RawMessage(tool.input))
		out := lint(t, tool.name+" output", json.RawMessage(tool.output))
		if string(in.Type) != `"object"` || string(out.Type) != `"object"` || in.Properties == nil {
			t.Errorf("%s: input is %s, output is %s; want objects", tool.name, in.Type, out.Type)
		}
		if got, want := slices.Sorted(maps.Keys(in.Properties)), slices.Sorted(slices.Values(tool.arguments)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the code takes %v", tool.name, got, want)
		}
		if n := note.Len16(tool.description); n >= 2048 {
			t.Errorf("%s: the description has %d UTF-16 units, want less than 2048", tool.name, n)
		}
		if head := note.Prefix16(tool.description, 512); !strings.Contains(head, "Use it") {
			t.Errorf("%s: a client that shows 512 units shows only %q", tool.name, head)
		}
	}
}

// What the schemas say of ranges and defaults is what the code does.
func TestSchemasAgreeWithCode(t *testing.T) {
	s := serverOf(t, vaultNotes())
	required := map[string]string{"search_notes": `"query":"rose"`, "related_notes": `"path":"Short.md"`, "get_note": `"path":"Short.md"`,
		"connection_graph": `"path":"Short.md"`, "backlinks": `"path":"Short.md"`, "broken_links": `"kinds":[]`, "nearest_vectors": `"vector":[1,0,0,0,0,0,0,0]`}
	defaults := map[string]map[string]any{
		"search_notes":     {"limit": DefaultSearch("").Limit, "min_score": DefaultSearch("").MinScore, "scope": DefaultSearch("").Scope, "sections_per_note": DefaultSearch("").SectionsPerNote, "include_text": DefaultSearch("").IncludeText},
		"related_notes":    {"limit": DefaultRelated("").Limit, "min_score": DefaultRelated("").MinScore, "level": DefaultRelated("").Level},
		"get_note":         {"max_chars": DefaultNote("").MaxChars},
		"connection_graph": {"depth": defaultConnections("").Depth, "min_score": defaultConnections("").MinScore, "max_per_level": defaultConnections("").MaxPerLevel},
		"backlinks":        {"limit": defaultBacklinks("").Limit, "include_outbound": false},
		"broken_links":     {"limit": defaultBroken().Limit, "min_references": defaultBroken().MinReferences, "include_orphans": false},
		"nearest_vectors":  {"limit": DefaultVector(nil).Limit, "min_score": DefaultVector(nil).MinScore, "scope": DefaultVector(nil).Scope},
	}
	for _, tool := range everything() {
		for name, raw := range lint(t, tool.name, json.RawMessage(tool.input)).Properties {
			property := lint(t, name, raw)
			if got, want := fmt.Sprint(property.Default), fmt.Sprint(defaults[tool.name][name]); got != want {
				t.Errorf("%s: %s has the default %s, the code %s", tool.name, name, got, want)
			}
			if property.Minimum == nil {
				continue
			}
			refusal := fmt.Sprintf("pass %v to %v", int(*property.Minimum), int(*property.Maximum))
			for _, value := range []float64{*property.Minimum - 1, *property.Maximum + 1} {
				arguments := fmt.Sprintf(`{%s,%q:%v}`, required[tool.name], name, int(value))
				if text, isError := callTool(t, s, tool.name, arguments); !isError || !strings.Contains(text, refusal) {
					t.Errorf("%s %s = %s, want %q", tool.name, arguments, text, refusal)
				}
			}
			for _, value := range []float64{*property.Minimum, *property.Maximum} {
				arguments := fmt.Sprintf(`{%s,%q:%v}`, required[tool.name], name, int(value))
				if text, _ := callTool(t, s, tool.name, arguments); strings.Contains(text, refusal) {
					t.Errorf("%s %s = %s, want it accepted", tool.name, arguments, text)
				}
			}
		}
	}
}

// conform reports where value breaks its schema, or has what the schema does
// not describe. It knows the few words that lint allows.
func conform(at string, raw json.RawMessage, value any) (wrong []string) {
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return []string{err.Error()}
	}
	miss := func(format string, v ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, v...)) }
	var typ string
	json.Unmarshal(s.Type, &typ)
	switch value := value.(type) {
	case map[string]any:
		if typ != "object" {
			miss("is an object, want %s", typ)
		}
		for _, name := range s.Required {
			if _, ok := value[name]; !ok {
				miss("lacks %s", name)
			}
		}
		for name, member := range value {
			inner := s.Properties[name]
			switch more := string(s.AdditionalProperties); {
			case inner != nil:
			case more == "": // its members are the description's business
				continue
			case more != "false":
				inner = s.AdditionalProperties
			}
			if inner == nil {
				miss("has %s, which is not described", name)
				continue
			}
			wrong = append(wrong, conform(at+"."+name, inner, member)...)
		}
	case []any:
		if typ != "array" {
			miss("is an array, want %s", typ)
			break
		}
		for i, item := range value {
			wrong = append(wrong, conform(fmt.Sprintf("%s[%d]", at, i), s.Items, item)...)
		}
	case string:
		if typ != "string" || len(s.Enum) > 0 && !slices.Contains(s.Enum, any(value)) {
			miss("is %q, want %s %v", value, typ, s.Enum)
		}
	case float64:
		if typ != "number" && (typ != "integer" || value != math.Trunc(value)) {
			miss("is %v, want %s", value, typ)
		}
	case bool:
		if typ != "boolean" {
			miss("is %v, want %s", value, typ)
		}
	default:
		miss("is %v", value)
	}
	return wrong
}

// Every answer conforms to its output schema, and has no field beside it.
func TestAnswersConform(t *testing.T) {
	notes := append(vaultNotes(),
		testNote{path: "Inbox/New.md", text: "x", unindexed: true},
		testNote{path: "Broken.md", text: "caf\xe9 " + para("rose", 240)})
	s := serverOf(t, notes)
	write(t, filepath.Join(s.vault.Root(), ".smart-env", "multi", "A_md.ajson"), []byte(`"smart_sources:A.md": {},`))
	write(t, filepath.Join(s.vault.Root(), ".smart-env", "smart_sources", "smart_sources-DESKTOP.ajson"), []byte("x"))
	empty := serverOf(t, nil)
	for _, tt := range []struct {
		server          *Server
		tool, arguments string
	}{
		{s, "search_notes", `{"query":"compost"}`},
		{s, "search_notes", `{"query":"soup","min_score":-1,"limit":100,"include_text":false}`},
		{s, "search_notes", `{"query":"compost","folder":["Workshop"]}`},
		{s, "search_notes", `{"query":"nothing of it","folder":["Workshop"]}`},
		{s, "related_notes", `{"path":"Garden/Roses.md"}`},
		{s, "related_notes", `{"path":"Workshop/Glaze.md","folder":["Garden"]}`},
		{s, "get_note", `{"path":"Garden/Roses.md"}`},
		{s, "get_note", `{"path":"Garden/Roses.md","max_chars":200}`},
		{s, "get_note", `{"path":"Broken.md"}`},
		{s, "index_status", `{}`},
		{empty, "search_notes", `{"query":"compost"}`},
		{empty, "index_status", `{}`},
	} {
		conforms(t, tt.server, tt.tool, tt.arguments)
	}
}

// The list of tools is recorded, so that a change of what models see is seen.
func TestSchemaGoldens(t *testing.T) {
	total := 0
	for _, tool := range everything() {
		compact, err := encode(tool.definition())
		if err != nil {
			t.Fatal(err)
		}
		total += len(compact)
		var got bytes.Buffer
		if err := json.Indent(&got, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		golden(t, filepath.Join("..", "testdata", "schema", tool.name+".json"), got.Bytes())
	}
	t.Logf("tools/list is about %d bytes", total)
	if total > 11_900 { // the frame of the answer takes the rest
		t.Errorf("tools/list is about %d bytes: every session pays for it, want at most 12 kB", total)
	}
}

// golden compares got with a recorded file, or records it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test ./tools -update and review the difference", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: run go test ./tools -update and review the difference\n%s", path, difference(string(want), string(got)))
	}
}

// difference shows where two texts begin to differ.
func difference(want, got string) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	from := max(0, at-100)
	return fmt.Sprintf("line %d\nwant …%.300s\ngot  …%.300s", 1+strings.Count(want[:at], "\n"), want[from:], got[from:])
}
