package smartenv

import (
	"strings"
	"testing"
)

func TestChooseModel(t *testing.T) {
	const bge, e5, e5Legacy, unknown = "mf_ccarbz", "mf_7gwptj", "mf_2qskxj", "mf_zzz"
	e5Model := catalogue[3]
	own := fakeModel.Fingerprint()
	for _, c := range []struct {
		name           string
		configured     Model
		readable, lost map[string]int
		wanted         string
		fingerprint    string
		warning        string   // a part of it; "" = none
		refusal        []string // parts of it; nil = none
	}{
		{name: "configured and embedded", configured: defaultModel(), readable: map[string]int{bge: 9}, fingerprint: bge},
		{name: "nothing embedded", configured: e5Model, fingerprint: e5},
		{name: "configured wins over others", configured: e5Model, readable: map[string]int{bge: 99, e5: 1, unknown: 5}, fingerprint: e5},
		{name: "only one known other", configured: e5Model, readable: map[string]int{bge: 9}, fingerprint: bge, warning: "only vectors of TaylorAI/bge-micro-v2 (mf_ccarbz)"},
		{name: "one known among unknown", configured: e5Model, readable: map[string]int{bge: 9, unknown: 2}, fingerprint: bge, warning: "TaylorAI/bge-micro-v2"},
		{name: "configured file lost", configured: e5Model, readable: map[string]int{bge: 9}, lost: map[string]int{e5: 9}, fingerprint: bge, warning: "Xenova/multilingual-e5-small"},
		{name: "all files lost", configured: e5Model, lost: map[string]int{e5: 9, bge: 3}, fingerprint: e5},
		{name: "the same model's older vectors", configured: e5Model, readable: map[string]int{e5Legacy: 4}, fingerprint: e5Legacy, warning: "mf_2qskxj"},
		{name: "unknown only", configured: defaultModel(), readable: map[string]int{unknown: 9}, fingerprint: bge,
			refusal: []string{"TaylorAI/bge-micro-v2 (mf_ccarbz)", "an unknown model (mf_zzz, 9 references)", "embed it again"}},
		{name: "two known", configured: fakeModel, readable: map[string]int{bge: 1, e5: 1}, fingerprint: own,
			refusal: []string{"test/model", "TaylorAI/bge-micro-v2", "Xenova/multilingual-e5-small"}},
		{name: "a configured model of no list", configured: fakeModel, readable: map[string]int{own: 1}, fingerprint: own},
		{name: "wanted agrees", configured: defaultModel(), readable: map[string]int{bge: 1}, wanted: "TaylorAI/bge-micro-v2", fingerprint: bge},
		{name: "wanted agrees with what is used", configured: e5Model, readable: map[string]int{bge: 1}, wanted: "TaylorAI/bge-micro-v2", fingerprint: bge, warning: "e5"},
		{name: "wanted differs", configured: defaultModel(), readable: map[string]int{bge: 1}, wanted: "Xenova/multilingual-e5-small", fingerprint: bge,
			refusal: []string{"Xenova/multilingual-e5-small", "TaylorAI/bge-micro-v2 (mf_ccarbz)", "unset SMART_EMBED_MODEL"}},
	} {
		got := chooseModel(c.configured, found{readable: c.readable, lost: c.lost}, c.wanted, knownModel)
		if got.fingerprint != c.fingerprint || got.model.Fingerprint() != c.fingerprint {
			t.Errorf("%s: chose %s (%+v), want %s", c.name, got.fingerprint, got.model, c.fingerprint)
		}
		if (got.warning == "") != (c.warning == "") || !strings.Contains(got.warning, c.warning) {
			t.Errorf("%s: warning = %q, want %q", c.name, got.warning, c.warning)
		}
		if (got.refusal == nil) != (c.refusal == nil) {
			t.Errorf("%s: refusal = %v, want %q", c.name, got.refusal, c.refusal)
		}
		for _, part := range c.refusal {
			if got.refusal != nil && !strings.Contains(got.refusal.Error(), part) {
				t.Errorf("%s: refusal = %q, want %q in it", c.name, got.refusal, part)
			}
		}
	}
}

// With a refusal nothing is ranked, but the notes are there and say why.
func TestRefusal(t *testing.T) {
	v := newFakeVault(t)
	v.addNote("a.md", strings.Repeat("text ", 100), 1)
	snap, err := openIndex(t, v.dir, Options{Model: "other/model"}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Refusal == nil || len(snap.Notes.Items) != 0 || len(snap.Notes.Vectors) != 0 || !hasWarning(snap, "other/model") {
		t.Errorf("refusal %v with %d items, warnings %q, want a refusal and none", snap.Refusal, len(snap.Notes.Items), snap.Warnings)
	}
	src, ok := snap.Source("a.md")
	if !ok || src.Row != -1 || src.Reason != reasonRefused || src.State != Fresh {
		t.Errorf("a.md = %+v, want it refused", src)
	}
	if hits := snap.Notes.Nearest(make([]float32, fakeModel.Dims), 5, nil); len(hits) != 0 {
		t.Errorf("Nearest = %v, want none", hits)
	}
}
