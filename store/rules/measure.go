package rules

import (
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
)

// Measure counts what a durable transaction changed for its tasks. before returns
// the earlier state of a task, if it is known.
func (c *Changes) Measure(m *telemetry.Metrics, before func(tasks.ID) (planner.State, bool)) {
	if m == nil {
		return
	}
	for i := range c.Records {
		e := &c.Records[i].Event
		m.Stored(string(e.Type))
		switch {
		case e.Opening != nil:
			m.TaskOpened(e.Opening.Chat.Platform)
		case e.Decision != nil:
			m.Decided(decision(e))
		}
	}
	for range c.Lapsed {
		m.Decided("lapsed")
	}
	for id, now := range c.States {
		was, known := before(id)
		if !known {
			was = planner.State{}
		}
		c.measure(m, id, &was, &now)
	}
	for _, id := range c.Dropped {
		m.TaskEnded(c.Tasks[id].Chat.Platform, string(planner.Failed), 0)
	}
}

func (c *Changes) measure(m *telemetry.Metrics, id tasks.ID, was, now *planner.State) {
	for i := range now.Subtasks {
		w := &now.Subtasks[i]
		if !w.State.Ended() || i < len(was.Subtasks) && was.Subtasks[i].State.Ended() {
			continue
		}
		m.SubtaskEnded(w.Name, string(w.State), w.EndedAt.Sub(w.StartedAt))
	}
	if now.Finished() && !was.Finished() {
		m.TaskEnded(c.Tasks[id].Chat.Platform, string(now.Outcome), now.Last.Sub(now.Opened))
	}
}

// lapsed is how many questions an event ended because they expired.
func lapsed(before, after planner.State, e planner.Event) int {
	if e.Type != planner.Expired {
		return 0
	}
	return max(0, questions(before)-questions(after))
}

func questions(s planner.State) (n int) {
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk {
			n++
		}
	}
	return n
}

// decision is a person's verdict.
func decision(e *planner.Event) string {
	switch {
	case e.Decision.Approve:
		return "approved"
	case len(e.Decision.Value) > 0 || e.Decision.Text != "":
		return "answered"
	}
	return "denied"
}
