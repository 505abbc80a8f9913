package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"smart-connections-mcp/testdata/session"
)

// message is what every line of a server is: an answer, since this one sends no
// requests and no notifications.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// text is what a tool said.
func (m message) text() string {
	var answer session.Answer
	_ = json.Unmarshal(m.Result, &answer)
	return answer.Text()
}

func (m message) failed() bool {
	var answer session.Answer
	_ = json.Unmarshal(m.Result, &answer)
	return answer.IsError
}

// parseAnswer holds a line to the standard.
func parseAnswer(line []byte) (m message, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return m, fmt.Errorf("no JSON object: %w: %.200q", err, line)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("%w: %.200q", err, line)
	}
	if !bytes.HasSuffix(line, []byte("\n")) || bytes.Count(line, []byte("\n")) != 1 || m.Version != "2.0" ||
		(m.Result != nil) == (m.Error != nil) || m.ID == nil || m.Error != nil && (m.Error.Code == 0 || m.Error.Message == "") {
		return m, fmt.Errorf("no JSON-RPC 2.0 answer: %.200q", line)
	}
	return m, nil
}

// bounded kills a process that makes a test wait; the caller stops the timer.
func bounded(c *session.Client) *time.Timer {
	return time.AfterFunc(2*time.Minute, func() { _ = c.Cmd.Process.Kill() })
}

// listen reads the next line and holds it to the standard.
func listen(t *testing.T, c *session.Client) message {
	t.Helper()
	defer bounded(c).Stop()
	line, err := c.Line()
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseAnswer(line)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// short is an answer as "id:code", "id:ok" or "id:failed".
func (m message) short() string {
	switch {
	case m.Error != nil:
		return fmt.Sprintf("%s:%d", m.ID, m.Error.Code)
	case m.failed():
		return fmt.Sprintf("%s:failed", m.ID)
	}
	return fmt.Sprintf("%s:ok", m.ID)
}

// say writes as it is.
func say(t *testing.T, c *session.Client, text string) {
	t.Helper()
	defer bounded(c).Stop()
	if _, err := io.WriteString(c.In, text); err != nil {
		t.Fatalf("%v: %s", err, c.Said())
	}
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params) + "\n"
}

