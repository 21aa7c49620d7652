package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// wire is a transport that keeps results as they came. The library's own types
// lose parts of a tool's schema and refuse whole results over one odd entry;
// it negotiates, pages and cancels, and what it read is taken from here.
type wire struct {
	transport.Interface
	intake *intake // nil in-process
}

// captured collects the raw results of the requests made with its context.
type captured struct {
	lists [][]byte // results of tools/list, a page each
	call  []byte   // result of tools/call
	cut   int      // bytes that intake left out of it
}

type capturedKey struct{}

func withCapture(ctx context.Context, c *captured) context.Context {
	return context.WithValue(ctx, capturedKey{}, c)
}

// SendRequest passes the request on, keeps a captured result, and gives the
// library an empty one in its place.
func (w *wire) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c, _ := ctx.Value(capturedKey{}).(*captured)
	if c == nil {
		return w.Interface.SendRequest(ctx, r)
	}
	if w.intake != nil {
		id := fmt.Sprint(r.ID.Value()) // as it is on the wire: the library counts its requests
		w.intake.expect(id)
		defer func() { c.cut = w.intake.taken(id) }()
	}
	resp, err := w.Interface.SendRequest(ctx, r)
	if err != nil || resp.Error != nil {
		return resp, err
	}
	var head struct {
		NextCursor json.RawMessage `json:"nextCursor,omitempty"`
		ResultType mcp.ResultType  `json:"resultType"`
	}
	_ = json.Unmarshal(resp.Result, &head)
	switch {
	case r.Method == string(mcp.MethodToolsList):
		c.lists = append(c.lists, resp.Result)
		if head.NextCursor == nil {
			head.NextCursor = json.RawMessage("null")
		}
		resp.Result = fmt.Appendf(nil, `{"tools":[],"nextCursor":%s}`, head.NextCursor)
	case r.Method == string(mcp.MethodToolsCall) && head.ResultType != mcp.ResultTypeInputRequired:
		c.call = resp.Result
		resp.Result = json.RawMessage(`{"content":[]}`)
	}
	return resp, nil
}

// SetRequestHandler lets the library answer a server's requests, such as pings.
func (w *wire) SetRequestHandler(h transport.RequestHandler) {
	if b, ok := w.Interface.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(h)
	}
}
