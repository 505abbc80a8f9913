// Package design holds the program to its design: what stands at the top, and
// which package may know which.
package design

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the project's folder.
const root = "../.."

// The top level stays what it is; all that is new goes below one of its folders.
func TestTopLevel(t *testing.T) {
	const all = " LICENSE README.md bert go.mod go.sum main.go main_test.go simd smartenv testdata tools weights smart-connections-mcp smart-connections-mcp.exe dist "
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' && !strings.Contains(all, " "+name+" ") {
			t.Errorf("%s stands at the top: move it below one of the folders", name)
		}
	}
}

// allowed are the packages that each package may import beside the standard
// library: the arrows of the design. A new line needs a reason in its commit.
var allowed = map[string]string{
	".":                 "bert simd smartenv smartenv/measure smartenv/note smartenv/verify tools tools/cli weights weights/embedder",
	"simd":              "cpuid",
	"simd/gen":          "",
	"bert":              "simd tensor model wordpiece norm",
	"weights":           "bert weights/builtin weights/onnx weights/values tensor sys",
	"weights/onnx":      "weights/values",
	"weights/builtin":   "",
	"weights/values":    "",
	"weights/embedder":  "bert smartenv weights",
	"smartenv":          "simd smartenv/disk smartenv/note smartenv/parallel sys",
	"smartenv/disk":     "sys",
	"smartenv/fault":    "",
	"smartenv/note":     "smartenv/disk smartenv/parallel norm cases uniseg sys", // uniseg: excerpts end between characters as people see them
	"smartenv/parallel": "",
	"smartenv/property": "yaml",
	"smartenv/links":    "smartenv/note smartenv/parallel smartenv/property norm",
	"smartenv/search":   "simd smartenv smartenv/disk smartenv/note norm",
	"smartenv/verify":   "simd smartenv smartenv/note smartenv/parallel",
	"smartenv/measure":  "simd smartenv smartenv/note smartenv/parallel smartenv/search smartenv/verify", // verify: the rules under which inputs are rebuilt
	"smartenv/gen":      "bert smartenv smartenv/note weights weights/builtin",
	"tools":             "smartenv smartenv/links smartenv/note smartenv/property smartenv/search smartenv/verify tools/stdio mcp jsonrpc norm", // norm: names are compared as people read them
	"tools/stdio":       "mcp jsonrpc sys",
	"tools/cli":         "smartenv smartenv/measure smartenv/verify tools", // smartenv: which note the timing of related asks for
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.') {
			return cmpErr(err, fs.SkipDir)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		dir := path.Dir(name)
		seen[dir] = true
		may, known := allowed[dir]
		if !known {
			t.Errorf("%s is a new package: give it a line in allowed", dir)
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if short := shortImport(imported); short != "" && !slices.Contains(strings.Fields(may), short) {
				t.Errorf("%s imports %s: the design has no such arrow", name, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range allowed {
		if !seen[dir] {
			t.Errorf("allowed names %s, which is no package", dir)
		}
	}
}

func cmpErr(err, other error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return other
}

// shortImport is the name under which allowed lists an import; "" for the
// standard library.
func shortImport(name string) string {
	if own, ok := strings.CutPrefix(name, "smart-connections-mcp/"); ok {
		return own
	}
	if !strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
		return ""
	}
	if strings.HasPrefix(name, "golang.org/x/sys/") {
		return "sys"
	}
	parts := strings.Split(name, "/")
	if last := len(parts) - 1; len(parts[last]) == 2 && parts[last][0] == 'v' { // the major version of a module
		return parts[last-1]
	}
	return parts[len(parts)-1]
}