func toolCall(id, tool, arguments string) string {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

const ping = `{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n"

// finish ends the session, which must end well and without a word on stdout.
func finish(t *testing.T, c *session.Client) {
	t.Helper()
	if rest, err := c.End(); err != nil || len(rest) > 0 {
		t.Errorf("the end: %v, %.200q on stdout; want exit code 0 and nothing\n%s", err, rest, c.Said())
	}
	if strings.Contains(c.Said(), "panic") || strings.Contains(c.Said(), "goroutine ") {
		t.Errorf("stderr tells of a panic: %.2000s", c.Said())
	}
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// P1, P3, 67, 70, 74: each of these lines is answered as wanted, by a process, and
// the next request works. Lists that the server does not declare are empty.
func TestP1Lines(t *testing.T) {
	c := serve(t, copyVault(t, edgeMini))
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct{ name, line, want string }{
		{"no json", "hello\n", "null:-32700"},
		{"half a message", `{"jsonrpc":"2.0","id":2,` + "\n", "null:-32700"},
		{"batch", `[{"jsonrpc":"2.0","id":2,"method":"ping"}]` + "\n", "null:-32600"},
		{"blank lines", "\n\r\n \t\n", ""},
		{"byte order mark", "\xef\xbb\xbf" + request("2", "ping", "{}"), "2:ok"},
		{"crlf", strings.Replace(request("2", "ping", "{}"), "\n", "\r\n", 1), "2:ok"},
		{"id null", request("null", "ping", "{}"), "null:-32600"},
		{"id fractional", request("1.5", "ping", "{}"), "1.5:-32600"},
		{"id a huge string", request(`"`+long+`"`, "ping", "{}"), `"` + long + `":ok`},
		{"id above 2^53", request("9007199254740993", "ping", "{}"), "9007199254740993:-32600"},
		{"id 1e400", request("1e400", "ping", "{}"), "1e400:-32600"},
		{"id of 400 digits", request(strings.Repeat("7", 400), "ping", "{}"), strings.Repeat("7", 400) + ":-32600"},
		{"keys twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"nope","method":"ping"}` + "\n", "2:ok"},
		{"invalid utf-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n", "\"\ufffd\":ok"},
		{"lone surrogate", request(`"\udead"`, "ping", "{}"), "\"\ufffd\":ok"},
		{"a lone surrogate as query", toolCall("2", "search_notes", `{"query":"\ud83d","min_score":-1}`), "2:ok"},
		{"invalid utf-8 as path", toolCall("2", "get_note", "{\"path\":\"\xc3\x28\"}"), "2:failed"},
		{"nesting of 10^5", nested(100_000) + "\n", "null:-32700"},
		{"nesting of 10^5 in params", request("2", "tools/call", nested(100_000)), "null:-32700"},
		{"nesting of 5,000 in params", request("2", "tools/call", nested(5_000)), "2:-32600"},
		{"nesting of 5,000 in arguments", toolCall("2", "search_notes", `{"query":`+nested(5_000)+`}`), "2:-32600"},
		{"nesting of 900 in arguments", toolCall("2", "search_notes", `{"query":`+nested(900)+`}`), "2:failed"},
		{"NaN", toolCall("2", "search_notes", `{"query":"x","limit":NaN}`), "null:-32700"},
		{"resources/list", request("2", "resources/list", "{}"), "2:ok"},
		{"resources/templates/list", request("2", "resources/templates/list", "{}"), "2:ok"},
		{"prompts/list", request("2", "prompts/list", "{}"), "2:ok"},
		{"tools/list", request("2", "tools/list", "{}"), "2:ok"},
		{"tools/list from nowhere", request("2", "tools/list", `{"cursor":"no such"}`), "2:-32602"},
		{"unknown method", request("2", "tools/shout", "{}"), "2:-32601"},
		{"logging", request("2", "logging/setLevel", `{"level":"debug"}`), "2:ok"},
		{"unknown tool", toolCall("2", "delete_note", "{}"), "2:-32602"},
		{"arguments are an array", toolCall("2", "search_notes", "[]"), "2:failed"},
		{"arguments are null", toolCall("2", "index_status", "null"), "2:ok"},
		{"a second initialize", request("2", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), "2:-32600"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			say(t, c, tt.line)
			if tt.want != "" {
				m := listen(t, c)
				if m.short() != tt.want {
					t.Errorf("answered with %.300s (%.300s), want %.300s", m.short(), m.text(), tt.want)
				}
				if strings.HasSuffix(tt.name, "/list") && bytes.Contains(m.Result, []byte(`":[]`)) {
					t.Errorf("%s = %.300s, want what there is", tt.name, m.Result)
				}
			}
			say(t, c, ping)
			if m := listen(t, c); m.short() != `"ping":ok` {
				t.Errorf("ping is answered with %.300s", m.short())
			}
		})
	}
	say(t, c, strings.TrimSpace(request(`"last"`, "ping", "{}"))) // and no newline
	c.In.Close()
	if m := listen(t, c); m.short() != `"last":ok` {
		t.Errorf("the last line is answered with %s", m.short())
	}
	finish(t, c)
}

// P1: of two calls with one id, one is refused and the other answered.
func TestP1DuplicateID(t *testing.T) {
	c := serve(t, copyVault(t, edgeMini))
	silent, _ := stalledHub(t)
	waiting := waitingServer(t, silent)
	say(t, waiting, toolCall("7", "search_notes", `{"query":"x"}`)+toolCall("7", "index_status", "{}"))
	if m := listen(t, waiting); m.short() != "null:-32600" || !strings.Contains(m.Error.Message, "7") {
		t.Errorf("the second of two calls with one id is answered with %s", m.short())
	}
	for range 2 { // one after the other is no mistake
		say(t, c, toolCall("7", "index_status", "{}"))
		if m := listen(t, c); m.short() != "7:ok" {
			t.Errorf("index_status is answered with %s", m.short())
		}
	}
	finish(t, c)
}

