package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// list asks for everything that the server offers. left says for each part that
// was left out why.
func (c *connection) list(ctx context.Context) (cat *Catalog, left []string, err error) {
	tools := captured{mirrored: c.courier != nil && c.modern()}
	if c.offers.Tools != nil || c.offers.Resources == nil && c.offers.Prompts == nil {
		res, err := c.client.ListTools(withCapture(ctx, &tools), mcp.ListToolsRequest{})
		if err != nil {
			return nil, nil, c.explained(fmt.Errorf("listing its tools: %w", plain(err)))
		}
		tools.allowed(res.Tools)
	}
	cat, left = newCatalog(c.instructions, tools.pages)
	if tools.more {
		left = append(left, fmt.Sprintf("everything after %d pages of tools", len(tools.pages)))
	}
	for name := range tools.headers {
		delete(cat.Tools, name)
		left = append(left, fmt.Sprintf("%q: its parameters ask for headers (x-mcp-header) in a way that is not allowed", name))
	}
	if c.offers.Prompts != nil {
		var got captured
		if _, err := c.client.ListPrompts(withCapture(ctx, &got), mcp.ListPromptsRequest{}); err != nil {
			left = append(left, fmt.Sprintf("its prompts: %v", plain(err)))
		}
		cat.Prompts = readPrompts(got.pages)
	}
	if c.offers.Resources != nil {
		cat.Resources = true
		if err := cat.addOwn(); err != nil {
			left = append(left, fmt.Sprintf("its resources: %v", err))
		}
	}
	return cat, left, nil
}

// mirror returns the tools that the library has to know, since some of their
// arguments go into headers of HTTP too (x-mcp-header, revision 2026-07-28).
func (c *captured) mirror(page []byte) []json.RawMessage {
	known := []json.RawMessage{}
	if !c.mirrored || !bytes.Contains(page, []byte("x-mcp-header")) {
		return known
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(page, &list)
	for _, raw := range list.Tools {
		var t mcp.Tool
		if !bytes.Contains(raw, []byte("x-mcp-header")) || json.Unmarshal(raw, &t) != nil {
			continue
		}
		if c.headers == nil {
			c.headers = map[string]bool{}
		}
		c.headers[t.Name] = true
		known = append(known, raw)
	}
	return known
}

// allowed keeps among the tools with headers those that break the rules: the
// library leaves them out.
func (c *captured) allowed(kept []mcp.Tool) {
	for _, t := range kept {
		delete(c.headers, t.Name)
	}
}
