package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv/note"
)

// A prompt is a task that a person chooses from a menu of the client's.
type prompt struct {
	name, title, description string
	argument                 string // its one argument
	about                    string // what that is
	required                 bool
	text                     string // %s is the argument, quoted
	without                  string // the text when there is no argument
}

func prompts() []prompt {
	return []prompt{
		{
			name: "find_related_work", title: "Find related work", argument: "path", about: "Path of the note to begin with", required: true,
			description: "What else the vault has on the subject of a note, and which notes could be linked",
			text: `Find what else my vault has on the subject of the note %s.
Read it with get_note. Then call related_notes with unlinked_only true (level blocks, if the note is long) and connection_graph with depth 2.
Read the three to five most promising notes before you judge them. For each, say in a sentence how it relates, quote the passage that shows it with its path and lines, and say whether a link is worth adding, and where. Leave out notes that are near only in wording.`,
		},
		{
			name: "what_do_i_know", title: "What do I know about …", argument: "topic", about: "The subject, in a few words or a question", required: true,
			description: "A summary of what the vault says about a subject, with sources and gaps",
			text: `What do my notes say about %s?
Search with search_notes, in two or three differently worded full questions and in the language of my notes; with sections_per_note 2. Read the notes that matter with get_note (lines or section suffice for long ones).
Summarise only what stands in the notes, each point with its path and lines. Say where notes disagree or are out of date (modified, stale), and what I seem not to have written down. If coverage or a warning says that part of the vault could not be searched, tell me.`,
		},
		{
			name: "check_my_links", title: "Check my links", argument: "folder", about: "Only links in notes below this folder",
			description: "Broken links that matter, notes without links, and how to mend them",
			text:        `Check the links of my notes in the folder %s: call broken_links with that folder, min_references 1 and include_orphans true.` + checkLinks,
			without:     `Check the links of my vault: call broken_links with include_orphans true, and again with min_references 1 if little is found.` + checkLinks,
		},
	}
}

const checkLinks = `
For each missing note, use resolve_link and search_notes to find out whether the note exists under another name, was moved, or was never written. Propose for each: correct the link (to which note), create the note (with what), or leave it. For orphans, look with related_notes for one or two notes that should link to them. List the most useful repairs first. Change nothing yourself.`

// maxPromptArgument is in UTF-16 units.
const maxPromptArgument = 500

func (s *Server) prompts(server *mcp.Server) {
	for _, p := range prompts() {
		server.AddPrompt(&mcp.Prompt{
			Name: p.name, Title: p.title, Description: p.description,
			Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about, Required: p.required}},
		}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := p.fill(req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{
				Description: p.description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
			}, nil
		})
	}
}

// fill returns the text for the arguments of a request.
func (p prompt) fill(arguments map[string]string) (string, error) {
	value := strings.TrimSpace(arguments[p.argument])
	switch {
	case value == "" && p.required:
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s is missing: pass %s (%s)", p.argument, p.argument, strings.ToLower(p.about))}
	case value == "":
		return p.without, nil
	case note.Len16(value) > maxPromptArgument:
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s has %d characters: pass at most %d", p.argument, note.Len16(value), maxPromptArgument)}
	}
	return fmt.Sprintf(p.text, fmt.Sprintf("%q", value)), nil
}
