package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

type values = map[string]json.RawMessage

func TestMerge(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	state, err := w.Merge(t.Context(), agent, id, nil, values{"a": raw(` { "x" : 1 } `), "b": raw(`2`)})
	if err != nil || state.Version != 1 || string(state.Values["a"]) != `{"x":1}` || state.Versions["b"] != 1 {
		t.Fatalf("got %+v, %v", state, err)
	}
	one, two := 1, 2
	if state, err = w.Merge(t.Context(), operator, id, &one, values{"b": raw(`null`), "c": raw(`"d"`)}); err != nil || state.Version != 2 || len(state.Values) != 2 || state.Versions["a"] != 1 || state.Versions["c"] != 2 {
		t.Errorf("got %+v, %v", state, err)
	}
	_, err = w.Merge(t.Context(), agent, id, &one, values{"b": raw(`3`)})
	refused(t, "another version", err, api.ErrPrecondition)
	for _, same := range []values{{"a": raw(`{"x": 1}`)}, {"b": raw("null")}, {}} {
		if state, err = w.Merge(t.Context(), agent, id, &two, same); err != nil || state.Version != 2 {
			t.Errorf("nothing new: got %+v, %v; want version 2", state, err)
		}
	}
	_, err = w.Merge(t.Context(), viewer, id, nil, values{"b": raw(`3`)})
	refused(t, "a viewer", err, api.ErrForbidden)
	if got := w.messages(id, api.TypeStatus); len(got) != 2 || !strings.Contains(string(got[1].Content), `"version":2`) || got[1].SenderID != "api:ops" {
		t.Errorf("the context tells %+v", got)
	}
}

func TestMergeRefuses(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) { k.Limits.StateKeys, k.Limits.StateBytes = 3, 1000 })
	id := w.shares().ID
	for name, c := range map[string]struct {
		values values
		field  string
	}{
		"empty key":    {values{"": raw("1")}, "state"},
		"long key":     {values{strings.Repeat("x", 257): raw("1")}, "state"},
		"key of bytes": {values{"\xff": raw("1")}, "state"},
		"no JSON":      {values{"a": raw("{")}, "state.a"},
		"long value":   {values{"a": raw(`"` + strings.Repeat("x", 64<<10) + `"`)}, "state.a"},
		"deep value":   {values{"a": raw(strings.Repeat("[", 65) + strings.Repeat("]", 65))}, "state.a"},
	} {
		_, err := w.Merge(t.Context(), agent, id, nil, c.values)
		wrong(t, name, err, c.field)
	}
	_, err := w.Merge(t.Context(), agent, id, nil, values{"a": raw("1"), "b": raw("1"), "c": raw("1"), "d": raw("1")})
	refused(t, "too many keys", err, api.ErrConflict)
	if err == nil || !strings.Contains(err.Error(), "at most 3 keys and 1000 bytes") {
		t.Errorf("it says %v, want the limits", err)
	}
	for _, status := range []string{planner.ReviewApproved, planner.ReviewRejected, planner.ReviewExpired} {
		_, err = w.Merge(t.Context(), agent, id, nil, values{"status": raw(fmt.Sprintf("%q", status))})
		refused(t, status+" by an agent", err, api.ErrForbidden)
		if err != nil && !strings.Contains(err.Error(), status) {
			t.Errorf("it says %v, want what cannot be set", err)
		}
	}
	_, err = w.Merge(t.Context(), agent, id, nil, values{"status": raw(`"` + strings.Repeat("x", 2000) + `"`)})
	if refused(t, "a long status", err, api.ErrConflict); err != nil && !strings.Contains(err.Error(), "at most 3 keys") {
		t.Errorf("it says %v, want the limits", err)
	}
	if _, err := w.Answer(t.Context(), agent, id, "done"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Merge(t.Context(), agent, id, nil, values{"a": raw("1")})
	refused(t, "a task that is over", err, api.ErrConflict)
}

// TestMergeTogether: of programs that count in one key by its version, none loses
// a step of another.
func TestMergeTogether(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	const programs, steps = 8, 10
	var all sync.WaitGroup
	for range programs {
		all.Go(func() {
			for done := 0; done < steps; {
				state, err := w.State(t.Context(), agent, id)
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				_ = json.Unmarshal(state.Values["n"], &n)
				_, err = w.Merge(t.Context(), agent, id, &state.Version, values{"n": raw(fmt.Sprint(n + 1))})
				if err == nil {
					done++
				}
			}
		})
	}
	all.Wait()
	state, err := w.State(t.Context(), agent, id)
	if err != nil || string(state.Values["n"]) != fmt.Sprint(programs*steps) || state.Version != programs*steps {
		t.Errorf("got %+v, %v; want %d", state, err, programs*steps)
	}
}

