package planner_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"legwork/i18n"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
)

// env plays a task with an adversary: whatever Todo lists may succeed, fail,
// or come back late, and people interfere at any time.
type env struct {
	t       *rapid.T
	s       planner.State
	journal []planner.Event
	at      time.Time
	ended   map[planner.ActionID]bool // ids of actions that have an outcome
}

func (w *env) append(e planner.Event) bool {
	w.at = w.at.Add(time.Duration(rapid.IntRange(0, 5000).Draw(w.t, "ms")) * time.Millisecond)
	if e.At.IsZero() {
		e.At = w.at
	}
	if !planner.Takes(w.s, e) {
		return false
	}
	before, _ := json.Marshal(w.s)
	old := w.s
	e.Seq = w.s.Seq + 1
	w.s = planner.Apply(w.s, e)
	if after, _ := json.Marshal(old); string(before) != string(after) {
		w.t.Fatalf("Apply(%s %q) changed the state it was given\nbefore %s\nafter  %s", e.Type, e.Action, before, after)
	}
	w.journal = append(w.journal, e)
	w.behaves(old, e)
	if e.At.After(w.at) {
		w.at = e.At
	}
	goesOn := e.Type == planner.Asked && e.Question.Live
	if e.Action != (planner.ActionID{}) && e.Type != planner.Started && e.Type != planner.SendStarted && !goesOn {
		w.ended[e.Action] = true
	}
	w.check()
	return true
}

// check holds what must be true after every event.
func (w *env) check() {
	seen := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(w.s) {
		if seen[a.ID] {
			w.t.Fatalf("%q is wanted twice at once in %s", a.ID, w.s.Phase)
		}
		seen[a.ID] = true
		if w.ended[a.ID] {
			w.t.Fatalf("%q is wanted again after its outcome", a.ID)
		}
	}
	if !w.s.Finished() && w.s.Phase != planner.PhaseQueued && w.s.Phase != planner.PhaseShared && len(seen) == 0 {
		w.t.Fatalf("nothing is wanted in phase %s and the task is not over: %+v", w.s.Phase, w.s.Subtasks)
	}
	if w.s.Budget != "" || w.s.Review > 0 {
		for _, a := range planner.Todo(w.s) {
			if !a.Hold && (a.Kind == planner.KindModel || a.Kind == planner.KindTool) {
				w.t.Fatalf("%q is to be begun although people are awaited: budget %q, review %d", a.ID, w.s.Budget, w.s.Review)
			}
		}
	}
	if again := planner.Fold(w.journal); !reflect.DeepEqual(again, w.s) {
		w.t.Fatalf("folding the journal anew gives another state\ngot  %+v\nwant %+v", again, w.s)
	}
}

// behaves holds what agents from outside may not do, and how their tasks end.
func (w *env) behaves(before planner.State, e planner.Event) {
	agent := planner.ByAgent(e)
	switch {
	case agent && (e.Type == planner.Decided || e.Type == planner.GuidanceAdded || e.Type == planner.GuidanceRemoved || e.Type == planner.GrantRevoked):
		w.t.Fatalf("an agent's %s was taken", e.Type)
	case agent && before.Review > 0 && w.s.Review == 0 && e.Type != planner.Stopped:
		w.t.Fatalf("an agent's %s ended the review %d", e.Type, before.Review)
	case agent && (e.Type == planner.NoteAdded || e.Type == planner.StateSet) && w.s.Tainted == 0:
		w.t.Fatalf("an agent's %s is taken for words of people", e.Type)
	case e.Type == planner.Expired && e.Action != (planner.ActionID{}) && (before.Review == 0 || w.s.Review > 0 || w.s.Phase != planner.PhaseAnswering && w.s.Outcome != planner.Failed):
		w.t.Fatalf("a review that lapsed left the task in phase %s, outcome %q, review %d", w.s.Phase, w.s.Outcome, w.s.Review)
	case before.Review > 0 && (e.Type == planner.Started && len(e.State) == 0 || e.Type == planner.BudgetReached):
		w.t.Fatalf("%s %q while a person reviews", e.Type, e.Action)
	}
	if before.Phase != planner.PhaseShared || w.s.Phase == planner.PhaseShared {
		return
	}
	if e.Type != planner.Answered && e.Type != planner.Stopped && e.Type != planner.Expired {
		w.t.Fatalf("%s ended what agents from outside work on", e.Type)
	}
	if text, failed, settled := planner.Settles(before, w.s, e); !settled || text != e.Text || failed != (e.Type != planner.Answered) {
		w.t.Fatalf("Settles(%s) = %q, %v, %v", e.Type, text, failed, settled)
	}
}

