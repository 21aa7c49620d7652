package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Refusals of a call before anything was sent. They are wrapped.
var (
	ErrUnavailable = errors.New("the server cannot be called") // down, closed, or not ready in time
	ErrNoTool      = errors.New("the server has no such tool")
	ErrArguments   = errors.New("the arguments do not fit") // the text says what to change
	ErrChanged     = errors.New("the tool was changed by its server since the call was judged")
)

// Call waits for the server, checks the arguments and makes the call. After it
// was sent, whatever goes wrong is a Result with Failed set and a sentence for
// a model; err is the cause, for the log. Before, the Result is empty and err is
// one of the refusals above. When ctx ends first, err is its error.
func (s *Server) Call(ctx context.Context, c Call) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, cat, release, err := s.acquire(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	d := cat.Tools[c.Tool]
	if d == nil {
		release()
		return Result{}, fmt.Errorf("%w: %q", ErrNoTool, c.Tool)
	}
	if c.Definition != "" && c.Definition != d.Hash {
		release()
		return Result{}, fmt.Errorf("%w: %q", ErrChanged, c.Tool)
	}
	args, err := d.Check(c.Arguments)
	if err != nil {
		release()
		return Result{}, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	c.Arguments = args
	return s.send(ctx, conn, release, c)
}

// send makes the call in a goroutine, because a handler in this process may
// not honour its context. The server waits for release, which ends it.
func (s *Server) send(ctx context.Context, conn *connection, release func(), c Call) (Result, error) {
	type answer struct {
		got captured
		err error
	}
	mark := int64(0)
	if conn.outbox != nil {
		mark = conn.outbox.progress()
	}
	done := make(chan answer, 1)
	go func() {
		defer release()
		var a answer
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = c.Tool, c.Arguments
		if len(c.Meta) > 0 {
			r.Params.Meta = &mcp.Meta{AdditionalFields: c.Meta}
		}
		_, a.err = conn.client.CallTool(withCapture(ctx, &a.got), r)
		done <- a
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err == nil {
		res, err := readResult(a.got.raw(), a.got.cut, c.Keep)
		if err != nil {
			return failed("The tool %s returned something that is not a result: %v.", s.full(c.Tool), err), err
		}
		return res, nil
	}
	if errors.Is(a.err, context.DeadlineExceeded) && conn.outbox != nil && conn.outbox.stuckSince(mark) {
		conn.fail(errNotReading)
	}
	return excuse(conn, s.full(c.Tool), c.Timeout, a.err), a.err
}

// full is a tool's name among all servers.
func (s *Server) full(tool string) string { return s.name + "." + tool }

// excuse is what the model reads about a call without a result.
func excuse(conn *connection, tool string, timeout time.Duration, err error) Result {
	unknown := "It is not known whether it took effect: check before you call it again."
	var res Result
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		res = failed("The tool %s did not answer within %v and was given up. %s", tool, timeout, unknown)
		res.Unknown = true
	case errors.Is(err, transport.ErrTransportClosed), conn.died():
		res = failed("The server of the tool %s stopped during the call; it is being started again. %s", tool, unknown)
		res.Unknown = true
	case errors.Is(err, errNotReading):
		res = failed("The server of the tool %s is not taking calls. Try again later, or go on without it.", tool)
	default:
		res = failed("The tool %s failed: %v", tool, err)
	}
	return res
}

func failed(format string, args ...any) Result {
	text := clean(fmt.Sprintf(format, args...))
	text, _ = cut(text, 4<<10)
	return Result{Text: text, Failed: true}
}

// Check returns what to send for arguments, or an error that tells a model what
// to change. Nothing, null and an empty string are no arguments: {}.
func (d *Definition) Check(args json.RawMessage) (json.RawMessage, error) { return d.arguments(args) }
