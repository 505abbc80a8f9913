package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// frames makes lines that a client might send, from good to rubbish.
type frames struct {
	*rand.Rand
	last int // id
}

func (f *frames) one(of ...string) string { return of[f.IntN(len(of))] }

// id is a new one, now and then an odd one or one that was used.
func (f *frames) id() string {
	f.last++
	switch f.IntN(40) {
	case 0:
		return f.one("null", "1.5", "-0", "1e3", "1e400", "[]", "{}", "true", `""`, "9007199254740993", `"\ud800"`, "-7", strings.Repeat("9", 400))
	case 1:
		return strconv.Itoa(max(0, f.last-f.IntN(20)))
	case 2:
		return fmt.Sprintf(`"%d"`, f.last)
	}
	return strconv.Itoa(f.last)
}

var names = []string{"query", "limit", "min_score", "scope", "folder", "include_text", "path", "max_chars", "verbose", "Query", ""}

// value is an argument, mostly a wrong one.
func (f *frames) value() string {
	return f.one(`"upper case extension"`, `"b201.md"`, `"UP.MD"`, `"sub/crlf.md"`, `"../../etc/passwd"`, `"C:\\x"`, `"\u0000"`, `"\ud83d"`, `""`,
		"10", `"10"`, "-1", "1000000000", "1e308", "1e309", "0.5", `"0.5"`, `"NaN"`, "true", `"true"`, "null", "[]", `["sub"]`, "{}", "[[[[[]]]]]",
		`"`+strings.Repeat("é", f.IntN(9000))+`"`, nested(f.IntN(1200)), "\"\xff\xfe\"")
}

// arguments are mostly those that the tool takes.
func (f *frames) arguments(good string) string {
	parts := []string{}
	if good != "" && f.IntN(8) > 0 {
		parts = append(parts, good)
	}
	for f.IntN(3) == 0 {
		parts = append(parts, fmt.Sprintf("%q:%s", f.one(names...), f.value()))
	}
	if f.IntN(30) == 0 {
		return f.value()
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"}}`

// valid is a message that is well formed.
func (f *frames) valid() string {
	id := f.id()
	switch f.IntN(20) {
	case 0, 1:
		return toolCall(id, "search_notes", f.arguments(`"query":"`+f.one("upper", "crlf", "line ends", "x")+`","limit":`+f.one("1", `"2"`, "null")))
	case 2, 3:
		return toolCall(id, "related_notes", f.arguments(`"path":"`+f.one("b201.md", "UP.MD", "no.md")+`"`))
	case 4, 5:
		return toolCall(id, "get_note", f.arguments(`"path":"`+f.one("b201.md", "sub/crlf.md", "no.md")+`"`))
	case 6:
		return toolCall(id, "index_status", f.arguments(""))
	case 7:
		return toolCall(id, f.one("nope", "", "get_note ", "GET_NOTE"), f.arguments(""))
	case 8, 9: // cancels what may be in flight
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`,
			f.one(strconv.Itoa(max(0, f.last-f.IntN(5))), f.id(), f.value()))
	case 10:
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, f.one("notifications/initialized", "notifications/progress", "notifications/nope",
			"notifications/roots/list_changed", "ping", "tools/call"), f.one("{}", "null", f.value()))
	case 11:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, f.one(`"result":{}`, `"error":{"code":1,"message":"x"}`, `"error":7`, `"result":null`))
	case 12:
		return request(id, f.one("server/discover", "tools/list", "ping", "subscriptions/listen", "resources/read"), "{"+meta+`,"notifications":{"toolsListChanged":true},"uri":"x"}`)
	case 13:
		return request(id, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	case 14:
		return request(id, f.one("completion/complete", "resources/subscribe", "resources/read", "prompts/get", "logging/setLevel", "subscriptions/listen"), f.value())
	case 15:
		return request(id, f.one("notifications/cancelled", "notifications/initialized"), f.one("{}", `{"requestId":1}`))
	}
	return request(id, f.one("ping", "tools/list", "resources/list", "prompts/list", "resources/templates/list", "nope", ""), f.one("{}", "null", `{"cursor":"x"}`))
}

// next is one line without its newline.
func (f *frames) next() []byte {
	line := []byte(strings.TrimSpace(f.valid()))
	switch f.IntN(4) {
	case 0:
		for range 1 + f.IntN(3) {
			line = f.mutate(line)
		}
	case 1:
		if f.IntN(8) == 0 {
			line = make([]byte, f.IntN(200))
			for i := range line {
				line[i] = byte(f.Uint32())
			}
		}
	}
	return bytes.ReplaceAll(line, []byte("\n"), []byte(" "))
}

// mutate damages a line.
func (f *frames) mutate(line []byte) []byte {
	at := f.IntN(len(line) + 1)
	end := min(len(line), at+f.IntN(20))
	switch f.IntN(6) {
	case 0: // a byte changes
		if at < len(line) {
			line[at] = byte(f.Uint32())
		}
		return line
	case 1: // some are lost
		return append(line[:at:at], line[end:]...)
	case 2: // some come twice
		return append(line[:end:end], line[at:]...)
	case 3: // something comes in between
		return fmt.Appendf(nil, "%s%s%s", line[:at], f.one(`"`, "{", "}", "[", ",", ":", "null", "\\", "\x00", "\xef\xbb\xbf", `"id":3,`, "\r", f.value()), line[at:])
	case 4: // the end is that of another
		other := f.valid()
		return append(line[:at:at], strings.TrimSpace(other[f.IntN(len(other)):])...)
	}
	return line[:at]
}

// expect says what answer a line must get, by the standard and not by the program:
// one with this id, "null" for one without, "" for none. cancels is the id of a
// call that the line may cancel.
func expect(line []byte) (id, cancels string) {
	line = bytes.Trim(bytes.TrimPrefix(bytes.ToValidUTF8(line, []byte("\ufffd")), []byte("\xef\xbb\xbf")), " \t\r")
	if len(line) == 0 {
		return "", ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil || fields == nil {
		return "null", ""
	}
	method, isRequest := fields["method"]
	var params map[string]json.RawMessage
	if bytes.Contains(method, []byte("cancelled")) && json.Unmarshal(fields["params"], &params) == nil {
		if cancels = canonical(params["requestId"]); cancels == "null" {
			cancels = ""
		}
	}
	raw, hasID := fields["id"]
	switch {
	case !isRequest && (fields["result"] != nil || fields["error"] != nil), isRequest && !hasID && string(fields["jsonrpc"]) == `"2.0"` && isText(method) && !deep(line):
		return "", cancels
	case !hasID:
		return "null", cancels
	}
	return canonical(raw), cancels
}

// deep reports whether JSON nests deeper than the SDK reads: a notification that
// does is no valid one, and is answered as such.
func deep(line []byte) bool {
	d, depth := json.NewDecoder(bytes.NewReader(line)), 0
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth > 1000 {
			return true
		}
	}
}

func isText(raw json.RawMessage) bool { return json.Unmarshal(raw, new(*string)) == nil }

// canonical is an id as it can be compared: 1e3 is 1000.
func canonical(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw) // a number beyond any
	}
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.Itoa(int(v))
		}
		return string(raw)
	}
	return "null"
}