func (w *env) reply(a planner.Action) planner.Event {
	e := planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{}}
	switch rapid.IntRange(0, 9).Draw(w.t, "reply") {
	case 0:
		return planner.Event{Type: planner.Malformed, Action: a.ID, Problem: &planner.Problem{Code: "plan_unreadable", Reason: "no", Text: "{"}}
	case 1:
		return planner.Event{Type: planner.CallFailed, Action: a.ID, Problem: &planner.Problem{Code: "unreachable"}}
	case 2, 3, 4:
		e.Reply.Text = "text"
		return e
	}
	if a.Role == llm.RoleAnswer {
		e.Reply.Text = "answer"
		return e
	}
	if a.Role == llm.RoleWork {
		n := rapid.IntRange(1, 3).Draw(w.t, "calls")
		for i := range n {
			e.Reply.Calls = append(e.Reply.Calls, w.call(i))
		}
		return e
	}
	e.Reply.IsPlan, e.Reply.Confirm = true, rapid.IntRange(0, 3).Draw(w.t, "confirm") == 0
	ids := []string{}
	for _, sub := range w.s.Subtasks {
		ids = append(ids, sub.ID)
	}
	for i := range rapid.IntRange(0, 4).Draw(w.t, "entries") {
		p := planner.Subtask{ID: fmt.Sprintf("%d/%c", w.s.Round+1, 'a'+i), Name: "math", Description: "work"}
		if len(ids) > 0 && rapid.Bool().Draw(w.t, "after") {
			p.After = []string{rapid.SampledFrom(ids).Draw(w.t, "dep")}
		}
		ids = append(ids, p.ID)
		e.Reply.Plan = append(e.Reply.Plan, p)
	}
	return e
}

func (w *env) call(i int) planner.Call {
	c := planner.Call{ID: fmt.Sprintf("c%d", i), Name: "x", Arguments: rapid.SampledFrom([]string{"{}", "", "{bad", "[]"}).Draw(w.t, "arguments")}
	switch rapid.IntRange(0, 7).Draw(w.t, "kind") {
	case 0:
		c.Refusal = "no"
	case 1:
		c.Update = &planner.Update{Values: w.values()}
	case 2:
		c.Read = &planner.Read{Result: rapid.IntRange(0, 30).Draw(w.t, "result"), Offset: rapid.IntRange(0, 9).Draw(w.t, "offset")}
	case 3:
		c.Ask = &planner.Question{Text: "?"}
	case 4:
		c.Delegate = &planner.Subtask{Name: "math", Description: "sub"}
	default:
		c.Tool = "server.x"
	}
	return c
}

