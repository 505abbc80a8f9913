package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/tools"
	"smart-connections-mcp/weights"
)

// sharedData returns a path of the shared test data, which a fresh clone does
// not have and CI must have.
func sharedData(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing: CI needs the shared data beside the project", path)
		}
		t.Skipf("%s is not here", path)
	}
	return path
}

// realServer serves a real vault with its real model.
func realServer(t *testing.T) *tools.Server {
	t.Helper()
	vault, err := note.OpenVault(sharedData(t, "vaults/obsidian-help-minilm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vault.Close() })
	checkpoint, err := weights.Folder(sharedData(t, "models/all-MiniLM-L6-v2"))
	if err != nil {
		t.Fatal(err)
	}
	profile, _ := bert.ProfileFor("")
	model, err := bert.New(checkpoint, profile)
	if err != nil {
		t.Fatal(err)
	}
	return tools.New(tools.Config{
		Vault:        vault,
		Index:        smartenv.Open(vault, smartenv.Options{}),
		Embedder:     func(context.Context, smartenv.Model) (tools.Embedder, error) { return model, nil },
		EmbedderName: func() (string, bool) { return model.Name(), true },
	})
}

// ranked is one line of a reference run.
type ranked struct {
	ID     string
	Ranked []struct {
		Path  string
		Score float64
	}
}

// Rankings over real questions equal those computed independently: the same
// notes in the same order, where only neighbours closer than 1e-4 may swap.
func TestReferenceRankings(t *testing.T) {
	server := realServer(t)
	queries := loadQueries(t)
	for _, name := range []string{"obsidian-help/reference-dense.dev.run.jsonl", "ohs-golden/reference-dense.run.jsonl"} {
		runs := readLines[ranked](t, sharedData(t, "eval/"+name))
		worst := 0.0
		for _, want := range runs {
			in := tools.DefaultSearch(queries[want.ID])
			in.MinScore, in.Limit, in.IncludeText = -1, 20, false
			got, err := server.Search(context.Background(), in)
			if err != nil {
				t.Fatalf("%s: %v", want.ID, err)
			}
			worst = max(worst, compareRanking(t, want, got.Results))
		}
		t.Logf("%s: %d questions, worst difference of a score %.6f", name, len(runs), worst)
	}
}

// compareRanking reports differences and returns the largest one of a score.
func compareRanking(t *testing.T, want ranked, got []tools.Row) float64 {
	t.Helper()
	if len(got) != len(want.Ranked) {
		t.Errorf("%s: %d rows, want %d", want.ID, len(got), len(want.Ranked))
		return 0
	}
	worst := 0.0
	for i, w := range want.Ranked {
		g := got[i]
		worst = max(worst, math.Abs(g.Score-w.Score))
		if g.Path != w.Path && !swapped(want, g.Path, w.Score) {
			t.Errorf("%s: row %d is %s (%.4f), want %s (%.5f)", want.ID, i+1, g.Path, g.Score, w.Path, w.Score)
		}
		if math.Abs(g.Score-w.Score) > 1e-4 {
			t.Errorf("%s: %s scores %.4f, want %.5f", want.ID, g.Path, g.Score, w.Score)
		}
	}
	return worst
}

// swapped says whether the reference has path within 1e-4 of score, or does not
// have it because it fell off the end by as little.
func swapped(want ranked, path string, score float64) bool {
	last := want.Ranked[len(want.Ranked)-1].Score
	for _, w := range want.Ranked {
		if w.Path == path {
			return math.Abs(w.Score-score) < 1e-4
		}
	}
	return math.Abs(last-score) < 1e-4
}

// loadQueries returns the texts of both sets of questions by id.
func loadQueries(t *testing.T) map[string]string {
	t.Helper()
	type query struct{ ID, Query string }
	queries := map[string]string{}
	for _, q := range readLines[query](t, sharedData(t, "eval/obsidian-help/queries.dev.jsonl")) {
		queries[q.ID] = q.Query
	}
	data, err := os.ReadFile(sharedData(t, "eval/ohs-golden/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []query
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, q := range golden {
		queries[q.ID] = q.Query
	}
	return queries
}

// readLines decodes a file of JSON lines; an empty one fails the test.
func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []T
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var one T
		if err := json.Unmarshal(scan.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, one)
	}
	if err := scan.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(all), err)
	}
	return all
}
