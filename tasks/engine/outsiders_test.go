package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// outsiders are the programs and agents of a simulation.
type outsiders struct {
	orders map[tasks.ID]planner.Notify // tasks of a program
	notes  map[string][]noted          // notes for the context of a task, by its goal
	seen   map[string]time.Time        // when something was to be set aside first for an action
	begun  map[string]time.Time        // the same, of the newest action of a task, by its goal
	acts   int
}

type noted struct {
	text string
	at   time.Time
}

// order has a program start a task, some of them for agents from outside.
func (sim *simulation) order(n int) {
	o := inbox.TaskRequest{
		From: bot.Person{Platform: tasks.PlatformAPI, ID: "ops"}, Key: fmt.Sprintf("order %d", n), Goal: fmt.Sprintf("order %d", n), External: sim.chance(40),
	}
	if sim.chance(50) {
		o.Notify = &planner.Notify{Chat: &enginetest.Chat}
	}
	for again := 1 + sim.draw(2); again > 0; again-- {
		r, err := inbox.StartTask(context.Background(), sim.env.Inbox, o)
		if err != nil {
			sim.t.Fatalf("starting %q: %v", o.Goal, err)
		}
		sim.orders[r.Task] = planner.Notify{}
		if o.Notify != nil {
			sim.orders[r.Task] = *o.Notify
		}
	}
}

// outsiderActs lets somebody from outside do something to a task that runs.
func (sim *simulation) outsiderActs() {
	ctx := context.Background()
	live, err := sim.store.Live(ctx, "")
	if err != nil || len(live) == 0 {
		return
	}
	id := live[sim.draw(len(live))].Task
	s, err := sim.store.State(ctx, id)
	if err != nil {
		sim.t.Fatal(err)
	}
	sim.acts++
	e := sim.interference(s)
	opened, err := sim.store.Event(ctx, id, 1)
	if err != nil {
		sim.t.Fatal(err)
	}
	text := ""
	if e.Type == planner.NoteAdded {
		text = fmt.Sprintf("note %d of %s.", sim.acts, opened.Opening.Goal)
		e.Note = &planner.Note{Type: "observation", Content: json.RawMessage(fmt.Sprintf("%q", text))}
	}
	err = sim.store.Append(ctx, id, -1, 0, e)
	switch forbidden := e.Type == planner.Decided || e.Type == planner.GuidanceAdded; {
	case err != nil && !errors.Is(err, tasks.ErrRefused):
		sim.t.Fatalf("%s by %q: %v", e.Type, e.By, err)
	case err == nil && forbidden:
		sim.t.Errorf("%s by %q was taken", e.Type, e.By)
	case err == nil && text != "":
		sim.mu.Lock()
		sim.notes[opened.Opening.Goal] = append(sim.notes[opened.Opening.Goal], noted{text, time.Now()})
		sim.mu.Unlock()
	}
}

// interference draws what somebody from outside does.
func (sim *simulation) interference(s planner.State) planner.Event {
	by := []string{"agent:a", "agent:b", "api:ops"}[sim.draw(3)]
	status := func(value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(value)}
	}
	switch sim.draw(9) {
	case 0, 1, 2:
		return planner.Event{Type: planner.NoteAdded, By: by}
	case 3, 4:
		return planner.Event{Type: planner.StateSet, By: by, Values: status(`"` + planner.NeedsHumanReview + `"`)}
	case 5:
		return planner.Event{Type: planner.StateSet, By: by, Values: status(`"DONE"`)}
	case 6:
		return planner.Event{Type: planner.Answered, By: by, Text: "the answer of " + by}
	case 7:
		for _, a := range planner.Todo(s) {
			if a.Kind == planner.KindAsk {
				e := planner.Event{Type: planner.Decided, By: "agent:a", Action: a.ID, Decision: &planner.Decision{Approve: true}}
				if a.ID.Subject == planner.SubjectReview {
					e.Values = planner.ReviewValues(true)
				}
				return e
			}
		}
	}
	return planner.Event{Type: planner.GuidanceAdded, By: "agent:b", Text: "obey"}
}

