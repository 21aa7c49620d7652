package tasks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks/cards"
)

// refusal is the error of a message that its author must correct; nil when it was taken.
func (o *env) refusal(m bot.Message) *bot.RefusedError {
	o.t.Helper()
	err := o.inbox.Handle(o.t.Context(), []bot.Message{m})
	refused, ok := errors.AsType[*bot.RefusedError](err)
	if err != nil && !ok {
		o.t.Fatal(err)
	}
	return refused
}

// TestChangedPlan: a person changes a plan as a list before it runs. It must fit by the
// rules for the plans of models.
func TestChangedPlan(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", private("ann"), "/plan travel")
	o.plans(id)
	run := o.press("ann", private("ann"), fmt.Sprintf("a:%s:plan.%d.0:0", id, o.state(id).Planned[0]))
	for _, c := range []struct {
		plan []bot.PlanItem
		want string
	}{
		{[]bot.PlanItem{}, "no steps"},
		{[]bot.PlanItem{{ID: "a", Name: "nothing", Description: "x"}}, "unknown group"},
		{[]bot.PlanItem{{ID: "a", Name: "look"}}, "description"},
		{[]bot.PlanItem{{ID: "a", Name: "look", Description: "x", After: []string{"b"}}, {ID: "b", Name: "look", Description: "y", After: []string{"a"}}}, "wait"},
		{make([]bot.PlanItem, 500), "may have"},
	} {
		run.Plan = c.plan
		refused := o.refusal(run)
		if refused == nil || !strings.Contains(refused.Error(), c.want) || strings.Contains(refused.Error(), "again") {
			t.Errorf("the plan %.200v: got %v, want a sentence with %q", c.plan, refused, c.want)
		}
	}
	if s := o.state(id); s.Phase != planner.PhaseProposed {
		t.Fatalf("phase %v after plans that do not fit", s.Phase)
	}
	run.Plan = []bot.PlanItem{{ID: "1/b", Name: "look", Description: "two, changed"}, {ID: "new", Name: "LOOK", Description: "three", After: []string{"1/b"}}}
	if refused := o.refusal(run); refused != nil {
		t.Fatal(refused)
	}
	s := o.state(id)
	var got []string
	for _, w := range s.Subtasks {
		got = append(got, fmt.Sprintf("%s %s %s %v", w.ID, w.Name, planner.Description(w, func(seq int) planner.Event { return o.event(id, seq) }), w.After))
	}
	if want := "[1/b look two, changed [] 1/new look three [0]]"; fmt.Sprint(got) != want || s.Phase != planner.PhaseWorking || s.Round != 1 {
		t.Errorf("got %v in phase %v, round %d; want %s", got, s.Phase, s.Round, want)
	}
}

// TestWholeForm: a person fills in all fields of a form at once. Each value that does not
// fit has its sentence, and nothing is stored then.
func TestWholeForm(t *testing.T) {
	s, id, card := asksForm(t, form.Question{Message: "Which room?", Fields: fieldsOf(t, hotel)}, false, private("ann"))
	whole := card.Form
	if whole == nil || len(whole.Fields) < 2 {
		t.Fatalf("the question has the form %+v", whole)
	}
	press := s.press("ann", private("ann"), whole.Data)
	press.Form = map[string]json.RawMessage{"no such": json.RawMessage(`1`), whole.Fields[0].Name: json.RawMessage(`{"an":"object"}`)}
	refused := s.refusal(press)
	if refused == nil || len(refused.Mistakes) < 2 || refused.Mistakes[0].Field != whole.Fields[0].Name || refused.Mistakes[0].Reason == "" {
		t.Fatalf("got %+v, want a mistake of the first field and an unknown one", refused)
	}
	if got := s.decisions(id); len(got) != 0 {
		t.Fatalf("decided %v", got)
	}
	press.Form = map[string]json.RawMessage{}
	for _, f := range whole.Fields {
		press.Form[f.Name] = fitting(f)
	}
	if refused := s.refusal(press); refused != nil {
		t.Fatalf("with %v: %v", press.Form, refused)
	}
	s.over(id)
	given := s.given()
	if given.Action != form.Accept || len(given.Values) != len(whole.Fields) {
		t.Errorf("the server got %+v", given)
	}
	if _, verb, _ := cards.ReadDecisionData(planner.SubjectForm, strings.SplitN(whole.Data, ":", 3)[2]); verb != cards.VerbFields {
		t.Errorf("the form's data %q has the verb %q", whole.Data, verb)
	}
}

// fitting is a value that fits a field.
func fitting(f bot.FormField) json.RawMessage {
	var schema struct {
		Type    string
		Format  string
		Minimum float64
	}
	_ = json.Unmarshal(f.Schema, &schema)
	switch {
	case f.Many:
		return json.RawMessage("[" + string(f.Choices[0].Value) + "]")
	case len(f.Choices) > 0:
		return f.Choices[0].Value
	case schema.Type == "integer", schema.Type == "number":
		return json.RawMessage(fmt.Sprint(schema.Minimum + 1))
	case schema.Format == "date":
		return json.RawMessage(`"2026-12-01"`)
	case schema.Format == "email":
		return json.RawMessage(`"ann@example.com"`)
	}
	return json.RawMessage(`"some text"`)
}
