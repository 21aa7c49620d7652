package api

import (
	"cmp"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// What people are asked and what they decide, told as approvals and as messages.

// asked tells an ask action.
func (t telling) asked(a planner.Action) (Approval, error) {
	ask := tasks.AskOf(a.ID)
	e := t.journal(ask.Seq)
	out := Approval{ID: approvalID(t.task, ask), TaskID: t.task, Kind: string(a.ID.Subject), Asked: Time{e.At}}
	var details object
	expires := t.state.Overdraft.Expires
	switch a.ID.Subject {
	case planner.SubjectBudget:
		details = budgetOf(t.state.Overdraft)
	case planner.SubjectPlan:
		if e.Reply != nil {
			details = planOf(e.Reply)
		}
		expires = time.Time{}
	case planner.SubjectReview:
		details = object{"state": planner.SharedState(t.state, t.journal), "version": t.state.Version, "wanted_by": first(t.sender(e))}
		expires = t.state.Lapses
	default:
		q := planner.QuestionOf(e, a.ID)
		expires = q.Expires
		out.Text, out.Choices, out.Calls = q.Text, q.Choices, t.approvalCalls(e)
		if q.Form != nil {
			out.Text, details = q.Form.Message, formOf(q)
		}
	}
	out.Expires = moment(expires)
	var err error
	if details != nil {
		out.Details, err = encoded(details)
	}
	return out, err
}

func first(a, _ string) string { return a }

// approvalCalls are the calls that an event asks about.
func (t telling) approvalCalls(e planner.Event) []ApprovalCall {
	if e.Question == nil || e.Question.Form != nil {
		return nil
	}
	about, calls := e.Question.Calls, t.calls(e.Action)
	if len(about) == 0 {
		about = []planner.Approval{{Call: e.Action.Call - 1}}
	}
	var list []ApprovalCall
	for _, q := range about {
		if q.Call < 0 || q.Call >= len(calls) {
			continue
		}
		call := calls[q.Call]
		arguments, err := encoded(jsonOf(call.Arguments))
		if err != nil {
			continue
		}
		list = append(list, ApprovalCall{
			Tool: cmp.Or(q.Tool, call.Tool, call.Name), Arguments: arguments, Shown: bot.VisibleJSON(arguments), Reason: q.Reason, Detail: q.Detail,
		})
	}
	return list
}

// formOf tells what a server wants to know.
func formOf(q planner.Question) object {
	c := object{"server": q.Server}
	if q.Form.URL != "" {
		c["url"] = bot.Visible(q.Form.URL)
		return c
	}
	fields := make([]any, len(q.Form.Fields))
	for i, f := range q.Form.Fields {
		field := object{"name": f.Name, "required": f.Required}
		for name, text := range map[string]string{"title": f.Title, "description": f.Description} {
			if text != "" {
				field[name] = text
			}
		}
		if len(f.Schema) > 0 {
			field["schema"] = f.Schema
		}
		if len(f.Default) > 0 {
			field["default"] = f.Default
		}
		if len(f.Choices) > 0 {
			choices := make([]any, len(f.Choices))
			for n, choice := range f.Choices {
				choices[n] = object{"value": choice.Value, "label": choice.Label}
			}
			field["choices"] = choices
		}
		fields[i] = field
	}
	c["fields"] = fields
	return c
}

// budgetOf tells a budget that is reached: money in dollars, otherwise tokens.
func budgetOf(over planner.Overdraft) object {
	amount := func(n int64) any { return n }
	unit := "tokens"
	if !tasks.InTokens(over.Budget) {
		amount = func(n int64) any { return usd(n) }
		unit = "usd"
	}
	c := object{"budget": over.Budget, "unit": unit, "limit": amount(over.Limit), "spent": amount(over.Spent), "wanted": amount(over.Wanted), "extend_by": amount(over.Extend)}
	if over.Who != "" {
		c["whose"] = over.Who
	}
	if over.Day != "" {
		c["day"] = over.Day
	}
	return c
}

// approval tells the events about what a person decides.
func (t telling) approval(e planner.Event) object {
	switch e.Type {
	case planner.Renewed:
		return object{"kind": planner.SubjectBudget, "decision": "renewed", "budget": e.Budget}
	case planner.Overdrew:
		c := object{"kind": planner.SubjectBudget, "approval": approvalID(t.task, tasks.Ask{Seq: e.Seq})}
		if e.Overdraft != nil {
			c["details"] = budgetOf(*e.Overdraft)
		}
		return c
	case planner.Decided:
		return t.decided(e)
	}
	c := object{"subtask": e.Action.Subtask, "approval": approvalID(t.task, tasks.Ask{Seq: e.Seq})}
	if !e.Question.Expires.IsZero() {
		c["expires_at"] = Time{e.Question.Expires}
	}
	if e.Question.Form != nil {
		c["kind"], c["text"], c["details"] = planner.SubjectForm, e.Question.Form.Message, formOf(*e.Question)
		return c
	}
	var calls []any
	for _, call := range t.approvalCalls(e) {
		one := object{"tool": call.Tool, "arguments": call.Arguments}
		if call.Reason != "" {
			one["reason"], one["detail"] = call.Reason, call.Detail
		}
		calls = append(calls, one)
	}
	c["kind"], c["calls"] = planner.SubjectCalls, calls
	return c
}

// decided tells a decision.
func (t telling) decided(e planner.Event) object {
	d := e.Decision
	c := object{"decision": "deny"}
	if d.Approve {
		c["decision"] = "approve"
	}
	c["kind"], c["approval"] = e.Action.Subject, approvalID(t.task, tasks.AskOf(e.Action))
	if d.Text != "" {
		c["comment"] = d.Text
	}
	if len(d.Value) > 0 {
		c["value"] = d.Value
	}
	if name := t.field(e); name != "" {
		c["field"] = name
	}
	if d.Scope != "" {
		c["scope"] = d.Scope
	}
	if len(e.Values) > 0 {
		c["state"], c["version"] = e.Values, t.version(e.Seq)
	}
	return c
}

// field is the name of the field that a decision filled in.
func (t telling) field(e planner.Event) string {
	if e.Action.Subject != planner.SubjectForm {
		return ""
	}
	n := e.Action.Field
	if q := t.journal(e.Action.Seq).Question; q != nil && q.Form != nil && n < len(q.Form.Fields) {
		return q.Form.Fields[n].Name
	}
	return ""
}
