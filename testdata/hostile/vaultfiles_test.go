//go:build linux

package hostile

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// asNobody starts the server for a user to whom permissions apply.
func asNobody(t testing.TB, vault string) *session.Client {
	t.Helper()
	p := session.Prepare(t.Context(), program, "serve", "--vault", vault)
	if os.Getuid() == 0 {
		for _, path := range []string{program, vault} { // temporary folders are closed to others
			for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) && len(dir) > 1; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		p.Cmd.Env, p.Cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
	}
	return begin(t, p)
}

// oddFiles are what becomes of notes after they were indexed, and what get_note
// says of them, or how the excerpt of a search begins or why there is none.
var oddFiles = []struct {
	path    string
	become  func(path string) error
	refusal string // of get_note, in part; the note is not ranked unless excerpt or missing is set
	excerpt string
	missing string
}{
	{"Fifo.md", func(path string) error { return syscall.Mkfifo(path, 0o666) }, "not a regular file", "", ""},
	{"Socket.md", socket, "not a regular file", "", ""},
	{"Device.md", func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }, "not a regular file", "", ""},
	{"Folder.md", func(path string) error { return os.Mkdir(path, 0o755) }, "no note at", "", ""},
	{"Sparse.md", sparse, "larger than 64 MiB", "", ""},
	{"Closed.md", func(path string) error { return os.WriteFile(path, []byte("secret"), 0) }, "may not be read", "", "check its permissions"},
	{"Empty.md", text(""), "", "", "no longer in the note"},
	{"Line.md", text("# Of zeros\n\n" + strings.Repeat("x", 5_000_000)), "", "", "no longer in the note"},
	{"Zero.md", text(prose("zeros") + "\x00\x00\n"), "", "What there is", ""},
	{"Invalid.md", text(prose("zeros") + "caf\xe9 \xf0\x9f\x98\n"), "", "What there is", ""},
	{"Plain.md", text(prose("zeros")), "", "What there is", ""},
	// Bug 46: the frontmatter is never expanded.
	{"Aliases.md", text("---\na: &a [x,x,x,x,x,x,x,x,x]\n" + aliases() + "---\n" + prose("zeros")), "", "What there is", ""},
	// Bug 45: the excerpt ends between two families.
	{"Family.md", text("# Of zeros\n\n" + strings.Repeat(family, 200) + "\n"), "", family, ""},
}

const family = "👨‍👩‍👧‍👦"

func text(s string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(s), 0o644) }
}

// aliases is YAML that would be 9^30 words when expanded.
func aliases() string {
	var b strings.Builder
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	return b.String()
}

func socket(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err == nil {
		l.SetUnlinkOnClose(false) // the socket stays when nobody listens
		err = l.Close()
	}
	return err
}

func sparse(path string) error {
	err := os.WriteFile(path, nil, 0o644)
	if err == nil {
		err = os.Truncate(path, 2<<30)
	}
	return err
}

