package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv/measure"
	"smart-connections-mcp/testdata/session"
	"smart-connections-mcp/tools"
)

func TestMain(m *testing.M) {
	if err := simd.Use(os.Getenv("SMART_SIMD")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// shared returns a path of the shared test data, which a fresh clone does not
// have and CI must have.
func shared(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing: CI needs the shared data beside the project", path)
		}
		t.Skipf("%s is not here", path)
	}
	return path
}

// result is what one command line did.
type result struct {
	code     int
	out, err string
}

// execute runs a command line in the given environment.
func runLine(env map[string]string, stdin string, args ...string) result {
	var out, errOut bytes.Buffer
	env["SMART_SIMD"] = os.Getenv("SMART_SIMD")
	code := run(context.Background(), args, streams{strings.NewReader(stdin), &out, &errOut}, func(name string) string { return env[name] })
	return result{code, out.String(), errOut.String()}
}

const edgeMini = "testdata/vaults/edge-mini"

func TestExitCodes(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		env  map[string]string
		args []string
		code int
		says string // on stdout for code 0, else on stderr
	}{
		{"help", nil, []string{"--help"}, 0, "Usage: smart-connections-mcp [command]"},
		{"command help", nil, []string{"verify", "--help"}, 0, "-sample N"},
		{"version", nil, []string{"version"}, 0, "smart-connections-mcp"},
		{"version as json", nil, []string{"version", "--json"}, 0, `"simd"`},
		{"status", nil, []string{"status", "--vault", edgeMini}, 0, "builtin/mini-2l-128"},
		{"vault from the environment", map[string]string{"SMART_VAULT_PATH": edgeMini}, []string{"status", "--json"}, 0, `"fingerprint": "mf_1emu9kb"`},
		{"flags after the words", nil, []string{"search", "upper", "ext", "--vault", edgeMini, "--min-score", "-1"}, 0, "UP.MD"},
		{"words after --", nil, []string{"search", "--vault", edgeMini, "--", "--help me"}, 0, "--help me"},
		{"unknown command", nil, []string{"serch"}, 2, `unknown command "serch": use one of serve, search`},
		{"unknown flag", nil, []string{"status", "--vlt", "x"}, 2, "status --help"},
		{"word too many", nil, []string{"status", "x"}, 2, `unexpected argument "x"`},
		{"no vault", nil, []string{"status"}, 2, "pass --vault DIR or set SMART_VAULT_PATH"},
		{"no vault for serve", nil, nil, 2, "no vault"},
		{"placeholder counts as unset", map[string]string{"SMART_VAULT_PATH": "${user_config.vault}"}, nil, 2, "no vault"},
		{"missing vault", nil, []string{"status", "--vault", filepath.Join(empty, "gone")}, 2, "vault"},
		{"vault is a file", nil, []string{"status", "--vault", file}, 2, "vault"},
		{"vault without index", nil, []string{"status", "--vault", empty}, 1, "Smart Connections"},
		{"question missing", nil, []string{"search", "--vault", edgeMini}, 2, "a question is missing"},
		{"note missing", nil, []string{"related", "--vault", edgeMini}, 2, "a note is missing"},
		{"limit out of range", nil, []string{"search", "x", "--limit", "900", "--vault", edgeMini}, 1, "limit is 900: pass 1 to 100"},
		{"bad sample", nil, []string{"verify", "--sample", "few", "--vault", edgeMini}, 2, `sample is "few"`},
		{"bad sample in the environment", map[string]string{"SMART_VERIFY_SAMPLE": "0"}, []string{"verify", "--vault", edgeMini}, 2, `sample is "0"`},
		{"other model", nil, []string{"search", "x", "--model", "TaylorAI/bge-micro-v2", "--vault", edgeMini}, 1, "TaylorAI/bge-micro-v2"},
		{"measure", nil, []string{"measure", "--vault", edgeMini, "--sample", "2"}, 0, "recall of 2 quotes"},
		{"measure as json", nil, []string{"measure", "--vault", edgeMini, "--json"}, 0, `"token_loop": true`},
		{"measure without index", nil, []string{"measure", "--vault", empty}, 1, "Smart Connections"},
		{"measure a bad sample", nil, []string{"measure", "--vault", edgeMini, "--sample", "0"}, 2, `sample is "0"`},
		{"wrong weights", nil, []string{"verify", "--model-path", "testdata/models/tiny-bert-48", "--vault", edgeMini}, 1, "48 dimensions"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := map[string]string{}
			for name, value := range test.env {
				env[name] = value
			}
			got := runLine(env, "", test.args...)
			said := got.err
			if test.code == 0 {
				said = got.out
			}
			if got.code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("run(%q) = %d, want %d with %q;\nout: %s\nerr: %s", test.args, got.code, test.code, test.says, got.out, got.err)
			}
			if test.code != 0 && strings.Count(got.err, "\n") != 1 {
				t.Errorf("run(%q) wrote %q to stderr, want one line", test.args, got.err)
			}
		})
	}
}

