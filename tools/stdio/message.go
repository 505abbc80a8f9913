package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A refusal is an answer that the transport gives by itself.
type refusal struct {
	id   json.RawMessage // nil: null
	code int
	text string
}

// parse makes a message of one line. Exactly one of three things comes back:
// a message for the SDK; a refusal to send; or neither, for a line that asks
// nothing of us and means nothing to the SDK (a response without an id).
func parse(line []byte) (jsonrpc.Message, *refusal) {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	if !json.Valid(line) {
		return nil, &refusal{code: jsonrpc.CodeParseError, text: "parse error: the line is not JSON: send one JSON-RPC message per line"}
	}
	if line[0] == '[' {
		return nil, &refusal{code: jsonrpc.CodeInvalidRequest, text: "batches are not supported: send one message per line"}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return nil, &refusal{code: jsonrpc.CodeInvalidRequest, text: "a JSON-RPC message is an object"}
	}
	_, isRequest := fields["method"]
	rawID, hasID := fields["id"]
	var id json.RawMessage
	if hasID && strings.IndexByte(`"-0123456789`, rawID[0]) >= 0 {
		id = rawID // as it came, so that the client can tell which request it was
	}
	if isRequest && hasID && !validID(rawID) {
		return nil, &refusal{id: id, code: jsonrpc.CodeInvalidRequest, text: "id must be a string or an integer below 2^53"}
	}
	if !isRequest && fields["result"] == nil && fields["error"] == nil {
		return nil, &refusal{id: id, code: jsonrpc.CodeInvalidRequest, text: "invalid request: method is missing"}
	}
	msg, err := jsonrpc.DecodeMessage(line)
	switch {
	case err == nil && cancelsNothing(msg) && hasID:
		return nil, &refusal{id: id, code: jsonrpc.CodeInvalidParams, text: "requestId must be a string or an integer below 2^53"}
	case err == nil && cancelsNothing(msg):
		return nil, nil
	case err == nil:
		return msg, nil
	case isRequest:
		return nil, &refusal{id: id, code: jsonrpc.CodeInvalidRequest, text: "invalid request: " + cut(err.Error())}
	}
	return nil, nil
}

// cancelsNothing reports whether msg is a cancellation that names no possible
// call. The SDK would take 0.5 for 0.
func cancelsNothing(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Method != cancellation {
		return false
	}
	_, named := cancelled(req)
	return !named
}

// validID reports whether raw survives the way through the SDK, which keeps
// ids as strings or as integers that came through a float64.
func validID(raw json.RawMessage) bool {
	var id any
	if json.Unmarshal(raw, &id) != nil {
		return false
	}
	switch id := id.(type) {
	case string:
		return true
	case float64:
		return id == math.Trunc(id) && math.Abs(id) < 1<<53
	}
	return false
}

// encode writes the refusal as one line. The SDK cannot: it leaves out an id
// that is null.
func (r *refusal) encode() []byte {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends with a newline
	e.SetEscapeHTML(false)
	_ = e.Encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, jsonrpc.Error{Code: int64(r.code), Message: r.text}}) // cannot fail: id is valid JSON, a Buffer takes all
	return b.Bytes()
}

const cancellation = "notifications/cancelled"

// cancelled returns the id that a cancellation names.
func cancelled(req *jsonrpc.Request) (jsonrpc.ID, bool) {
	var params map[string]json.RawMessage // a struct would take requestid, too, which the SDK does not
	if req.Method != cancellation || json.Unmarshal(req.Params, &params) != nil || !validID(params["requestId"]) {
		return jsonrpc.ID{}, false
	}
	var value any
	_ = json.Unmarshal(params["requestId"], &value) // cannot fail: it is valid
	id, err := jsonrpc.MakeID(value)
	return id, err == nil && id.IsValid()
}

// cut bounds an error text: the SDK quotes whole parameters in its own.
func cut(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
