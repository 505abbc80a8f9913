package note

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	projectRoot = "../.."
	sharedRoot  = "../../../shared"
)

// shared returns the path of reference data that is too large or not ours to
// commit. Without it the test is skipped, but never in CI.
func shared(t *testing.T, path string) string {
	t.Helper()
	full := filepath.Join(sharedRoot, path)
	if _, err := os.Stat(full); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("reference data is missing: %v", err)
		}
		t.Skipf("reference data is missing: %v", err)
	}
	return full
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// splitCSV reads a setting as the plugin stores it.
func splitCSV(s string) []string {
	var list []string
	for piece := range strings.SplitSeq(s, ",") {
		if piece = strings.TrimSpace(piece); piece != "" {
			list = append(list, piece)
		}
	}
	return list
}
