package memory

import (
	"fmt"
	"time"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// contents is what the store holds; it implements rules.Base. Events are kept
// encoded, so that no caller shares memory with the store.
type contents struct {
	journals map[tasks.ID][][]byte
	states   map[tasks.ID]planner.State // of tasks that are not over
	tasks    map[tasks.ID]rules.Task
	seen     map[string]rules.Seen
	lanes    map[string]tasks.Lane
	history  map[string][]*turn // by conversation, in order of opening
	cuts     map[string]uint64
	settings map[rules.Setting]string
	order    uint64
}

type turn struct {
	tasks.Turn
	order    uint64
	answered bool
}

func newContents() *contents {
	return &contents{
		journals: map[tasks.ID][][]byte{}, states: map[tasks.ID]planner.State{}, tasks: map[tasks.ID]rules.Task{},
		seen: map[string]rules.Seen{}, lanes: map[string]tasks.Lane{}, history: map[string][]*turn{},
		cuts: map[string]uint64{}, settings: map[rules.Setting]string{},
	}
}

// Seen implements rules.Base.
func (c *contents) Seen(key string) (rules.Seen, bool, error) {
	s, ok := c.seen[key]
	return s, ok, nil
}

// Task implements rules.Base.
func (c *contents) Task(id tasks.ID) (rules.Task, bool, error) {
	t, ok := c.tasks[id]
	return t, ok, nil
}

// Spare implements rules.Base: no row is ever damaged here.
func (c *contents) Spare(tasks.ID) (rules.Task, bool, error) { return rules.Task{}, false, nil }

// State implements rules.Base.
func (c *contents) State(id tasks.ID) (planner.State, error) {
	if s, ok := c.states[id]; ok {
		return s, nil
	}
	events, err := c.events(id, 0)
	return planner.Fold(events), err
}

// Lane implements rules.Base.
func (c *contents) Lane(conversation string) (tasks.Lane, error) { return c.lanes[conversation], nil }

// Order implements rules.Base.
func (c *contents) Order() (uint64, error) { return c.order, nil }

func (c *contents) events(id tasks.ID, from int) ([]planner.Event, error) {
	if _, ok := c.tasks[id]; !ok {
		return nil, fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	bodies := c.journals[id]
	var events []planner.Event
	for _, body := range bodies[min(max(from, 0), len(bodies)):] {
		e, err := rules.Decode(body)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w: %w", id, tasks.ErrDamaged, err)
		}
		events = append(events, e)
	}
	return events, nil
}

func (c *contents) turns(conversation string, before tasks.ID, budget *rules.Budget) error {
	end := uint64(1<<64 - 1)
	if before != "" {
		t, ok := c.tasks[before]
		if !ok {
			return fmt.Errorf("task %s: %w", before, tasks.ErrNoTask)
		}
		end = t.Order
	}
	list := c.history[conversation]
	for i := len(list) - 1; i >= 0 && list[i].order > c.cuts[conversation]; i-- {
		if list[i].order < end && !budget.Add(list[i].Turn) {
			break
		}
	}
	return nil
}

// commit takes over what a transaction changed.
func (c *contents) commit(changes *rules.Changes, now time.Time) {
	for _, r := range changes.Records {
		c.journals[r.Task] = append(c.journals[r.Task], r.Body)
	}
	for id, s := range changes.States {
		c.states[id] = s
		if s.Finished() {
			delete(c.states, id)
		}
	}
	for id, t := range changes.Tasks {
		c.tasks[id] = t
	}
	for _, r := range changes.Rows {
		c.remember(r)
	}
	for conversation, lane := range changes.Lanes {
		c.lanes[conversation] = *lane
		if len(lane.Entries) == 0 {
			delete(c.lanes, conversation)
		}
	}
	for conversation, order := range changes.Cuts {
		c.cuts[conversation] = order
	}
	for name, value := range changes.Settings {
		c.settings[name] = value
	}
	c.order = max(c.order, changes.Order)
	c.note(changes.Seen, now)
}

// remember writes one half of a turn.
func (c *contents) remember(r rules.Row) {
	list := c.history[r.Conversation]
	if !r.Answer {
		t := &turn{Turn: tasks.Turn{Task: r.Task, At: r.At, Goal: r.Text}, order: r.Order}
		c.history[r.Conversation] = append(list, t)
		return
	}
	for i := len(list) - 1; i >= 0; i-- {
		if t := list[i]; t.order == r.Order && (!r.Fallback || !t.answered) {
			t.Answer, t.Failed, t.answered = r.Text, r.Failed, true
			return
		}
	}
}

// note keeps dedupe keys, and forgets some of those that have expired.
func (c *contents) note(seen map[string]rules.Seen, now time.Time) {
	if len(seen) == 0 {
		return
	}
	looked := 0
	for key, s := range c.seen {
		if now.Sub(s.At) >= rules.KeepSeen {
			delete(c.seen, key)
		}
		if looked++; looked > 16+len(seen) {
			break
		}
	}
	for key, s := range seen {
		c.seen[key] = s
	}
}
