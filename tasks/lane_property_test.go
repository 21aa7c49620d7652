package tasks_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"legwork/planner"
	"legwork/tasks"
)

// laneModel is a conversation of many tasks with which anything may happen.
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

// step lets something happen with a task that is not over.
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