// event draws an outcome of a wanted action, or an interference.
func (w *env) event() planner.Event {
	todo := planner.Todo(w.s)
	switch n := rapid.IntRange(0, 30).Draw(w.t, "what"); {
	case n == 0:
		return planner.Event{Type: planner.Stopped}
	case n == 1 || n == 2:
		return planner.Event{Type: planner.GuidanceAdded, By: w.by(), Text: "also"}
	case n == 3:
		day := rapid.SampledFrom([]string{"", "2026-11-20"}).Draw(w.t, "day")
		return planner.Event{Type: planner.BudgetReached, Budget: "task_usd", Overdraft: &planner.Overdraft{Budget: "task_usd", Day: day, Extend: 50}}
	case n == 9 && w.s.Budget != "":
		return planner.Event{Type: planner.BudgetRenewed}
	case n == 4 || n == 10:
		return planner.Event{Type: planner.StateSet, By: w.by(), Values: w.values()}
	case n == 11 || n == 12:
		return planner.Event{Type: planner.NoteAdded, By: w.by(), Note: &planner.Note{Type: "thought", Content: json.RawMessage(fmt.Sprintf(`"note %d."`, w.s.Seq+1))}}
	case n == 13:
		return planner.Event{Type: planner.Answered, By: w.by(), Text: "answer"}
	case n == 5:
		return planner.Expiry(w.s, planner.Deadline(w.s))
	case n == 6:
		return planner.Event{Type: planner.Resumed}
	case n == 7 && len(w.s.Guidance) > 0:
		return planner.Event{Type: planner.GuidanceRemoved, By: w.by(), Of: rapid.SampledFrom(w.s.Guidance).Draw(w.t, "of")}
	case n == 8 && len(w.s.Granted) > 0:
		return planner.Event{Type: planner.GrantRevoked, By: w.by(), Of: w.s.Granted[0].Seq}
	case w.s.Queued():
		return planner.Event{Type: planner.Released}
	}
	if len(todo) == 0 {
		return planner.Event{Type: planner.Resumed}
	}
	a := rapid.SampledFrom(todo).Draw(w.t, "action")
	switch a.Kind {
	case planner.KindAsk:
		yes := rapid.Bool().Draw(w.t, "yes")
		var values map[string]json.RawMessage
		if a.ID.Subject == planner.SubjectReview {
			values = planner.ReviewValues(yes)
		}
		return planner.Event{Type: planner.Decided, By: w.by(), Action: a.ID, Values: values, Decision: &planner.Decision{
			Text: rapid.SampledFrom([]string{"", "shorter"}).Draw(w.t, "words"), Approve: yes, Queued: rapid.Bool().Draw(w.t, "queued"),
			Scope: rapid.SampledFrom([]string{"", planner.ScopeTask, planner.ScopeChat}).Draw(w.t, "scope"), Grants: []planner.Grant{{Tool: "server.x"}},
		}}
	case planner.KindTool:
		switch rapid.IntRange(0, 3).Draw(w.t, "tool") {
		case 0:
			e := planner.Event{Type: planner.Started, Action: a.ID}
			if rapid.Bool().Draw(w.t, "task") {
				e.State = json.RawMessage(`{"task":"1"}`)
			}
			return e
		case 1:
			return planner.Event{Type: planner.Asked, Action: a.ID, Question: w.question(a)}
		}
		return planner.Event{Type: planner.Returned, Action: a.ID, Result: &planner.Result{
			Text: "result", Unknown: a.Started, Untrusted: rapid.Bool().Draw(w.t, "untrusted"),
		}}
	case planner.KindShow:
		if w.s.Slot(planner.SlotAnswer).Name == "" {
			return planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer}
		}
		return planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true}
	}
	if a.Final && rapid.IntRange(0, 3).Draw(w.t, "began") == 0 {
		return planner.Event{Type: planner.SendStarted, Action: a.ID}
	}
	if w.s.PromptPending {
		return planner.Event{Type: planner.PromptExpanded, Action: a.ID, Text: "written out"}
	}
	return w.reply(a)
}

// by draws who interferes.
func (w *env) by() string {
	return rapid.SampledFrom([]string{"telegram:1", "api:ops", "agent:x"}).Draw(w.t, "by")
}

// values draws a change of the shared state.
func (w *env) values() map[string]json.RawMessage {
	key := rapid.SampledFrom([]string{"k", planner.KeyStatus}).Draw(w.t, "key")
	value := rapid.SampledFrom([]string{"null", "1", `"NEEDS_HUMAN_REVIEW"`, `"APPROVED"`}).Draw(w.t, "value")
	return map[string]json.RawMessage{key: json.RawMessage(value)}
}

// question draws what a tool action may ask: about calls of its turn, or for its
// server.
func (w *env) question(a planner.Action) *planner.Question {
	q := &planner.Question{Expires: w.at.Add(time.Hour)}
	if rapid.Bool().Draw(w.t, "form") {
		q.Form = &form.Question{Message: "?", Fields: make([]form.Field, rapid.IntRange(0, 3).Draw(w.t, "fields"))}
		q.Live = rapid.Bool().Draw(w.t, "live")
		return q
	}
	for i := range w.s.Subtasks[a.Place.Subtask].Turns[a.Place.Turn].Calls {
		if i == a.Place.Call || rapid.Bool().Draw(w.t, "too") {
			q.Calls = append(q.Calls, planner.Approval{Call: i})
		}
	}
	return q
}