// P2: a line of 20 MB, or of 1 GB, costs no memory, is refused, and the line behind
// it is read.
func TestP2LongLine(t *testing.T) {
	size := 20 << 20
	if _, full := hostile(t); full {
		size = 1 << 30
	}
	c := serve(t, copyVault(t, edgeMini))
	before, memory := c.Megabytes("VmHWM")
	for _, begin := range []string{`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"`, ""} {
		say(t, c, begin)
		piece := strings.Repeat("x", 1<<20)
		for sent := 0; sent < size; sent += len(piece) {
			say(t, c, piece)
		}
		say(t, c, "\"}}\n"+ping)
		for _, want := range []string{"null:-32600", `"ping":ok`} {
			if m := listen(t, c); m.short() != want {
				t.Errorf("answered with %s, want %s", m.short(), want)
			}
		}
	}
	if memory == nil {
		after, err := c.Megabytes("VmHWM")
		t.Logf("two lines of %d MB: VmHWM %.1f MB, %.1f MB before", size>>20, after, before)
		if err != nil || after > before+32 {
			t.Errorf("VmHWM is %.1f MB, %v, after %.1f MB: want 32 MB more at most", after, err, before)
		}
	}
	finish(t, c)
}

// P3, 73: arguments as models send them, and wrong ones, of every tool. What is
// wrong is named, with what was sent and what is allowed.
func TestP3Arguments(t *testing.T) {
	c := serve(t, copyVault(t, edgeMini))
	for _, tt := range []struct{ tool, arguments, want string }{ // want "": it is accepted
		{"search_notes", `{"query":"x","limit":"10","min_score":"-1","include_text":"true","folder":null,"scope":null}`, ""},
		{"search_notes", `{"query":"x","limit":10.0,"min_score":-1,"include_text":"False","folder":"sub","scope":"blocks"}`, ""},
		{"related_notes", `{"path":"b201.md","limit":"3","min_score":"0","folder":[]}`, ""},
		{"related_notes", `{"path":"b201.md","limit":null,"min_score":null,"folder":null}`, ""},
		{"get_note", `{"path":"b201.md","max_chars":"50"}`, ""},
		{"get_note", `{"path":"b201.md","max_chars":null}`, ""},
		{"index_status", `{}`, ""},
		{"index_status", `null`, ""},
		{"search_notes", `{"qery":"x"}`, `unknown argument "qery": search_notes takes query, limit`},
		{"related_notes", `{"path":"b201.md","top_k":3}`, `unknown argument "top_k": related_notes takes path`},
		{"get_note", `{"path":"b201.md","line":3}`, `unknown argument "line": get_note takes path, max_chars`},
		{"index_status", `{"verbose":true}`, `unknown argument "verbose": index_status takes no arguments`},
		{"search_notes", `{}`, "query"},
		{"related_notes", `{}`, "path is empty"},
		{"get_note", `{"path":null}`, "path is empty"},
		{"search_notes", `{"query":7}`, "query is 7: pass a string"},
		{"search_notes", `{"query":"x","limit":-1}`, "limit is -1: pass 1 to 100"},
		{"search_notes", `{"query":"x","limit":1000000000}`, "limit is 1000000000: pass 1 to 100"},
		{"search_notes", `{"query":"x","limit":1e308}`, "pass 1 to 100"},
		{"search_notes", `{"query":"x","limit":1e309}`, "limit is 1e309"},
		{"search_notes", `{"query":"x","limit":"NaN"}`, `limit is "NaN": pass a whole number`},
		{"search_notes", `{"query":"x","min_score":"NaN"}`, `min_score is "NaN": pass a number`},
		{"search_notes", `{"query":"x","min_score":2}`, "min_score is 2: pass -1 to 1"},
		{"search_notes", `{"query":"x","include_text":1}`, "include_text is 1: pass true or false"},
		{"search_notes", `{"query":"x","scope":"all"}`, "scope"},
		{"search_notes", `{"query":"x","folder":[7]}`, "folder is [7]: pass an array of strings"},
		{"search_notes", `{"query":"` + strings.Repeat("é", 8193) + `"}`, "characters: pass 1 to 8192"},
		{"related_notes", `{"path":"b201.md","limit":0}`, "limit is 0: pass 1 to"},
		{"get_note", `{"path":"b201.md","max_chars":400001}`, "max_chars is 400001: pass 1 to 400000"},
		{"get_note", `{"path":"b201.md","max_chars":true}`, "max_chars is true: pass a whole number"},
		{"search_notes", `{"query":"x","query":7}`, "query is 7"},
	} {
		say(t, c, toolCall("2", tt.tool, tt.arguments))
		m := listen(t, c)
		if m.Error != nil || m.failed() != (tt.want != "") || !strings.Contains(m.text(), tt.want) {
			t.Errorf("%s %.100s = %s %.300s, want %q", tt.tool, tt.arguments, m.short(), m.text(), tt.want)
		}
	}
	finish(t, c)
}

