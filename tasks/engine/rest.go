package engine

import (
	"time"

	"legwork/planner"
	"legwork/tasks/presenter"
)

// rest is why a task takes no room for now, and what is to be known when it
// goes on.
type rest struct {
	until   time.Time // when it has to be looked at; zero: not before it changes
	held    bool      // the task before it is not over
	shared  bool      // agents from outside work on it
	starved time.Time // as runner.starved
	pause   time.Duration
	seen    presenter.Frame
}

// rests is how the task can leave its room: nothing runs and nothing can be
// begun, and its chat shows that, or was to when others wait for the room. Nil:
// it cannot. What a passing chat was asked is not asked again, and so stays.
func (r *runner) rests() *rest {
	if r.wantSlot() != nil || !r.still() || len(r.file.poke) > 0 {
		return nil
	}
	shown, tried := r.presenter.Drawn()
	if !tried || (!shown || !r.presenter.Lasts()) && !r.e.desk.crowded(r.file) {
		return nil
	}
	if !r.presenter.Lasts() && len(r.running) > 0 {
		return nil
	}
	out := &rest{held: r.view.State.Queued(), shared: r.view.State.Phase == planner.PhaseShared, starved: r.starved, pause: r.pause, seen: r.presenter.Seen()}
	if d := planner.Deadline(r.view.State); r.starved.IsZero() {
		out.until = d
	}
	if r.again.After(r.e.cfg.Now()) { // nothing is tried before, a deadline that is over included
		out.until = r.again
	}
	return out
}

// still reports that nothing of the task runs, and that nothing can be begun
// before it changes or its time has come.
func (r *runner) still() bool {
	for _, d := range r.running {
		if !d.parked {
			return false
		}
	}
	later := r.again.After(r.e.cfg.Now())
	for _, a := range planner.Todo(r.view.State) {
		if r.running[a.ID] == nil && !a.Hold && !later && (!r.paused || !pays(a)) {
			return false
		}
	}
	return true
}
