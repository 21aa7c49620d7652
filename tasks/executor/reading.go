package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/internal/toolargs"
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

	delegate  bool     // sub-tasks may delegate
	makes     bool     // files can be made
	fileTools []string // tools of the machine for files that the model is offered
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
// A reply without text is given back once.
func (d reading) read(r llm.Reply) planner.Event {
	e := planner.Event{Type: planner.Replied, Action: d.a.ID, Reply: &planner.Reply{Usage: r.Usage, Model: r.Model}}
	var err error
	switch {
	case len(r.ToolCalls) == 0 && planner.VisibleText(r.Text) == "":
		if len(d.givenBack()) > 0 {
			problem := &planner.Problem{Code: string(llm.Garbage), Reason: errEmpty.Error(), Usage: r.Usage}
			return planner.Event{Type: planner.CallFailed, Action: d.a.ID, Problem: problem}
		}
		err = errEmpty
	case d.a.Role == llm.RoleWork:
		err = d.readWork(e.Reply, r)
	case d.a.Role == llm.RoleAnswer && len(d.fileTools) > 0 && !d.a.LastTurn:
		err = d.readWork(e.Reply, r)
	case d.a.Role == llm.RoleAnswer:
		e.Reply.Text, err = d.prose(r.Text)
	default:
		err = d.readDecision(e.Reply, r)
	}
	if err == nil {
		return e
	}
	return malformed(d.a, err, r)
}

// givenBack are the replies of the action that were given back.
func (d reading) givenBack() []int {
	if d.a.ID.Subject == planner.SubjectWork {
		return d.v.State.Subtasks[d.a.Place.Subtask].BadReplies
	}
	return d.v.State.BadReplies
}

// errRevoked is for models, too.
var errRevoked = errors.New("the group is not, or no longer, open to this person in this chat")

// replyError is the reason why a reply is given back to its model: sentences that say
// what to do.
type replyError string

func (r replyError) Error() string { return string(r) }

const (
	errNoTools   replyError = "There are no tools here: write the text itself."
	errEmpty     replyError = "It holds nothing outside of thinking: write the text, or call a tool."
	errPlan      replyError = "A plan is not wanted here: write the text itself."
	errNoCalls   replyError = "No more tools can be called: write the text from what is known."
	errCall      replyError = "It holds a call of a tool that cannot be read: send the call again, whole and as valid JSON, or write the text."
	errCutCall   replyError = "It was cut off because it was too long: send the call of the tool again with shorter arguments, or do the work in several calls."
	errAnnounced replyError = "It only announces work, and no work has been done. Call the tool \"plan\" with the sub-tasks now; if the reply is the answer, send it again as it is."
	errPromised  replyError = "It calls no tool, so no work has been done. Call a tool now; if the reply is the result, send it again as it is."
	errDone      replyError = "Every sub-task of this plan has been done already: use the results, plan only what is missing, or return an empty plan."
)

// prose returns the text of a reply that may hold nothing but text. People never see
// a plan or a call of a tool. A JSON list of other things with names and descriptions
// is not a plan.
func (d reading) prose(text string) (string, error) {
	options := planner.ParseOptions{Groups: d.names(), Tools: d.toolNames(), TextWanted: true, JSONWanted: d.jsonWanted()}
	parsed, err := planner.ParseReply(text, options)
	bad, refused := errors.AsType[*planner.PlanError](err)
	callable := d.callable()
	switch {
	case refused && bad.Code == planner.EmptyReply:
		return "", errEmpty
	case refused && callable && (bad.Code == planner.UnreadableCall || bad.Code == planner.TruncatedPlan):
		return "", errCall
	case refused && (bad.Code == planner.UnknownTool || bad.Code == planner.UnreadableCall):
		return "", errNoCalls
	case refused || parsed.IsPlan:
		return "", errPlan
	}
	return parsed.Answer, nil
}

// jsonWanted reports that the question asks for JSON.
func (d reading) jsonWanted() bool {
	return strings.Contains(strings.ToLower(d.v.Opening().Goal), "json")
}

// toolNames are the names of tools that people never read a call of.
func (d reading) toolNames() []string {
	list := planner.MachineTools()
	for _, t := range d.tools {
		list = append(list, t.Exposed, t.Name)
	}
	return list
}

// callable reports that the reply may hold calls of tools.
func (d reading) callable() bool {
	return (d.a.Role == llm.RoleWork && d.a.Group != planner.LLMTool || len(d.fileTools) > 0) && !d.a.LastTurn
}