// hubModel is a vault of the repository whose model must be fetched.
const hubModel = "../cases/01-append-log-last-wins/vault"

// stalledHub is a model hub that takes connections and never answers; the channel
// gets a value for each.
func stalledHub(t *testing.T) (url string, connected chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connected = make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connected <- struct{}{}
			go func() { _, _ = io.Copy(io.Discard, conn); conn.Close() }()
		}
	}()
	return "http://" + listener.Addr().String(), connected
}

// waitingServer is a server whose searches wait for a download from the hub.
func waitingServer(t *testing.T, hub string) *session.Client {
	t.Helper()
	c := &session.Client{Process: session.Prepare(t.Context(), program, "serve", "--vault", copyVault(t, hubModel))}
	c.Cmd.Env = append(os.Environ(), "HF_ENDPOINT="+hub, "SMART_MODEL_PATH=", "SMART_MODEL_CACHE="+filepath.Join(t.TempDir(), "cache"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cmd.Process.Kill(); _ = c.Cmd.Wait() })
	if err := c.Initialize(); err != nil {
		t.Fatal(err)
	}
	return c
}

// P5: calls that wait for a download are cancelled: they get no answer, their ids
// are free at once, since their work has ended, and the end of the input need not
// wait for them.
func TestP5CancelledCalls(t *testing.T) {
	hub, connected := stalledHub(t)
	c := waitingServer(t, hub)
	<-connected
	const n = 20
	for i := range n {
		say(t, c, toolCall(fmt.Sprint(i+100), "search_notes", `{"query":"x"}`))
	}
	say(t, c, ping)
	if m := listen(t, c); m.short() != `"ping":ok` {
		t.Fatalf("before any call is cancelled came %s", m.short())
	}
	start := time.Now()
	for i := range n {
		say(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", i+100))
	}
	for free := false; !free; { // refused with -32600 for as long as the call is in flight
		say(t, c, toolCall("100", "get_note", `{"path":"no such note"}`))
		m := listen(t, c)
		free = m.short() == "100:failed"
		if !free && m.short() != "null:-32600" {
			t.Fatalf("a cancelled call got an answer: %s", m.short())
		}
		if time.Since(start) > 5*time.Second {
			t.Fatal("a cancelled call is still in flight after 5 s")
		}
	}
	t.Logf("the id of a cancelled call is free after %v", time.Since(start))
	start = time.Now()
	finish(t, c)
	if took := time.Since(start); took > 4*time.Second { // the drain time is 20 s
		t.Errorf("the end took %v", took)
	}
}
