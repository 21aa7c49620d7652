package store

import (
	"legwork/internal/telemetry"
	"legwork/planner"
)

// measure counts what one event changed for its task.
func (x *txn) measure(task taskRow, before, after planner.State, e planner.Event) {
	if x.metrics == nil {
		return
	}
	event := string(e.Type)
	x.count(func(m *telemetry.Metrics) { m.Stored(event) })
	platform := task.Chat.Platform
	switch {
	case e.Opening != nil:
		x.count(func(m *telemetry.Metrics) { m.TaskOpened(platform) })
	case e.Decision != nil:
		verdict := verdictOf(e.Decision)
		x.count(func(m *telemetry.Metrics) { m.Decided(verdict) })
	case e.Type == planner.Expired:
		for range questions(before) - questions(after) {
			x.count(func(m *telemetry.Metrics) { m.Decided("lapsed") })
		}
	}
	for i := range after.Subtasks {
		w := &after.Subtasks[i]
		if !w.State.Ended() || i < len(before.Subtasks) && before.Subtasks[i].State.Ended() {
			continue
		}
		name, state, took := w.Name, string(w.State), w.EndedAt.Sub(w.StartedAt)
		x.count(func(m *telemetry.Metrics) { m.SubtaskEnded(name, state, took) })
	}
	if after.Finished() && !before.Finished() {
		outcome, took := string(after.Outcome), after.Last.Sub(after.Opened)
		x.count(func(m *telemetry.Metrics) { m.TaskEnded(platform, outcome, took) })
	}
}

// questions is how many questions to people are open.
func questions(s planner.State) (n int) {
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk {
			n++
		}
	}
	return n
}

// verdictOf is a person's verdict, as the metrics name it.
func verdictOf(d *planner.Decision) string {
	switch {
	case d.Approve:
		return "approved"
	case len(d.Value) > 0 || d.Text != "":
		return "answered"
	}
	return "denied"
}