// cutOff is the event of a reply that reached its model's max_output_tokens within a
// plan or a call: it is asked for again, shorter. ok is false for other failures, and
// for a text: the part that came is of use.
func (d reading) cutOff(failed *llm.Error) (_ planner.Event, ok bool) {
	if !failed.Length || d.a.Role == llm.RoleAnswer {
		return planner.Event{}, false
	}
	if len(failed.Calls) == 0 {
		if planner.VisibleText(failed.Partial) == "" {
			return planner.Event{}, false // all of it went into thinking
		}
		if parsed, err := planner.ParseReply(failed.Partial, planner.ParseOptions{Groups: d.names()}); err == nil && !parsed.IsPlan {
			return planner.Event{}, false
		}
	}
	reason := error(errCutCall)
	if d.a.Role != llm.RoleWork {
		reason = planner.CutPlan()
	}
	return malformed(d.a, reason, llm.Reply{Text: failed.Partial, ToolCalls: failed.Calls, Usage: failed.Usage}), true
}

// malformed is the event of a reply that is given back to its model.
func malformed(a planner.Action, reason error, r llm.Reply) planner.Event {
	text := r.Text
	for _, c := range r.ToolCalls {
		text += "\n" + c.Arguments
	}
	problem := &planner.Problem{Code: planner.ReasonUnreadable, Reason: reason.Error(), Text: clip.Marked(strings.TrimSpace(text), 4000), Usage: r.Usage}
	return planner.Event{Type: planner.Malformed, Action: a.ID, Problem: problem}
}

// readDecision reads the reply of a planning model: a plan, as a tool call or
// in its text, or the answer.
func (d reading) readDecision(out *planner.Reply, r llm.Reply) error {
	v := d.v
	readOnly := map[string]bool{}
	options := planner.ParseOptions{Groups: d.names(), Max: v.State.Limits.Subtasks, JSONWanted: d.jsonWanted()}
	for _, g := range d.groups {
		readOnly[g.Name] = g.ReadOnly
	}
	for _, w := range v.State.Subtasks {
		options.Known = append(options.Known, w.ID)
	}
	parsed, err := parseDecision(r, options)
	if bad, ok := errors.AsType[*planner.PlanError](err); ok && bad.Code == planner.DoubtfulPlan && len(d.givenBack()) > 0 {
		parsed, err = planner.Parsed{Answer: planner.VisibleText(r.Text)}, nil // its model sent it again
	}
	if err != nil {
		return err
	}
	if !parsed.IsPlan {
		out.Text = parsed.Answer
		if a := d.announcement(); a != nil && a.Is(out.Text) {
			return errAnnounced
		}
		return nil
	}
	out.IsPlan, out.WantsFile = true, d.makes && wantsFile(r)
	out.Plan = planner.Qualify(parsed.Plan, v.State.NextPlan(), options.Known, func(group string) bool { return readOnly[group] })
	if repeats(v, out.Plan) {
		return errDone
	}
	return nil
}

// wantsFile reports whether a plan says that the person wants a file.
func wantsFile(r llm.Reply) bool {
	return planner.PlanWantsFile(r.Text) || slices.ContainsFunc(r.ToolCalls, func(c llm.ToolCall) bool { return planner.PlanWantsFile(c.Arguments) })
}

// announcement recognises a reply that only announces work. It is nil where a reply is
// not given back for that: once a reply of the decision was given back, so that
// an answer which looks like an announcement comes through the second time.
func (d reading) announcement() *planner.Announcement {
	s, opening := d.v.State, d.v.Opening()
	again := len(d.givenBack()) > 0 || s.Limits.MalformedReplies == 0
	if d.a.Role != llm.RolePlan || again || len(s.Guidance) > 0 || opening.Prompt != nil || len(d.groups) == 0 {
		return nil
	}
	return planner.NewAnnouncement(opening.Goal, agents(d.groups))
}

// promised reports that a sub-task would end with a promise of work: its model has not
// called any of its tools. Such a reply is given back once.
func (d reading) promised(text string) bool {
	if d.a.Role != llm.RoleWork {
		return false
	}
	s := d.v.State
	w := s.Subtasks[d.a.Place.Subtask]
	if !d.callable() || len(d.tools) == 0 || len(w.Turns) > 0 || len(w.BadReplies) > 0 || s.Limits.MalformedReplies == 0 {
		return false
	}
	return planner.Promises(planner.Description(w, d.v.Event), text)
}

