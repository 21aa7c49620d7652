package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// snapshot is what the store holds; it implements rules.Snapshot. Events are kept
// encoded, so that no caller shares memory with the store.
type snapshot struct {
	journals map[tasks.ID][][]byte
	states   map[tasks.ID]planner.State // of tasks that are not over
	tasks    map[tasks.ID]rules.Task
	seen     map[string]rules.SeenDelivery
	lanes    map[string]tasks.Lane
	history  map[string][]turn // by conversation, in order of opening
	cuts     map[string]uint64
	settings map[rules.Setting]string
	order    uint64

	accounts    map[tasks.ID]rules.Account
	sums        map[rules.TotalKey]rules.Total
	spent       map[rules.SpentKey]tasks.Spent
	schedules   map[string]tasks.Schedule
	summaries   map[string]tasks.Summary
	invalidated map[string]uint64

	index index
}

// turn is an exchange of a conversation; missing parts are nil.
type turn struct {
	order        uint64
	goal, answer *rules.HistoryRow
}

// asTurn is the turn as it is told; it must have a goal.
func (t turn) asTurn() tasks.Turn {
	whole := rules.TurnOf(*t.goal)
	if t.answer != nil {
		whole = rules.WithAnswer(whole, *t.answer)
	}
	return whole
}

func newContents() *snapshot {
	return &snapshot{
		journals: map[tasks.ID][][]byte{}, states: map[tasks.ID]planner.State{}, tasks: map[tasks.ID]rules.Task{},
		seen: map[string]rules.SeenDelivery{}, lanes: map[string]tasks.Lane{}, history: map[string][]turn{},
		cuts: map[string]uint64{}, settings: map[rules.Setting]string{},
		accounts: map[tasks.ID]rules.Account{}, sums: map[rules.TotalKey]rules.Total{}, spent: map[rules.SpentKey]tasks.Spent{},
		schedules: map[string]tasks.Schedule{}, summaries: map[string]tasks.Summary{}, invalidated: map[string]uint64{},
		index: newIndex(),
	}
}

// Seen implements rules.Snapshot.
func (c *snapshot) Seen(key string) (rules.SeenDelivery, bool, error) {
	s, ok := c.seen[key]
	return s, ok, nil
}

// Task implements rules.Snapshot.
func (c *snapshot) Task(id tasks.ID) (rules.Task, bool, error) {
	t, ok := c.tasks[id]
	return t, ok, nil
}

// LaneCopy implements rules.Snapshot: no row is ever damaged here.
func (c *snapshot) LaneCopy(tasks.ID) (rules.Task, bool, error) { return rules.Task{}, false, nil }

// State implements rules.Snapshot.
func (c *snapshot) State(id tasks.ID) (planner.State, error) {
	if s, ok := c.states[id]; ok {
		return s, nil
	}
	events, err := c.events(id, 0)
	return planner.Fold(events), err
}

// Lane implements rules.Snapshot.
func (c *snapshot) Lane(conversation string) (tasks.Lane, error) { return c.lanes[conversation], nil }

// Order implements rules.Snapshot.
func (c *snapshot) Order() (uint64, error) { return c.order, nil }

// Cut implements rules.Snapshot.
func (c *snapshot) Cut(conversation string) (uint64, error) { return c.cuts[conversation], nil }

// Settings implements rules.Snapshot.
func (c *snapshot) Settings(owner string) (map[string]string, error) {
	all := map[string]string{}
	for name, value := range c.settings {
		if name.Owner == owner {
			all[name.Name] = value
		}
	}
	return all, nil
}

// Turn implements rules.Snapshot.
func (c *snapshot) Turn(conversation string, after uint64) ([]rules.HistoryRow, error) {
	list := c.history[conversation]
	at, _ := findTurn(list, after+1)
	if at == len(list) {
		return nil, nil
	}
	var rows []rules.HistoryRow
	for _, half := range []*rules.HistoryRow{list[at].goal, list[at].answer} {
		if half != nil {
			rows = append(rows, *half)
		}
	}
	return rows, nil
}

// findTurn returns where a turn of that order is, or would be.
func findTurn(list []turn, order uint64) (int, bool) {
	return slices.BinarySearchFunc(list, order, func(t turn, order uint64) int { return cmp.Compare(t.order, order) })
}

func (c *snapshot) events(id tasks.ID, from int) ([]planner.Event, error) {
	return c.eventsUpTo(id, from, len(c.journals[id]))
}

func (c *snapshot) eventsUpTo(id tasks.ID, from, to int) ([]planner.Event, error) {
	if _, ok := c.tasks[id]; !ok {
		return nil, fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	bodies := c.journals[id]
	to = min(max(to, 0), len(bodies))
	var events []planner.Event
	for _, body := range bodies[min(max(from, 0), to):to] {
		e, err := rules.Decode(body)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w: %w", id, tasks.ErrDamaged, err)
		}
		events = append(events, e)
	}
	return events, nil
}

func (c *snapshot) turns(conversation string, before tasks.ID, budget *rules.TurnCollector) error {
	end := uint64(1<<64 - 1)
	if before != "" {
		t, ok := c.tasks[before]
		if !ok {
			return fmt.Errorf("task %s: %w", before, tasks.ErrNoTask)
		}
		end = t.Order
	}
	list := c.history[conversation]
	for _, t := range slices.Backward(list) {
		if t.order <= c.cuts[conversation] {
			break
		}
		if t.order >= end || t.goal == nil {
			continue
		}
		if !budget.Add(t.asTurn()) {
			break
		}
	}
	return nil
}

// commit takes over what a transaction changed.
func (c *snapshot) commit(changes *rules.Changes, now time.Time) {
	for id := range changes.Deleted {
		delete(c.journals, id)
		delete(c.states, id)
		delete(c.tasks, id)
		delete(c.accounts, id)
	}
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
		c.putHistory(r)
	}
	for conversation, lane := range changes.Lanes {
		c.lanes[conversation] = *lane
		if len(lane.Entries) == 0 {
			delete(c.lanes, conversation)
		}
	}
	for conversation, order := range changes.Cuts {
		c.cuts[conversation] = order
		if order == 0 {
			delete(c.cuts, conversation)
		}
	}
	for name, value := range changes.Settings {
		c.settings[name] = value
		if value == "" {
			delete(c.settings, name)
		}
	}
	c.order = max(c.order, changes.Order)
	c.commitLedger(changes)
	c.index.commit(changes)
	c.putSeen(changes.Seen, now)
}

// putHistory writes one half of a turn, or deletes it.
func (c *snapshot) putHistory(r rules.HistoryRow) {
	list := c.history[r.Conversation]
	at, there := findTurn(list, r.Order)
	if !there {
		if r.Deleted {
			return
		}
		list = slices.Insert(list, at, turn{order: r.Order})
	}
	half := &list[at].goal
	if r.Answer {
		half = &list[at].answer
	}
	switch {
	case r.Deleted:
		*half = nil
	case *half == nil || !r.Fallback:
		*half = &r
	}
	if list[at].goal == nil && list[at].answer == nil {
		list = slices.Delete(list, at, at+1)
	}
	c.history[r.Conversation] = list
	if len(list) == 0 {
		delete(c.history, r.Conversation)
	}
}

// putSeen keeps dedupe keys, and forgets some of those that have expired.
func (c *snapshot) putSeen(seen map[string]rules.SeenDelivery, now time.Time) {
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
