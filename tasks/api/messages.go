package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// Message is one message of the context of a task, made of one event of its journal.
type Message struct {
	Seq        int             `json:"seq" doc:"Its number, from 1, without gaps."`
	SenderID   string          `json:"sender_id" doc:"'telegram:12345', 'api:TOKEN', 'agent:TOKEN', 'legwork/1/a' (the model of a sub-task), 'tool:SERVER.TOOL', 'legwork'."`
	SenderType string          `json:"sender_type" doc:"'human', 'agent', 'tool', 'system'."`
	Type       string          `json:"type" doc:"'goal', 'plan', 'thought', 'action', 'tool_call', 'tool_result', 'observation', 'human_input', 'approval', 'delegation', 'status_update', 'answer', 'error'."`
	Content    json.RawMessage `json:"content" doc:"Any JSON; docs/api.md lists the fields of the messages of legwork itself."`
	// Service.Content reads it in parts.
	Bytes     int    `json:"content_bytes,omitempty" doc:"The length of the whole content when it is shortened here."`
	Files     []File `json:"files,omitempty" doc:"Files that the message brings along."`
	Timestamp Time   `json:"timestamp" doc:"When the message was stored."`
}

// The types of messages.
const (
	TypeGoal        = "goal"
	TypePlan        = "plan"
	TypeThought     = "thought"
	TypeAction      = "action"
	TypeToolCall    = "tool_call"
	TypeToolResult  = "tool_result"
	TypeObservation = "observation"
	TypeHumanInput  = "human_input"
	TypeApproval    = "approval"
	TypeDelegation  = "delegation"
	TypeStatus      = "status_update"
	TypeAnswer      = "answer"
	TypeError       = "error"
)

// Types are the types of messages.
func Types() []string {
	return []string{
		TypeGoal, TypePlan, TypeThought, TypeAction, TypeToolCall, TypeToolResult, TypeObservation, TypeHumanInput, TypeApproval,
		TypeDelegation, TypeStatus, TypeAnswer, TypeError,
	}
}

// The types of senders, and the id of legwork itself.
const (
	senderHuman  = "human"
	senderAgent  = "agent"
	senderTool   = "tool"
	senderSystem = "system"

	legwork = "legwork"
)

// fields is a JSON object under construction.
type fields map[string]any

// translator turns events of one task into messages. It uses only the event and what
// the state knows about the actions before the event, so that a newer state gives
// the same message. It leaves out hashes, ids of messages on platforms and secrets
// of servers.
type translator struct {
	task    tasks.ID
	state   planner.State
	journal planner.Journal
	values  bool // show what people have entered into forms of servers
}

// message returns the message of an event without its content, and the whole
// content.
func (t translator) message(e planner.Event) (Message, any) {
	kind, content := t.typeAndContent(e)
	m := Message{Seq: e.Seq, Type: kind, Files: filesOf(e), Timestamp: Time{e.At}}
	m.SenderID, m.SenderType = t.sender(e)
	return m, content
}

func (t translator) typeAndContent(e planner.Event) (kind string, content any) {
	switch e.Type {
	case planner.Opened:
		return TypeGoal, goalContent(e)
	case planner.Replied:
		return t.replyContent(e)
	case planner.Answered:
		return TypeAnswer, fields{"text": e.Text}
	case planner.Returned:
		return TypeToolResult, t.resultContent(e)
	case planner.Asked, planner.Decided, planner.BudgetReached, planner.BudgetRenewed:
		return TypeApproval, t.decisionContent(e)
	case planner.GuidanceAdded, planner.Joined:
		return TypeHumanInput, fields{"text": e.Text}
	case planner.GuidanceRemoved:
		return TypeHumanInput, fields{"taken_back": e.Of}
	case planner.NoteAdded:
		return e.Note.Type, e.Note.Content
	case planner.StateSet:
		return TypeStatus, fields{"state": e.Values, "version": t.version(e.Seq)}
	case planner.Malformed, planner.CallFailed:
		return TypeError, t.problemContent(e)
	}
	return TypeStatus, t.statusContent(e)
}

// sender is the sender of an event.
func (t translator) sender(e planner.Event) (id, kind string) {
	switch {
	case planner.ByAgent(e):
		return e.By, senderAgent
	case e.By != "":
		return e.By, senderHuman
	case e.Type == planner.Returned:
		if c := t.call(e.Action); c.Tool != "" {
			return "tool:" + c.Tool, senderTool
		}
	case e.Question != nil && e.Question.Form != nil:
		return "tool:" + e.Question.Server, senderTool
	case e.Reply != nil || e.Problem != nil && e.Action != planner.ShowID():
		if w := e.Action.Subtask; w != "" {
			return legwork + "/" + w, senderAgent
		}
		return legwork + "/" + string(e.Action.Subject), senderAgent
	}
	return legwork, senderSystem
}

