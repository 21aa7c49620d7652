package engine

import (
	"context"
	"time"

	"legwork/planner"
)

// The slots in which tasks work: as many as the engine has.

// pays reports that an action works, and so needs the task's slot.
func pays(a planner.Action) bool { return a.Kind == planner.KindModel || a.Kind == planner.KindTool }

// eligible reports that there is work to start.
func (r *runner) eligible(todo []planner.Action) bool {
	for _, a := range todo {
		if pays(a) && !a.Hold && r.running[a.ID] == nil {
			return true
		}
	}
	return false
}

func (r *runner) busy() bool {
	for _, d := range r.running {
		if d.pays && !d.parked && !d.waits {
			return true
		}
	}
	return false
}

// patient is how long a task waits for its slot without a word about it.
const patient = time.Second

// fed notes that the task has its slot now: the time that it waited for other
// tasks does not count as its own.
func (r *runner) fed(ctx context.Context) error {
	waited := r.e.cfg.Now().Sub(r.starved)
	r.e.cfg.Metrics.SlotWaited(max(waited, 0))
	r.starved = time.Time{}
	r.file.wants(r.starved)
	if waited < patient {
		return nil
	}
	return r.skip(ctx)
}

// wantSlot is the engine's slots while this task has work and no slot, nil
// otherwise.
func (r *runner) wantSlot() chan<- struct{} {
	if r.slot || r.paused || !r.eligible(planner.Todo(r.view.State)) {
		return nil
	}
	return r.e.slots
}

func (r *runner) free() {
	if r.slot {
		<-r.e.slots
		r.slot = false
	}
}
