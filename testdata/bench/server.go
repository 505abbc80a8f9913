package main

import (
	"context"
	"encoding/json"
	"fmt"

	"smart-connections-mcp/testdata/session"
)

// serve starts our server on a vault; the session is not opened yet. Without a
// model its folder may be "".
func (b *bench) serve(ctx context.Context, vault, model string) (*session.Client, error) {
	args := []string{"serve", "--vault", vault}
	if model != "" {
		args = append(args, "--model-path", model)
	}
	c := &session.Client{Process: session.Prepare(ctx, b.server(), args...)}
	return c, c.Start()
}

// search asks a question and checks that it is answered with notes.
func search(c *session.Client, query string) error {
	answer, err := c.Call("search_notes", map[string]any{"query": query, "min_score": -1})
	if err != nil {
		return err
	}
	var found struct {
		Mode    string            `json:"mode"`
		Results []json.RawMessage `json:"results"`
	}
	if !answer.IsError {
		err = json.Unmarshal(answer.Structured, &found)
	}
	if err != nil || found.Mode != "semantic" || len(found.Results) == 0 {
		return fmt.Errorf("search_notes found nothing by meaning: %v: %.600s", err, answer.Text())
	}
	return nil
}