func parseDecision(r llm.Reply, options planner.ParseOptions) (planner.Parsed, error) {
	if len(r.ToolCalls) > 0 {
		return planner.ParseCalls(r.ToolCalls, options)
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
		text, err := d.prose(r.Text)
		if err != nil {
			return err
		}
		calls, unreadable := planner.NamedCalls(r.Text, d.toolNames(), len(d.givenBack()) > 0)
		switch {
		case (unreadable || len(calls) > 0) && !d.callable():
			return errNoCalls
		case unreadable:
			return errCall
		case len(calls) == 0 && d.promised(text):
			return errPromised
		case len(calls) == 0:
			out.Text = text
			return nil
		}
		r.ToolCalls, out.Text = calls, ""
	}
	if d.a.Role == llm.RoleWork && d.a.Group == planner.LLMTool && len(d.fileTools) == 0 {
		return errNoTools
	}
	if len(r.ToolCalls) > maxCalls {
		return replyError(fmt.Sprintf("It holds %d calls of tools: send at most %d at once.", len(r.ToolCalls), maxCalls))
	}
	groups := d.names()
	delegated := d.a.ID.Subject == planner.SubjectWork && d.v.State.Subtasks[d.a.Place.Subtask].Parent != nil
	seen := map[string]bool{}
	for i, c := range r.ToolCalls {
		call := planner.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if call.ID == "" || seen[call.ID] {
			call.ID = fmt.Sprintf("call_%d_%d", d.v.State.Seq, i)
		}
		seen[call.ID] = true
		if call = match(call, d.tools, groups, delegated); call.Delegate != nil && !d.delegate {
			call.Delegate, call.Refusal = nil, "work cannot be handed on here: do it yourself, or say that it is missing"
		}
		if forFiles := call.Look != nil || call.Make != nil; (forFiles || d.onlyFileTools()) && call.Refusal == "" && !slices.Contains(d.fileTools, call.Name) {
			call = planner.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments, Refusal: fmt.Sprintf("there is no tool %q here; the tools are %v", c.Name, d.fileTools)}
		}
		if call.Ask != nil {
			call.Ask.Expires = d.expires
		}
		out.Calls = append(out.Calls, call)
	}
	return nil
}

// onlyFileTools reports that the model has no tools but those of the machine for files.
func (d reading) onlyFileTools() bool {
	return d.a.Role == llm.RoleAnswer || d.a.Group == planner.LLMTool
}

// maxCalls is the most tool calls that one reply may hold.
const maxCalls = 32

// match finds the tool that a call names. A tool of a group hides a tool of the
// machine with the same name.
func match(c planner.Call, listed []tools.Tool, groups []string, delegated bool) planner.Call {
	t, ok := named(c.Name, listed)
	if !ok {
		if own, ok := planner.MachineCall(c, groups, delegated); ok {
			return own
		}
		t, ok = meant(c.Name, listed)
	}
	if ok {
		key, twice := plainjson.RepeatedKey([]byte(c.Arguments))
		if !twice {
			c.Arguments = toolargs.Unwrap(t.Schema, c.Arguments)
			key, twice = plainjson.RepeatedKey([]byte(c.Arguments))
		}
		if twice {
			c.Refusal = fmt.Sprintf("the arguments have the key %q twice in one object, and can be read in two ways: write it once", key)
			return c
		}
		c.Tool, c.Arguments = t.Name, toolargs.Fit(t.Schema, c.Arguments)
		return c
	}
	names := make([]string, 0, len(listed))
	for _, t := range listed {
		names = append(names, t.Exposed)
	}
	c.Refusal = fmt.Sprintf("there is no tool %q here; the tools are %v", c.Name, names)
	if slices.ContainsFunc(listed, func(t tools.Tool) bool { return t.Name == findTool }) {
		c.Refusal = fmt.Sprintf("there is no tool %q here; find_tools finds the tools that there are", c.Name)
	}
	return c
}

// named is the tool with that name.
func named(name string, listed []tools.Tool) (tools.Tool, bool) {
	i := slices.IndexFunc(listed, func(t tools.Tool) bool { return t.Exposed == name || t.Name == name })
	if i < 0 {
		return tools.Tool{}, false
	}
	return listed[i], true
}

// meant is the only tool whose name, with or without its server, differs by case and
// signs alone: web.search for "search" and for "Web_Search".
func meant(name string, listed []tools.Tool) (t tools.Tool, ok bool) {
	name = letters(planner.ToolName(name))
	for _, other := range listed {
		_, short, _ := strings.Cut(other.Name, ".")
		if name == "" || name != letters(other.Name) && name != letters(other.Exposed) && name != letters(short) {
			continue
		}
		if ok {
			return tools.Tool{}, false
		}
		t, ok = other, true
	}
	return t, ok
}

// letters are the letters and digits of a name, in lower case.
func letters(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}
