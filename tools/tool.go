package tools

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is one entry of tools/list and the code behind it. The list is the
// same whatever the vault holds.
type tool struct {
	name, title string
	description string   // for the model: when to use it, when not, what comes back
	input       string   // JSON Schema; what it does not say, decoding forgives (see args)
	output      string   // JSON Schema of the structured content
	arguments   []string // names of the properties of input
	run         func(ctx context.Context, s *Server, a *args) (any, error)
}

// all are the tools of every session.
func all() []tool {
	return []tool{searchNotes(), relatedNotes(), connectionGraph(), getNote(), resolveLink(), backlinks(), brokenLinks(), searchHealth(), indexStatus()}
}

// everything has also those that are of no use to a language model.
func everything() []tool { return append(all(), nearestVectors()) }

func (t tool) definition() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.description,
		InputSchema:  json.RawMessage(t.input),
		OutputSchema: json.RawMessage(t.output),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    true,
			DestructiveHint: &no,
			IdempotentHint:  true,
			OpenWorldHint:   &no,
		},
	}
}