func opening(t *rapid.T) planner.Event {
	limits := planner.DefaultLimits()
	limits.Rounds = rapid.IntRange(1, 3).Draw(t, "rounds")
	limits.Turns = rapid.IntRange(1, 4).Draw(t, "turns")
	limits.Parallel = rapid.IntRange(1, 3).Draw(t, "parallel")
	limits.Subtasks = rapid.IntRange(1, 4).Draw(t, "subtasks")
	limits.ReviewTime = time.Duration(rapid.SampledFrom([]int{0, 5, 3600}).Draw(t, "review time")) * time.Second
	var prompt *planner.PromptRef
	if rapid.Bool().Draw(t, "prompt") {
		prompt = &planner.PromptRef{Name: "server/prompt"}
	}
	return planner.Event{Type: planner.Opened, Opening: &planner.Opening{
		Prompt: prompt, Goal: "goal", Language: "en", Timezone: "UTC", Limits: limits, Queued: rapid.Bool().Draw(t, "queued"), Preview: rapid.Bool().Draw(t, "preview"),
		External: rapid.IntRange(0, 7).Draw(t, "external") == 0,
	}}
}

// maxSteps is more than any task of these limits can take.
const maxSteps = 2000

// TestEveryTaskEnds plays random tasks to their end: nothing is wanted twice,
// the fold is deterministic, never writes to what it was given, and every task
// ends however models, tools and people behave.
func TestEveryTaskEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &env{t: t, at: t0, ended: map[planner.ActionID]bool{}}
		w.append(opening(t))
		for step := 0; !w.s.Finished(); step++ {
			if step == maxSteps {
				t.Fatalf("the task does not end; phase %s, todo %v", w.s.Phase, planner.Todo(w.s))
			}
			w.append(w.event())
		}
	})
}

