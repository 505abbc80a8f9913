package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv/verify"
	"smart-connections-mcp/tools"
)

func TestParse(t *testing.T) {
	search := Command{Name: "search", Args: "QUERY", TakesArgs: true}
	low, three := -0.5, 3
	tests := []struct {
		name    string
		command Command
		args    string
		want    Line
		fails   string
	}{
		{"defaults", search, "", Line{Scope: "auto"}, ""},
		{"words are joined", search, "prune the roses", Line{Scope: "auto", Query: "prune the roses"}, ""},
		{"flags anywhere", search, "prune --limit 3 roses --min-score -0.5 --folder A --folder B --scope notes --json --vault V", Line{
			Vault: "V", JSON: true, Limit: &three, MinScore: &low, Scope: "notes", Filters: tools.Filters{Folder: []string{"A", "B"}}, Query: "prune roses"}, ""},
		{"filters", search, "x --exclude-folder A --tag t --tag u/v --filter status=open --filter a=b=c --modified-after 2026-01-01 --modified-before 2026-02-01", Line{Scope: "auto", Query: "x",
			Filters: tools.Filters{ExcludeFolder: []string{"A"}, Tags: []string{"t", "u/v"}, Properties: map[string]any{"status": "open", "a": "b=c"}, ModifiedAfter: "2026-01-01", ModifiedBefore: "2026-02-01"}}, ""},
		{"filter without a value", search, "--filter status", Line{}, "pass NAME=VALUE"},
		{"related", Command{Name: "related", TakesArgs: true}, "A.md --level blocks --unlinked", Line{Query: "A.md", Level: "blocks", Unlinked: true}, ""},
		{"all tools", Command{Name: "serve"}, "--all-tools", Line{AllTools: true}, ""},
		{"nothing is a flag after --", search, "--limit 3 -- --limit 4", Line{Limit: &three, Scope: "auto", Query: "--limit 4"}, ""},
		{"model", Command{Name: "serve"}, "--model-path P --model M", Line{ModelPath: "P", Model: "M"}, ""},
		{"sample", Command{Name: "verify", TakesArgs: true}, "--sample all --seed 7", Line{Sample: "all", Seed: 7}, ""},
		{"demo", Command{Name: "demo", TakesArgs: true}, "--serve", Line{Serve: true}, ""},
		{"no words", Command{Name: "status"}, "x", Line{}, `unexpected argument "x"`},
		{"unknown flag", search, "--limits 3", Line{}, "see smart-connections-mcp search --help"},
		{"flag of another command", Command{Name: "status"}, "--limit 3", Line{}, "not defined: -limit"},
		{"number", search, "--limit three", Line{}, "three"},
		{"score", search, "--min-score high", Line{}, "high"},
		{"demo has its own vault", Command{Name: "demo"}, "--vault V", Line{}, "not defined: -vault"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.command, strings.Fields(test.args), &bytes.Buffer{})
			if test.fails != "" {
				var usage UsageError
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("Parse(%q) = %v, want a UsageError with %q", test.args, err, test.fails)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("Parse(%q) = %+v, %v, want %+v", test.args, got, err, test.want)
			}
		})
	}
}

