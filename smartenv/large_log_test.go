package smartenv

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/smartenv/note"
)

// loaderRole is the environment variable that makes the test's binary a process
// that loads an index once and tells of it.
const loaderRole = "SMARTENV_LOADER"

// A loadReport is what that process tells.
type loadReport struct {
	Peak                         int64          // bytes of memory that were in use at once
	Notes                        map[string]int // path → axis
	Records, Tombstones, Skipped int
	First                        []string
}

func measureLoad(dir string) {
	go func() { // whoever asked is gone
		io.Copy(io.Discard, os.Stdin)
		os.Exit(4)
	}()
	v, err := note.OpenVault(dir)
	if err != nil {
		childTB{}.Fatal(err)
	}
	x := Open(v, Options{})
	time.AfterFunc(5*time.Minute, func() { os.Exit(3) })
	snap, err := x.Snapshot(context.Background())
	if err != nil {
		childTB{}.Fatal(err)
	}
	st := &snap.Status
	out, err := json.Marshal(loadReport{peakMemory(), axes(snap), st.Records, st.Tombstones, st.SkippedLines, st.SkippedFirst})
	if err != nil {
		childTB{}.Fatal(err)
	}
	fmt.Println(string(out))
	os.Exit(0)
}

// peakMemory is the most that was resident, or where the system does not tell, all
// that Go has asked it for.
func peakMemory() int64 {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// loadAside loads the vault in a process of its own.
func (v *fakeVault) loadAside(t *testing.T) (r loadReport) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), loaderRole+"="+v.dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// T8: a log with everything that may be wrong with one, and as large as it may
// get (1 GB, with lines of 200 MB, in the long form), is loaded in memory of at most
// twice its size: bad lines are counted and the first named, the rest counts.
func TestLargeLog(t *testing.T) {
	size, long := int64(24<<20), int64(5<<20)
	if _, full := hostile(t, 0); full {
		size, long = 1<<30, 200<<20
	}
	const notes = 60
	v := newFakeVault(t)
	want := map[string]int{"big.md": 7}
	for i := range notes {
		v.write(fmt.Sprintf("%d.md", i), "text")
		if i%10 != 0 {
			want[fmt.Sprintf("%d.md", i)] = i % 7
		}
	}
	v.write("big.md", "text")
	v.vectors(noteRows, 0, 1, 2, 3, 4, 5, 6, 7)
	f, err := os.Create(v.path(shardZero))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	written, records, tombstones, line := int64(0), 0, 0, 1
	var bad []string // how the lines begin that are told of
	put := func(parts ...string) {
		for _, part := range parts {
			n, err := w.WriteString(part)
			if err != nil {
				t.Fatal(err)
			}
			written += int64(n)
			line += strings.Count(part, "\n")
		}
	}
	filler := strings.Repeat("0123456789abcde ", 1<<16)
	repeat := func(n int64) {
		for ; n > 0; n -= int64(len(filler)) {
			put(filler)
		}
	}
	duplicates := func(until int64) { // every note again and again, with one vector and then another
		for k := 0; written < until || k%notes != 0; k++ {
			i, end := k%notes, "\n"
			if k%3 == 0 {
				end = "\r\n"
			}
			row := (i + k/notes) % 7
			if written >= until-int64(notes)*1000 {
				row = i % 7
			}
			put(v.record(fmt.Sprintf("%d.md", i), "text", row, nil), end)
			records++
		}
	}
	put("\ufeff")
	duplicates(size / 4)
	big := v.record("big.md", "text", 7, nil)
	put(strings.TrimSuffix(big, "},"), `,"metadata":{"text":"`)
	repeat(long)
	put("\"}},\n")
	records++
	damaged := func(text string) {
		bad = append(bad, fmt.Sprintf("smart_sources.ajson line %d: %v: %.20q", line, errBadLine, text))
		put(text)
	}
	damaged(`"smart_sources:1.md": {"metadata":{"text":"`) // cut short, and very long
	repeat(long)
	put("\n")
	damaged(`"smart_sources:2.md": {"last_read":}`)
	put("\n")
	damaged("[1]")
	put("\n")
	duplicates(size * 3 / 4)
	for i := 0; i < notes; i += 10 {
		put(fmt.Sprintf(`"smart_sources:%d.md": null,`, i), "\n")
		records++
		tombstones++
	}
	damaged("\x00\x00\x00")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(max(0, size-written), io.SeekCurrent); err != nil { // zeros, as a crash leaves
		t.Fatal(err)
	}
	put("\n", v.record("3.md", "text", 3, nil))
	records++
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got := v.loadAside(t)
	t.Logf("%d MB of log, lines of %d MB: %d MB of memory at most, %v", info.Size()>>20, long>>20, got.Peak>>20, time.Since(start).Round(time.Millisecond))
	if got.Peak > 2*info.Size() && !testing.Short() { // the race detector, which goes with -short, needs memory of its own
		t.Errorf("%d MB of memory for a log of %d MB, want twice its size at most", got.Peak>>20, info.Size()>>20)
	}
	if !reflect.DeepEqual(got.Notes, want) {
		t.Errorf("notes and axes = %v, want %v", got.Notes, want)
	}
	if got.Records != records || got.Tombstones != tombstones || got.Skipped != len(bad) || len(got.First) != len(bad) {
		t.Errorf("%d records, %d tombstones, %d bad lines, want %d, %d, %d", got.Records, got.Tombstones, got.Skipped, records, tombstones, len(bad))
	}
	for i, first := range got.First {
		if want := strings.TrimSuffix(bad[i], `"`); !strings.HasPrefix(first, want) || len(first) > 400 {
			t.Errorf("bad line %d is told as %q, want %q", i, first, want)
		}
	}
}
