package cli

import (
	"bytes"
	"strings"
	"testing"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/measure"
	"smart-connections-mcp/tools"
)

// a measurement in which every figure is long and every part is there.
func measured() measure.Report {
	reach := measure.Reach{Vectors: 112345, Characters: 98765432, Share: 0.98765, Whole: 11111, Gaps: 2222, Tail: 3333, None: 4444}
	return measure.Report{
		Model: "TaylorAI/bge-micro-v2", Fingerprint: "mf_ccarbz", Generation: "packed",
		Machine: measure.Machine{Platform: "windows/amd64", Processors: 128, SIMD: "generic", Go: "go1.26.8"},
		Coverage: measure.Coverage{
			TokenLoop: true, Notes: 21110, Characters: 100000000, Blank: 1, NoteVectors: reach, WithBlocks: reach,
			NoRecord: measure.Group{Notes: 1, Characters: 7}, NoVector: measure.Group{Notes: 12345, Characters: 12345678},
			StaleNotes: 12, StaleBlocks: 1,
			Most: []measure.Gap{{Path: "evil\u202e\x1b[31m.md", Characters: 12345678, Uncovered: 1234567}},
		},
		Recall: measure.Recall{
			Eligible: 12346, Asked: 12345, Seed: 1<<64 - 1,
			Scopes:    []measure.ScopeRecall{{Scope: "blocks", First: 12345, Within5: 12345, Within10: 12345, NotFound: 12345, MedianRank: 12345.5}},
			AutoWorse: 3, Worse: []measure.Worse{{Path: "b.md", Notes: 1, Auto: 2}},
		},
		Timings: []measure.Timing{{Name: "search, 10 notes with excerpts", Runs: 20, Min: 0.1234567, Median: 123456.78, Max: 1234567.8}},
		Remarks: []string{"a first", "a second"},
	}
}

func TestMeasure(t *testing.T) {
	var out bytes.Buffer
	Measure(&out, measured())
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("a line of %d columns, want at most 100: %s", n, line)
		}
	}
	for _, want := range []string{
		"windows/amd64, 128 processors",
		"windows end at the plugin's token loop; ",
		"98.7 %",
		"without a record: 1 note of 7 characters",
		"left out: 1 note blank, 12 note vectors of an earlier text, 1 block vector of an earlier text\n",
		`1234567 of 12345678  evil\u202e\u001b[31m.md`,
		"recall of 12345 quotes out of 12346 ",
		"rank 2 instead of 1  b.md",
		"0.1235   123456.8  1234567.8",
		"remark: a first\nremark: a second\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("Measure does not print %q:\n%s", want, out.String())
		}
	}
}

// What is not measured has its reason, and no figures that look like ones.
func TestMeasureNot(t *testing.T) {
	r := measured()
	r.NoModel, r.Coverage.TokenLoop = "set\nthis", false
	r.Recall = measure.Recall{NotMeasured: "no model"}
	r.Timings = []measure.Timing{{Name: "model, load", NotMeasured: "no model"}}
	var out bytes.Buffer
	Measure(&out, r)
	for _, want := range []string{`no model at hand: set\u000athis` + "\n", "cap in characters; ", "recall not measured: no model\n", "model, load                      not measured: no model\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("Measure does not print %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "median rank") || strings.Contains(out.String(), "0.0000") {
		t.Errorf("Measure prints figures of what was not measured:\n%s", out.String())
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	if Progress(&out) != nil {
		t.Error("Progress shows itself where there is no terminal")
	}
	show := progress(&out)
	for _, done := range []int{1, 2, 3, 200} {
		show("recall", done, 200)
	}
	if want := "recall 0 %\rrecall 1 %\r          \r"; out.String() != want {
		t.Errorf("progress wrote %q, want %q", out.String(), want)
	}
}

// Only what asks a question waits for the model.
func TestSteps(t *testing.T) {
	for _, step := range Steps(tools.New(tools.Config{}), &smartenv.Snapshot{}) {
		if step.Runs < 5 || !step.Warm || step.NeedsModel != strings.HasPrefix(step.Name, "search") {
			t.Errorf("step %+v, want several runs of a warm one, with a model for search alone", step)
		}
	}
}
