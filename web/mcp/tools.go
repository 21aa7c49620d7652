package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks/contexts"
)

//go:embed tools.json
var toolsFile []byte

// offer is what clients are told of the server.
type offer struct {
	Instructions string                     `json:"instructions"`
	Tools        []definition               `json:"tools"`
	Outputs      map[string]json.RawMessage `json:"outputs"` // schemas, which several tools may share
}

type definition struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Annotations mcp.ToolAnnotation `json:"annotations"`
	Input       json.RawMessage    `json:"inputSchema"`
	Output      string             `json:"output"`
}

func definitions() offer {
	var o offer
	if err := json.Unmarshal(toolsFile, &o); err != nil {
		panic(err) // part of the program
	}
	return o
}

// desk does what the tools promise.
type desk struct {
	*contexts.Service
	log    *slog.Logger
	stop   <-chan struct{}
	server *server.MCPServer
	refusals
}

func (d *desk) add(o offer) {
	handlers := map[string]server.ToolHandlerFunc{
		"start_task":   answer(d, d.start),
		"get_task":     answer(d, d.get),
		"list_tasks":   answer(d, d.list),
		"add_message":  answer(d, d.message),
		"get_state":    answer(d, d.shared),
		"update_state": answer(d, d.merge),
		"cancel_task":  answer(d, d.cancel),
	}
	for _, def := range o.Tools {
		d.server.AddTool(mcp.Tool{
			Name: def.Name, Title: def.Title, Description: def.Description, Annotations: def.Annotations,
			RawInputSchema: def.Input, RawOutputSchema: o.Outputs[def.Output],
		}, handlers[def.Name])
	}
}

// answer serves a tool whose arguments, already checked against the schema, are
// an In. What do returns is the result, as structured content and as text for
// clients that know no other; its error is a result that tells a model what to do.
func answer[In, Out any](d *desk, do func(context.Context, contexts.Principal, In) (Out, error)) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		p := contexts.Caller(ctx)
		defer func() {
			if fault := recover(); fault != nil {
				d.log.ErrorContext(ctx, "a tool of the MCP endpoint panicked", "tool", r.Params.Name, "token", p.Name, "panic", fault, "stack", string(debug.Stack()))
				result = mcp.NewToolResultError(broken)
			}
			d.log.DebugContext(ctx, "a tool of the MCP endpoint was called", "tool", r.Params.Name, "token", p.Name, "refused", result.IsError)
		}()
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			ctx = context.WithValue(ctx, progressKey{}, r.Params.Meta.ProgressToken)
		}
		text, err := served(ctx, p, do)
		if err != nil {
			return mcp.NewToolResultError(d.explain(ctx, p, r.Params.Name, err)), nil
		}
		return mcp.NewToolResultStructured(json.RawMessage(text), string(text)), nil
	}
}

// served does what a tool does, and returns its result as JSON.
func served[In, Out any](ctx context.Context, p contexts.Principal, do func(context.Context, contexts.Principal, In) (Out, error)) ([]byte, error) {
	var in In
	if raw, _ := ctx.Value(argumentsKey{}).(json.RawMessage); len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, &contexts.InvalidError{Field: "arguments", Detail: err.Error()}
		}
	}
	out, err := do(ctx, p, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
