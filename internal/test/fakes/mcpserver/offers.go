package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// offerResources offers notes: a text, blobs, any day's by a template, and one of
// 8 MiB as text and as a blob.
func (f *fake) offerResources() {
	note := func(uri, name, text string, times int) {
		f.mcp.AddResource(mcp.NewResource(uri, name, mcp.WithResourceDescription("A note: "+name+"."), mcp.WithMIMEType("text/plain")),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: strings.Repeat(text, times)}}, nil
			})
	}
	note("note://today", "today", "Buy bread.", 1)
	note("note://huge", "huge", "Buy bread. ", 8<<20/11)
	f.mcp.AddResource(mcp.NewResource("note://square.png", "square", mcp.WithMIMEType("image/png")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		b, err := square()
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "note://square.png", MIMEType: "image/png", Blob: base64.StdEncoding.EncodeToString(b)}}, nil
	})
	blob := func(uri, name, kind string, data []byte) {
		f.mcp.AddResource(mcp.NewResource(uri, name, mcp.WithMIMEType(kind)), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: uri, MIMEType: kind, Blob: base64.StdEncoding.EncodeToString(data)}}, nil
		})
	}
	blob("note://letter.txt", "letter", "text/plain; charset=utf-8", []byte("Grüße aus Rom."))
	blob("note://data.json", "data", "application/json", []byte(`{"bread":2}`))
	blob("note://latin.txt", "latin", "text/plain", []byte("Gr\xfc\xdfe"))
	blob("note://huge.txt", "huge letter", "text/plain", []byte(strings.Repeat("Grüße. ", 1<<20)))
	f.mcp.AddResourceTemplate(mcp.NewResourceTemplate("note://day/{day}", "day", mcp.WithTemplateDescription("The note of a day."), mcp.WithTemplateMIMEType("text/plain")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			day := strings.TrimPrefix(r.Params.URI, "note://day/")
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "Nothing to do on " + day + "."}}, nil
		})
}

// offerPrompts offers one prompt with arguments and one without.
func (f *fake) offerPrompts() {
	f.mcp.AddPrompt(mcp.NewPrompt("summarize", mcp.WithPromptDescription("Summarizes a text."),
		mcp.WithArgument("text", mcp.ArgumentDescription("What to summarize."), mcp.RequiredArgument()), mcp.WithArgument("style", mcp.ArgumentDescription("In which style."))),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, ok := r.Params.Arguments["text"]
			if !ok {
				return nil, fmt.Errorf("the argument text is missing")
			}
			say := "Summarize: " + text
			if style := r.Params.Arguments["style"]; style != "" {
				say += " Style: " + style
			}
			return mcp.NewGetPromptResult("A summary.", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(say))}), nil
		})
	f.mcp.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("Greets.")), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return mcp.NewGetPromptResult("A greeting.", []mcp.PromptMessage{
			mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Say hello.")), mcp.NewPromptMessage(mcp.RoleAssistant, mcp.NewTextContent("Hello.")),
		}), nil
	})
}
