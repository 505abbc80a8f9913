//go:build unix

package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// prompt is how long a process may take to end once it is told to: a second, and
// on a busy machine some more.
const prompt = 3 * time.Second

// start starts a command line with a folder of its own for what is temporary.
func start(t *testing.T, args ...string) (c *session.Client, temp string) {
	t.Helper()
	temp = t.TempDir()
	c = &session.Client{Process: session.Prepare(t.Context(), program, args...)}
	c.Cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	return c, temp
}

// ends waits for the end of a process that was told to.
func ends(t *testing.T, c *session.Client, code int) {
	t.Helper()
	begun := time.Now()
	timer := time.AfterFunc(30*time.Second, func() { _ = c.Cmd.Process.Kill() })
	defer timer.Stop()
	_ = c.Cmd.Wait()
	took := time.Since(begun)
	t.Logf("the end took %v", took.Round(time.Millisecond))
	if got := c.Cmd.ProcessState.ExitCode(); got != code || took > prompt {
		t.Errorf("%v after %v, want exit code %d within %v\n%.2000s", c.Cmd.ProcessState, took, code, prompt, c.Said())
	}
	if strings.Contains(c.Said(), "goroutine ") {
		t.Errorf("stderr has a stack: %.2000s", c.Said())
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// longLog is a vault whose index takes a while to load.
func longLog(t *testing.T) string {
	t.Helper()
	vault := copyVault(t, edgeMini)
	log, err := os.OpenFile(filepath.Join(vault, ".smart-env", "smart_sources", "smart_sources.ajson"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	line := `"smart_sources:Gone/` + strings.Repeat("x", 900) + `.md": null,` + "\n"
	if _, err := io.WriteString(log, strings.Repeat(line, 60_000)); err != nil {
		t.Fatal(err)
	}
	return vault
}

// P8: a signal ends the server with code 0, whatever it is doing, and nothing
// temporary is left.
func TestP8Signals(t *testing.T) {
	vault, long := copyVault(t, edgeMini), longLog(t)
	search := toolCall("100", "search_notes", `{"query":"upper case"}`)
	searches := ""
	for i := range 20 {
		searches += toolCall(strconv.Itoa(i+10), "search_notes", `{"query":"upper case"}`)
	}
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"idle", []string{"serve", "--vault", vault}, ""},
		{"loading", []string{"serve", "--vault", long}, search},
		{"searching", []string{"serve", "--vault", vault}, searches},
		{"demo", []string{"demo", "--serve"}, search},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprint(tt.name, " ", signal), func(t *testing.T) {
				c, temp := start(t, tt.args...)
				if err := c.Initialize(); err != nil {
					t.Fatal(err)
				}
				say(t, c, tt.says)
				if tt.says != "" {
					time.Sleep(20 * time.Millisecond)
				}
				if err := c.Cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				ends(t, c, 0)
				empty(t, temp)
			})
		}
	}
	t.Run("downloading", func(t *testing.T) {
		hub, connected := stalledHub(t)
		c := waitingServer(t, hub)
		<-connected
		say(t, c, search)
		if err := c.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ends(t, c, 0)
	})
	t.Run("nobody reads", func(t *testing.T) {
		c, _ := start(t, "serve", "--vault", vault)
		if err := c.Initialize(); err != nil {
			t.Fatal(err)
		}
		for i := range 300 { // more than a pipe holds
			say(t, c, request(strconv.Itoa(i+10), "tools/list", "{}"))
		}
		time.Sleep(50 * time.Millisecond)
		if err := c.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ends(t, c, 0)
	})
}

// P8, 69: three requests and the end of the input give three answers and code 0.
func TestP8EndOfInput(t *testing.T) {
	for _, vault := range []string{copyVault(t, edgeMini), longLog(t)} {
		c, _ := start(t, "serve", "--vault", vault)
		say(t, c, request("1", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)+
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
			toolCall("2", "search_notes", `{"query":"upper case"}`)+toolCall("3", "index_status", "{}"))
		c.In.Close()
		out, err := io.ReadAll(c.Out)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for line := range bytes.Lines(out) {
			m, err := parseAnswer(line)
			if err != nil {
				t.Error(err)
			}
			got[m.short()] = true
		}
		if len(got) != 3 || !got["1:ok"] || !got["2:ok"] || !got["3:ok"] {
			t.Errorf("the answers are %v, want those to 1, 2 and 3", got)
		}
		ends(t, c, 0)
	}
}

