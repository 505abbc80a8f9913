package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"smart-connections-mcp/smartenv"
)

// maxCompletions is the most that the protocol allows.
const maxCompletions = 100

// complete proposes values for an argument that is a note's path or a folder: those
// that begin so first, then those with a name that does, then those that hold it.
func (s *Server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	empty := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	argument := req.Params.Argument
	if argument.Name != "path" && argument.Name != "folder" {
		return empty, nil
	}
	known, err := s.visible(ctx)
	if err != nil {
		return nil, s.protocolError(jsonrpc.CodeInternalError, err)
	}
	if argument.Name == "folder" {
		known = foldersOf(known)
	}
	found := completions(known, argument.Value)
	details := mcp.CompletionResultDetails{Values: found, Total: len(found)}
	if details.HasMore = len(found) > maxCompletions; details.HasMore {
		details.Values = found[:maxCompletions]
	}
	return &mcp.CompleteResult{Completion: details}, nil
}

// visible are the paths of the notes that a client may be told of, from what is
// loaded by now, else from disk.
func (s *Server) visible(ctx context.Context) ([]string, error) {
	paths := []string{}
	if graph := s.links.Peek(); graph != nil {
		for i := range graph.Notes {
			paths = append(paths, graph.Notes[i].Path)
		}
		return paths, nil
	}
	if snap := s.loaded.Load(); snap != nil {
		for i := range snap.Sources {
			if state := snap.Sources[i].State; state != smartenv.Missing && state != smartenv.Excluded {
				paths = append(paths, snap.Sources[i].Path)
			}
		}
		return paths, nil
	}
	return s.onDisk(ctx)
}

// onDisk are the paths of the notes that stand in the vault now, without those of
// which nothing may be told.
func (s *Server) onDisk(ctx context.Context) ([]string, error) {
	listed, _, err := s.vault.ListStat(ctx)
	if err != nil {
		return nil, err
	}
	closed := s.index.Settings().Closer()
	paths := make([]string, 0, len(listed))
	for i := range listed {
		if !closed(listed[i].Path) {
			paths = append(paths, listed[i].Path)
		}
	}
	return paths, nil
}

// foldersOf are the folders in which notes lie, at any depth, sorted.
func foldersOf(paths []string) []string {
	seen := map[string]bool{}
	folders := []string{}
	for _, path := range paths {
		for i, r := range path {
			if r == '/' && !seen[path[:i]] {
				seen[path[:i]] = true
				folders = append(folders, path[:i])
			}
		}
	}
	slices.Sort(folders)
	return folders
}

// completions are the values that fit what is typed, the likeliest first.
func completions(known []string, typed string) []string {
	want := folded(strings.ReplaceAll(typed, `\`, "/"))
	var byRank [3][]string
	for _, value := range known {
		folded := folded(value)
		switch name := folded[strings.LastIndexByte(folded, '/')+1:]; {
		case strings.HasPrefix(folded, want):
			byRank[0] = append(byRank[0], value)
		case strings.HasPrefix(name, want):
			byRank[1] = append(byRank[1], value)
		case strings.Contains(folded, want):
			byRank[2] = append(byRank[2], value)
		}
	}
	found := []string{}
	for _, values := range byRank {
		found = append(found, values...)
	}
	return found
}
