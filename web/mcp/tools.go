package mcp

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks/api"
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
	*api.Service
	log     *slog.Logger
	stop    <-chan struct{}
	server  *server.MCPServer
	calls   *calls
	refused func(ctx context.Context, p api.Principal, tool string)
	works   map[string]work // by the names of tools
	turns   turns
}

// work is what a tool does for a caller whose role allows it.
type work struct {
	op api.Op
	// read makes arguments, already checked, into what is to be done.
	read func(json.RawMessage) (deed, error)
}

// deed is a call whose arguments are known. Its result is JSON.
type deed func(context.Context, api.Principal) ([]byte, error)

// usable leaves out of a list of tools those that the caller's role may never
// use. Calls pass: answer refuses them, and says why.
func (d *desk) usable(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if sent, _ := ctx.Value(requestKey{}).(request); sent.method != string(mcp.MethodToolsList) {
		return tools
	}
	role := api.Caller(ctx).Role
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return role.May(d.works[t.Name].op) == api.Never })
}

func (d *desk) add(o offer) {
	d.works = map[string]work{
		"start_task":   doing(api.OpStart, d.start),
		"get_task":     doing(api.OpRead, d.get),
		"list_tasks":   doing(api.OpRead, d.list),
		"get_context":  doing(api.OpRead, d.context),
		"add_message":  doing(api.OpAdd, d.message),
		"get_state":    doing(api.OpRead, d.shared),
		"update_state": doing(api.OpMerge, d.merge),
		"answer_task":  doing(api.OpAnswer, d.hand),
		"cancel_task":  doing(api.OpCancel, d.cancel),
	}
	for _, def := range o.Tools {
		takes, err := newArguments(def.Name, def.Input)
		if err != nil {
			panic(err) // part of the program
		}
		d.server.AddTool(mcp.Tool{
			Name: def.Name, Title: def.Title, Description: def.Description, Annotations: def.Annotations,
			RawInputSchema: def.Input, RawOutputSchema: o.Outputs[def.Output],
		}, d.answer(takes, d.works[def.Name]))
	}
}

// answer serves a tool. What do returns is the result, as structured content and
// as text for clients that know no other; an error is a result that tells a model
// what to do.
func (d *desk) answer(takes arguments, its work) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		p := api.Caller(ctx)
		defer func() {
			if fault := recover(); fault != nil {
				d.log.ErrorContext(ctx, "a tool of the MCP endpoint panicked", "tool", r.Params.Name, "token", p.Name, "panic", fault, "stack", string(debug.Stack()))
				result = mcp.NewToolResultError(broken)
			}
			d.log.DebugContext(ctx, "a tool of the MCP endpoint was called", "tool", r.Params.Name, "token", p.Name, "refused", result.IsError)
		}()
		sent, _ := ctx.Value(requestKey{}).(request)
		ctx, end := d.calls.begin(ctx, sent.call)
		defer end()
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			ctx = context.WithValue(ctx, progressKey{}, r.Params.Meta.ProgressToken)
		}
		text, err := d.do(ctx, p, takes, its, sent.arguments)
		if err != nil {
			return mcp.NewToolResultError(d.explain(ctx, p, r.Params.Name, err)), nil
		}
		return mcp.NewToolResultStructured(json.RawMessage(text), string(text)), nil
	}
}

// do is a call from its arguments to its result.
func (d *desk) do(ctx context.Context, p api.Principal, takes arguments, its work, sent json.RawMessage) ([]byte, error) {
	if err := p.Allowed(its.op); err != nil { // before anything else: whoever may not do it costs little
		return nil, err
	}
	do, err := d.read(ctx, takes, its, sent)
	if err != nil {
		return nil, err
	}
	return do(ctx, p)
}

// read makes arguments into what is to be done, when it is their turn.
func (d *desk) read(ctx context.Context, takes arguments, its work, sent json.RawMessage) (deed, error) {
	if err := d.turns.begin(ctx); err != nil {
		return nil, err
	}
	defer d.turns.end()
	if err := takes.check(sent); err != nil {
		return nil, err
	}
	return its.read(sent)
}

// doing is the work of a tool whose arguments are an In.
func doing[In, Out any](op api.Op, do func(context.Context, api.Principal, In) (Out, error)) work {
	return work{op, func(arguments json.RawMessage) (deed, error) {
		var in In
		if len(arguments) > 0 {
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, &api.InvalidError{Field: "arguments", Detail: err.Error()}
			}
		}
		return func(ctx context.Context, p api.Principal) ([]byte, error) {
			out, err := do(ctx, p, in)
			if err != nil {
				return nil, err
			}
			return encoded(out)
		}, nil
	}}
}

// encoded is JSON for models, with the letters of HTML as they are.
func encoded(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