// An empty value of SMART_SIMD chooses; a wrong one fails loudly.
func TestForcedKernels(t *testing.T) {
	var out, errOut bytes.Buffer
	env := func(name string) string { return map[string]string{"SMART_SIMD": "mmx"}[name] }
	code := run(context.Background(), []string{"version"}, streams{nil, &out, &errOut}, env)
	if code != exitUsage || !strings.Contains(errOut.String(), "mmx") {
		t.Errorf("run with SMART_SIMD=mmx = %d, %q, want %d naming it", code, errOut.String(), exitUsage)
	}
	if err := simd.Use(os.Getenv("SMART_SIMD")); err != nil {
		t.Fatal(err)
	}
}

// The README's first command does the whole job offline, on an index in which no
// note is missing or out of date, and its transcript is what the program prints.
func TestDemo(t *testing.T) {
	got := runLine(map[string]string{}, "", "demo")
	if got.code != 0 || !strings.Contains(got.out, "passed:") {
		t.Fatalf("demo = %d\n%s%s", got.code, got.out, got.err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), strings.TrimSpace(got.out)) {
		t.Errorf("README.md does not show what demo prints:\n%s", got.out)
	}
	var status tools.StatusOutput
	got = runLine(map[string]string{}, "", "status", "--json", "--vault", "testdata/demo/vault")
	if err := json.Unmarshal([]byte(got.out), &status); err != nil {
		t.Fatalf("status --json: %v\n%s%s", err, got.out, got.err)
	}
	if status.EmbeddedNotes < 40 || status.EmbeddedBlocks < 100 || len(status.Warnings) > 0 || status.Freshness.Fresh != status.EmbeddedNotes {
		t.Errorf("the demo index has %d notes and %d blocks, %d fresh, warnings %q: run go run ./smartenv/gen -vault testdata/demo/vault",
			status.EmbeddedNotes, status.EmbeddedBlocks, status.Freshness.Fresh, status.Warnings)
	}
}

// Each question about the demo vault finds its note among the first three.
func TestDemoQuestions(t *testing.T) {
	data, err := os.ReadFile("testdata/demo/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 10 {
		t.Fatalf("%d questions, want at least 10", len(lines))
	}
	for _, line := range lines {
		question, want, _ := strings.Cut(line, "\t")
		got := runLine(map[string]string{}, "", "search", "--json", "--vault", "testdata/demo/vault", "--limit", "3", "--min-score", "0", question)
		var answer tools.SearchOutput
		if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
			t.Fatalf("search --json %q: %v\n%s%s", question, err, got.out, got.err)
		}
		found := slices.ContainsFunc(answer.Results, func(r tools.Row) bool { return r.Path == want })
		if !found {
			t.Errorf("search %q: %s is not among the first %d", question, want, len(answer.Results))
		}
	}
}

