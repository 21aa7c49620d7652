package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Call calls "server.tool" by the rules of a group and waits for its result,
// at most the group's tool timeout. Whatever goes wrong is a Result with
// Failed set and a sentence for the model; the cause is logged with ctx, so that
// a handler can add the task. The only error is that of ctx when it ended before
// there was a result.
func (s *Set) Call(ctx context.Context, groupName, tool string, args json.RawMessage) (Result, error) {
	g := s.groups[groupName]
	if g == nil {
		return failed("%v.", s.noGroup(groupName)), nil
	}
	short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	from := time.Now()
	res, err := s.call(short, g, tool, args)
	if err != nil && ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		s.log.WarnContext(ctx, "a tool call failed", "group", g.name, "tool", tool, "after", time.Since(from).Round(time.Millisecond), "err", err)
	}
	res.Show = g.cfg.ShowResultBytes
	return res, nil
}

func failed(format string, args ...any) Result {
	text := clean(fmt.Sprintf(format, args...))
	text, _ = cut(text, 4<<10)
	return Result{Text: text, Failed: true}
}

// call returns the result for the model and, for the log, why it failed.
func (s *Set) call(ctx context.Context, g *group, tool string, args json.RawMessage) (Result, error) {
	sv, name := g.find(tool)
	if sv == nil {
		return g.unknown(tool), errors.New("the group has no such tool")
	}
	conn, cat, release, err := sv.acquire(ctx)
	if err != nil {
		return failed("The tool %s cannot be called now: %v. Try other tools, or go on without it.", tool, err), err
	}
	sent := false
	defer func() {
		if !sent {
			release()
		}
	}()
	d := cat.tools[name]
	if d == nil {
		return g.unknown(tool), errors.New("the server has no such tool")
	}
	if g.verdict(sv, name).Refuse {
		return failed("%s", refusal(g, tool)), errors.New("refused: it needs an approval")
	}
	if args, err = d.arguments(args); err != nil {
		return failed("The arguments do not fit the tool %s: %v. Correct them and call it again.", tool, err), err
	}
	sent = true
	return s.send(ctx, g, conn, release, tool, name, args)
}

// unknown says what there is instead.
func (g *group) unknown(tool string) Result {
	var names []string
	for _, s := range g.servers {
		if cat := s.known(); cat != nil {
			for _, t := range slices.Sorted(maps.Keys(cat.tools)) {
				if g.has(s, t) {
					names = append(names, s.name+"."+t)
				}
			}
		}
	}
	perhaps := ""
	if near := nearest(tool, names); near != "" {
		perhaps = fmt.Sprintf(" Perhaps %s was meant.", near)
	}
	return failed("There is no tool %q in the group %s.%s Its tools are: %s.", tool, g.name, perhaps, strings.Join(names, ", "))
}

// send makes the call in a goroutine, because a handler in this process may
// not honour its context. The server waits for release, which ends it.
func (s *Set) send(ctx context.Context, g *group, conn *connection, release func(), tool, name string, args json.RawMessage) (Result, error) {
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
		r.Params.Name, r.Params.Arguments = name, args
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
		res, err := readResult(a.got.call, a.got.cut, g.cfg.MaxResultBytes)
		if err != nil {
			return failed("The tool %s returned something that is not a result: %v.", tool, err), err
		}
		return res, nil
	}
	if errors.Is(a.err, context.DeadlineExceeded) && conn.outbox != nil && conn.outbox.stuckSince(mark) {
		conn.fail(errNotReading)
	}
	return g.excuse(conn, tool, a.err), a.err
}

// excuse is what the model reads about a call without a result.
func (g *group) excuse(conn *connection, tool string, err error) Result {
	unknown := "It is not known whether it took effect: check before you call it again."
	var res Result
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		res = failed("The tool %s did not answer within %v and was given up. %s", tool, g.cfg.ToolTimeout, unknown)
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
