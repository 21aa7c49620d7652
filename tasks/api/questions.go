package api

import (
	"cmp"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// approvalOf is the approval of an ask action.
func (t translator) approvalOf(a planner.Action) (Approval, error) {
	ask := tasks.AskOf(a.ID)
	e := t.journal(ask.Seq)
	out := Approval{ID: approvalID(t.task, ask), TaskID: t.task, Kind: string(a.ID.Subject), Asked: Time{e.At}}
	var details fields
	expires := t.state.Overdraft.Expires
	switch a.ID.Subject {
	case planner.SubjectBudget:
		details = budgetContent(t.state.Overdraft)
	case planner.SubjectPlan:
		if e.Reply != nil {
			details = planContent(e.Reply)
		}
		expires = time.Time{}
	case planner.SubjectReview:
		details = fields{"state": planner.SharedState(t.state, t.journal), "version": t.state.Version, "wanted_by": first(t.sender(e))}
		expires = t.state.ReviewExpires
	case planner.SubjectGoal:
		details, expires = fields{"files": t.fileNames()}, planner.ExpiryOf(t.state, a)
	default:
		q := planner.QuestionOf(e, a.ID)
		expires = q.Expires
		out.Text, out.Choices, out.Calls = q.Text, q.Choices, t.approvalCalls(e)
		if q.Form != nil {
			out.Text, details = q.Form.Message, formContent(q)
		}
	}
	out.Expires = timeOrNil(expires)
	var err error
	if details != nil {
		out.Details, err = encode(details)
	}
	return out, err
}

func first(a, _ string) string { return a }

// fileNames are the names of the files that people sent.
func (t translator) fileNames() []string {
	names := []string{}
	for _, f := range t.state.Files {
		if r := t.journal(f.Read).Read; r != nil && !f.Gone {
			names = append(names, r.Name)
		}
	}
	return names
}

// approvalCalls are the calls that an event asks about.
func (t translator) approvalCalls(e planner.Event) []ApprovalCall {
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
		arguments, err := encode(argumentsJSON(call.Arguments))
		if err != nil {
			continue
		}
		one := ApprovalCall{Tool: cmp.Or(q.Tool, call.Tool, call.Name), Arguments: arguments, Shown: bot.VisibleJSON(arguments)}
		if len(q.Leaves) > 0 {
			one.Reason, one.Detail = policy.ReasonLeaves, policy.LeavesText(q.Leaves)
		}
		list = append(list, one)
	}
	return list
}

// formContent is the content of a form of a server.
func formContent(q planner.Question) fields {
	c := fields{"server": q.Server}
	if q.SignIn != nil {
		c["sign_in"] = fields{"person": q.SignIn.Person, "shared": q.SignIn.Person == "", "scopes": q.SignIn.Scopes}
		return c
	}
	if q.Form.URL != "" {
		c["url"] = bot.Visible(q.Form.URL)
		return c
	}
	list := make([]any, len(q.Form.Fields))
	for i, f := range q.Form.Fields {
		field := fields{"name": f.Name, "required": f.Required}
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
				choices[n] = fields{"value": choice.Value, "label": choice.Label}
			}
			field["choices"] = choices
		}
		list[i] = field
	}
	c["fields"] = list
	return c
}

// budgetContent is the content of a reached budget: money in dollars, otherwise
// tokens.
func budgetContent(over planner.Overdraft) fields {
	amount := func(n int64) any { return n }
	unit := "tokens"
	if !tasks.InTokens(over.Budget) {
		amount = func(n int64) any { return usd(n) }
		unit = "usd"
	}
	c := fields{"budget": over.Budget, "unit": unit, "limit": amount(over.Limit), "spent": amount(over.Spent), "wanted": amount(over.Wanted), "extend_by": amount(over.Extend)}
	if over.Who != "" {
		c["whose"] = over.Who
	}
	if over.Day != "" {
		c["day"] = over.Day
	}
	return c
}

// decisionContent is the content of events about decisions.
func (t translator) decisionContent(e planner.Event) fields {
	switch e.Type {
	case planner.BudgetRenewed:
		return fields{"kind": planner.SubjectBudget, "decision": "renewed", "budget": e.Budget}
	case planner.BudgetReached:
		c := fields{"kind": planner.SubjectBudget, "approval": approvalID(t.task, tasks.Ask{Seq: e.Seq})}
		if e.Overdraft != nil {
			c["details"] = budgetContent(*e.Overdraft)
		}
		return c
	case planner.Decided:
		return t.decidedContent(e)
	}
	c := fields{"subtask": e.Action.Subtask, "approval": approvalID(t.task, tasks.Ask{Seq: e.Seq})}
	if !e.Question.Expires.IsZero() {
		c["expires_at"] = Time{e.Question.Expires}
	}
	if e.Question.Form != nil {
		c["kind"], c["text"], c["details"] = planner.SubjectForm, e.Question.Form.Message, formContent(*e.Question)
		return c
	}
	var calls []any
	for _, call := range t.approvalCalls(e) {
		one := fields{"tool": call.Tool, "arguments": call.Arguments}
		if call.Reason != "" {
			one["reason"], one["detail"] = call.Reason, call.Detail
		}
		calls = append(calls, one)
	}
	c["kind"], c["calls"] = planner.SubjectCalls, calls
	return c
}