// An index whose vectors were made by the plugin's own library is rebuilt to
// 0.9999 and better, item by item.
func TestVerifyAgreement(t *testing.T) {
	tests := []struct {
		vault, model  string
		notes, blocks int
	}{
		{edgeMini, "", 13, 14},
		{"edge-synth", "synth-bge-micro-3l", 13, 14},
		{"obsidian-help-synth", "synth-bge-micro-3l", 173, 1057},
		{"obsidian-help-minilm", "all-MiniLM-L6-v2", 173, 1057},
	}
	for _, test := range tests {
		t.Run(test.vault, func(t *testing.T) {
			sample, limit := "all", math.MaxInt
			if simd.Active() == simd.Generic && test.notes > 100 { // minutes a vault
				sample, limit = "20", 20
			}
			args := []string{"verify", "--json", "--seed", "1", "--sample", sample, "--vault", test.vault}
			if test.model != "" {
				if raceEnabled() {
					t.Skip("too slow under the race detector; the small vault covers it")
				}
				args[len(args)-1] = shared(t, "vaults/"+test.vault)
				args = append(args, "--model-path", shared(t, "models/"+test.model))
			}
			got := runLine(map[string]string{}, "", args...)
			var r verification
			if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
				t.Fatalf("verify = %d, %v\n%s%s", got.code, err, got.out, got.err)
			}
			t.Logf("worst: notes %.7f, blocks %.7f", r.Notes.Worst, r.Blocks.Worst)
			notes, blocks := min(test.notes, limit), min(test.blocks, limit)
			if r.Notes.Compared != notes || r.Blocks.Compared != blocks {
				t.Errorf("compared %d notes and %d blocks, want %d and %d", r.Notes.Compared, r.Blocks.Compared, notes, blocks)
			}
			if worst := min(r.Notes.Worst, r.Blocks.Worst); worst < 0.9999 {
				t.Errorf("worst agreement is %.6f, want 0.9999", worst)
			}
		})
	}
}

// raceEnabled reports whether the race detector is built in: it makes the
// forward pass, and so whole vaults, too slow.
func raceEnabled() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(build.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// A wrong model of the right size raises no error anywhere but here.
func TestVerifyFindsWrongModel(t *testing.T) {
	got := runLine(map[string]string{}, "", "verify", "--vault", shared(t, "vaults/edge-synth"), "--model-path", shared(t, "models/all-MiniLM-L6-v2"))
	if got.code != exitFailed || !strings.Contains(got.out, "failed:") {
		t.Errorf("verify with another model's weights = %d, want %d\n%s%s", got.code, exitFailed, got.out, got.err)
	}
}

// Blocks cover and find what note vectors do not. Of 704,391 characters 3 count twice.
func TestMeasure(t *testing.T) {
	if testing.Short() || raceEnabled() || simd.Active() == simd.Generic {
		t.Skip("slow; TestExitCodes measures a small vault")
	}
	got := runLine(map[string]string{}, "", "measure", "--json", "--vault", shared(t, "vaults/obsidian-help-minilm"), "--model-path", shared(t, "models/all-MiniLM-L6-v2"))
	var r measure.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || got.err != "" || strings.Contains(got.out, "null") {
		t.Fatalf("measure = %d, %v\n%s%s", got.code, err, got.out, got.err)
	}
	c, scopes := r.Coverage, r.Recall.Scopes
	if c.Characters != 704394 || c.NoteVectors.Vectors != 173 || c.WithBlocks.Vectors != 1230 || c.WithBlocks.Share < 0.9 || c.NoteVectors.Share > 0.5 ||
		r.Recall.Asked != 30 || len(scopes) != 3 || scopes[0].MedianRank <= scopes[1].MedianRank || scopes[1].Within10 < 25 || len(r.Timings) != 8 || r.Timings[7].Runs != 20 {
		t.Errorf("measure = %+v, want blocks to cover and to find more than notes do", r)
	}
}

// A whole session, every command and tool, leaves every byte, time and name
// below the vault as it was.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(edgeMini)); err != nil {
		t.Fatal(err)
	}
	before := session.Picture(t, dir)
	lines := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_notes","arguments":{"query":"upper ext","min_score":-1}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"related_notes","arguments":{"path":"b201.md"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_note","arguments":{"path":"sub/crlf.md"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"index_status","arguments":{}}}
