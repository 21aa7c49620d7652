package tasks_test

import (
	"slices"
	"testing"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// conversation plays a lane as a store does.
type conversation struct {
	t      *testing.T
	lane   tasks.Lane
	states map[tasks.ID]planner.State
	freed  []tasks.ID
}

func (c *conversation) open(id tasks.ID) (queued bool) {
	return c.begin(id, planner.Opening{})
}

func (c *conversation) begin(id tasks.ID, o planner.Opening) (queued bool) {
	queued = c.lane.Open(id)
	o.Limits, o.Queued = planner.DefaultLimits(), queued
	c.append(id, planner.Event{Type: planner.Opened, Opening: &o})
	return queued
}

func (c *conversation) append(id tasks.ID, e planner.Event) {
	c.t.Helper()
	s := c.states[id]
	e.Seq, e.At = s.Seq+1, time.Unix(int64(s.Seq), 0)
	if e.Type == planner.Replied || e.Type == planner.Decided {
		e.Action = planner.Todo(s)[0].ID
		c.lane.Amend(id, s, &e)
	}
	if !planner.Takes(s, e) {
		c.t.Fatalf("%s does not take %s in phase %s", id, e.Type, s.Phase)
	}
	c.states[id] = planner.Apply(s, e)
	for _, free := range c.lane.Note(id, c.states[id]) {
		c.freed = append(c.freed, free)
		c.append(free, planner.Event{Type: planner.Released})
	}
}

func (c *conversation) answer(id tasks.ID) {
	c.append(id, planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: "x"}})
	c.show(id)
}

func (c *conversation) show(id tasks.ID) {
	c.append(id, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	c.append(id, planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true})
}

func (c *conversation) plan(id tasks.ID) {
	c.append(id, planner.Event{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "web", Description: "x"}}}})
}

func (c *conversation) phase(id tasks.ID, want planner.Phase) {
	c.t.Helper()
	if got := c.states[id].Phase; got != want {
		c.t.Errorf("%s is %s, want %s; released so far %v", id, got, want, c.freed)
	}
}

// TestLane: decisions in order of arrival, questions beside a plan, one plan
// at a time.
func TestLane(t *testing.T) {
	c := &conversation{t: t, states: map[tasks.ID]planner.State{}}
	if c.open("a") {
		t.Error("the first task has to wait")
	}
	for _, id := range []tasks.ID{"b", "c", "d"} {
		if !c.open(id) {
			t.Errorf("%s does not wait for the decision about a", id)
		}
	}
	c.plan("a") // a plans: b may decide beside it
	c.phase("a", planner.PhaseWorking)
	c.phase("b", planner.PhaseDeciding)
	c.phase("c", planner.PhaseQueued)
	c.plan("b") // a second plan waits, with its plan in hand; c may decide
	c.phase("b", planner.PhaseQueued)
	c.phase("c", planner.PhaseDeciding)
	c.answer("c") // a plain question is answered beside the plan; d is next
	c.phase("d", planner.PhaseDeciding)
	c.append("d", planner.Event{Type: planner.Stopped})
	c.show("d")
	c.append("a", planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: "found"}})
	c.phase("b", planner.PhaseQueued) // until the answer of a is shown
	c.show("a")
	c.phase("b", planner.PhaseWorking)
	if want := []tasks.ID{"b", "c", "d", "b"}; !slices.Equal(c.freed, want) {
		t.Errorf("released in the order %v, want %v", c.freed, want)
	}
}

// TestLaneStoppedWhileWaiting: a task that is stopped in the queue holds up no
// other.
func TestLaneStoppedWhileWaiting(t *testing.T) {
	c := &conversation{t: t, states: map[tasks.ID]planner.State{}}
	c.open("a")
	c.open("b")
	c.open("c")
	c.append("b", planner.Event{Type: planner.Stopped})
	c.show("b")
	c.phase("c", planner.PhaseQueued)
	c.answer("a")
	c.phase("c", planner.PhaseDeciding)
}

// TestLaneProposed: a plan that no person has agreed to holds up no other one,
// and waits for its place once somebody has.
func TestLaneProposed(t *testing.T) {
	c := &conversation{t: t, states: map[tasks.ID]planner.State{}}
	yes := planner.Event{Type: planner.Decided, Decision: &planner.Decision{Approve: true}}
	c.begin("a", planner.Opening{Preview: true})
	c.open("b")
	c.open("c")
	c.plan("a")
	c.phase("a", planner.PhaseProposed)
	c.plan("b")
	c.phase("b", planner.PhaseWorking)
	c.append("a", planner.Event{Type: planner.GuidanceAdded, Text: "otherwise"})
	c.plan("a")
	c.append("a", yes)
	c.phase("a", planner.PhaseQueued) // b works
	c.plan("c")
	c.phase("c", planner.PhaseQueued)
	c.append("b", planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: "found"}})
	c.show("b")
	c.phase("a", planner.PhaseWorking)
	c.phase("c", planner.PhaseQueued)
	c.append("a", planner.Event{Type: planner.Stopped})
	c.show("a")
	c.phase("c", planner.PhaseWorking)
}