// version is the version of the shared state after the event with a seq.
func (t translator) version(seq int) int { return versionAt(t.state, seq) }

func versionAt(s planner.State, seq int) int {
	n, _ := slices.BinarySearch(s.Changes, seq+1)
	return n
}

func goalContent(e planner.Event) fields {
	o := e.Opening
	c := fields{"text": o.Goal, "language": o.Language}
	if o.External {
		c["run"] = false
	}
	if o.Only != nil {
		c["groups"] = o.Only
	}
	return c
}

// replyContent is the content of a model's reply: a plan, tool calls, the result of
// a sub-task, or the answer.
func (t translator) replyContent(e planner.Event) (kind string, content fields) {
	r := e.Reply
	c := fields{}
	if w := e.Action.Subtask; w != "" {
		c["subtask"] = w
	}
	switch {
	case r.IsPlan:
		return TypePlan, planContent(r)
	case len(r.Calls) == 0 && c["subtask"] != nil && t.state.Answer != e.Seq:
		c["text"] = r.Text
		return TypeObservation, c
	case len(r.Calls) == 0:
		c["text"] = r.Text
		return TypeAnswer, c
	}
	if thought := cmp.Or(r.Text, r.Thought); thought != "" {
		c["thought"] = thought
	}
	calls := make([]any, len(r.Calls))
	delegates := true
	for i, call := range r.Calls {
		delegates = delegates && call.Delegate != nil
		calls[i] = t.callContent(e, i, call)
	}
	c["calls"] = calls
	if delegates {
		return TypeDelegation, c
	}
	return TypeToolCall, c
}

// planContent is the content of a plan.
func planContent(r *planner.Reply) fields {
	c := fields{}
	if r.Thought != "" {
		c["thought"] = r.Thought
	}
	list := make([]any, len(r.Plan))
	for i, s := range r.Plan {
		after := s.After
		if after == nil {
			after = []string{}
		}
		list[i] = fields{"id": s.ID, "name": s.Name, "description": s.Description, "after": after}
	}
	c["subtasks"] = list
	if r.Estimate != nil {
		estimate := fields{"tokens": r.Estimate.Tokens, "usd": nil}
		if r.Estimate.Cost > 0 { // 0 where no price is known
			estimate["usd"] = usd(r.Estimate.Cost)
		}
		if r.Estimate.Unpriced { // some of the models have no known price
			estimate["unpriced"] = true
		}
		c["estimate"] = estimate
	}
	return c
}

// callContent is the content of one call in a reply.
func (t translator) callContent(e planner.Event, i int, call planner.Call) fields {
	c := fields{"tool": cmp.Or(call.Tool, call.Name), "arguments": argumentsJSON(call.Arguments)}
	if call.Refusal != "" {
		c["refusal"] = call.Refusal
	}
	if call.Ask != nil {
		c["approval"] = approvalID(t.task, tasks.Ask{Seq: e.Seq, Call: i})
	}
	if call.Read != nil && call.Read.Text != "" {
		c["result"] = call.Read.Text
	}
	return c
}

// resultContent is the content of a tool result.
func (t translator) resultContent(e planner.Event) fields {
	r := e.Result
	call := t.call(e.Action)
	c := fields{"subtask": e.Action.Subtask, "tool": cmp.Or(call.Tool, call.Name), "text": r.Text}
	if r.Failed {
		c["failed"] = true
	}
	if r.Unknown {
		c["outcome_unknown"] = true
	}
	if r.Bytes > 0 {
		c["result_bytes"] = r.Bytes
	}
	if n := len(r.Images); n > 0 {
		c["images"] = n
	}
	return c
}

// problemContent is the content of a failed model call or delivery. The cause is
// left out: it is in the log for operators.
func (t translator) problemContent(e planner.Event) fields {
	c := fields{"code": e.Problem.Code}
	if w := e.Action.Subtask; w != "" {
		c["subtask"] = w
	}
	if e.Type == planner.Malformed && e.Problem.Reason != "" {
		c["reason"] = e.Problem.Reason
	}
	if e.Action == planner.ShowID() {
		c["reason"] = "the outcome could not be posted to the chat; programs can still read it"
	}
	if e.Problem.Text != "" {
		c["text"] = e.Problem.Text
	}
	if e.Overdraft != nil {
		c["budget"] = budgetContent(*e.Overdraft)
	}
	return c
}

