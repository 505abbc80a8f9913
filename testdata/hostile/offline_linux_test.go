package hostile

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"smart-connections-mcp/testdata/session"
	"smart-connections-mcp/weights"
)

// strace finds the program that tells which calls of the system a process makes.
func strace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(path, "-f", "-o", os.DevNull, "true").Run()
	}
	if err != nil {
		const why = "strace is missing or may not trace: install it, and on a container allow ptrace"
		if os.Getenv("CI") == "true" {
			t.Fatal(why, err)
		}
		t.Skip(why, err)
	}
	return path
}

// noRoute are the words that run a program where no network is, not even the
// machine's own; none where the system does not permit that.
func noRoute(t *testing.T) []string {
	t.Helper()
	words := []string{"unshare", "--map-root-user", "--net"}
	if err := exec.Command(words[0], append(words[1:], "true")...).Run(); err != nil {
		t.Logf("the system permits no network without a route, so the network of this machine is there: %v", err)
		return nil
	}
	return words
}

// traced runs a session of a server and returns the lines in which strace tells of
// its calls of a class, such as %network. The environment's variables are added.
func traced(t *testing.T, class, vault string, env []string, in func(c *session.Client)) []string {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	args := slices.Concat([]string{"-f", "-y", "-qq", "-s", "300", "-e", "signal=none", "-e", "trace=" + class, "-o", trace}, noRoute(t), []string{program, "serve", "--vault", vault})
	c := &session.Client{Process: session.Prepare(t.Context(), strace(t), args...)}
	c.Cmd.Env = append(os.Environ(), env...)
	c.Cmd.WaitDelay = 0
	err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	in(c)
	if _, err := c.End(); err != nil {
		t.Errorf("the end: %v\n%s", err, c.Said())
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}

// tinyModel is a model of the repository that is not built in.
const tinyModel = "../models/tiny-bert-48"

// cached makes a cache that holds the tiny model under a name.
func cached(t *testing.T, name string) string {
	t.Helper()
	cache := t.TempDir()
	dir := filepath.Join(cache, "models", strings.ReplaceAll(name, "/", "--"))
	sums := ""
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(tinyModel, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), file)
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o644); err != nil {
		t.Fatal(err)
	}
	return cache
}

// offlineModel is the name under which a vault was indexed with the tiny model.
const offlineModel = "somebody/tiny-bert-48"

func offlineGarden(t *testing.T) *gardener {
	checkpoint, err := weights.Folder(tinyModel)
	return gardenerWith(t, 6, checkpoint, err, offlineModel)
}

// R3: with the weights in the cache a whole session, a reload of the index with
// it, makes not one call of the system's that has to do with networks: no socket,
// connection, name to be looked up, or port to listen at.
func TestR3Offline(t *testing.T) {
	t.Parallel()
	g := offlineGarden(t)
	lines := traced(t, "%network", g.dir, []string{"SMART_MODEL_CACHE=" + cached(t, offlineModel)}, func(c *session.Client) {
		v := newVisitor(t, c, g)
		for range 20 {
			if err := v.call(); err != nil {
				t.Fatal(err)
			}
		}
		g.work(0)
		if err := v.arrives(); err != nil {
			t.Fatal(err)
		}
		if v.status.Proof.Verdict != "agrees" {
			t.Errorf("the embedder's proof is %q, want agrees: the weights are not those of the cache", v.status.Proof.Verdict)
		}
	})
	if len(lines) > 0 {
		t.Errorf("%d calls that have to do with networks:\n%s", len(lines), strings.Join(lines, ""))
	}
}

var (
	port    = regexp.MustCompile(`sin6?_port=htons\((\d+)\)`)
	callOf  = regexp.MustCompile(`^\d+ +(?:<\.\.\. )?(\w+)`)
	address = regexp.MustCompile(`inet_addr\("([^"]*)"\)|inet_pton\(AF_INET6, "([^"]*)"`)
)

// R3: without them it is the hub alone that is called, by the fetch, and what
// needs no model goes on.
func TestR3Fetch(t *testing.T) {
	t.Parallel()
	g := offlineGarden(t)
	env := []string{"SMART_MODEL_CACHE=" + t.TempDir(), "HF_ENDPOINT=http://127.0.0.1:9", "HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy="}
	lines := traced(t, "%network", g.dir, env, func(c *session.Client) {
		var l listing
		err := ask(c, "search_notes", map[string]any{"query": "rose"}, &l)
		if err == nil || !strings.Contains(err.Error(), "no answer from 127.0.0.1") {
			t.Errorf("search_notes without a model: %v, %+v", err, l)
		}
		v := newVisitor(t, c, g)
		for _, call := range []func() error{v.related, v.read, v.look} {
			if err := call(); err != nil {
				t.Error(err)
			}
		}
	})
	connects := 0
	for _, line := range lines {
		m := callOf.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("strace says %q", line)
		}
		switch m[1] {
		case "connect":
			connects++
			at, to := port.FindStringSubmatch(line), address.FindStringSubmatch(line)
			if at == nil || to == nil || at[1] != "9" || to[1] != "127.0.0.1" {
				t.Errorf("a connection to another place than the hub: %s", line)
			}
		case "bind": // Go finds out so which addresses the system has
			if at := port.FindStringSubmatch(line); at != nil && at[1] != "0" {
				t.Errorf("a port of its own: %s", line)
			}
		case "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg":
			if !strings.Contains(line, "127.0.0.1:9") {
				t.Errorf("what no fetch needs: %s", line)
			}
		}
	}
	if connects == 0 {
		t.Errorf("the fetch called nobody:\n%s", strings.Join(lines, ""))
	}
	t.Logf("%d connections, %d calls of the system in all", connects, len(lines))
}

// changing are the calls of the system's that change a file or a folder, but for
// open.
const changing = "creat,mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mknod,mknodat," +
	"chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utime,utimes,utimensat,futimesat,truncate,ftruncate,fallocate," +
	"setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr"

// Bug 14: a whole session, reload included, opens nothing for writing, and
// changes nothing, below the vault or anywhere else.
func TestBug14NothingIsOpenedForWriting(t *testing.T) {
	t.Parallel()
	g := newGardener(t, 6)
	opened := 0
	lines := traced(t, "open,openat,openat2,"+changing, g.dir, nil, func(c *session.Client) {
		v := newVisitor(t, c, g)
		for range 20 {
			if err := v.call(); err != nil {
				t.Fatal(err)
			}
		}
		g.work(6)
		if err := v.arrives(); err != nil {
			t.Fatal(err)
		}
	})
	for _, line := range lines {
		m := callOf.FindStringSubmatch(line)
		switch {
		case m == nil:
			t.Fatalf("strace says %q", line)
		case !strings.HasPrefix(m[1], "open"):
			t.Errorf("a change: %s", line)
		case strings.Contains(line, "O_WRONLY"), strings.Contains(line, "O_RDWR"), strings.Contains(line, "O_CREAT"), strings.Contains(line, "O_TRUNC"):
			if !strings.Contains(line, `"/proc/self/`) && !strings.Contains(line, `"/dev/null"`) {
				t.Errorf("opened for writing: %s", line)
			}
		case strings.Contains(line, filepath.Base(g.dir)):
			opened++
		}
	}
	if opened < 20 {
		t.Errorf("strace saw %d files of the vault opened, want more:\n%s", opened, strings.Join(lines, ""))
	}
}