// TestEveryPrefixGivesValidPrompts builds the prompt of every wanted model
// action after every event of random journals.
func TestEveryPrefixGivesValidPrompts(t *testing.T) {
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	input := planner.PromptInput{
		Texts: texts, Groups: []i18n.Group{{Name: "math", Description: "Exact arithmetic."}},
		Tools: []llm.Tool{{Name: "math_x", Description: "x", Schema: json.RawMessage(`{"type":"object"}`)}},
		Past:  planner.Past{Summary: "they talked", History: []planner.Exchange{{Goal: "before", Answer: ""}, {Goal: strings.Repeat("long ", 200), Answer: "so", Tainted: true}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		w := &env{t: t, at: t0, ended: map[planner.ActionID]bool{}}
		w.append(opening(t))
		for step := 0; !w.s.Finished() && step < 60; step++ {
			w.append(w.event())
			journal := func(seq int) planner.Event { return w.journal[seq-1] }
			for _, a := range planner.Todo(w.s) {
				if a.Kind != planner.KindModel {
					continue
				}
				for _, most := range []int{0, 6000, 4500, 3000} {
					input.MaxBytes = most
					r, err := planner.Prompt(w.s, journal, a, input)
					if err != nil {
						t.Fatalf("Prompt(%s) of %d bytes: %v", a.ID, most, err)
					}
					if err := llm.Check(r); err != nil {
						t.Fatalf("Prompt(%s) of %d bytes is not valid: %v\n%+v", a.ID, most, err, r.Messages)
					}
					takeTurns(t, r.Messages)
					if a.Role != llm.RoleWork && most == 0 {
						hasNotes(t, w.s, r.Messages)
					}
				}
			}
		}
	})
}

// hasNotes checks that a decision sees everything that others have added.
func hasNotes(t *rapid.T, s planner.State, messages []llm.Message) {
	var text strings.Builder
	for _, m := range messages {
		text.WriteString(m.Content)
	}
	for _, seq := range s.Notes {
		if note := fmt.Sprintf("note %d.", seq); strings.Count(text.String(), note) != 1 {
			t.Fatalf("%q is in the prompt %d times, want once", note, strings.Count(text.String(), note))
		}
	}
}

// takeTurns checks that neither people nor models speak twice in succession, as
// the templates of some models want it.
func takeTurns(t *rapid.T, messages []llm.Message) {
	for i, m := range messages[1:] {
		if before := messages[i]; m.Role == before.Role && m.Role != llm.ToolRole {
			t.Fatalf("two messages of the %s follow each other: %+v and %+v", m.Role, before, m)
		}
	}
}

// TestPromptsGrowAtTheEnd: each prompt of a role begins with at least 90 % of
// the one before it in the same task.
func TestPromptsGrowAtTheEnd(t *testing.T) {
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	groups := []i18n.Group{{Name: "math", Description: "Exact arithmetic on numbers."}, {Name: "clock", Description: "Time in a place."}}
	// The group's two tools are as large as those of the built-in servers are.
	schema := fmt.Sprintf(`{"type":"object","properties":{"expression":{"type":"string","description":%q}},"required":["expression"]}`, strings.Repeat("operators and functions ", 10))
	tools := []llm.Tool{
		{Name: "calculate", Description: "Calculates exactly, numbers of any size.", Schema: json.RawMessage(schema)},
		{Name: "convert", Description: "Converts an amount from one unit to another.", Schema: json.RawMessage(schema)},
	}
	var s planner.State
	var journal []planner.Event
	last := map[string]string{}
	step := func(e planner.Event) {
		t.Helper()
		e.Seq, e.At = s.Seq+1, t0.Add(time.Duration(s.Seq)*time.Second)
		if !planner.Takes(s, e) {
			t.Fatalf("%s %q does not fit; todo %v", e.Type, e.Action, planner.Todo(s))
		}
		s = planner.Apply(s, e)
		journal = append(journal, e)
		for _, a := range planner.Todo(s) {
			if a.Kind != planner.KindModel {
				continue
			}
			r, err := planner.Prompt(s, func(seq int) planner.Event { return journal[seq-1] }, a, planner.PromptInput{Texts: texts, Groups: groups, Tools: tools, SharedState: true, Delegate: true})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(struct {
				T []llm.Tool
				M []llm.Message
			}{r.Tools, r.Messages})
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := last[a.Role]; ok && before != string(raw) {
				if n := commonPrefix(before, string(raw)); 10*n < 9*len(before) {
					t.Errorf("%s: %d of %d bytes of the prompt before come again", a.ID, n, len(before))
				}
			}
			last[a.Role] = string(raw)
		}
	}
	reply := func(id planner.ActionID, r planner.Reply) planner.Event {
		return planner.Event{Type: planner.Replied, Action: id, Reply: &r}
	}
	step(planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "What is 17*23?", Language: "en", Timezone: "Asia/Tokyo", Limits: planner.DefaultLimits()}})
	step(planner.Event{Type: planner.Malformed, Action: planner.DecisionID("plan", 1, 0), Problem: &planner.Problem{Reason: "unknown group", Text: "{}"}})
	step(reply(planner.DecisionID("plan", 1, 1), planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: "1/a", Name: "math", Description: "Calculate 17*23 exactly."}, {ID: "1/b", Name: "math", Description: "Calculate 17*29 exactly."},
	}}))
	for _, id := range []string{"1/a", "1/b"} {
		step(reply(planner.WorkID(id, 1, 0), planner.Reply{Calls: []planner.Call{{ID: "c1", Name: "calculate", Arguments: `{"expression":"17*23"}`, Tool: "math.calculate"}}}))
		step(planner.Event{Type: planner.Returned, Action: planner.CallID(id, 1, 1, 0), Result: &planner.Result{Text: "391"}})
		step(reply(planner.WorkID(id, 2, 0), planner.Reply{Text: "391"}))
	}
	step(reply(planner.Todo(s)[0].ID, planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "2/a", Name: "clock", Description: "Time in Tokyo."}}}))
	step(reply(planner.WorkID("2/a", 1, 0), planner.Reply{Text: "20:15"}))
	if !slices.Contains([]string{"review"}, planner.Todo(s)[0].Role) {
		t.Fatalf("todo = %v, want a second review", planner.Todo(s))
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
