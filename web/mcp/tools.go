package mcp

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
)

//go:embed tools.json
var toolsFile []byte

// toolsJSON is the content of tools.json.
type toolsJSON struct {
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

func definitions() toolsJSON {
	var o toolsJSON
	if err := json.Unmarshal(toolsFile, &o); err != nil {
		panic(err) // part of the program
	}
	return o
}

// handlers are the handlers of the tools.
type handlers struct {
	*api.Service
	log      *slog.Logger
	stop     <-chan struct{}
	server   *server.MCPServer
	calls    *runningCalls
	refused  func(ctx context.Context, p api.Principal, tool string)
	tools    map[string]tool // by name
	decoders decoders
}

// tool decodes the arguments of a call, after they were checked, and returns the
// function that runs it.
type tool struct {
	op     policy.Op // decides which roles may call it
	decode func(json.RawMessage) (runFunc, error)
}

// runFunc runs a call and returns its result, and the same as JSON.
type runFunc func(context.Context, api.Principal) (out any, text []byte, err error)

// visible removes the tools from a list that the role of the caller may never use, unless
// the caller can get an access token with more rights. The library also filters before
// calls; handle refuses those with a reason.
func (h *handlers) visible(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if sent, _ := ctx.Value(requestKey{}).(request); sent.method != string(mcp.MethodToolsList) {
		return tools
	}
	caller := api.Caller(ctx)
	if caller.Wider != "" {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return caller.Role.May(h.tools[t.Name].op) == policy.Never })
}

func (h *handlers) addTools(o toolsJSON) {
	h.tools = map[string]tool{
		"start_task":   newTool(policy.OpStart, h.start),
		"get_task":     newTool(policy.OpRead, h.get),
		"list_tasks":   newTool(policy.OpRead, h.list),
		"get_context":  newTool(policy.OpRead, h.context),
		"add_message":  newTool(policy.OpAdd, h.message),
		"get_state":    newTool(policy.OpRead, h.shared),
		"update_state": newTool(policy.OpMerge, h.merge),
		"answer_task":  newTool(policy.OpAnswer, h.answer),
		"cancel_task":  newTool(policy.OpCancel, h.cancel),
	}
	for _, def := range o.Tools {
		args, err := newArguments(def.Name, def.Input)
		if err != nil {
			panic(err) // part of the program
		}
		h.server.AddTool(mcp.Tool{
			Name: def.Name, Title: def.Title, Description: def.Description, Annotations: def.Annotations,
			RawInputSchema: def.Input, RawOutputSchema: o.Outputs[def.Output],
		}, h.handle(args, h.tools[def.Name]))
	}
}

// handle returns the handler of a tool. The result is structured content, and the same
// as text for older clients; an error becomes a result that tells the model what to
// do.
func (h *handlers) handle(args arguments, t tool) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		p := api.Caller(ctx)
		defer func() {
			if fault := recover(); fault != nil {
				h.log.ErrorContext(ctx, "MCP endpoint: tool panicked", "tool", r.Params.Name, "token", p.Name, "panic", fault, "stack", string(debug.Stack()))
				result = mcp.NewToolResultError(internalError)
			}
			h.log.DebugContext(ctx, "MCP endpoint: tool called", "tool", r.Params.Name, "token", p.Name, "refused", result.IsError)
		}()
		sent, _ := ctx.Value(requestKey{}).(request)
		ctx, end := h.calls.begin(ctx, sent.callID)
		defer end()
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			ctx = context.WithValue(ctx, progressKey{}, r.Params.Meta.ProgressToken)
		}
		out, text, err := h.run(ctx, p, args, t, sent.arguments)
		if err == nil {
			result = mcp.NewToolResultStructured(json.RawMessage(text), string(text))
			if t, ok := out.(api.Task); ok {
				err = h.withFiles(ctx, p, result, t.Files)
			}
		}
		if err != nil {
			return mcp.NewToolResultError(h.explain(ctx, p, r.Params.Name, err)), nil
		}
		return result, nil
	}
}

// run checks the rights of the caller first, so that a refused call costs little.
func (h *handlers) run(ctx context.Context, p api.Principal, args arguments, t tool, sent json.RawMessage) (out any, text []byte, err error) {
	if err := p.Allowed(t.op); err != nil {
		return nil, nil, err
	}
	run, err := h.decode(ctx, args, t, sent)
	if err != nil {
		return nil, nil, err
	}
	return run(ctx, p)
}

func (h *handlers) decode(ctx context.Context, args arguments, t tool, sent json.RawMessage) (runFunc, error) {
	if err := h.decoders.acquire(ctx); err != nil {
		return nil, err
	}
	defer h.decoders.release()
	if err := args.check(sent); err != nil {
		return nil, err
	}
	return t.decode(sent)
}

// newTool makes a tool with arguments of type In.
func newTool[In, Out any](op policy.Op, do func(context.Context, api.Principal, In) (Out, error)) tool {
	return tool{op, func(arguments json.RawMessage) (runFunc, error) {
		var in In
		if len(arguments) > 0 {
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, &api.InvalidError{Field: "arguments", Detail: err.Error()}
			}
		}
		return func(ctx context.Context, p api.Principal) (any, []byte, error) {
			out, err := do(ctx, p, in)
			if err != nil {
				return nil, nil, err
			}
			text, err := encode(out)
			return out, text, err
		}, nil
	}}
}

// encode returns v as JSON without escapes for HTML.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// internalError is the result of a call with an internal error; the log has the error.
const internalError = "Something went wrong inside legwork; its log has the details. Try again later."

// explain tells a model what is wrong and what to do about it. It is the only place
// where errors become results.
func (h *handlers) explain(ctx context.Context, p api.Principal, tool string, err error) string {
	var invalid *api.InvalidError
	if errors.As(err, &invalid) {
		return fmt.Sprintf("The value of %s cannot be used: %s.", invalid.Field, invalid.Detail)
	}
	if errors.Is(err, api.ErrForbidden) && h.refused != nil {
		h.refused(ctx, p, tool)
	}
	for _, known := range explained() {
		if errors.Is(err, known.err) {
			return api.Sentence(err) + " " + known.advice
		}
	}
	switch {
	case errors.Is(err, tasks.ErrFull):
		return "legwork's disk is full, and it accepts no new work. Tell your user that an admin must free space."
	case errors.Is(err, tasks.ErrDamaged):
		return "The stored data of this task is damaged. Start another task."
	case errors.Is(err, tasks.ErrFenced): // another process takes over
		return "legwork is stopping. Try again in a moment."
	case ctx.Err() != nil:
		return "The call was canceled."
	}
	h.log.ErrorContext(ctx, "MCP endpoint: tool failed", "tool", tool, "token", p.Name, "cause", err)
	return internalError
}

// explanation is the advice about an error whose own text says what is wrong.
type explanation struct {
	err    error
	advice string
}

func explained() []explanation {
	return []explanation{
		{api.ErrForbidden, "Do not try again; it takes another token."},
		{api.ErrNotFound, "list_tasks lists those that you may see."},
		{api.ErrPrecondition, "Nothing was set. Read it with get_state, decide again, and set it with that version."},
		{api.ErrConflict, "get_task returns its state."},
		{api.ErrKeyReused, "Use a new idempotency_key for a new call."},
		{api.ErrBusy, "Wait a minute first."},
	}
}
