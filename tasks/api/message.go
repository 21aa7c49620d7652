package api

import (
	"cmp"
	"encoding/json"
	"slices"

	"legwork/planner"
	"legwork/tasks"
)

// Message is one entry of a task's context: one event of its journal.
type Message struct {
	Seq        int             `json:"seq" doc:"Its number, from 1, without gaps."`
	SenderID   string          `json:"sender_id" doc:"'telegram:12345', 'api:TOKEN', 'agent:TOKEN', 'legwork/1/a' (the model of a sub-task), 'tool:SERVER.TOOL', 'legwork'."`
	SenderType string          `json:"sender_type" doc:"'human', 'agent', 'tool', 'system'."`
	Type       string          `json:"type" doc:"'goal', 'plan', 'thought', 'action', 'tool_call', 'tool_result', 'observation', 'human_input', 'approval', 'delegation', 'status_update', 'answer', 'error'."`
	Content    json.RawMessage `json:"content" doc:"Any JSON; docs/api.md lists the fields of the messages of legwork itself."`
	// Service.Content reads it in parts.
	Bytes     int  `json:"content_bytes,omitempty" doc:"The length of the whole content when it is shortened here."`
	Timestamp Time `json:"timestamp" doc:"When the message was stored."`
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

// The types of senders, and who legwork itself is.
const (
	senderHuman  = "human"
	senderAgent  = "agent"
	senderTool   = "tool"
	senderSystem = "system"

	legwork = "legwork"
)

// object is content while it is put together; what is empty is left out.
type object map[string]any

// telling turns events of one task into messages. It goes by the event and by
// what a state that is at least as new knows of the actions before it, so that a
// message is the same whenever it is read.
type telling struct {
	task    tasks.ID
	state   planner.State
	journal planner.Journal
}

// message tells an event, with its whole content. Hashes, ids of platforms'
// messages and what is a server's own secret stay inside.
func (t telling) message(e planner.Event) (Message, any) {
	kind, content := t.told(e)
	m := Message{Seq: e.Seq, Type: kind, Timestamp: Time{e.At}}
	m.SenderID, m.SenderType = t.sender(e)
	return m, content
}

func (t telling) told(e planner.Event) (kind string, content any) {
	switch e.Type {
	case planner.Opened:
		return TypeGoal, goalOf(e)
	case planner.Replied:
		return t.replied(e)
	case planner.Answered:
		return TypeAnswer, object{"text": e.Text}
	case planner.Returned:
		return TypeToolResult, t.returned(e)
	case planner.Asked, planner.Decided, planner.Overdrew, planner.Renewed:
		return TypeApproval, t.approval(e)
	case planner.Said:
		return TypeHumanInput, object{"text": e.Text}
	case planner.Unsaid:
		return TypeHumanInput, object{"taken_back": e.Of}
	case planner.Noted:
		return e.Note.Type, e.Note.Content
	case planner.Set:
		return TypeStatus, object{"state": e.Values, "version": t.version(e.Seq)}
	case planner.Garbled, planner.Broke:
		return TypeError, t.problem(e)
	}
	return TypeStatus, t.status(e)
}

// sender is who is behind an event.
func (t telling) sender(e planner.Event) (id, kind string) {
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

// version is that of the shared state after the event of a seq.
func (t telling) version(seq int) int { return versionAt(t.state, seq) }

func versionAt(s planner.State, seq int) int {
	n, _ := slices.BinarySearch(s.Changes, seq+1)
	return n
}

func goalOf(e planner.Event) object {
	o := e.Opening
	c := object{"text": o.Goal, "language": o.Language}
	if o.External {
		c["run"] = false
	}
	if o.Only != nil {
		c["groups"] = o.Only
	}
	return c
}

// replied tells what a model said: a plan, calls, what a sub-task found, or the
// answer.
func (t telling) replied(e planner.Event) (kind string, content object) {
	r := e.Reply
	c := object{}
	if w := e.Action.Subtask; w != "" {
		c["subtask"] = w
	}
	switch {
	case r.IsPlan:
		return TypePlan, planOf(r)
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
		calls[i] = t.called(e, i, call)
	}
	c["calls"] = calls
	if delegates {
		return TypeDelegation, c
	}
	return TypeToolCall, c
}

// planOf tells a plan.
func planOf(r *planner.Reply) object {
	c := object{}
	if r.Thought != "" {
		c["thought"] = r.Thought
	}
	list := make([]any, len(r.Plan))
	for i, s := range r.Plan {
		after := s.After
		if after == nil {
			after = []string{}
		}
		list[i] = object{"id": s.ID, "name": s.Name, "description": s.Description, "after": after}
	}
	c["subtasks"] = list
	if r.Estimate != nil {
		c["estimate"] = object{"tokens": r.Estimate.Tokens, "usd": usd(r.Estimate.Cost)}
	}
	return c
}

// called tells one call of a sub-task's model.
func (t telling) called(e planner.Event, i int, call planner.Call) object {
	c := object{"tool": cmp.Or(call.Tool, call.Name), "arguments": jsonOf(call.Arguments)}
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

// returned tells what came of a tool call.
func (t telling) returned(e planner.Event) object {
	r := e.Result
	call := t.call(e.Action)
	c := object{"subtask": e.Action.Subtask, "tool": cmp.Or(call.Tool, call.Name), "text": r.Text}
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

// problem tells what went wrong with a model call, or with showing the outcome.
// The cause is for operators, who have it in the log.
func (t telling) problem(e planner.Event) object {
	c := object{"code": e.Problem.Code}
	if w := e.Action.Subtask; w != "" {
		c["subtask"] = w
	}
	if e.Type == planner.Garbled && e.Problem.Reason != "" {
		c["reason"] = e.Problem.Reason
	}
	if e.Action == planner.ShowID() {
		c["reason"] = "the outcome could not be posted to the chat; it is there for programs all the same"
	}
	if e.Problem.Text != "" {
		c["text"] = e.Problem.Text
	}
	if e.Overdraft != nil {
		c["budget"] = budgetOf(*e.Overdraft)
	}
	return c
}

// status tells the events that are no more than that.
func (t telling) status(e planner.Event) object {
	c := object{"event": e.Type}
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
	if e.Text != "" {
		c["text"] = e.Text
	}
	if e.Of > 0 {
		c["decision"] = e.Of
	}
	if e.Type == planner.Expired {
		t.expired(e, c)
	}
	return c
}

// usd is millionths of a US dollar as dollars.
func usd(micros int64) float64 { return float64(micros) / 1e6 }