// A ledger knows which answers are due.
type ledger struct {
	mu        sync.Mutex
	due       map[string]int // by id; "null" for those without
	cancelled map[string]bool
	open      int // of due, but those that are cancelled
	answers   int
	wrong     error         // the first thing that was
	changed   chan struct{} // has a value when open or wrong has changed
}

func (l *ledger) send(line []byte) {
	id, cancels := expect(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancels != "" && !l.cancelled[cancels] {
		l.cancelled[cancels] = true
		l.open -= l.due[cancels]
	}
	if id != "" {
		l.due[id]++
		if !l.cancelled[id] {
			l.open++
		}
	}
}

// acknowledged is the only notification that the server sends.
const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`

// receive takes a line of the server's.
func (l *ledger) receive(line []byte) {
	if bytes.HasPrefix(line, []byte(acknowledged)) && json.Valid(line) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m, err := parseAnswer(line)
	if id := canonical(m.ID); err == nil {
		if m.Error != nil && strings.Contains(m.Error.Message, "is still in use") { // it stands for one with an id
			id, _, _ = strings.Cut(strings.TrimPrefix(m.Error.Message, "request id "), " is still")
		}
		if l.due[id] == 0 {
			err = fmt.Errorf("nobody has asked for %.300q", line)
		}
		l.due[id]--
		if !l.cancelled[id] {
			l.open--
		}
		l.answers++
	}
	if l.wrong == nil {
		l.wrong = err
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// settled waits until nothing is due; after patience the error says what is.
func (l *ledger) settled(patience time.Duration) error {
	late := time.After(patience)
	for {
		l.mu.Lock()
		open, wrong, missing := l.open, l.wrong, []string{}
		for id, n := range l.due {
			if n == 0 {
				delete(l.due, id)
			} else if !l.cancelled[id] {
				missing = append(missing, fmt.Sprintf("%.40s: %d", id, n))
			}
		}
		l.mu.Unlock()
		if open == 0 || wrong != nil {
			return wrong
		}
		select {
		case <-l.changed:
		case <-late:
			return fmt.Errorf("%d answers are missing after %v: %.500q", open, patience, missing)
		}
	}
}

// P3: whatever lines come, each that asks for an answer gets exactly one, every
// line on stdout is an answer by the standard, and the process lives on in bounded
// memory.
func TestP3Frames(t *testing.T) {
	count := 5_000
	if _, full := hostile(t); full {
		count = 500_000
	}
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			const batch = 100
			c := serve(t, copyVault(t, edgeMini))
			f := &frames{rand.New(rand.NewPCG(seed, 3)), 1000}
			l := &ledger{due: map[string]int{}, cancelled: map[string]bool{}, changed: make(chan struct{}, 1)}
			ended := make(chan error, 1)
			go func() {
				for {
					line, err := c.Line()
					if err != nil {
						ended <- err
						return
					}
					l.receive(line)
				}
			}()
			sizes := 0
			for sent := 0; sent < count; sent += batch {
				var lines []byte
				for range batch {
					line := f.next()
					l.send(line)
					lines = append(append(lines, line...), '\n')
				}
				sizes += len(lines)
				limit := bounded(c)
				_, err := c.In.Write(lines)
				limit.Stop()
				if err == nil {
					err = l.settled(time.Minute)
				}
				if err != nil {
					t.Fatalf("seed %d, lines %d to %d: %v\nstderr: …%s\n%s", seed, sent, sent+batch, err, c.Said()[max(0, len(c.Said())-1000):], lines)
				}
			}
			high, err := c.Megabytes("VmHWM")
			t.Logf("seed %d: %d lines of %d MB, %d answers, VmHWM %.0f MB", seed, count, sizes>>20, l.answers, high)
			if err == nil && high > 250 {
				t.Errorf("VmHWM is %.0f MB, want 250 MB at most", high)
			}
			c.In.Close()
			<-ended
			if l.wrong != nil || l.answers < count/3 {
				t.Errorf("%d answers, %v", l.answers, l.wrong)
			}
			finish(t, c)
		})
	}
}