// P7: a client that sends calls and does not read for a while: memory stays
// bounded, the calls behind are read and answered, and all answers come.
func TestP7ClientReadsLate(t *testing.T) {
	late, n := time.Second, 400
	if long, full := hostile(t); full {
		late, n = max(long, 60*time.Second), 5000
	}
	vault := copyVault(t, edgeMini)
	big := strings.Repeat("A line of a long note, as they are.\n", 1000)
	if err := os.WriteFile(filepath.Join(vault, "Long.md"), []byte(big), 0o644); err != nil {
		t.Fatal(err)
	}
	c := serve(t, vault)
	before, memory := c.Megabytes("VmRSS")
	failed := make(chan error, 1)
	go func() { // blocks when the server stops reading
		for i := range n {
			if _, err := io.WriteString(c.In, toolCall(strconv.Itoa(i+10), "get_note", `{"path":"Long.md"}`)); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	time.Sleep(late)
	if memory == nil {
		after, err := c.Megabytes("VmHWM")
		t.Logf("%d calls, nobody reads for %v: VmHWM %.0f MB, VmRSS %.0f MB before", n, late, after, before)
		if err != nil || after > before+400 {
			t.Errorf("VmHWM is %.0f MB, %v, after %.0f MB before: want 400 MB more at most", after, err, before)
		}
	}
	seen := make([]bool, n)
	for range n {
		m := listen(t, c)
		id, err := strconv.Atoi(string(m.ID))
		if err != nil || id < 10 || id >= n+10 || seen[id-10] || m.short() != string(m.ID)+":ok" {
			t.Fatalf("answer %s: unknown, given twice, or failed", m.short())
		}
		seen[id-10] = true
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
	finish(t, c)
}

// P7, P8: a client that never reads again and closes its end of stdin is given up
// after the drain time.
func TestP7EndWithoutReader(t *testing.T) {
	if _, full := hostile(t); !full {
		t.Skip("it takes the drain time, 20 s: the transport's own test is quicker")
	}
	c := serve(t, copyVault(t, edgeMini))
	for i := range 300 {
		say(t, c, request(strconv.Itoa(i+10), "tools/list", "{}"))
	}
	c.In.Close()
	time.Sleep(20 * time.Second)
	ends(t, c, 0)
}

// P7: a client that does not read the log stops nothing.
func TestP7LogUnread(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	c := &session.Client{Process: session.Prepare(t.Context(), program, "serve", "--vault", copyVault(t, edgeMini))}
	c.Cmd.Stderr = write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	for range 2000 { // lines of the log of some 150 bytes: more than a pipe holds
		say(t, c, "no json\n")
		if m := listen(t, c); m.short() != "null:-32700" {
			t.Fatalf("answered with %s", m.short())
		}
	}
	if rest, err := c.End(); err != nil || len(rest) > 0 {
		t.Errorf("the end: %v, %q", err, rest)
	}
}

// P8: who reads the output goes away: a quiet end, by no signal, and nothing
// temporary is left.
func TestP8ClosedStdout(t *testing.T) {
	vault := copyVault(t, edgeMini)
	for _, args := range [][]string{
		{"--help"}, {"status", "--vault", vault}, {"status", "--json", "--vault", vault}, {"search", "x", "--vault", vault},
		{"demo"}, {"version", "--json"},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		temp := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		cmd.Stdout = write
		var said bytes.Buffer
		cmd.Stderr = &said
		_ = cmd.Run()
		cancel()
		write.Close()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 || said.Len() > 0 {
			t.Errorf("%q with a closed stdout: %v, %q; want code 0 or 1 and no word", args, cmd.ProcessState, said.String())
		}
		empty(t, temp)
	}
}

// P8: a client that closes its end of stdout, and not that of stdin, ends the
// server with the next answer.
func TestP8ClientStopsListening(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c := &session.Client{Process: session.Prepare(t.Context(), program, "demo", "--serve")}
	temp := t.TempDir()
	c.Cmd.Env, c.Cmd.Stdout = append(os.Environ(), "TMPDIR="+temp), write
	if c.In, err = c.Cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	write.Close()
	c.Out = bufio.NewReader(read)
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	say(t, c, ping)
	ends(t, c, 1)
	empty(t, temp)
	if c.Said() != "" {
		t.Errorf("it says %q, want nothing", c.Said())
	}
}

// P8: without stdin, stdout and stderr at the start it ends in order.
func TestP8ClosedAtStart(t *testing.T) {
	vault := copyVault(t, edgeMini)
	for _, args := range []string{"serve --vault " + vault, "status --vault " + vault, "demo --serve"} {
		for _, closed := range []string{"<&- >&- 2>&-", "<&-", "</dev/null >&-", "</dev/null 2>&-"} {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+program+" "+args+" "+closed)
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil || bytes.Contains(out, []byte("goroutine ")) {
				t.Errorf("%s %s: %v\n%.1000s", args, closed, err, out)
			}
		}
	}
}

// orphan is a shell that starts the server, asks it, and turns into a process that
// only keeps its ends of the pipes.
const orphan = `cd "$1" && mkfifo in out || exit 1
"$2" serve --vault "$3" <in >out 2>/dev/null &
echo $!
exec 3>in 4<out
printf '%s' "$4" >&3
exec sleep 100`

// P8: a server whose parent is killed ends, even while a call is in flight that
// could take minutes.
func TestP8ParentKilled(t *testing.T) {
	hub, connected := stalledHub(t)
	hello := request("1", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	for _, says := range []string{hello, hello + toolCall("2", "search_notes", `{"query":"x"}`)} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", orphan, "sh", t.TempDir(), program, copyVault(t, hubModel), says)
		cmd.Env = append(os.Environ(), "HF_ENDPOINT="+hub, "SMART_MODEL_PATH=", "SMART_MODEL_CACHE="+filepath.Join(t.TempDir(), "cache"))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		<-connected
		time.Sleep(300 * time.Millisecond) // for the call, which is behind the handshake
		if !alive(pid) {
			t.Fatal("the server is not there")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		begun := time.Now()
		for alive(pid) && time.Since(begun) < 10*time.Second {
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(begun)
		t.Logf("the end took %v", took.Round(time.Millisecond))
		if took > 5*time.Second {
			t.Errorf("the server outlives its parent by %v, want 5 s at most", took)
		}
	}
}

// alive reports whether there is a process that has not ended. One that nobody
// waits for stays as a zombie.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}
