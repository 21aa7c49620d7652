package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
)

// The tools by which the resources of a server are reached.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
)

// resourceTools are the definitions of these tools.
func resourceTools() []string {
	return []string{
		`{"name":"` + listResources + `","title":"List resources","description":"Lists what this server has to read, such as files, pages or records: the URI of each, to be read with ` + readResource + `, and templates of URIs with {variables} to fill in.",` +
			`"inputSchema":{"type":"object","properties":{"filter":{"type":"string","description":"only those that have this text in their URI, name or description"},` +
			`"cursor":{"type":"string","description":"where to go on, from the list before"}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`,
		`{"name":"` + readResource + `","title":"Read a resource","description":"Reads one resource of this server by its URI.",` +
			`"inputSchema":{"type":"object","properties":{"uri":{"type":"string","description":"URI from ` + listResources + `, from a template or from a result of this server"}},"required":["uri"],"additionalProperties":false},` +
			`"annotations":{"readOnlyHint":true,"idempotentHint":true}}`,
	}
}

// addResourceTools adds them to a catalog, unless the server has tools of these names.
func (c *Catalog) addResourceTools() error {
	for _, raw := range resourceTools() {
		d, err := readDefinition(json.RawMessage(raw))
		if err != nil {
			return err
		}
		if d.ForResources = true; c.Tools[d.Name] == nil {
			c.Tools[d.Name] = d
		}
	}
	return nil
}

// resourceRequest makes the request that one of these tools stands for.
func (c *connection) resourceRequest(name string, args json.RawMessage) requestFunc {
	var a struct {
		URI    string     `json:"uri"`
		Cursor mcp.Cursor `json:"cursor"`
	}
	err := json.Unmarshal(args, &a)
	return func(ctx context.Context, got *captured) error {
		switch {
		case err != nil:
			return err
		case name == readResource:
			r := mcp.ReadResourceRequest{}
			r.Params.URI = a.URI
			_, err := c.client.ReadResource(withCapture(ctx, got), r)
			return err
		}
		r := mcp.ListResourcesRequest{}
		r.Params.Cursor = a.Cursor
		if _, err := c.client.ListResourcesByPage(withCapture(ctx, got), r); err != nil || a.Cursor != "" {
			return err
		}
		_, err := c.client.ListResourceTemplatesByPage(withCapture(ctx, got), mcp.ListResourceTemplatesRequest{})
		if errors.Is(err, mcp.ErrMethodNotFound) || hasCode(err, mcp.METHOD_NOT_FOUND) {
			return nil // it has none
		}
		return err
	}
}

func hasCode(err error, code int) bool {
	var refused *rpcError
	return errors.As(err, &refused) && refused.code == code
}

// resourceList writes the pages of a list of resources down, a line each.
func resourceList(pages [][]byte, filter string) (string, error) {
	var b strings.Builder
	cursor := ""
	for _, page := range pages {
		var p struct {
			Resources []resourceLine `json:"resources"`
			Templates []resourceLine `json:"resourceTemplates"`
			Next      string         `json:"nextCursor"`
		}
		if err := json.Unmarshal(page, &p); err != nil {
			return "", fmt.Errorf("reading the list of resources: %w", err)
		}
		for _, r := range append(p.Resources, p.Templates...) {
			if line := r.String(); strings.Contains(strings.ToLower(line), strings.ToLower(filter)) {
				b.WriteString(line + "\n")
			}
		}
		if p.Resources != nil {
			cursor = p.Next
		}
	}
	if b.Len() == 0 {
		b.WriteString("There are no such resources here.\n")
	}
	if cursor != "" {
		fmt.Fprintf(&b, "There are more: go on with the cursor %q.\n", cursor)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// resourceLine is a resource, or a template of some, in a list.
type resourceLine struct {
	URI         string `json:"uri"`
	Template    string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	Size        int64  `json:"size"`
}

func (r resourceLine) String() string {
	var b bytes.Buffer
	if b.WriteString(r.URI); r.Template != "" {
		b.WriteString("template " + r.Template)
	}
	if r.Title == "" {
		r.Title = r.Name
	}
	if r.Title != "" {
		b.WriteString(": " + r.Title)
	}
	var notes []string
	if r.MIMEType != "" {
		notes = append(notes, r.MIMEType)
	}
	if r.Size > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes", r.Size))
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	if r.Description != "" {
		b.WriteString(". " + r.Description)
	}
	line := clip.Bytes(strings.Join(strings.Fields(b.String()), " "), 500)
	return line
}
