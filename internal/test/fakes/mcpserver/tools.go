package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// newServer is the well-behaved server under the faults.
func (f *fake) newServer() *server.MCPServer {
	o := []server.ServerOption{server.WithToolCapabilities(true), server.WithInstructions("Looks things up and books them.")}
	if f.full {
		o = append(o, server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true), server.WithElicitation(), server.WithRoots(), server.WithLogging())
	}
	if f.counter && !f.full {
		o = append(o, server.WithElicitation())
	}
	if f.options.jobs {
		o = append(o, server.WithTaskCapabilities(false, true, true), server.WithExtensions(map[string]any{tasksExtension: struct{}{}}))
	}
	f.mcp = server.NewMCPServer("fake", "1", o...)
	f.offerBasics()
	if f.full {
		f.offerMedia()
		f.offerQuestions()
		f.offerResources()
		f.offerPrompts()
	}
	if f.counter {
		f.offerCounter()
	}
	if f.options.jobs {
		f.offerJobs()
	}
	if f.faults {
		f.offerFaults()
	}
	if fault, ok := find(f.fault); ok && fault.list != nil {
		fault.list(f)
	}
	return f.mcp
}

func (f *fake) offerBasics() {
	yes, no := true, false
	lookup := mcp.NewTool("lookup", mcp.WithDescription("Looks up a key."), mcp.WithString("key", mcp.Required()))
	lookup.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes}
	f.mcp.AddTool(lookup, f.text(func(_ context.Context, r mcp.CallToolRequest) string { return "value of " + r.GetString("key", "") }))
	book := mcp.NewTool("book", mcp.WithDescription("Books an item."), mcp.WithString("item", mcp.Required()))
	book.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, IdempotentHint: &no}
	f.mcp.AddTool(book, f.text(func(_ context.Context, r mcp.CallToolRequest) string { return "booked " + r.GetString("item", "") }))
	slow := mcp.NewTool("slow", mcp.WithDescription("Answers late."), mcp.WithNumber("ms", mcp.Required()))
	slow.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes}
	f.mcp.AddTool(slow, f.text(func(ctx context.Context, r mcp.CallToolRequest) string {
		select {
		case <-time.After(time.Duration(r.GetInt("ms", 0)) * time.Millisecond):
		case <-ctx.Done():
		}
		return "at last"
	}))
}

// offerFaults offers the faults of a message as tools, and tools that are odd
// by themselves.
func (f *fake) offerFaults() {
	for _, fault := range table() {
		if fault.message != nil && (fault.on == "" || fault.on == "*") && (fault.only == "" || f.http != "" || f.sse != "") {
			f.offer(fault.name, "Misbehaves.", "")
		}
	}
	f.mcp.AddTool(mcp.NewTool("grow", mcp.WithDescription("Brings a new tool.")), f.text(func(context.Context, mcp.CallToolRequest) string {
		f.offer("grown", "Appeared later.", "")
		return "done"
	}))
	f.mcp.AddTool(mcp.NewTool("env", mcp.WithDescription("Tells the environment.")), f.text(func(context.Context, mcp.CallToolRequest) string { return strings.Join(os.Environ(), "\n") }))
	f.mcp.AddTool(mcp.NewTool("pid", mcp.WithDescription("Tells the process id.")), f.text(func(context.Context, mcp.CallToolRequest) string { return fmt.Sprint(os.Getpid()) }))
	f.mcp.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("the shop is closed"), nil
	})
	f.offer("strange", "Has a schema with everything.",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Strange","type":"object","$defs":{"id":{"type":"string","pattern":"^(?!x)[a-z]+$"}},`+
			`"properties":{"id":{"$ref":"#/$defs/id"},"n":{"type":"integer","default":3}},"oneOf":[{"required":["id"]},{"required":["n"]}]}`)
	broken := mcp.NewTool("violate", mcp.WithDescription("Breaks its own output schema."), mcp.WithRawOutputSchema(weatherSchema))
	f.mcp.AddTool(broken, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(map[string]any{"celsius": "warm", "sky": 7}, `{"celsius":"warm","sky":7}`), nil
	})
	unstructured := mcp.NewTool("unstructured", mcp.WithDescription("Has an output schema and no structured output."), mcp.WithRawOutputSchema(weatherSchema))
	f.mcp.AddTool(unstructured, f.text(func(context.Context, mcp.CallToolRequest) string { return "it is warm" }))
}

// offer offers a tool that answers "done", or, with a schema, the arguments
// that it got.
func (f *fake) offer(name, description, schema string) {
	if schema == "" {
		f.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription(description)), f.text(func(context.Context, mcp.CallToolRequest) string { return "done" }))
		return
	}
	f.mcp.AddTool(mcp.NewToolWithRawSchema(name, description, json.RawMessage(schema)), f.text(func(_ context.Context, r mcp.CallToolRequest) string {
		b, _ := json.Marshal(r.GetArguments())
		return string(b)
	}))
}

// text handles a call with a text.
func (f *fake) text(answer func(context.Context, mcp.CallToolRequest) string) server.ToolHandlerFunc {
	return f.done(func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(answer(ctx, r)), nil
	})
}

// done logs the end of a call before its result goes out.
func (f *fake) done(handle server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := handle(ctx, r)
		if err == nil && !result.NeedsInput() {
			args, _ := json.Marshal(r.GetArguments())
			f.log.write(entry{Event: "done", Tool: r.Params.Name, Args: args})
		}
		return result, err
	}
}
