package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/files"
	"legwork/tasks/api"
)

// fileURI begins the address of a file, which resources/read gives.
const fileURI = "legwork://files/"

// Bounds of what the result of a tool holds of files, in bytes. Larger files are links.
const (
	maxEmbedded    = 32 << 10 // of one file
	maxAllEmbedded = 4 * maxEmbedded
	maxRead        = 20 << 20 // of one file by resources/read, as large as a made one can be
)

// withFiles adds the files that a task has made to the result of a tool: small ones as
// they are, others as links for resources/read.
func (h *handlers) withFiles(ctx context.Context, p api.Principal, result *mcp.CallToolResult, made []api.File) error {
	room := int64(maxAllEmbedded)
	for _, f := range made {
		if f.Bytes > min(room, maxEmbedded) {
			link := mcp.NewResourceLink(fileURI+string(f.ID), f.Name, "", f.Type)
			link.Size = &f.Bytes
			result.Content = append(result.Content, link)
			continue
		}
		content, err := h.readFile(ctx, p, f.ID)
		if errors.Is(err, api.ErrNotFound) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		room -= f.Bytes
		result.Content = append(result.Content, mcp.NewEmbeddedResource(content))
	}
	return nil
}

// readFile reads a file that the caller may see.
func (h *handlers) readFile(ctx context.Context, p api.Principal, id files.ID) (mcp.ResourceContents, error) {
	f, content, err := h.OpenFile(ctx, p, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it was only read
	if f.Bytes > maxRead {
		return nil, &api.InvalidError{Field: "uri", Detail: fmt.Sprintf("names a file of %s; read it by GET /v1/files/%s", files.Size(f.Bytes), id)}
	}
	body, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("reading file: %w", err)
	}
	uri := fileURI + string(id)
	if strings.HasPrefix(f.Type, "text/") && utf8.Valid(body) {
		return mcp.TextResourceContents{URI: uri, MIMEType: f.Type, Text: string(body)}, nil
	}
	return mcp.BlobResourceContents{URI: uri, MIMEType: f.Type, Blob: base64.StdEncoding.EncodeToString(body)}, nil
}

// addFiles lets clients read the files that results link to.
func (h *handlers) addFiles() {
	template := mcp.NewResourceTemplate(fileURI+"{id}", "file", mcp.WithTemplateDescription("A file of a task that you may see, by the id that a task or message names."))
	h.server.AddResourceTemplate(template, func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		p := api.Caller(ctx)
		content, err := h.readFile(ctx, p, files.ID(strings.TrimPrefix(r.Params.URI, fileURI)))
		if err != nil {
			return nil, errors.New(h.explain(ctx, p, "resources/read", err))
		}
		return []mcp.ResourceContents{content}, nil
	})
}
