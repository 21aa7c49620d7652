package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
)

// Journals implements the part of tasks.Store about tasks and their events.
type Journals struct{ *core }

// Append implements tasks.Store.
func (j Journals) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	ctx, span := telemetry.Start(ctx, telemetry.Internal, "store append")
	err := j.update(ctx, "appending events", func(x *txn) { x.fail(journals{x}.append(id, after, fence, e...)) })
	span.Number(telemetry.EventsKey, len(e))
	if errors.Is(err, tasks.ErrRefused) || errors.Is(err, tasks.ErrConflict) {
		span.Text(telemetry.OutcomeKey, telemetry.Refused) // the machine refuses it
		span.End(nil)
	} else {
		span.End(err)
	}
	return err
}

// Load implements tasks.Store. Events that became durable a moment ago, and are not
// in the cached state yet, come the next time: a reader that has seen an event must
// not meet an older state.
func (j Journals) Load(ctx context.Context, id tasks.ID, from int) (events []planner.Event, err error) {
	err = j.read(ctx, "loading journal", func(x *txn) {
		task, err := journals{x}.existing(id)
		if err == nil {
			events, err = journals{x}.events(id, from, task.Last)
		}
		x.fail(err)
	})
	if err != nil {
		return nil, err
	}
	if state, ok := j.cache.state(id); ok {
		for n := len(events); n > 0 && events[n-1].Seq > state.Seq; n-- {
			events = events[:n-1]
		}
	}
	return events, nil
}

// Event implements tasks.Store.
func (j Journals) Event(ctx context.Context, id tasks.ID, seq int) (e planner.Event, err error) {
	err = j.read(ctx, "loading event", func(x *txn) {
		task, err := journals{x}.existing(id)
		switch {
		case err != nil:
		case seq < 1 || seq > task.Last:
			err = fmt.Errorf("task %s has no event %d", id, seq)
		default:
			e, err = journals{x}.event(id, seq)
		}
		x.fail(err)
	})
	return e, err
}

// State implements tasks.Store.
func (j Journals) State(ctx context.Context, id tasks.ID) (state planner.State, err error) {
	if state, ok := j.cache.state(id); ok {
		return state, nil
	}
	mark := j.cache.mark()
	err = j.read(ctx, "folding journal", func(x *txn) {
		_, state, err = journals{x}.existingState(id)
		x.fail(err)
	})
	if err != nil {
		return planner.State{}, err
	}
	j.cache.keepSince(mark, id, state)
	return state, nil
}

// Drop implements tasks.Store.
func (j Journals) Drop(ctx context.Context, id tasks.ID) error {
	return j.update(ctx, "dropping task", func(x *txn) { x.fail(journals{x}.drop(id)) })
}

// Changed implements tasks.Store.
func (j Journals) Changed(id tasks.ID) <-chan struct{} { return j.watch.Changed(id) }

// Follow implements tasks.Store.
func (j Journals) Follow(heard func(tasks.ID)) (stop func()) { return j.watch.Follow(heard) }

// journals are the tasks and their events, within a transaction.
type journals struct{ *txn }

// existing returns a task's row. ErrNoTask, ErrDamaged.
func (x journals) existing(id tasks.ID) (taskRow, error) {
	task, ok, err := x.task(id)
	if err == nil && !ok {
		err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	return task, err
}

// existingState returns a task's row and its state. ErrNoTask, ErrDamaged.
func (x journals) existingState(id tasks.ID) (task taskRow, s planner.State, err error) {
	if task, err = x.existing(id); err == nil {
		s, err = x.state(id, task)
	}
	return task, s, err
}

// task returns a task's row; ok is false when there is none, and true with
// ErrDamaged.
func (x *txn) task(id tasks.ID) (task taskRow, ok bool, err error) {
	if id == "" {
		return task, false, nil
	}
	return taskRows.get(x, id)
}

// event reads one event. ErrDamaged.
func (x journals) event(id tasks.ID, seq int) (planner.Event, error) {
	e, ok, err := journal.get(x, eventKey{id, seq})
	if err == nil && !ok {
		err = fmt.Errorf("task %s, event %d: %w: missing", id, seq, tasks.ErrDamaged)
	}
	return e, err
}

// events reads the events after seq from, up to seq to, and checks that none is
// missing. ErrDamaged.
func (x journals) events(id tasks.ID, from, to int) (list []planner.Event, err error) {
	seq := max(from, 0)
	if seq >= to {
		return nil, nil
	}
	next := eventKey{id, seq + 1}
	for r, err := range x.Range(TableJournal, journalKey(next), journalKey(eventKey{id, to + 1}), Ascending) {
		if err != nil {
			return nil, err
		}
		if string(r.Key) != string(journalKey(next)) {
			break
		}
		e, err := journal.read(r)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", describe(TableJournal, r.Key), err)
		}
		list = append(list, e)
		next.seq++
	}
	if next.seq <= to {
		return nil, fmt.Errorf("task %s, event %d: %w: missing", id, next.seq, tasks.ErrDamaged)
	}
	return list, nil
}

