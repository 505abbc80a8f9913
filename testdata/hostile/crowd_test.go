package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// A crowd is what many ask at once in one session: calls by id, which begins with
// 1000, and how each answer is judged.
type crowd struct {
	calls  []map[string]any
	judges []func(answer session.Answer) error

	vectors map[string][]float32 // of the queries
}

func (c *crowd) add(tool string, arguments map[string]any, judge func(answer session.Answer) error) {
	c.calls = append(c.calls, map[string]any{"id": 1000 + len(c.calls), "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	c.judges = append(c.judges, judge)
}

// ask sends all calls without waiting for any answer, and judges the answers in
// the order in which they come, which it returns as numbers of calls. All must
// have come after five minutes. On a machine that does too much else the server
// may say that it is too busy; such calls are asked again, one by one.
func (c *crowd) ask(t *testing.T, to *session.Client) (order []int) {
	t.Helper()
	late := time.AfterFunc(5*time.Minute, func() { _ = to.Cmd.Process.Kill() })
	defer late.Stop()
	sent := make(chan error, 1)
	go func() {
		for _, call := range c.calls {
			if err := to.Send(call); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	answered, again := map[int]bool{}, []int(nil)
	for len(order) < len(c.calls) {
		line, err := to.Line()
		if err != nil {
			t.Fatalf("%d of %d calls are answered: %v", len(order), len(c.calls), err)
		}
		var m struct {
			ID     int             `json:"id"`
			Result session.Answer  `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Error != nil {
			t.Fatalf("the server wrote %s: %v", line, err)
		}
		n := m.ID - 1000
		if n < 0 || n >= len(c.calls) || answered[n] {
			t.Fatalf("an answer to %d, which is open no more or never was", m.ID)
		}
		answered[n] = true
		order = append(order, n)
		if m.Result.IsError && strings.Contains(m.Result.Text(), "busy with other calls") {
			again = append(again, n)
			continue
		}
		if err := c.judges[n](m.Result); err != nil {
			t.Errorf("call %d: %.300v: %v", n, c.calls[n]["params"], err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	for _, n := range again {
		var answer session.Answer
		raw, err := to.Ask("tools/call", c.calls[n]["params"])
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err == nil {
			err = c.judges[n](answer)
		}
		if err != nil {
			t.Errorf("call %d, asked again: %v", n, err)
		}
	}
	return order
}

// fits judges an answer by what it decodes to.
func fits[T any](judge func(T) error) func(session.Answer) error {
	return func(answer session.Answer) error {
		var out T
		if answer.IsError {
			return fmt.Errorf("an error: %s", answer.Text())
		}
		if err := json.Unmarshal(answer.Structured, &out); err != nil {
			return err
		}
		return judge(out)
	}
}

// search adds one of a hundred searches, whose answer must be the one worked out
// by hand.
func (c *crowd) search(t testing.TB, g *gardener, n int) {
	query := fmt.Sprintf("what grows beside the %s, question %d", plants[n%len(plants)], n%100)
	if c.vectors[query] == nil {
		vector, err := g.model.Embed(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if c.vectors == nil {
			c.vectors = map[string][]float32{}
		}
		c.vectors[query] = vector
	}
	vector := c.vectors[query]
	_, s := g.now()
	q := question{vector: vector, limit: 10, scope: "auto"}
	c.add("search_notes", q.arguments(query), fits(func(l listing) error { return s.explains(l, q) }))
}

// P6: a thousand calls of all tools at once, the first ever in their session: each
// is answered rightly, the index is loaded once for all of them, and memory keeps
// within bounds.
func TestP6Crowd(t *testing.T) {
	t.Parallel()
	g := newGardener(t, 30)
	_, s := g.now()
	paths := g.paths()
	var all crowd
	loads := map[string]int{} // by index_loaded_at
	for i := range 1000 {
		path := paths[i%len(paths)]
		switch i % 10 {
		case 0:
			q := question{vector: s.vectors[path].note, limit: 10, scope: "auto", without: path}
			all.add("related_notes", map[string]any{"path": path, "limit": 10, "min_score": -1}, fits(func(l listing) error { return s.explains(l, q) }))
		case 1:
			all.add("get_note", map[string]any{"path": path}, fits(func(out struct{ Text string }) error {
				if out.Text != s.texts[path] {
					return fmt.Errorf("the text is %q, want %q", out.Text, s.texts[path])
				}
				return nil
			}))
		case 2:
			all.add("index_status", map[string]any{}, fits(func(out status) error {
				loads[out.LoadedAt]++
				return s.counts(out)
			}))
		default:
			all.search(t, g, i)
		}
	}
	c := serve(t, g.dir)
	all.ask(t, c)
	if len(loads) != 1 {
		t.Errorf("the index was loaded at %v, want one time", loads)
	}
	if runtime.GOOS == "linux" {
		// The base is what a server holds that was asked the same one by one.
		one := serve(t, g.dir)
		for _, call := range all.calls[:20] {
			if _, err := one.Ask("tools/call", call["params"]); err != nil {
				t.Fatal(err)
			}
		}
		base, err := one.Megabytes("VmRSS")
		most, err2 := c.Megabytes("VmHWM")
		if err != nil || err2 != nil || most > base+100 {
			t.Errorf("at most %.1f MB, with %.1f MB as the base: want 100 more at most; %v, %v", most, base, err, err2)
		}
		t.Logf("at most %.1f MB; asked one by one %.1f MB", most, base)
	}
	if rest, err := c.End(); err != nil || len(rest) > 0 {
		t.Errorf("the end: %v, %q on stdout", err, rest)
	}
}

// P6: whoever asks for the status, or reads a note, does not wait for the searches
// of others: the answer comes before most of those asked for before it.
func TestP6Fair(t *testing.T) {
	t.Parallel()
	g := newGardener(t, 5)
	c := serve(t, g.dir)
	if err := ask(c, "search_notes", map[string]any{"query": "rose"}, &listing{}); err != nil {
		t.Fatal(err)
	}
	const searches = 150
	var all crowd
	for i := range searches {
		query := strings.Repeat(fmt.Sprintf("the %s beside the %d ", plants[i%len(plants)], i), 25) // some milliseconds each
		all.add("search_notes", map[string]any{"query": query}, fits(func(listing) error { return nil }))
	}
	path := g.paths()[0]
	all.add("index_status", map[string]any{}, fits(func(status) error { return nil }))
	all.add("get_note", map[string]any{"path": path}, fits(func(struct{}) error { return nil }))
	all.add("related_notes", map[string]any{"path": path}, fits(func(listing) error { return nil }))
	for place, n := range all.ask(t, c) {
		if n == searches+2 {
			t.Logf("related_notes, which computes and so takes its turn, came as answer %d", place+1)
		} else if n >= searches && place > searches/2 {
			t.Errorf("%v came as answer %d of %d", all.calls[n]["params"], place+1, len(all.calls))
		}
	}
}

// Bug 81: several clients have a server each, on one vault. Before the first
// question each is small; all answer.
func TestBug81FiveServers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc, which only Linux has")
	}
	g := newGardener(t, 30)
	var servers []*session.Client
	for range 5 {
		servers = append(servers, serve(t, g.dir))
	}
	for i, c := range servers {
		if idle, err := c.Megabytes("VmRSS"); err != nil || idle > 30 {
			t.Errorf("server %d holds %.1f MB before the first question, want 30 at most: %v", i, idle, err)
		}
	}
	total := 0.0
	for _, c := range servers {
		var all crowd
		for n := range 20 {
			all.search(t, g, n)
		}
		all.ask(t, c)
		total += proportional(t, c)
	}
	t.Logf("five servers together hold %.1f MB", total)
	for i, c := range servers {
		if _, err := c.End(); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
	}
}

var pss = regexp.MustCompile(`(?m)^Pss: +(\d+) kB$`)

// proportional is a process's memory in MB, in which what it shares with others
// counts in part.
func proportional(t testing.TB, c *session.Client) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.Cmd.Process.Pid))
	m := pss.FindSubmatch(data)
	if err != nil || m == nil {
		t.Logf("the system does not tell the share of a process in memory: %v", err)
		return 0
	}
	kb, _ := strconv.Atoi(string(m[1]))
	return float64(kb) * 1024 / 1e6
}