// decidedContent is the content of a decision.
func (t translator) decidedContent(e planner.Event) fields {
	d := e.Decision
	c := fields{"decision": "deny"}
	if d.Approve {
		c["decision"] = "approve"
	}
	c["kind"], c["approval"] = e.Action.Subject, approvalID(t.task, tasks.AskOf(e.Action))
	if e.Action.Subject == planner.SubjectCalls {
		if asked := t.journal(e.Action.Seq).Question; asked != nil {
			names := make([]string, len(asked.Calls))
			for i, call := range asked.Calls {
				names[i] = call.Tool
			}
			c["tools"] = names
		}
	}
	if d.Text != "" {
		c["comment"] = d.Text
	}
	if len(d.Value) > 0 && t.values {
		c["value"] = d.Value
	}
	if name := t.field(e); name != "" {
		c["field"] = name
	}
	if d.Scope != "" {
		c["scope"] = d.Scope
	}
	if e.Reply != nil { // the plan as the person changed it
		c["details"] = planContent(e.Reply)
	}
	if len(e.Values) > 0 {
		c["state"], c["version"] = e.Values, t.version(e.Seq)
	}
	return c
}

// field is the name of the form field that a decision has filled in.
func (t translator) field(e planner.Event) string {
	if e.Action.Subject != planner.SubjectForm {
		return ""
	}
	n := e.Action.Field
	if q := t.journal(e.Action.Seq).Question; q != nil && q.Form != nil && n < len(q.Form.Fields) {
		return q.Form.Fields[n].Name
	}
	return ""
}

// addExpired adds the questions whose time an event has ended: the first one as
// "approval", and all if there are several.
func (t translator) addExpired(e planner.Event, c fields) {
	var ids []string
	add := func(ask tasks.Ask, kind planner.Subject) {
		id := approvalID(t.task, ask)
		if len(ids) == 0 {
			c["kind"], c["approval"] = kind, id
		}
		if !slices.Contains(ids, id) { // several calls can be one question
			ids = append(ids, id)
		}
	}
	if e.Action.Kind == planner.KindAsk {
		add(tasks.AskOf(e.Action), e.Action.Subject)
		c["state"], c["version"] = e.Values, t.version(e.Seq)
	}
	for _, w := range t.state.Subtasks {
		for _, turn := range w.Turns {
			for i, call := range turn.Calls {
				switch {
				case call.Result != e.Seq:
				case call.Kind == planner.CallAsk:
					add(tasks.Ask{Seq: turn.Seq, Call: i}, planner.SubjectQuestion)
				case call.Asked > 0 && call.Asked == call.Elicited:
					add(tasks.Ask{Seq: call.Asked}, planner.SubjectForm)
				case call.Asked > 0:
					add(tasks.Ask{Seq: call.Asked}, planner.SubjectCalls)
				}
			}
		}
	}
	if seq := t.expiredBudget(e); seq > 0 {
		add(tasks.Ask{Seq: seq}, planner.SubjectBudget)
	}
	if len(ids) > 1 {
		c["approvals"] = ids
	}
}

// overdrawnBefore is how many events back expiredBudget looks for a question: little
// happens while it is open.
const overdrawnBefore = 50

// expiredBudget is the seq of the budget question whose time an event has ended; 0
// for none.
func (t translator) expiredBudget(e planner.Event) int {
	if t.state.Reason != planner.ReasonBudget && t.state.Reason != planner.ReasonStopped {
		return 0
	}
	var before time.Time // the time of the Expired event before this one
	for seq := e.Seq - 1; seq > max(0, e.Seq-overdrawnBefore); seq-- {
		earlier := t.journal(seq)
		switch earlier.Type {
		case planner.Expired:
			if before.IsZero() {
				before = earlier.At
			}
		case planner.BudgetReached:
			if o := earlier.Overdraft; o != nil && !o.Expires.IsZero() && !e.At.Before(o.Expires) && before.Before(o.Expires) {
				return seq
			}
			return 0
		case planner.BudgetRenewed, planner.Stopped:
			return 0
		case planner.Decided:
			if earlier.Action.Subject == planner.SubjectBudget {
				return 0
			}
		}
	}
	return 0
}
