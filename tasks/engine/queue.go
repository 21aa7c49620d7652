package engine

import "time"

// Queued is how long the first of the tasks has been waiting that wait for room
// or for a slot; 0 when none does.
func (e *Engine) Queued() time.Duration { return e.desk.queued() }

func (d *desk) queued() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	var longest time.Duration
	for _, f := range d.files {
		switch since := f.hungry.Load(); {
		case f.stage == waits:
			longest = max(longest, now.Sub(f.since))
		case f.stage == works && since != 0:
			longest = max(longest, now.Sub(time.Unix(0, since)))
		}
	}
	return longest
}

// wants notes since when a task waits for a slot; zero when it does not.
func (f *file) wants(since time.Time) {
	if since.IsZero() {
		f.hungry.Store(0)
	} else {
		f.hungry.Store(since.UnixNano())
	}
}
