package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// sliceOf runs one process that measures, in a folder, under the lock, and
// returns what it printed. It notes how busy others kept the machine meanwhile.
func (b *bench) sliceOf(ctx context.Context, dir, name string, args ...string) (string, error) {
	release, err := b.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	begun, before := time.Now(), machineTime()
	out, own, err := timed(ctx, dir, name, args...)
	if all := machineTime() - before; all > 0 {
		b.others = append(b.others, max(0, (all-own).Seconds()/time.Since(begun).Seconds()))
	}
	return out, err
}

// command runs a program to its end and returns its stdout.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	out, _, err := timed(ctx, dir, name, args...)
	return out, err
}

// timed is command, and the processor time that the program took. Its error ends
// with the last lines that the program printed.
func timed(ctx context.Context, dir, name string, args ...string) (string, time.Duration, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + errOut.String())
		return "", 0, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said[max(0, len(said)-600):])
	}
	return out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// machineTime is the time that all processors together were not idle since the
// machine started, what a hypervisor took included; 0 where /proc does not tell.
func machineTime() time.Duration {
	data, _ := os.ReadFile("/proc/stat")
	return busyTime(string(data))
}

// busyTime reads the first line of /proc/stat, which counts hundredths of a
// second: user, nice, system, idle, iowait, irq, softirq, steal.
func busyTime(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks := 0
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
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

// exists tells whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
