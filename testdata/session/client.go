package session

import (
	"encoding/json"
	"fmt"
)

// A Client is an MCP client of a server that speaks on stdio. It sends one
// request at a time; who wants more writes to In.
type Client struct {
	*Process
	last int // id of the last request
}

// Initialize opens the session of a started process.
func (c *Client) Initialize() error {
	_, err := c.Ask("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "session", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.Send(map[string]any{"method": "notifications/initialized"})
}

// An Answer is what a tool said.
type Answer struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

// Text is the answer as a model reads it.
func (a Answer) Text() string {
	if len(a.Content) == 0 {
		return ""
	}
	return a.Content[0].Text
}

// Call calls a tool.
func (c *Client) Call(tool string, arguments any) (Answer, error) {
	var answer Answer
	raw, err := c.Ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer, err
}

// Ask sends a request and waits for its result; what else comes is skipped.
func (c *Client) Ask(method string, params any) (json.RawMessage, error) {
	c.last++
	if err := c.Send(map[string]any{"id": c.last, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := c.Line()
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("the server wrote %q: %w", line, err)
		}
		if m.ID != float64(c.last) {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}

// Send writes one message.
func (c *Client) Send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.In.Write(append(line, '\n'))
	return err
}
