package client

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// localAsker brings the questions of a server in this process to the call that
// they are part of.
type localAsker struct{ conn *connection }

// Elicit asks a person.
func (a localAsker) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return answerLocal[mcp.ElicitationResult](ctx, a.conn, mcp.MethodElicitationCreate, r.Params)
}

// CreateMessage makes a model call.
func (a localAsker) CreateMessage(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return answerLocal[mcp.CreateMessageResult](ctx, a.conn, mcp.MethodSamplingCreateMessage, r.CreateMessageParams)
}

func answerLocal[T any](ctx context.Context, c *connection, method mcp.MCPMethod, params any) (*T, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := c.fulfil(ctx, sentBy(ctx).flight, request{Method: string(method), Params: raw})
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(result); err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(raw, out)
}