// state returns the fold of a task's whole journal. ErrDamaged.
func (x journals) state(id tasks.ID, task taskRow) (planner.State, error) {
	s, ok := x.folds(id)
	if !ok && !slices.Contains(x.deleted, id) {
		s, _ = x.cache.state(id)
	}
	events, err := x.events(id, s.Seq, task.Last)
	for _, e := range events {
		s = planner.Apply(s, e)
	}
	if err == nil && len(events) > 0 {
		x.folded = append(x.folded, foldedState{id, s}) // an update leaves it in the cache
	}
	return s, err
}

// folds returns the newest fold of a task that got events in the transaction.
func (x *txn) folds(id tasks.ID) (planner.State, bool) {
	for _, f := range slices.Backward(x.folded) {
		if f.id == id {
			return f.state, true
		}
	}
	return planner.State{}, false
}

// append adds events to a task with everything that follows from them. An error
// leaves half of the changes.
func (x journals) append(id tasks.ID, after int, fence int64, events ...planner.Event) error {
	task, err := x.existing(id)
	if err != nil {
		return err
	}
	if fence != 0 && fence < task.Fence {
		return fmt.Errorf("task %s, lease %d, highest %d: %w", id, fence, task.Fence, tasks.ErrFenced)
	}
	state, err := x.state(id, task)
	if err != nil {
		return err
	}
	if task.Over && !state.Finished() { // it was dropped, and nothing may continue it
		return fmt.Errorf("task %s was dropped: %w", id, tasks.ErrRefused)
	}
	if after >= 0 && after != state.Seq {
		return fmt.Errorf("task %s, read up to %d, now at %d: %w", id, after, state.Seq, tasks.ErrConflict)
	}
	task.Fence = max(task.Fence, fence)
	if len(events) == 0 {
		taskRows.put(x, id, task)
	}
	for _, e := range events {
		if task, state, err = x.appendEvent(id, task, state, e); err != nil {
			return err
		}
	}
	return nil
}

// appendEvent adds one event to a task in a state, and writes what follows from it.
// It returns the task and its state after the event.
func (x journals) appendEvent(id tasks.ID, task taskRow, before planner.State, e planner.Event) (taskRow, planner.State, error) {
	lane := lanes(x).read(task.Chat.Key())
	lane.Amend(id, before, &e)
	e, after, err := x.fold(id, before, e)
	if err == nil {
		err = uses(x).refer(id, task.Chat.Room(), e.Contents())
	}
	if err != nil {
		return task, before, err
	}
	task.Last, task.Over = e.Seq, task.Over || after.Finished()
	taskRows.put(x, id, task)
	if text, failed, ok := planner.Settles(before, after, e); ok {
		answer := historyRow{Order: task.Order, Answer: true, Task: id, Failed: failed, Labels: after.Labels(), At: e.At, Text: text}
		turns(x).put(task.Chat.Key(), answer)
	}
	if len(before.Parts) != len(after.Parts) {
		if err := x.questionChanged(id, task, after); err != nil {
			return task, before, err
		}
	}
	ledger(x).note(id, task, before, after, e)
	index(x).note(id, before, after, e)
	audit(x).note(id, e)
	x.measure(task, before, after, e)
	free := lane.Note(id, after)
	lane.write()
	x.release(free)
	if slices.Contains(free, id) {
		return x.existingState(id)
	}
	return task, after, nil
}

// questionChanged writes the whole question of a task that is sent in several messages
// to the history and the lists. An answer to another question is no answer.
func (x journals) questionChanged(id tasks.ID, task taskRow, s planner.State) error {
	o, at, err := x.question(id, s)
	if err != nil {
		return err
	}
	history.drop(x, halfKey{turnKey{task.Chat.Key(), task.Order}, true})
	turns(x).put(task.Chat.Key(), historyRow{Order: task.Order, Task: id, From: task.From.Key(), Labels: s.Labels(), At: at, Brought: o.Brought(), Text: o.Goal})
	index(x).change(id, func(l *listing) { l.ask(o) })
	return nil
}

