package weights

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// D1: kill -9 at random points of a download, by the bytes that have come and
// by time. Whatever a process leaves, no file has its name with other content,
// the next process goes on where it ended, and nothing piles up; in the end the
// model is there. 200 kills in the long form.
func TestKilled(t *testing.T) {
	kills := 6 // of each form
	if hostile(t) {
		kills = 100
	}
	for i, files := range bothForms(t) {
		t.Run([]string{"safetensors", "onnx"}[i], func(t *testing.T) {
			t.Parallel()
			testKilled(t, newFakeHub(t, files), kills, rand.New(rand.NewPCG(1, uint64(i))))
		})
	}
}

func testKilled(t *testing.T, h *fakeHub, kills int, random *rand.Rand) {
	s := h.source(t)
	dir, _ := s.modelDir(testModel)
	part := filepath.Join(dir, filepath.FromSlash(h.weights())+partSuffix)
	all := 0
	for _, text := range h.files {
		all += len(text)
	}
	seen := map[string]bool{}
	resumed := 0
	for i := range kills {
		begun, _ := os.ReadFile(part)
		if _, err := os.Stat(part + stateSuffix); err != nil {
			begun = nil
		}
		// A third of the kills come when all has been sent: while it is read
		// back, synced and renamed.
		remaining := all - len(begun)
		h.reset()
		killAfter(t, h, s, min(random.IntN(3*remaining/2), remaining), time.Duration(random.IntN(8))*time.Millisecond)
		what := fmt.Sprintf("kill %d", i)
		checkNames(t, what, h, s)
		checkResumed(t, what, h, begun)
		if len(begun) > 0 {
			resumed++
		}
		left := names(t, s)
		seen[left] = true
		checkLeftovers(t, what, left)
		if data, err := os.ReadFile(part); err == nil && !strings.HasPrefix(h.files[h.weights()], string(data)) {
			t.Errorf("%s: the part does not begin the file", what)
		}
		if left == h.complete() {
			os.RemoveAll(dir)
		}
	}
	t.Logf("%d kills, %d parts gone on with, states seen: %q", kills, resumed, slices.Sorted(maps.Keys(seen)))
	finish(t, h, s)
}

// checkLeftovers: each file has its name, or one part; nothing else is there.
func checkLeftovers(t *testing.T, what, left string) {
	t.Helper()
	for _, name := range strings.Fields(left) {
		name = strings.TrimSuffix(strings.TrimSuffix(name, stateSuffix), partSuffix)
		if !slices.Contains([]string{configFile, tokenizerFile, weightsFile, onnxFile, sumsFile, "onnx/"}, name) {
			t.Errorf("%s: the cache holds %s: leftovers can pile up", what, left)
		}
	}
}

// checkResumed: a part is gone on with, not fetched again from its beginning.
func checkResumed(t *testing.T, what string, h *fakeHub, part []byte) {
	t.Helper()
	for _, line := range h.asked() {
		if rest, found := strings.CutPrefix(line, "GET /storage/"+h.weights()); found && len(part) > 0 {
			if want := fmt.Sprintf(" bytes=%d-", len(part)); rest != want {
				t.Errorf("%s: a part of %d bytes lay there, and %q was asked for, want %q", what, len(part), line, want)
			}
			return
		}
	}
}

// finish loads without a kill.
func finish(t *testing.T, h *fakeHub, s Source) {
	t.Helper()
	h.reset()
	if _, err := s.Load(t.Context(), testModel); err != nil {
		t.Errorf("after the kills: %v", err)
	}
	if got := names(t, s); got != h.complete() {
		t.Errorf("after the kills the cache holds %s, want %s", got, h.complete())
	}
	checkNames(t, "after the kills", h, s)
}