func TestAwaitShared(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	got := make(chan api.State, 1)
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	go func() {
		state, err := w.AwaitState(ctx, agent, id, []string{"draft"}, 0)
		if err != nil {
			t.Error(err)
		}
		got <- state
	}()
	for i, v := range []values{{"other": raw("1")}, {"draft": raw(`"x"`)}, {"draft": raw("null")}} {
		if _, err := w.Merge(t.Context(), agent, id, nil, v); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if state := <-got; !state.Changed || state.Version != 2 {
				t.Errorf("it came with %+v, want version 2", state)
			}
		}
	}
	for _, c := range []struct {
		keys  []string
		since int
		want  bool
	}{{[]string{"draft"}, 1, true}, {[]string{"draft"}, 2, true}, {[]string{"draft"}, 3, false}, {[]string{"other"}, 1, false}, {nil, 2, true}, {nil, 3, false}, {[]string{"other"}, 9, true}} {
		over, end := context.WithCancel(t.Context())
		end()
		if state, err := w.AwaitState(over, agent, id, c.keys, c.since); err != nil || state.Changed != c.want {
			t.Errorf("keys %v after %d: got %+v, %v; want changed %v", c.keys, c.since, state, err, c.want)
		}
	}
	go func() {
		state, err := w.AwaitState(ctx, agent, id, []string{"never"}, 0)
		if err != nil {
			t.Error(err)
		}
		got <- state
	}()
	if _, err := w.Answer(t.Context(), agent, id, "done"); err != nil {
		t.Fatal(err)
	}
	if state := <-got; !state.Over || state.Changed {
		t.Errorf("at the end it came with %+v", state)
	}
}

// TestForgedVerdict: an agent cannot say that a person has decided.
func TestForgedVerdict(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	for _, verdict := range []string{`"APPROVED"`, ` "CHANGES_REQUESTED"`} {
		_, err := w.Merge(t.Context(), agent, id, nil, values{"status": raw(verdict), "draft": raw("1")})
		refused(t, "an agent's "+verdict, err, api.ErrForbidden)
	}
	if got, err := w.Merge(t.Context(), operator, id, nil, values{"status": raw(`"APPROVED"`)}); err != nil || len(got.Values) != 1 {
		t.Errorf("a person's: %v, %v", got.Values, err)
	}
	if _, err := w.Merge(t.Context(), agent, id, nil, values{"status": raw(`"APPROVED"`), "draft": raw("1")}); err != nil {
		t.Errorf("an agent that leaves it as it is: %v", err)
	}
}

// TestReview: agents ask for a review, leave what is to be decided alone, and read
// what a person decided.
func TestReview(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	if _, err := w.Merge(t.Context(), agent, id, nil, values{"draft": raw(`"text"`), "status": raw(`"NEEDS_HUMAN_REVIEW"`)}); err != nil {
		t.Fatal(err)
	}
	ask := w.asked(id, "")
	if ask.Kind != string(planner.SubjectReview) || !strings.Contains(string(ask.Details), `"draft":"text"`) || !strings.Contains(string(ask.Details), `"wanted_by":"agent:scout"`) || ask.Chat != "api:scout/"+string(id) {
		t.Errorf("asked is %+v", ask)
	}
	task, err := w.Get(t.Context(), agent, id)
	if err != nil || task.State != "waiting" || len(task.Waiting) != 1 || task.Waiting[0] != ask.ID {
		t.Errorf("the task is %+v, %v", task, err)
	}
	_, err = w.Merge(t.Context(), agent, id, nil, values{"status": raw(`"APPROVED"`)})
	refused(t, "an agent's own verdict", err, api.ErrConflict)
	_, err = w.Answer(t.Context(), agent, id, "text")
	refused(t, "an agent's answer meanwhile", err, api.ErrConflict)
	for _, p := range []api.Principal{agent, viewer} {
		_, err = w.Decide(t.Context(), p, ask.ID, api.Decision{Approve: true})
		refused(t, "a decision by "+string(p.Role), err, api.ErrForbidden)
	}
	_, err = w.Decide(t.Context(), stranger, ask.ID, api.Decision{Approve: true})
	refused(t, "a decision by a stranger", err, api.ErrNotFound)
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Comment: "more sources"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true})
	refused(t, "a second decision", err, api.ErrConflict)
	state, err := w.State(t.Context(), agent, id)
	if err != nil || string(state.Values[planner.KeyStatus]) != `"CHANGES_REQUESTED"` {
		t.Errorf("the state is %+v, %v", state, err)
	}
	got := w.messages(id, api.TypeApproval)
	if len(got) != 1 || got[0].SenderType != "human" || got[0].SenderID != "api:ops" || !strings.Contains(string(got[0].Content), `"comment":"more sources"`) || !strings.Contains(string(got[0].Content), `"kind":"review"`) {
		t.Errorf("the context tells %+v", got)
	}
	for range 2 { // handed in again, it is the same
		if task, err = w.Answer(t.Context(), agent, id, " text "); err != nil || task.Answer == nil || *task.Answer != "text" {
			t.Errorf("the answer gives %+v, %v", task, err)
		}
	}
	if task = w.ends(id); task.State != "done" {
		t.Errorf("at the end it is %+v", task)
	}
	_, err = w.Answer(t.Context(), agent, id, "another")
	refused(t, "another answer", err, api.ErrConflict)
}

