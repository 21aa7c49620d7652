package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/internal/nearest"
	"legwork/internal/telemetry"
	"legwork/tools/builtin/caller"
	"legwork/tools/client"
)

// HopsKey is the key of _meta that holds how often the work was handed on from one
// legwork to the next. Without it, two that are each other's servers could hand on
// work without end.
const HopsKey = "legwork/hops"

// Call calls a tool by the rules of its group and waits for the result, at most
// the group's tool timeout. The time that people take does not count. The caller
// knows from Verdict whether the call needs an approval. Call never calls a tool
// that the group does not offer. A failure is a Result with Failed set and a
// sentence for the model; Call logs the cause with ctx, so that a handler can add
// the task. The only error is that of ctx when it ended before there was a result.
func (s *Set) Call(ctx context.Context, c Call) (Result, error) {
	g, err := s.group(c.Group, c.Person)
	if err != nil {
		return failed("%v.", err), nil
	}
	from := time.Now()
	ctx, span := telemetry.Start(ctx, telemetry.Client, telemetry.ExecuteTool+" "+c.Tool)
	res, err := s.call(ctx, g, c)
	if c.Admin {
		res.Text = toAdmin(res.Text)
	}
	s.measure(span, c.Tool, res, err, time.Since(from))
	if err != nil && ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		s.log.WarnContext(ctx, "tool call failed", "group", g.name, "tool", c.Tool, "after", time.Since(from).Round(time.Millisecond), "cause", err)
	}
	res.Show = g.cfg.ShowResultBytes
	return res, nil
}

func failed(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true}
}

// measure counts a call and ends its span. It counts names that no server has
// under one name, because models invent them.
func (s *Set) measure(span *telemetry.Span, tool string, res Result, err error, took time.Duration) {
	outcome := outcomeOf(res, err)
	span.Text(telemetry.Operation, telemetry.ExecuteTool)
	span.Text(telemetry.ToolName, tool)
	span.Text(telemetry.OutcomeKey, outcome)
	if outcome != telemetry.OK && outcome != telemetry.Given {
		span.Fail(outcome)
		server, _, _ := strings.Cut(tool, ".")
		s.failures.add(server, Failure{At: s.now(), Tool: tool, Outcome: outcome, Text: res.Text}, err)
	}
	span.End(nil)
	if errors.Is(err, client.ErrNoTool) {
		tool = telemetry.Unknown + "." + telemetry.Unknown
	}
	s.metrics.ToolCalled(tool, outcome, took)
}

func outcomeOf(res Result, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return telemetry.Given
	case errors.Is(err, client.ErrUnavailable):
		return telemetry.Unavailable
	case errors.Is(err, client.ErrNoTool), errors.Is(err, client.ErrArguments), errors.Is(err, client.ErrChanged):
		return telemetry.Refused
	case res.Unknown:
		return telemetry.Unknown
	case res.Failed:
		return telemetry.Failed
	}
	return telemetry.OK
}

// call returns the result for the model and, for the log, why it failed.
func (s *Set) call(ctx context.Context, g *group, c Call) (res Result, err error) {
	full := c.Tool
	sv, name := g.find(full)
	if sv == nil {
		return failed("%s", g.unknown(full)), client.ErrNoTool
	}
	var meta map[string]any
	switch {
	case sv.builtin == "" && c.Hops > 0:
		meta = map[string]any{HopsKey: c.Hops}
	case sv.builtin != "":
		meta = caller.Caller{Chat: c.Chat, Person: c.Person, Private: c.Private}.Meta()
	}
	from := time.Now()
	short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	if err := sv.WaitReady(short); err != nil {
		res = failed("%s", unavailable(full, err))
		res.SignIn = sv.signIn(err)
		return res, err
	}
	v := sv.view()
	if refusal := v.refusal(full, name); refusal != "" {
		return failed("%s", refusal), client.ErrChanged
	}
	d := v.tools[name]
	if d == nil {
		return failed("%s", g.unknown(full)), client.ErrNoTool
	}
	if c.Arguments, err = g.withFiles(c, sv); err != nil {
		return failed("The tool %s was not called: %v.", full, err), err
	}
	res, err = sv.Call(ctx, client.Call{
		Tool: name, Arguments: c.Arguments, Definition: cmp.Or(c.Definition, d.Hash),
		// Whole seconds of waiting count: models read how long the tool was given.
		Timeout: g.cfg.ToolTimeout - time.Since(from).Truncate(time.Second), Keep: g.cfg.MaxResultBytes, Meta: meta,
		Progress: c.Progress, Ask: c.Ask, AskTarget: c.Chat + " " + c.Person, Sample: c.Sample, Resume: c.Resume, Began: c.Began,
	})
	signIn := sv.signIn(err)
	if res.Unknown { // it is not made again
		signIn = nil
	}
	defer func() { res.SignIn = signIn }()
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return failed("%s", unavailable(full, err)), err
	case errors.Is(err, client.ErrNoTool):
		return failed("%s", g.unknown(full)), err
	case errors.Is(err, client.ErrChanged):
		return failed("The tool %s was not called: its server has changed its definition since the call was judged. Call it again only if it still fits.", full), err
	case errors.Is(err, client.ErrArguments):
		return failed("%s", argumentError(full, err)), err
	}
	return res, err
}

// The advice that sentences for models end with.
const (
	goOn       = " Try other tools, or go on without it."
	laterOrNot = " Try again later, or go on without it."
)

// tellAdmin matches how built-in servers ask a model to pass on what an admin has to
// do.
var tellAdmin = regexp.MustCompile(`(work without \w+ and )?tell the person that an admin(istrator)? has to `)

// toAdmin changes a text for a model so that it speaks to an admin.
func toAdmin(text string) string {
	text = strings.NewReplacer(goOn, "", laterOrNot, " Try again later.", ", then work without searching", "").Replace(text)
	return tellAdmin.ReplaceAllString(text, "")
}

func argumentError(tool string, err error) string {
	return fmt.Sprintf("The tool %s was not called: %v. Correct them and call it again.", tool, err)
}

func unavailable(tool string, err error) string {
	return fmt.Sprintf("The tool %s cannot be called now: %v."+goOn, tool, err)
}

// unknown is the sentence about a tool that does not exist: it lists the tools
// that do.
func (g *group) unknown(tool string) string {
	const most = 50
	var names []string
	for _, s := range g.servers {
		if v := s.view(); v != nil {
			for t := range v.tools {
				if g.has(s, t) {
					names = append(names, s.full(t))
				}
			}
		}
	}
	slices.Sort(names)
	perhaps := ""
	if near := nearest.Typo(tool, names); near != "" {
		perhaps = fmt.Sprintf(" Perhaps %s was meant.", near)
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("There is no tool %q in the group %s.%s Its tools are: %s%s.", tool, g.name, perhaps, strings.Join(names, ", "), more)
}
