package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sliceOf runs one process that measures, in a folder, under the lock, and
// returns what it printed.
func (b *bench) sliceOf(ctx context.Context, dir, name string, args ...string) (string, error) {
	release, err := b.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return command(ctx, dir, name, args...)
}

// command runs a program to its end and returns its stdout. Its error ends with
// the last lines that the program printed.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + errOut.String())
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said[max(0, len(said)-600):])
	}
	return out.String(), nil
}

// hold waits for the lock file, if there is one, and returns how to let it go.
// The flock command keeps it for as long as its stdin is open.
func (b *bench) hold(ctx context.Context) (release func(), err error) {
	if b.lock == "" {
		return func() {}, nil
	}
	cmd := exec.CommandContext(ctx, "flock", b.lock, "sh", "-c", "echo held; cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: -lock needs the flock command of util-linux", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		in.Close()
		return nil, fmt.Errorf("taking the lock %s: %v, %v", b.lock, err, cmd.Wait())
	}
	return func() { in.Close(); _ = cmd.Wait() }, nil
}

// child is a process that answers on its stdout, line by line.
type child struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	said  bytes.Buffer // its stderr
	begun time.Time
}

// start starts a child; the clock runs from before that.
func start(ctx context.Context, dir, name string, args ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, name, args...)}
	c.cmd.Dir, c.cmd.Stderr = dir, &c.said
	c.cmd.WaitDelay = time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.lines = in, bufio.NewReaderSize(out, 1<<20)
	c.begun = time.Now()
	return c, c.cmd.Start()
}

// line reads the next line.
func (c *child) line() ([]byte, error) {
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s ended without an answer: %w: %s", strings.Join(c.cmd.Args, " "), err, c.said.String())
	}
	return line, nil
}

// end closes the child's stdin, which should end it, and ends it if not.
func (c *child) end() {
	c.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, c.lines)
	_ = c.cmd.Wait()
}

// exists tells whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ms is the time since begun in milliseconds.
func ms(begun time.Time) float64 { return float64(time.Since(begun)) / 1e6 }