func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := Parse(Command{Name: "verify", Args: "[QUERY]", Summary: "compare"}, []string{"-h"}, &out)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "-sample N") {
		t.Errorf("Parse(-h) = %v, wrote %q, want flag.ErrHelp and the flags", err, out.String())
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Café ☕ 名前\t1", "Café ☕ 名前\t1"},
		{"a\nb\r", `a\u000ab\u000d`},
		{"\x1b[31mred\u009b", `\u001b[31mred\u009b`},
		{"evil\u202egnp.md\u2066", `evil\u202egnp.md\u2066`},
		{"line\u2028break", `line\u2028break`},
		{"zero\u200bwidth\u2060\ufeff\u00ad", `zero\u200bwidth\u2060\ufeff\u00ad`},
		{"tag\U000e0041", `tag\udb40\udc41`},
		{"👨‍👩‍👧‍👦 ☕️ नमस्ते", "👨‍👩‍👧‍👦 ☕️ नमस्ते"},
	}
	for _, test := range tests {
		if got := Clean(test.text); got != test.want {
			t.Errorf("Clean(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// V7: no part of an answer reaches a terminal raw, whatever field it is in.
func TestTextIsClean(t *testing.T) {
	const evil = "x\x1b[2J\r\u009b1m\u202e\u200b"
	row := tools.Row{Path: evil, Section: evil, Lines: []int{1, 2}, Excerpt: evil, ExcerptMissing: evil}
	var out bytes.Buffer
	Search(&out, tools.SearchOutput{Query: evil, Results: []tools.Row{row}, Reason: evil, Warning: evil,
		ScopedOut: &tools.ScopedOut{BestHidden: &tools.Best{Path: evil}}})
	Related(&out, tools.RelatedOutput{Path: evil, Related: []tools.RelatedRow{{Path: evil, Section: evil}}, Reason: evil, Warning: evil})
	Status(&out, tools.StatusOutput{Vault: evil, Model: evil, ConfiguredModel: evil + "2", Refusal: evil, Warnings: []string{evil}})
	Verify(&out, verify.Report{Model: evil, Reason: evil, Notes: verify.Group{Compared: 1,
		Below: []verify.Item{{Key: evil}}, Failed: []verify.Item{{Key: evil, Unreadable: evil}}}})
	if err := JSON(&out, row); err != nil {
		t.Fatal(err)
	}
	if at := strings.IndexFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x9b || r == 0x202e || r == 0x200b }); at >= 0 {
		t.Errorf("%q stands there as it is", out.String()[max(0, at-30):at+10])
	}
	var back tools.Row
	if err := json.Unmarshal(out.Bytes()[bytes.LastIndex(out.Bytes(), []byte("\n{")):], &back); err != nil || back.Path != evil {
		t.Errorf("the JSON means %q, %v, want %q", back.Path, err, evil)
	}
}

func TestBeginning(t *testing.T) {
	long := strings.Repeat("é", 300)
	got := beginning("one\n\n" + long + "\nthree\nfour\nfive\n")
	if len(got) != excerptLines+1 || got[0] != "one" || got[excerptLines] != "…" || len([]rune(got[1])) != excerptWidth {
		t.Errorf("beginning = %q, want %d lines of at most %d characters and …", got, excerptLines, excerptWidth)
	}
	if got := beginning(""); len(got) != 0 {
		t.Errorf("beginning of nothing = %q", got)
	}
}

// What the line does not say is left to the tools' own defaults.
func TestInputs(t *testing.T) {
	command := Command{Name: "search", TakesArgs: true}
	plain, err := Parse(command, []string{"roses"}, &bytes.Buffer{})
	if err != nil || !reflect.DeepEqual(plain.SearchInput(), tools.DefaultSearch("roses")) || !reflect.DeepEqual(plain.RelatedInput(), tools.DefaultRelated("roses")) {
		t.Errorf("inputs of %+v, %v are not the defaults", plain, err)
	}
	set, err := Parse(command, strings.Fields("roses --limit 0 --min-score 0 --scope blocks --folder A"), &bytes.Buffer{})
	want := tools.SearchInput{Query: "roses", Scope: "blocks", Filters: tools.Filters{Folder: []string{"A"}}, SectionsPerNote: 1, IncludeText: true}
	if err != nil || !reflect.DeepEqual(set.SearchInput(), want) {
		t.Errorf("SearchInput of %+v = %+v, %v, want %+v", set, set.SearchInput(), err, want)
	}
}

func TestSample(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "500": 500, "all": 0} {
		if got, err := Sample(text); got != want || err != nil {
			t.Errorf("Sample(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-3", "few", "", "1.5"} {
		if got, err := Sample(text); err == nil {
			t.Errorf("Sample(%q) = %d, want an error", text, got)
		}
	}
}

// A share is never rounded up to all.
func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.9999: "99.9 %", 0.5: "50 %", 0: "0 %"} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
}