// killAfter starts a process that loads, and kills it a while after the hub has
// sent so many bytes of files. It sends no more then.
func killAfter(t *testing.T, h *fakeHub, s Source, sent int, while time.Duration) {
	t.Helper()
	m := &meter{left: sent, reached: make(chan struct{})}
	h.mu.Lock()
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if _, metered := w.(*metered); metered {
			return false
		}
		h.ServeHTTP(&metered{w, m, r}, r)
		return true
	}
	h.mu.Unlock()
	cmd := child(t, s)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	patience := time.NewTimer(childPatience)
	defer patience.Stop()
	select {
	case <-m.reached:
		time.Sleep(while)
	case err := <-ended: // it was quick after the last byte
		if err != nil {
			t.Errorf("a child that was to be killed: %v", err)
		}
		return
	case <-patience.C:
		t.Error("a child does not come to its end")
	}
	cmd.Process.Kill()
	<-ended
}

// meter lets a hub send so many bytes and then no more.
type meter struct {
	mu      sync.Mutex
	left    int
	once    sync.Once
	reached chan struct{} // closed when they have been sent
}

// take says how many of n bytes may be sent, and whether these are the last.
func (m *meter) take(n int) (most int, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	most = min(n, m.left)
	m.left -= most
	return most, m.left == 0
}

// metered is an answer whose body is metered.
type metered struct {
	http.ResponseWriter
	meter   *meter
	request *http.Request
}

func (w *metered) Write(b []byte) (int, error) {
	most, last := w.meter.take(len(b))
	n, err := w.ResponseWriter.Write(b[:most])
	if last {
		w.ResponseWriter.(http.Flusher).Flush()
		w.meter.once.Do(func() { close(w.meter.reached) })
	}
	if most < len(b) {
		<-w.request.Context().Done()
		return n, w.request.Context().Err()
	}
	return n, err
}

// D1: kill -9 before each operation on the disk, and in the middle of each, in
// turn: between write and sync, sync and rename, rename and the folder's sync.
func TestKilledAtEachOperation(t *testing.T) {
	step := 9
	if hostile(t) {
		step = 1
	}
	for i, files := range bothForms(t) {
		t.Run([]string{"safetensors", "onnx"}[i], func(t *testing.T) {
			t.Parallel()
			h := newFakeHub(t, files)
			s := h.source(t)
			dir, _ := s.modelDir(testModel)
			kills := 0
			for k := 1 + i; ; k += step {
				for _, half := range []string{"", "yes"} {
					if half != "" && step > 1 && k%2 == 0 {
						continue
					}
					os.RemoveAll(dir)
					what := fmt.Sprintf("killed at operation %d, half %q", k, half)
					cmd := child(t, s, childKill+"="+strconv.Itoa(k), childHalf+"="+half)
					err := loadInChild(t, cmd)
					if half != "" && (err == nil || strings.Contains(err.Error(), errDying.Error())) {
						continue // no operation came after it
					}
					if !wasKilled(err) {
						if err != nil {
							t.Errorf("%s: %v", what, err)
						}
						t.Logf("%d kills", kills)
						finish(t, h, s)
						return
					}
					kills++
					checkNames(t, what, h, s)
					checkLeftovers(t, what, names(t, s))
					finish(t, h, s)
				}
			}
		})
	}
}

// wasKilled tells the death of a child from an error it reports itself.
func wasKilled(err error) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && (exit.ExitCode() == -1 || runtime.GOOS == "windows" && exit.ExitCode() == 1)
}

// D1: where files cannot be locked, each process has parts of its own. Those of
// killed ones go when they are a day old; the others may still be written to.
func TestLeftoversGo(t *testing.T) {
	for _, files := range bothForms(t) {
		h := newFakeHub(t, files)
		s := h.source(t)
		dir, _ := s.modelDir(testModel)
		old, young := filepath.Join(dir, "onnx", "model.onnx.123.part"), filepath.Join(dir, "model.safetensors.456.part")
		older := filepath.Join(dir, "SHA256SUMS.789.part")
		os.MkdirAll(filepath.Dir(old), 0o755)
		for path, age := range map[string]time.Duration{old: 25 * time.Hour, older: 25 * time.Hour, young: 23 * time.Hour} {
			if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			then := time.Now().Add(-age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Load(t.Context(), testModel); err != nil {
			t.Error(err)
		}
		for path, want := range map[string]bool{old: false, older: false, young: true} {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
			}
		}
	}
}