// question returns the whole question of a task, and when the task was opened.
func (x journals) question(id tasks.ID, s planner.State) (o *planner.Opening, at time.Time, err error) {
	first, err := x.event(id, 1)
	if err != nil {
		return nil, at, err
	}
	parts := make([]planner.Event, len(s.Parts))
	for i, seq := range s.Parts {
		if parts[i], err = x.event(id, seq); err != nil {
			return nil, at, err
		}
	}
	return planner.Whole(first.Opening, parts), first.At, nil
}

// fold gives e its number and time, checks that it fits, and stores it. It returns
// the event as it will be read back, and the state that it led to.
func (x journals) fold(id tasks.ID, before planner.State, e planner.Event) (planner.Event, planner.State, error) {
	e.Seq = before.Seq + 1
	if e.At.IsZero() {
		e.At = x.time
	}
	if !planner.Takes(before, e) {
		return e, before, fmt.Errorf("task %s, event %q: %w", id, e.Type, tasks.ErrRefused)
	}
	e.At = e.At.Round(0).UTC()
	body, err := json.Marshal(e)
	if err == nil {
		e, err = decodeJSON[planner.Event](body)
	}
	if err != nil {
		return e, before, fmt.Errorf("encoding event %q of task %s: %w", e.Type, id, err)
	}
	key := journalKey(eventKey{id, e.Seq})
	x.fail(x.Put(TableJournal, key, Seal(key, body)))
	after := planner.Apply(before, e)
	x.folded = append(x.folded, foldedState{id, after})
	x.changed = append(x.changed, id)
	x.entries = append(x.entries, tasks.FeedEntry{Task: id, Seq: e.Seq})
	x.step(string(e.Type))
	return e, after, nil
}

// release lets tasks of a conversation continue. It skips a task that has continued
// already, and drops a damaged one, so that the tasks behind it do not wait.
func (x journals) release(ids []tasks.ID) {
	for _, id := range ids {
		err := x.savepoint(func() error {
			task, state, err := x.existingState(id)
			if err == nil {
				_, _, err = x.appendEvent(id, task, state, planner.Event{Type: planner.Released})
			}
			return err
		})
		switch {
		case errors.Is(err, tasks.ErrDamaged):
			x.fail(x.drop(id))
		case !errors.Is(err, tasks.ErrRefused):
			x.fail(err)
		}
	}
}

// drop ends a task without an event. The history says that it failed, unless the
// history holds its answer, and the tasks behind it in its conversation continue. A
// task that has ended already stays as it is. ErrNoTask.
func (x journals) drop(id tasks.ID) error {
	task, ok, damaged := x.task(id)
	if damaged != nil {
		task, ok = lanes(x).copyOf(id)
	}
	if !ok {
		return fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	if task.Over {
		return nil
	}
	state, unknown := x.state(id, task)
	task.Over = true
	taskRows.put(x, id, task)
	x.changed = append(x.changed, id)
	x.entries = append(x.entries, tasks.FeedEntry{Task: id})
	x.step("dropped")
	x.count(func(m *telemetry.Metrics) { m.TaskEnded(task.Chat.Platform, string(planner.Failed), 0) })
	ledger(x).close(id)
	index(x).dropped(id, unknown == nil && state.Settled())
	if !history.has(x, halfKey{turnKey{task.Chat.Key(), task.Order}, true}) {
		turns(x).put(task.Chat.Key(), historyRow{Order: task.Order, Answer: true, Task: id, Failed: true, At: x.time})
	}
	lane := lanes(x).read(task.Chat.Key())
	free := lane.Note(id, planner.State{Phase: planner.PhaseOver})
	lane.write()
	x.release(free)
	return nil
}

// remove deletes a task with its journal, its row in lists and its account. It
// closes the account first. It returns how many contents of files went with it.
func (x journals) remove(id tasks.ID) (contents int) {
	ledger(x).close(id)
	index(x).remove(id)
	first, end := journalKey(eventKey{id, 0}), journalKey(eventKey{id, 1 << 56}) // before those of ids that begin with this one
	deleteRange(x, TableJournal, first, end, math.MaxInt)
	accounts.drop(x, id)
	x.deleted, x.changed, x.frees = append(x.deleted, id), append(x.changed, id), true
	x.step("forgotten")
	taskRows.drop(x, id)
	return uses(x).releaseTask(id)
}
