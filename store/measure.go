package store

import (
	"legwork/internal/telemetry"
	"legwork/planner"
)

// measure counts what one event changed for its task.
func (x *txn) measure(task taskRow, before, after planner.State, e planner.Event) {
	platform := task.Chat.Platform
	x.count(func(m *telemetry.Metrics) {
		m.Stored(string(e.Type))
		switch {
		case e.Opening != nil:
			m.TaskOpened(platform)
		case e.Decision != nil:
			m.Decided(verdictOf(e.Decision))
		case e.Type == planner.Expired:
			for range questions(before) - questions(after) {
				m.Decided("lapsed")
			}
		}
		for i := range after.Subtasks {
			w := &after.Subtasks[i]
			if w.State.Ended() && (i >= len(before.Subtasks) || !before.Subtasks[i].State.Ended()) {
				m.SubtaskEnded(w.Name, string(w.State), w.EndedAt.Sub(w.StartedAt))
			}
		}
		if after.Finished() && !before.Finished() {
			m.TaskEnded(platform, string(after.Outcome), after.Last.Sub(after.Opened))
		}
	})
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
