package bert

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The profiles of the plugin's catalogue, under the names in its own
// fingerprints (a copy of the plugin's golden lies in testdata).
func TestProfileFor(t *testing.T) {
	const snowflake = "Represent this sentence for searching relevant passages: "
	want := map[string]Profile{
		"TaylorAI/bge-micro-v2":                                     {Mean, "", "", 512},
		"Snowflake/snowflake-arctic-embed-xs":                       {CLS, snowflake, "", 512},
		"Snowflake/snowflake-arctic-embed-s":                        {CLS, snowflake, "", 512},
		"Xenova/multilingual-e5-small":                              {Mean, "query: ", "passage: ", 512},
		"onnx-community/granite-embedding-97m-multilingual-r2-ONNX": {CLS, "", "", 512},
		"onnx-community/DenseOn-ONNX":                               {CLS, "query: ", "document: ", 512},
	}
	var records []struct {
		Model     string `json:"model_key"`
		MaxTokens int    `json:"max_tokens"`
		Space     string `json:"embedding_space_id"`
	}
	data, err := os.ReadFile("../testdata/golden/plugin/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &records); err != nil {
		t.Fatal(err)
	}
	if len(records) != len(want) {
		t.Errorf("%d models in the catalogue, want %d", len(records), len(want))
	}
	for _, r := range records {
		got, known := ProfileFor(r.Space)
		if !known || got != want[r.Model] || got.MaxTokens != r.MaxTokens {
			t.Errorf("ProfileFor(%q) = %+v, %t, want %+v", r.Space, got, known, want[r.Model])
		}
	}
	// Models without a space id: those outside the catalogue of today, such as
	// arctic-embed-m, and the spaces that every model had before.
	if got, known := ProfileFor(""); !known || got != (Profile{MaxTokens: 512}) {
		t.Errorf("ProfileFor of no space = %+v, %t, want mean pooling alone", got, known)
	}
	for _, space := range []string{
		"someone/else/v1",
		"Snowflake/snowflake-arctic-embed-xs",
		"Snowflake/snowflake-arctic-embed-xs/retrieval-v2",
		"xenova/multilingual-e5-small/retrieval-v1",
	} {
		if got, known := ProfileFor(space); known {
			t.Errorf("ProfileFor(%q) = %+v, want unknown", space, got)
		}
	}
}

func TestPoolingString(t *testing.T) {
	if Mean.String() != "mean" || CLS.String() != "cls" {
		t.Errorf("poolings are called %q and %q", Mean, CLS)
	}
}

// Both poolings, worked out from the hidden states that onnxruntime computed.
func TestPoolingByHand(t *testing.T) {
	for _, f := range fixtures[:3] {
		t.Run(f.name, func(t *testing.T) {
			c := f.checkpoint(t)
			poolings := map[Pooling]*Model{Mean: build(t, c, Profile{}), CLS: build(t, c, Profile{Pooling: CLS})}
			for _, a := range readLines[activations](t, filepath.Join(f.golden, f.name+".activations.jsonl")) {
				last := a.States[len(a.States)-1].F32 // [T×H]
				for pooling, m := range poolings {
					rows := last
					if pooling == CLS {
						rows = last[:m.Dims()]
					}
					got, err := m.Embed(context.Background(), a.Text)
					if d := worst(got, unitSum(rows, m.Dims())); err != nil || d > vectorTolerance {
						t.Errorf("%s of %q is %.2g off, %v, want at most %g", pooling, a.Text, d, err, vectorTolerance)
					}
				}
				cls, _ := poolings[CLS].Embed(context.Background(), a.Text)
				if d := worst(cls, unitSum(last, len(cls))); d < 1e-3 {
					t.Errorf("%q: both poolings give one vector (%.2g)", a.Text, d)
				}
			}
		})
	}
}

// unitSum is the sum of rows [n×H], which points where their mean does, at length 1.
func unitSum(rows []float32, H int) []float32 {
	sum, norm := make([]float64, H), 0.0
	for i, v := range rows {
		sum[i%H] += float64(v)
	}
	for _, v := range sum {
		norm += v * v
	}
	unit := make([]float32, H)
	for i, v := range sum {
		unit[i] = float32(v / math.Sqrt(norm))
	}
	return unit
}

// What transformers.js makes of queries and documents in each space of the
// catalogue; and a prefix is nothing but text, whose tokens count in the loop.
func TestProfileGolden(t *testing.T) {
	ctx := context.Background()
	c := fixtures[0].checkpoint(t)
	lines := readLines[struct {
		Space, Purpose, Text string
		IDs                  []int
		Vec                  base64Floats
	}](t, "../testdata/golden/profiles/vectors.jsonl")
	if len(lines) != 84 {
		t.Errorf("%d goldens, want 84", len(lines))
	}
	shortened := 0
	for _, g := range lines {
		p, known := ProfileFor(g.Space)
		if !known {
			t.Fatalf("%q is unknown", g.Space)
		}
		m := build(t, c, p)
		embed, prefix := m.Embed, p.QueryPrefix
		if g.Purpose == "document" {
			embed, prefix = m.EmbedDocument, p.DocumentPrefix
		}
		got, err := embed(ctx, g.Text)
		if d := worst(got, g.Vec); err != nil || d > vectorTolerance {
			t.Errorf("%s: the %s %.40q is %.2g off, %v", g.Space, g.Purpose, g.Text, d, err)
		}
		fitting := m.Fit(prefix + g.Text)
		if ids := m.Tokens(fitting); !slices.Equal(ids, g.IDs) {
			t.Errorf("%s: the %s %.40q has the ids %v, want %v", g.Space, g.Purpose, g.Text, ids, g.IDs)
		}
		plain, err := build(t, c, Profile{Pooling: p.Pooling, MaxTokens: 512}).Embed(ctx, prefix+g.Text)
		if err != nil || !slices.Equal(plain, got) {
			t.Errorf("%s: the %s %.40q is not the prefixed text's vector", g.Space, g.Purpose, g.Text)
		}
		if fitting != prefix+g.Text && prefix != "" {
			shortened++
		}
	}
	if shortened < 10 {
		t.Errorf("%d prefixed texts shortened, want more", shortened)
	}
}
