package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/tools/client"
)

// Call is one call of "server.tool". Timeout, Keep and Meta are given by the Set.
type Call struct {
	client.Call
	Chat, Person string // keys of where it is called and for whom; built-in servers alone are told
}

// Result is the outcome of a call, in words that a model can read.
type Result struct {
	client.Result
	Show int // how many bytes of Text go to the model at first
}

// Call calls "server.tool" by the rules of a group and waits for its result,
// at most the group's tool timeout, in which the time that people take does not
// count. Whether the call needs an
// approval is the caller's to know, from Verdict; a tool that the group does not
// offer is never called. Whatever goes wrong is a Result with Failed set and a
// sentence for the model; the cause is logged with ctx, so that a handler can add
// the task. The only error is that of ctx when it ended before there was a result.
func (s *Set) Call(ctx context.Context, groupName string, c Call) (Result, error) {
	g := s.groups[groupName]
	if g == nil {
		return failed("%v.", s.noGroup(groupName)), nil
	}
	from := time.Now()
	res, err := s.call(ctx, g, c)
	if err != nil && ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		s.log.WarnContext(ctx, "a tool call failed", "group", g.name, "tool", c.Tool, "after", time.Since(from).Round(time.Millisecond), "err", err)
	}
	res.Show = g.cfg.ShowResultBytes
	return res, nil
}

func failed(format string, args ...any) Result {
	return Result{Result: client.Result{Text: fmt.Sprintf(format, args...), Failed: true}}
}

// call returns the result for the model and, for the log, why it failed.
func (s *Set) call(ctx context.Context, g *group, c Call) (Result, error) {
	full := c.Tool
	sv, name := g.find(full)
	if sv == nil {
		return g.unknown(full), errors.New("the group has no such tool")
	}
	c.Tool, c.Timeout, c.Keep = name, g.cfg.ToolTimeout, g.cfg.MaxResultBytes
	res, err := sv.Call(ctx, c.Call)
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return failed("The tool %s cannot be called now: %v. Try other tools, or go on without it.", full, err), err
	case errors.Is(err, client.ErrNoTool):
		return g.unknown(full), err
	case errors.Is(err, client.ErrArguments):
		return failed("The tool %s was not called: %v. Correct them and call it again.", full, err), err
	}
	return Result{Result: res}, err
}

// unknown says what there is instead.
func (g *group) unknown(tool string) Result {
	var names []string
	for _, s := range g.servers {
		if cat := s.Catalog(); cat != nil {
			for _, t := range slices.Sorted(maps.Keys(cat.Tools)) {
				if g.has(s, t) {
					names = append(names, s.Name()+"."+t)
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
