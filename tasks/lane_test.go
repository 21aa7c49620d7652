package tasks_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// TestLane: decisions in order of arrival, questions beside a plan, and one working
// plan at a time.
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

// TestAhead: how many tasks each one waits for, while they decide and while one works.
func TestAhead(t *testing.T) {
	c := &conversation{t: t, states: map[tasks.ID]planner.State{}}
	ahead := func(want ...int) {
		t.Helper()
		var got []int
		for i := range c.lane.Entries {
			got = append(got, c.lane.Ahead(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the tasks wait for %v others, want %v; released so far %v", got, want, c.freed)
		}
	}
	for _, id := range []tasks.ID{"a", "b", "c", "d"} {
		c.open(id)
	}
	ahead(0, 1, 2, 3)
	c.plan("a")
	ahead(0, 0, 1, 2)
	c.plan("b")
	ahead(0, 1, 0, 1)
	c.plan("c")
	ahead(0, 1, 2, 0)
	c.append("a", planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: "found"}})
	c.show("a")
	ahead(0, 1, 0)
}

// TestLaneStoppedWhileWaiting: a task that is stopped in the queue blocks no other.
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

// TestLaneProposed: a plan without approval blocks no other task, and joins the
// queue after the approval.
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

// laneModel is a conversation of many tasks with random events.
type laneModel struct {
	t      *rapid.T
	lane   tasks.Lane
	states map[tasks.ID]planner.State
	order  []tasks.ID
}

func (c *laneModel) append(id tasks.ID, e planner.Event) {
	s := c.states[id]
	e.Seq, e.At = s.Seq+1, time.Unix(int64(s.Seq), 0)
	c.lane.Amend(id, s, &e)
	if !planner.Takes(s, e) {
		c.t.Fatalf("%s does not take %s in phase %s", id, e.Type, s.Phase)
	}
	c.states[id] = planner.Apply(s, e)
	for _, free := range c.lane.Note(id, c.states[id]) {
		c.append(free, planner.Event{Type: planner.Released})
	}
}

func (c *laneModel) open() {
	id := tasks.ID(fmt.Sprintf("t%02d", len(c.order)))
	c.order = append(c.order, id)
	c.append(id, planner.Event{Type: planner.Opened, Opening: &planner.Opening{
		Limits: planner.DefaultLimits(), Queued: c.lane.Open(id), Preview: rapid.Bool().Draw(c.t, "preview"),
	}})
}

// step applies a random event to a live task.
func (c *laneModel) step(id tasks.ID) {
	s := c.states[id]
	n := rapid.IntRange(0, 9).Draw(c.t, "what")
	todo := planner.Todo(s)
	switch {
	case n == 0 && !s.Settled():
		c.append(id, planner.Event{Type: planner.Stopped})
	case n == 1 && !s.Settled() && !s.Streamed && s.Phase != planner.PhaseAnswering:
		c.append(id, planner.Event{Type: planner.GuidanceAdded, Text: "also"})
	case len(todo) == 0:
	case todo[0].Kind == planner.KindAsk:
		c.append(id, planner.Event{Type: planner.Decided, Action: todo[0].ID, Decision: &planner.Decision{Approve: n < 8}})
	case todo[0].Kind == planner.KindShow:
		if s.Slot(planner.SlotAnswer).Name == "" {
			c.append(id, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
		}
		c.append(id, planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true})
	case todo[0].Role == "plan" && n < 8:
		c.append(id, planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &planner.Reply{
			IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "web", Description: "x"}},
		}})
	default:
		c.append(id, planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &planner.Reply{Text: "x"}})
	}
}

// check looks for two that work at once, and for one that will never be
// released.
func (c *laneModel) check() {
	working, taken, deciding := 0, false, false
	for _, id := range c.order {
		s := c.states[id]
		switch {
		case s.Finished():
		case s.Round > 0 && s.Phase != planner.PhaseProposed && !s.Queued() && !s.Preview:
			taken = true // until its answer is shown
			if !s.Settled() {
				working++
			}
		case s.Phase == planner.PhaseDeciding || s.Phase == planner.PhaseShowing:
			deciding = true
		}
	}
	if working > 1 {
		c.t.Fatalf("%d tasks work at once: %+v", working, c.lane)
	}
	for _, id := range c.order {
		if s := c.states[id]; s.Queued() && (s.Round > 0 && !taken || s.Round == 0 && !deciding) {
			c.t.Fatalf("%s waits without a reason: %+v", id, c.lane)
		}
	}
}

// TestLaneHoldsUpNobody: whatever happens with the tasks of a conversation, one
// works by a plan at a time, and all come to an end.
func TestLaneHoldsUpNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &laneModel{t: t, states: map[tasks.ID]planner.State{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var live []tasks.ID
			for _, id := range c.order {
				if c.states[id].Phase != planner.PhaseOver {
					live = append(live, id)
				}
			}
			if len(live) == 0 || len(c.order) < 12 && rapid.IntRange(0, 3).Draw(t, "open") == 0 {
				c.open()
			} else {
				c.step(rapid.SampledFrom(live).Draw(t, "task"))
			}
			c.check()
		}
	})
}
