package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// reading turns the reply of a model into its event.
type reading struct {
	v       *tasks.View
	a       planner.Action // the action that the reply is for
	groups  []tools.Group  // groups that the asker can use
	tools   []tools.Tool   // tools of the prompt
	expires time.Time      // when a question to a person expires; zero: never
}

// names lists the names of the groups.
func (d reading) names() []string {
	list := make([]string, 0, len(d.groups))
	for _, g := range d.groups {
		list = append(list, g.Name)
	}
	return list
}

// read parses a plan and resolves its dependencies, and matches tool calls with tools.
func (d reading) read(r llm.Reply) planner.Event {
	e := planner.Event{Type: planner.Replied, Action: d.a.ID, Reply: &planner.Reply{Usage: r.Usage, Model: r.Model}}
	var err error
	switch d.a.Role {
	case llm.RoleWork:
		err = d.readWork(e.Reply, r)
	case llm.RoleAnswer:
		e.Reply.Text, err = d.prose(r.Text)
	default:
		err = d.readDecision(e.Reply, r)
	}
	if err == nil {
		return e
	}
	text := r.Text
	for _, c := range r.ToolCalls {
		text += "\n" + c.Arguments
	}
	problem := &planner.Problem{Code: planner.ReasonUnreadable, Reason: err.Error(), Text: clip.Marked(text, 4000), Usage: r.Usage}
	return planner.Event{Type: planner.Malformed, Action: d.a.ID, Problem: problem}
}

var (
	// Models read errRevoked, too.
	errRevoked = errors.New("the group is not, or no longer, open to this person in this chat")
	errNoTools = errors.New("there are no tools here: write the text itself")
	errEmpty   = errors.New("the reply is empty: write the text")
	errPlan    = errors.New("a plan is not wanted here: write the text itself")
	errCalls   = errors.New("no more tools can be called: write the text from what is known")
)

// prose returns the text of a reply that may hold nothing but text. People never see
// a plan. A JSON list of other things with names and descriptions is not a plan.
func (d reading) prose(text string) (string, error) {
	parsed, err := planner.ParseReply(text, planner.ParseOptions{Groups: d.names()})
	switch {
	case planner.VisibleText(text) == "":
		return "", errEmpty
	case err != nil || parsed.IsPlan:
		return "", errPlan
	case callsInText(text):
		return "", errCalls
	}
	return parsed.Answer, nil
}

// callsInText reports whether a text is tool calls as models without tool calling
// write them. It is for replies in which tool calls are not allowed.
func callsInText(text string) bool {
	var calls struct {
		List []json.RawMessage `json:"tool_calls"`
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	return from >= 0 && from < to && json.Unmarshal([]byte(text[from:to+1]), &calls) == nil && len(calls.List) > 0
}

// readDecision reads the reply of a planning model: a plan, as a tool call or
// in its text, or the answer.
func (d reading) readDecision(out *planner.Reply, r llm.Reply) error {
	v := d.v
	readOnly := map[string]bool{}
	options := planner.ParseOptions{Groups: d.names(), Max: v.State.Limits.Subtasks}
	for _, g := range d.groups {
		readOnly[g.Name] = g.ReadOnly
	}
	for _, w := range v.State.Subtasks {
		options.Known = append(options.Known, w.ID)
	}
	parsed, err := parseDecision(r, options)
	if err != nil {
		return err
	}
	if !parsed.IsPlan {
		if out.Text = parsed.Answer; out.Text == "" {
			return errEmpty
		}
		return nil
	}
	out.IsPlan = true
	out.Plan = planner.Qualify(parsed.Plan, v.State.Round+1, options.Known, func(group string) bool { return readOnly[group] })
	if repeats(v, out.Plan) {
		return errors.New("every sub-task of this plan has been done already; use the results, plan only what is missing, or return an empty plan")
	}
	return nil
}

func parseDecision(r llm.Reply, options planner.ParseOptions) (planner.Parsed, error) {
	for i := len(r.ToolCalls) - 1; i >= 0; i-- {
		if r.ToolCalls[i].Name == planner.ToolPlan {
			return planner.ParsePlanArguments(r.ToolCalls[i].Arguments, options)
		}
	}
	if len(r.ToolCalls) > 0 {
		return planner.Parsed{}, fmt.Errorf("there is no tool %q here: plan sub-tasks with the tool %q, or answer in text", r.ToolCalls[0].Name, planner.ToolPlan)
	}
	return planner.ParseReply(r.Text, options)
}

// repeats reports whether a plan asks only for work that was done before. A failed
// sub-task may be tried again while rounds are left.
func repeats(v *tasks.View, plan []planner.Subtask) bool {
	type work struct{ name, description string }
	done := map[work]bool{}
	for _, w := range v.State.Subtasks {
		if w.Parent == nil && w.State != planner.SubFailed {
			done[work{w.Name, planner.Description(w, v.Event)}] = true
		}
	}
	for _, p := range plan {
		if !done[work{p.Name, p.Description}] {
			return false
		}
	}
	return len(plan) > 0
}

// readWork reads the reply of a sub-task's model: tool calls, or its result.
func (d reading) readWork(out *planner.Reply, r llm.Reply) error {
	out.Text = planner.VisibleText(r.Text)
	if len(r.ToolCalls) == 0 {
		var err error
		out.Text, err = d.prose(r.Text)
		return err
	}
	if d.a.Group == planner.LLMTool {
		return errNoTools
	}
	if len(r.ToolCalls) > maxCalls {
		return fmt.Errorf("at most %d tool calls in one reply", maxCalls)
	}
	groups := d.names()
	delegated := d.v.State.Subtasks[d.a.Place.Subtask].Parent != nil
	seen := map[string]bool{}
	for i, c := range r.ToolCalls {
		call := planner.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if call.ID == "" || seen[call.ID] {
			call.ID = fmt.Sprintf("call_%d_%d", d.v.State.Seq, i)
		}
		seen[call.ID] = true
		call = match(call, d.tools, groups, delegated)
		if call.Ask != nil {
			call.Ask.Expires = d.expires
		}
		out.Calls = append(out.Calls, call)
	}
	return nil
}

// maxCalls is the most tool calls that one reply may hold.
const maxCalls = 32

// match finds the tool that a call names. A tool of a group hides a tool of the
// machine with the same name.
func match(c planner.Call, listed []tools.Tool, groups []string, delegated bool) planner.Call {
	names := make([]string, 0, len(listed))
	for _, t := range listed {
		if t.Exposed == c.Name || t.Name == c.Name {
			if key, twice := plainjson.RepeatedKey([]byte(c.Arguments)); twice {
				c.Refusal = fmt.Sprintf("the arguments have the key %q twice in one object, and can be read in two ways: write it once", key)
				return c
			}
			c.Tool = t.Name
			return c
		}
		names = append(names, t.Exposed)
	}
	if own, ok := planner.MachineCall(c, groups, delegated); ok {
		return own
	}
	c.Refusal = fmt.Sprintf("there is no tool %q here; the tools are %v", c.Name, names)
	if slices.ContainsFunc(listed, func(t tools.Tool) bool { return t.Name == findTool }) {
		c.Refusal = fmt.Sprintf("there is no tool %q here; find_tools finds the tools that there are", c.Name)
	}
	return c
}
