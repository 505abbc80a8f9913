// Package session runs the program as a process and speaks MCP to it, as a
// client does. What measures the program and what mistreats it both start it
// through here.
package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Build compiles the program into a folder and returns the binary's path. The
// extra arguments go to go build.
func Build(ctx context.Context, dir string, args ...string) (string, error) {
	binary := filepath.Join(dir, "smart-connections-mcp")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	args = append(append([]string{"build", "-o", binary}, args...), "smart-connections-mcp")
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return binary, nil
}

// A Process is a program that answers on its stdout, line by line. It dies with
// the context it was started with. Its methods are for one goroutine.
type Process struct {
	Cmd   *exec.Cmd
	In    io.WriteCloser
	Out   *bufio.Reader
	Begun time.Time // the clock runs from before the start

	said lockedBuffer
}

// Prepare makes a Process that is not started yet, so that the caller may set
// the command's folder, environment or credentials.
func Prepare(ctx context.Context, name string, args ...string) *Process {
	p := &Process{Cmd: exec.CommandContext(ctx, name, args...)}
	p.Cmd.Stderr = &p.said
	p.Cmd.WaitDelay = time.Second
	return p
}

// Start starts the process.
func (p *Process) Start() error {
	in, err := p.Cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.In, p.Out = in, bufio.NewReaderSize(out, 1<<20)
	p.Begun = time.Now()
	return p.Cmd.Start()
}

// Line reads the next line, its newline included.
func (p *Process) Line() ([]byte, error) {
	line, err := p.Out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s ended without an answer: %w: %s", strings.Join(p.Cmd.Args, " "), err, p.Said())
	}
	return line, nil
}

// Said is what the process has written to its stderr so far.
func (p *Process) Said() string { return p.said.String() }

// Took is the time since the start, in milliseconds.
func (p *Process) Took() float64 { return float64(time.Since(p.Begun)) / 1e6 }

// patience is how long a process may take to end once its stdin is closed.
const patience = 5 * time.Second

// End closes the process's stdin, which should end it, reads what it still
// writes, and kills it when it is not gone after 5 s, which is an error, as is
// an exit code other than 0.
func (p *Process) End() ([]byte, error) {
	p.In.Close()
	timer := time.AfterFunc(patience, func() { _ = p.Cmd.Process.Kill() })
	rest, _ := io.ReadAll(p.Out)
	err := p.Cmd.Wait()
	if !timer.Stop() {
		err = fmt.Errorf("still there %v after its stdin ended", patience)
	}
	return rest, err
}

// lockedBuffer is written by the goroutine of exec while others read it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
