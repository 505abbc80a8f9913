package weights

import (
	"path/filepath"
	"strings"
	"testing"
)

// 54: a model is fetched into a cache folder of any name, and found there again.
func TestCacheAnywhere(t *testing.T) {
	for name, place := range map[string]string{
		"Japanese": "名前/AppData",
		"NFC":      "Ren\u00E9e",
		"NFD":      "Rene\u0301e",
		"emoji":    "😀 cache",
		"signs":    "100% sure – ü #1 'z' & co",
		"long":     strings.Repeat("a folder of forty characters 0123456789/", 9),
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHub(t, model(t, nil))
			s := h.source(t)
			s.CacheDir = filepath.Join(s.CacheDir, filepath.FromSlash(place))
			if _, err := s.Load(t.Context(), testModel); err != nil {
				t.Fatal(err)
			}
			asked := len(h.requests)
			if _, err := s.Load(t.Context(), testModel); err != nil || !s.Cached(testModel) || asked == 0 || len(h.requests) != asked {
				t.Errorf("the second Load: %v, %d requests after %d", err, len(h.requests), asked)
			}
			if got := names(t, s); got != h.complete() {
				t.Errorf("the cache holds %s, want %s", got, h.complete())
			}
		})
	}
}