`
	for _, args := range [][]string{{"serve"}, {"search", "upper"}, {"related", "b201.md"}, {"status"}, {"verify"}, {"measure"}} {
		if got := runLine(map[string]string{"SMART_VAULT_PATH": dir}, lines, args...); got.code != 0 || got.out == "" || strings.Contains(got.out, `"isError":true`) {
			t.Errorf("run(%q) = %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	if after := session.Picture(t, dir); after != before {
		t.Errorf("the vault was\n%s\nand is now\n%s", before, after)
	}
}

// 54, 55: vault and temporary folder have names of all kinds, as the user's name
// brings them along on Windows; 50: paths are asked for as Windows writes them,
// and answered with "/".
func TestAnywhere(t *testing.T) {
	base := t.TempDir()
	for name, place := range map[string]string{
		"Japanese": "名前/ノート",
		"NFC":      "Ren\u00E9e/Caf\u00E9",
		"NFD":      "Rene\u0301e/Cafe\u0301",
		"emoji":    "😀 vault",
		"signs":    "100% sure – ü #1 'z' & co",
		"long":     strings.Repeat("a folder of forty characters 0123456789/", 9) + "vault",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(base, filepath.FromSlash(place))
			if err := os.CopyFS(dir, os.DirFS(edgeMini)); err != nil {
				t.Fatal(err)
			}
			for _, asked := range []string{"sub/emoji 😀.md", `sub\emoji 😀.md`, `.\\sub\\emoji 😀.md`} {
				got := runLine(map[string]string{}, "", "related", asked, "--vault", dir, "--min-score", "-1")
				if got.code != 0 || !strings.Contains(got.out, "sub/") || strings.Contains(got.out, `sub\`) {
					t.Errorf("related %q = %d\n%s%s", asked, got.code, got.out, got.err)
				}
			}
			status := runLine(map[string]string{"SMART_VAULT_PATH": dir}, "", "status")
			if status.code != 0 || !strings.Contains(status.out, filepath.Base(dir)+" (packed index)") {
				t.Errorf("status = %d\n%s%s", status.code, status.out, status.err)
			}
			if name != "Japanese" && name != "long" { // a demo takes its time
				return
			}
			for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
				t.Setenv(variable, dir)
			}
			if got := runLine(map[string]string{}, "", "demo"); got.code != 0 || !strings.Contains(got.out, "passed:") {
				t.Errorf("demo = %d\n%s%s", got.code, got.out, got.err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "smart-connections-*")); len(left) > 0 || err != nil {
				t.Errorf("demo leaves %q, %v", left, err)
			}
		})
	}
}

// 51: nothing needs a home, and where a model has to be fetched the error says
// what to set.
func TestNoHome(t *testing.T) {
	for _, variable := range []string{"HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "XDG_CACHE_HOME"} {
		t.Setenv(variable, "") // for Windows an empty variable is none
		os.Unsetenv(variable)
	}
	for _, args := range [][]string{
		{"status"}, {"search", "upper ext", "--min-score", "-1"}, {"related", "b201.md"}, {"verify"},
	} {
		if got := runLine(map[string]string{"SMART_VAULT_PATH": edgeMini}, "", args...); got.code != 0 {
			t.Errorf("%q = %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	const other = "testdata/cases/10-line-longer-than-64k/vault" // of a model that is not built in
	if got := runLine(map[string]string{"SMART_VAULT_PATH": other}, "", "status"); got.code != 0 {
		t.Errorf("status of a vault whose model is not here = %d\n%s%s", got.code, got.out, got.err)
	}
	got := runLine(map[string]string{"SMART_VAULT_PATH": other}, "", "search", "x")
	if got.code != exitFailed || !strings.Contains(got.err, "set SMART_MODEL_CACHE to a folder") {
		t.Errorf("search that needs a model = %d\n%s%s", got.code, got.out, got.err)
	}
}