// rule lets an operator decide about what the tasks of programs ask, and about
// reviews.
func (sim *simulation) rule() {
	ctx := context.Background()
	live, err := sim.store.Live(ctx, "")
	if err != nil {
		sim.t.Fatal(err)
	}
	for _, l := range live {
		s, err := sim.store.State(ctx, l.Task)
		if err != nil {
			sim.t.Fatal(err)
		}
		for _, a := range planner.Todo(s) {
			if a.Kind != planner.KindAsk || l.Chat.Platform != tasks.PlatformAPI && s.Review == 0 || sim.chance(30) {
				continue
			}
			err := inbox.Decide(ctx, sim.env.Inbox, l.Task, tasks.AskOf(a.ID), inbox.ProgramDecision{By: "api:ops", Admin: true, Own: true, Approve: sim.chance(60), Text: "a"})
			if err != nil && !errors.Is(err, tasks.ErrRefused) {
				sim.t.Fatalf("deciding about %q: %v", a.ID, err)
			}
		}
	}
}

// reads checks that a decision knows what was added to its task before.
func (sim *simulation) reads(r llm.Request) {
	if r.Role == llm.RoleWork {
		return
	}
	var all strings.Builder
	for _, m := range r.Messages[1:] { // the first one explains the marks
		all.WriteString(m.Content)
	}
	sim.mu.Lock()
	defer sim.mu.Unlock()
	goal := enginetest.Between(all.String(), "goal")
	for _, n := range sim.notes[goal] {
		if n.at.Before(sim.begun[goal]) && !strings.Contains(all.String(), n.text) {
			sim.late = append(sim.late, "a decision without the "+n.text)
		}
	}
}

// watched is a store that notes what begins although a person reviews.
type watched struct {
	*store.Store
	sim *simulation
}

// Reserve is called before each call of a model.
func (s watched) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	state, err := s.State(ctx, id)
	if err != nil {
		return err
	}
	var asked planner.Event
	if state.Review > 0 { // not read in time, when the action was cancelled or the store closed: then it does not begin
		if asked, err = s.Event(ctx, id, state.Review); err != nil {
			return err
		}
	}
	opened, err := s.Event(ctx, id, 1)
	if err != nil {
		return err
	}
	s.sim.mu.Lock()
	at, again := s.sim.seen[fmt.Sprint(id, r.ID)]
	if !again {
		at = time.Now()
		s.sim.seen[fmt.Sprint(id, r.ID)] = at
	}
	if state.Review > 0 && !again && !asked.At.Equal(at) {
		s.sim.late = append(s.sim.late, fmt.Sprint(r.ID, " in a review"))
	}
	s.sim.begun[opened.Opening.Goal] = at
	s.sim.mu.Unlock()
	return s.Store.Reserve(ctx, id, r)
}

// ordered checks how the tasks of programs ended, and returns them as turns.
func (sim *simulation) ordered(answers map[tasks.ID]int) []tasks.Turn {
	var turns []tasks.Turn
	for id, notify := range sim.orders {
		events, err := sim.store.Load(context.Background(), id, 0)
		if err != nil {
			sim.t.Fatal(err)
		}
		opening := events[0].Opening
		turns = append(turns, tasks.Turn{Task: id, Goal: opening.Goal})
		most, least := 1+sim.window[id], 1
		if notify.Chat == nil {
			most, least = 0, 0
		}
		if n := answers[id]; n < least || n > most {
			sim.t.Errorf("%q was told %d times, want %d to %d", opening.Goal, n, least, most)
		}
		var s planner.State
		for _, e := range events {
			before := s
			s = planner.Apply(s, e)
			own := e.Type == planner.Answered || e.Type == planner.Stopped || e.Type == planner.Expired
			if opening.External && !before.Settled() && s.Settled() && !own {
				sim.t.Errorf("%q of agents from outside was ended by %s", opening.Goal, e.Type)
			}
		}
		if !s.Finished() {
			sim.t.Errorf("%q is not over", opening.Goal)
		}
	}
	return turns
}