// V1: what stands where notes were, of every kind: each call answers, the other
// notes are found and quoted, and what is refused is counted and named.
func TestV1OddFiles(t *testing.T) {
	t.Parallel()
	notes := map[string]string{}
	for _, f := range oddFiles {
		notes[f.path] = prose("zeros")
	}
	dir := indexed(t, notes)
	irregular, absent := 0, map[string]bool{}
	for _, f := range oddFiles {
		path := filepath.Join(dir, f.path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := f.become(path); err != nil {
			t.Logf("%s: %v, so it is not there", f.path, err)
			absent[f.path] = true
		} else if f.refusal != "" && f.missing == "" {
			irregular++
		}
	}
	g := guarded{Client: asNobody(t, dir), secrets: []string{"secret", filepath.Dir(dir)}}
	_, ranked := rows(t, g.ask(t, "search_notes", everything("zeros")))
	for _, f := range oddFiles {
		r, isRanked := ranked[f.path]
		if wanted := f.excerpt != "" || f.missing != ""; isRanked != wanted || !strings.HasPrefix(r.Excerpt, f.excerpt) || !strings.Contains(r.Missing, f.missing) {
			t.Errorf("search_notes: %s is ranked: %v, %.100q%q; want %v, %q%q", f.path, isRanked, r.Excerpt, r.Missing, wanted, f.excerpt, f.missing)
		}
		if f.path == "Family.md" && (strings.ReplaceAll(r.Excerpt, family, "") != "" || len(r.Excerpt) < 2000) {
			t.Errorf("search_notes: an excerpt ends within a character: %q", r.Excerpt)
		}
		if absent[f.path] {
			continue
		}
		answer := g.ask(t, "get_note", map[string]any{"path": f.path})
		if answer.IsError != (f.refusal != "") || !strings.Contains(answer.Text(), f.refusal) {
			t.Errorf("get_note of %s: %.200q, want %q", f.path, answer.Text(), f.refusal)
		}
		answer = g.ask(t, "related_notes", map[string]any{"path": f.path})
		if answer.IsError != (f.refusal != "" && f.missing == "") {
			t.Errorf("related_notes of %s: %.200q", f.path, answer.Text())
		}
	}
	status := g.ask(t, "index_status", nil).Text()
	for _, want := range []string{
		fmt.Sprintf(`"excluded":%d`, irregular), `"unreadable":1`, fmt.Sprintf("%d notes of the index will be left out", irregular), `\"Fifo.md\"`,
	} {
		if !strings.Contains(status, want) {
			t.Errorf("index_status lacks %s: %s", want, status)
		}
	}
	g.end(t)
}

// V2: links of every kind to a file outside, and in a circle. A hard link and what
// is mounted belong to the vault, see note.Vault.Read.
func TestV2Links(t *testing.T) {
	t.Parallel()
	links := map[string]string{
		"relative.md": "../canary.md", "absolute.md": "", "chain.md": "relative.md", "through.md": "Sub/canary.md",
		"loop.md": "loop2.md", "loop2.md": "loop.md", "device.md": "/dev/zero", "proc.md": "/proc/self/environ",
	}
	notes := map[string]string{"Sub/canary.md": prose("zeros"), "hard.md": prose("zeros"), "Mounted/m.md": prose("zeros"), "plain.md": prose("zeros")}
	for name := range links {
		notes[name] = prose("zeros")
	}
	dir := indexed(t, notes)
	base := filepath.Dir(dir)
	put(t, filepath.Join(base, "canary.md"), prose(outside))
	put(t, filepath.Join(base, "sub", "canary.md"), prose(outside))
	put(t, filepath.Join(base, "backup.md"), prose("zeros"))
	put(t, filepath.Join(base, "mount", "m.md"), prose("zeros"))
	links["absolute.md"], links["Sub"] = filepath.Join(base, "canary.md"), "../sub"
	for name, target := range links {
		path := filepath.Join(dir, name)
		os.RemoveAll(path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(filepath.Join(dir, "hard.md"))
	if err := os.Link(filepath.Join(base, "backup.md"), filepath.Join(dir, "hard.md")); err != nil {
		t.Fatal(err)
	}
	g := guarded{Client: mounted(t, dir), secrets: []string{outside, base}}
	_, ranked := rows(t, g.ask(t, "search_notes", everything(outside[:4])))
	if got := len(ranked); got != 3 || ranked["hard.md"].Excerpt == "" || ranked["Mounted/m.md"].Excerpt == "" || ranked["plain.md"].Excerpt == "" {
		t.Errorf("search_notes ranks %v, want what is no symbolic link", ranked)
	}
	links["Sub/canary.md"] = ""
	delete(links, "Sub")
	for name := range links {
		for _, tool := range []string{"get_note", "related_notes"} {
			answer := g.ask(t, tool, map[string]any{"path": name})
			wanted := "it leads out of the vault through a link"
			if strings.HasPrefix(name, "loop") {
				wanted = "its links lead in a circle"
			}
			if !answer.IsError || !strings.Contains(answer.Text(), wanted) && name != "Sub/canary.md" {
				t.Errorf("%s of %s: %.300q, want it refused: %s", tool, name, answer.Text(), wanted)
			}
		}
	}
	g.ask(t, "index_status", nil)
	g.end(t)
}

// mounted starts the server with the folder beside the vault mounted in it, in a
// view of the file system of its own, or without where that is not allowed.
func mounted(t testing.TB, dir string) *session.Client {
	t.Helper()
	mount := fmt.Sprintf("mount --bind %q %q", filepath.Join(filepath.Dir(dir), "mount"), filepath.Join(dir, "Mounted"))
	if out, err := exec.Command("unshare", "-m", "sh", "-c", mount).CombinedOutput(); err != nil {
		t.Logf("nothing is mounted: %v: %s", err, out)
		return serve(t, dir)
	}
	return begin(t, session.Prepare(t.Context(), "unshare", "-m", "sh", "-c", mount+` && exec "$0" serve --vault "$1"`, program, dir))
}

// V3: while calls are answered another process, this one, swaps notes for links
// out of the vault, into a dot folder and for a FIFO, and a folder for a link out,
// 10^5 times in full.
func TestV3Flips(t *testing.T) {
	t.Parallel()
	dir := indexed(t, map[string]string{
		"Note.md": prose("zeros"), "Dot.md": prose("zeros"), "Fifo.md": prose("zeros"), "Folder/In.md": prose("zeros"), "Plain.md": prose("zeros")})
	base := filepath.Dir(dir)
	put(t, filepath.Join(base, "out", "In.md"), prose(outside))
	put(t, filepath.Join(dir, ".obsidian", "In.md"), prose(outside))
	if err := syscall.Mkfifo(filepath.Join(base, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	wanted, patience := int64(4_000), 4*time.Second
	if _, full := hostile(t); full {
		wanted, patience = 100_000, 10*time.Minute
	}
	g := guarded{Client: serve(t, dir), secrets: []string{outside, base}}
	g.ask(t, "search_notes", everything("zeros"))
	var flips atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				flips.Add(flip(base))
			}
		}
	}()
	read, calls := map[string]int{}, 0
	for begun := time.Now(); flips.Load() < wanted && time.Since(begun) < patience || calls == 0; calls++ {
		for _, path := range []string{"Note.md", "Dot.md", "Fifo.md", "Folder/In.md"} {
			if answer := g.ask(t, "get_note", map[string]any{"path": path}); !answer.IsError {
				read[path]++
			}
		}
		rows(t, g.ask(t, "search_notes", everything("zeros")))
		g.ask(t, "related_notes", map[string]any{"path": "Plain.md"})
		g.ask(t, "index_status", nil)
	}
	close(stop)
	<-stopped
	t.Logf("%d flips during %d calls; read: %v", flips.Load(), 7*calls, read)
	if len(read) == 0 || flips.Load() < 100 {
		t.Error("nothing was read, or hardly anything was swapped")
	}
	g.end(t)
}

// flip swaps everything there and back once and returns how often that was.
func flip(base string) int64 {
	at := func(name string) string { return filepath.Join(base, "vault", name) }
	aside := filepath.Join(base, "aside")
	for note, target := range map[string]string{"Note.md": "../out/In.md", "Dot.md": ".obsidian/In.md", "Fifo.md": ""} {
		text := filepath.Join(base, note)
		if _, err := os.Lstat(text); err != nil {
			os.Link(at(note), text)
		}
		if target == "" {
			os.Link(filepath.Join(base, "fifo"), aside)
		} else {
			os.Symlink(target, aside)
		}
		os.Rename(aside, at(note))
		os.Link(text, aside)
		os.Rename(aside, at(note))
	}
	os.Rename(at("Folder"), filepath.Join(base, "folder"))
	os.Symlink("../out", at("Folder"))
	os.Remove(at("Folder"))
	os.Rename(filepath.Join(base, "folder"), at("Folder"))
	return 4
}
