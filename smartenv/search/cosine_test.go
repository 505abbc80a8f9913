package search

import (
	"math"
	"testing"
)

func TestCosine(t *testing.T) {
	s := fixture("a.md = 1", "b.md = 0.6", "c.md = -1", "none.md", "none.md##B = 0.9")
	for _, tt := range []struct {
		a, b string
		want float64
		ok   bool
	}{
		{"a.md", "b.md", 0.6, true}, {"b.md", "a.md", 0.6, true}, {"b.md", "c.md", -0.6, true}, {"a.md", "a.md", 1, true},
		{"a.md", "none.md", 0, false}, {"none.md", "a.md", 0, false}, {"a.md", "gone.md", 0, false}, {"A.md", "b.md", 0, false},
	} {
		if got, ok := Cosine(s, tt.a, tt.b); ok != tt.ok || math.Abs(float64(got)-tt.want) > 1e-6 {
			t.Errorf("Cosine(%s, %s) = %v, %v; want %v, %v", tt.a, tt.b, got, ok, tt.want, tt.ok)
		}
	}
}
