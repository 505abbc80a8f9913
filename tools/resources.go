package tools

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	noteScheme = "note://"
	statusURI  = "vault://status"
)

// resources gives clients that know no tools, and people who attach a note by hand,
// the same as get_note and index_status. Notes are not listed: that would read the
// vault at the start of each session; clients complete the template's path instead.
func (s *Server) resources(life context.Context, server *mcp.Server) {
	server.AddResource(&mcp.Resource{
		URI: statusURI, Name: "status", Title: "State of the index", MIMEType: "application/json",
		Description: "What of the vault can be searched, and what is wrong with it: the answer of index_status.",
	}, func(call context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		answer, err := s.answer(life, call, indexStatus(), nil)
		if err != nil {
			return nil, s.protocolError(jsonrpc.CodeInternalError, err)
		}
		data, err := encode(answer)
		if err != nil {
			return nil, err
		}
		return contents(req.Params.URI, "application/json", string(data)), nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: noteScheme + "{+path}", Name: "note", Title: "A note", MIMEType: "text/markdown",
		Description: "A note of the vault by its path, percent-encoded: note://Garden/Roses%20and%20more.md",
	}, func(call context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return s.readNote(life, call, req.Params.URI)
	})
}

// readNote reads the note that a URI names.
func (s *Server) readNote(life, call context.Context, uri string) (*mcp.ReadResourceResult, error) {
	path := notePath(uri)
	if _, err := s.vault.Resolve(path); err != nil { // a "%" that was meant as such
		raw := strings.TrimLeft(strings.TrimPrefix(uri, noteScheme), "/")
		if _, err := s.vault.Resolve(raw); err == nil {
			path = raw
		}
	}
	arguments, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return nil, err
	}
	answer, err := s.answer(life, call, getNote(), arguments)
	if err != nil {
		return nil, s.protocolError(jsonrpc.CodeInvalidParams, err)
	}
	return contents(uri, "text/markdown", answer.(NoteOutput).Text), nil
}

func contents(uri, mime, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: text}}}
}

// notePath is the path that a note's URI names: percent-decoded where it can be.
func notePath(uri string) string {
	path := strings.TrimLeft(strings.TrimPrefix(uri, noteScheme), "/")
	if decoded, err := url.PathUnescape(path); err == nil {
		return decoded
	}
	return path
}

// noteURI is the URI of the note at path.
func noteURI(path string) string {
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return noteScheme + strings.Join(segments, "/")
}

// knownURI makes a URI, as a client or person wrote it, one that the SDK finds: it
// matches only what may stand in a URI, and its own error for others is not always
// JSON (go-sdk 1.8, ResourceNotFoundError).
func knownURI(uri string) (string, error) {
	path, ok := strings.CutPrefix(uri, noteScheme)
	switch {
	case uri == statusURI:
		return uri, nil
	case !ok || strings.Trim(path, "/ ") == "":
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such resource: pass " + statusURI + " or a note such as note://Garden/Roses.md"} // and not where files may lie on the host
	}
	if _, err := url.PathUnescape(path); err == nil {
		return noteURI(notePath(uri)), nil
	}
	return noteURI(path), nil // a "%" that was meant as such
}

// protocolError makes an error of a method that knows no error results.
func (s *Server) protocolError(code int64, err error) error {
	if known := (*jsonrpc.Error)(nil); errors.As(err, &known) {
		return known
	}
	return &jsonrpc.Error{Code: code, Message: errorText(s.scrubError(err))}
}