func TestAdd(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) { k.Limits.Notes = 3 })
	id := w.shares().ID
	for i, c := range []struct {
		who  api.Principal
		m    api.NewMessage
		want string
	}{
		{agent, api.NewMessage{Type: "thought", Content: raw(` [1, {"a" : "<b>"}] `), Key: "k"}, `thought agent agent:scout [1,{"a":"<b>"}]`},
		{agent, api.NewMessage{Type: "delegation", Content: raw(`"to the writer"`)}, `delegation agent agent:scout "to the writer"`},
		{operator, api.NewMessage{Type: "human_input", Content: raw(`"be brief"`)}, `human_input human api:ops {"text":"be brief"}`},
		{operator, api.NewMessage{Type: "human_input", Content: raw(`{"text":"and kind"}`)}, `human_input human api:ops {"text":"and kind"}`},
		{operator, api.NewMessage{Type: "observation", Content: raw(`null`)}, `observation human api:ops null`},
	} {
		m, again, err := w.Add(t.Context(), c.who, id, c.m)
		if got := fmt.Sprintf("%s %s %s %s", m.Type, m.SenderType, m.SenderID, m.Content); err != nil || again || got != c.want || m.Seq != i+2 {
			t.Errorf("%+v: got %d %s, again %v, %v; want %s", c.m, m.Seq, got, again, err, c.want)
		}
	}
	m, again, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw(`[1,{"a":"<b>"}]`), Key: "k"})
	if err != nil || !again || m.Seq != 2 {
		t.Errorf("the same again: got %+v, %v, %v; want message 2", m, again, err)
	}
	_, _, err = w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw(`2`), Key: "k"})
	refused(t, "another under the same key", err, api.ErrKeyReused)
	_, _, err = w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw(`2`)})
	refused(t, "more than the context holds", err, api.ErrConflict)
	_, _, err = w.Add(t.Context(), viewer, id, api.NewMessage{Type: "thought", Content: raw(`2`)})
	refused(t, "a viewer", err, api.ErrForbidden)
	for _, c := range []struct {
		who   api.Principal
		m     api.NewMessage
		field string
	}{
		{agent, api.NewMessage{Type: "human_input", Content: raw(`"x"`)}, "type"},
		{operator, api.NewMessage{Type: "goal", Content: raw(`"x"`)}, "type"},
		{operator, api.NewMessage{Type: "approval", Content: raw(`"x"`)}, "type"},
		{operator, api.NewMessage{Type: "", Content: raw(`"x"`)}, "type"},
		{operator, api.NewMessage{Type: "thought", Content: raw(``)}, "content"},
		{operator, api.NewMessage{Type: "thought", Content: raw("\"\xff\"")}, "content"},
		{operator, api.NewMessage{Type: "human_input", Content: raw(`" "`)}, "content"},
		{operator, api.NewMessage{Type: "thought", Content: raw(`"` + strings.Repeat("x", 64<<10) + `"`)}, "content"},
	} {
		_, _, err := w.Add(t.Context(), c.who, id, c.m)
		wrong(t, fmt.Sprintf("%.40q", c.m), err, c.field)
	}
}

// TestGuidance: what a person says to a task is heard by its next decision.
func TestGuidance(t *testing.T) {
	w := newEnv(t, asksFirst)
	id := w.starts(operator, api.NewTask{Goal: "find it"}).ID
	ask := w.asked(id, "")
	if _, _, err := w.Add(t.Context(), operator, id, api.NewMessage{Type: "human_input", Content: raw(`"MIND THE GAP"`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Comment: "red"}); err != nil {
		t.Fatal(err)
	}
	w.ends(id)
	heard := false
	for _, r := range w.kit.Model.Requests("review") {
		for _, m := range r.Messages {
			heard = heard || strings.Contains(m.Content, "MIND THE GAP")
		}
	}
	if !heard {
		t.Error("no review has heard what was said")
	}
	_, _, err := w.Add(t.Context(), operator, id, api.NewMessage{Type: "human_input", Content: raw(`"too late"`)})
	refused(t, "after the end", err, api.ErrConflict)
}
