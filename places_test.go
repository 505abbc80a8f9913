package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