// statusContent is the content of all other events.
func (t translator) statusContent(e planner.Event) fields {
	c := fields{"event": e.Type}
	if w, call := e.Action.Subtask, t.call(e.Action); w != "" {
		c["subtask"] = w
		if tool := cmp.Or(call.Tool, call.Name); tool != "" {
			c["tool"] = tool
		}
	}
	if e.Slot != "" {
		c["what"] = e.Slot
	}
	if e.Last {
		c["last"] = true
	}
	if e.Text != "" && e.Type != planner.Heard { // its author has not said for whom the words are
		c["text"] = e.Text
	}
	if e.Of > 0 {
		c["decision"] = e.Of
	}
	if e.Type == planner.Expired {
		t.addExpired(e, c)
	}
	if r := e.Read; r != nil {
		c["name"], c["kind"] = r.Name, r.Kind
		if r.Problem != "" {
			c["problem"] = r.Problem
		}
		if r.Spoken {
			c["text"] = r.Text
		}
	}
	return c
}

// usd turns millionths of a US dollar into dollars.
func usd(micros int64) float64 { return float64(micros) / 1e6 }

// call is the call of a tool action, zero for other actions.
func (t translator) call(action planner.ActionID) (call planner.Call) {
	if calls := t.calls(action); action.Call >= 1 && action.Call <= len(calls) {
		return calls[action.Call-1]
	}
	return planner.Call{}
}

// calls are all calls of the turn of a tool action.
func (t translator) calls(action planner.ActionID) []planner.Call {
	seq, _ := t.state.ReplySeq(action)
	if seq == 0 {
		return nil
	}
	if r := t.journal(seq).Reply; r != nil {
		return r.Calls
	}
	return nil
}

// argumentsJSON returns arguments of a model as JSON, or as text if they are not
// JSON.
func argumentsJSON(arguments string) any {
	arguments = strings.TrimSpace(arguments)
	switch {
	case arguments == "":
		return fields{}
	case json.Valid([]byte(arguments)):
		return json.RawMessage(arguments)
	}
	return arguments
}

// shownContent is the largest content in a message, in bytes.
const shownContent = 16 << 10

// encode returns content as JSON without escapes for HTML.
func encode(content any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(content); err != nil {
		return nil, fmt.Errorf("encoding content: %w", err)
	}
	return unescaped(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

// unescaped replaces escapes that JSON does not need, but that encoders write for
// HTML and JavaScript.
func unescaped(text json.RawMessage) json.RawMessage {
	if !bytes.Contains(text, []byte(`\u`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		plain := ""
		if i+6 <= len(text) {
			plain = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"}[string(text[i:i+6])]
		}
		if plain == "" {
			out = append(out, text[i], text[i+1])
			i++
			continue
		}
		out = append(out, plain...)
		i += 5
	}
	return out
}

// shortContent is content as JSON of at most shownContent bytes, and the whole
// length if that is more. It cuts the long texts of an object; of other contents it
// returns the beginning as text.
func shortContent(content any) (short json.RawMessage, all int, err error) {
	whole, err := encode(content)
	if err != nil || len(whole) <= shownContent {
		return whole, 0, err
	}
	if c, ok := content.(fields); ok {
		for limit := shownContent / 2; limit >= 64; limit /= 2 {
			cut := shortened(c, limit).(fields) //nolint:forcetypeassert // shortened keeps the type
			cut["truncated"] = true
			if short, err = encode(cut); err != nil || len(short) <= shownContent {
				return short, len(whole), err
			}
		}
	}
	// Escapes may make the text of JSON six times as long.
	short, err = encode(fields{"text": clip.Bytes(string(whole), shownContent/8), "truncated": true})
	return short, len(whole), err
}

// shortened cuts the texts in content to at most limit bytes, and long lists and
// objects to so many entries that they are not longer than limit, too.
func shortened(content any, limit int) any {
	switch c := content.(type) {
	case string:
		return clip.Marked(c, limit)
	case json.RawMessage:
		if len(c) > limit {
			return clip.Marked(string(c), limit)
		}
	case map[string]json.RawMessage:
		out := fields{}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			if len(out) > limit/64 {
				break
			}
			out[clip.Marked(key, limit)] = shortened(c[key], limit)
		}
		return out
	case fields:
		out := fields{}
		for key, value := range c {
			out[key] = shortened(value, limit)
		}
		return out
	case []any:
		out := make([]any, 0, min(len(c), 1+limit/64))
		for _, value := range c[:cap(out)] {
			out = append(out, shortened(value, limit))
		}
		return out
	}
	return content
}
