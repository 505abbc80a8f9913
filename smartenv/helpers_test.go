package smartenv

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv/note"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(loaderRole); dir != "" {
		measureLoad(dir) // this process is the one that TestLargeLog measures
		return
	}
	if spec := os.Getenv(writerRole); spec != "" {
		writeGenerations(spec) // this process is a writer of TestTornReads
		return
	}
	if err := simd.Use(os.Getenv("SMART_SIMD")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// shared returns the path of shared test data. Without it the test is skipped,
// but in CI it fails.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func openIndex(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	v, err := note.OpenVault(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return Open(v, o)
}

func load(t testing.TB, dir string) *Snapshot {
	t.Helper()
	snap, err := openIndex(t, dir, Options{}).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// id is an item's full key in the plugin's form.
func (it *Item) id() string { return it.Path + it.Key }

// find returns the row of the item with this full key.
func find(t testing.TB, c *Collection, id string) int {
	t.Helper()
	for i := range c.Items {
		if c.Items[i].id() == id {
			return i
		}
	}
	t.Fatalf("no item %q", id)
	return -1
}

func loadFake(t testing.TB, v *fakeVault) *Snapshot { return load(t, v.dir) }
