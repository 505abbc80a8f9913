package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// client is one of our servers, spoken to over stdio.
type client struct {
	*child
	last int // id of the last request
}

// serve starts our server on a vault. Without a model its folder may be "".
func (b *bench) serve(ctx context.Context, vault, model string) (*client, error) {
	args := []string{"serve", "--vault", vault}
	if model != "" {
		args = append(args, "--model-path", model)
	}
	c, err := start(ctx, "", b.server(), args...)
	return &client{child: c}, err
}

// initialize opens the session.
func (c *client) initialize() error {
	_, err := c.ask("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.send(map[string]any{"method": "notifications/initialized"})
}

// search asks a question and checks that it is answered with notes.
func (c *client) search(query string) error {
	raw, err := c.ask("tools/call", map[string]any{"name": "search_notes", "arguments": map[string]any{"query": query, "min_score": -1}})
	if err != nil {
		return err
	}
	var answer struct {
		IsError           bool `json:"isError"`
		StructuredContent struct {
			Mode    string            `json:"mode"`
			Results []json.RawMessage `json:"results"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	if found := answer.StructuredContent; answer.IsError || found.Mode != "semantic" || len(found.Results) == 0 {
		return fmt.Errorf("search_notes found nothing by meaning: %.600s", raw)
	}
	return nil
}

// ask sends a request and waits for its answer; what else comes is skipped.
func (c *client) ask(method string, params any) (json.RawMessage, error) {
	c.last++
	if err := c.send(map[string]any{"id": c.last, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("the server wrote %q: %w", line, err)
		}
		if m.ID != c.last {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}

// send writes one message.
func (c *client) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}
