package store

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// goalBytes is how much of a goal a row holds.
const goalBytes = 500

// finalStatuses are the statuses that a task keeps. The rows of tasks with another
// status are in TableOpen: there are few of them, and queries look through all.
var finalStatuses = []string{string(planner.Done), string(planner.Failed), string(planner.Halted)}

func isFinal(status string) bool { return slices.Contains(finalStatuses, status) }

// The kinds of a group.
const (
	ofRoom     = 'r'
	ofPlatform = 'p'
)

// groupKey is the beginning of the keys in TableListed of a room's or platform's
// tasks that ended with a status, or with any status when it is empty. The rest of a
// key is a task's id.
func groupKey(kind byte, name, status string) []byte {
	key := append([]byte{kind}, namePrefix(name)...)
	if status == "" {
		return key
	}
	return append(append(key, byte(len(status))), status...)
}

// groupKeys are the keys in TableListed under which a row is found.
func groupKeys(l listing) [][]byte {
	if !isFinal(l.Status) {
		return nil
	}
	return [][]byte{
		append(groupKey(ofRoom, l.Chat.Room(), l.Status), l.Task...),
		append(groupKey(ofPlatform, l.Chat.Platform, l.Status), l.Task...),
	}
}

// statusIn is the status in a key of TableListed.
func statusIn(key []byte) string {
	at := 3 + len(nameIn(key[1:]))
	if at >= len(key) {
		return ""
	}
	return string(key[at+1 : min(at+1+int(key[at]), len(key))])
}

// rowsOf is the table that holds a row.
func rowsOf(l listing) table[tasks.ID, listing] {
	if isFinal(l.Status) {
		return endedRows
	}
	return openRows
}

// index is the rows of the tasks in lists, within a transaction.
type index struct{ *txn }

// row returns a task's row; ok is false when there is none, and true with
// ErrDamaged.
func (x index) row(id tasks.ID) (l listing, ok bool, err error) {
	if l, ok, err = openRows.get(x, id); ok {
		return l, ok, err
	}
	return endedRows.get(x, id)
}

// existing returns a task's row in lists. It is damaged when it is missing and the
// task exists. ErrNoTask, ErrDamaged.
func (x index) existing(id tasks.ID) (tasks.Row, error) {
	l, ok, err := x.row(id)
	if err == nil && !ok {
		if _, err = journals(x).existing(id); err == nil {
			err = fmt.Errorf("row of task %s: %w: missing", id, tasks.ErrDamaged)
		}
	}
	return l.Row, err
}

// note writes what an event means for a task's row. It queues the delivery of the
// outcome when the event settled the task.
func (x index) note(id tasks.ID, before, after planner.State, e planner.Event) {
	settles := after.Settled() && !before.Settled()
	if settles || indexedStateOf(before) != indexedStateOf(after) {
		x.change(id, func(l *listing) { x.follow(l, after, e) })
	}
	if settles {
		x.notify(id, string(after.Outcome))
	}
}

// dropped writes that a task has failed without an event. It queues the delivery of
// the outcome, unless the task had settled before.
func (x index) dropped(id tasks.ID, settled bool) {
	x.change(id, func(l *listing) { l.drop(x.time) })
	if !settled {
		x.notify(id, string(planner.Failed))
	}
}

// remove deletes a task's row, and the delivery of its outcome. It needs the task's
// own row.
func (x index) remove(id tasks.ID) {
	l, _, damaged := x.row(id)
	if damaged != nil {
		task, _, _ := x.task(id) // when it is damaged, keys in TableListed stay
		x.clear(id, task.Chat)
		x.recount()
	} else {
		x.replace(l, listing{})
	}
	if damaged != nil || l.webhook != "" {
		outgoing(x).tried(outcomeDeliveryID(id), time.Time{})
	}
}

// change changes a task's row. A damaged or missing row is made anew instead, from
// all events of the task.
func (x index) change(id tasks.ID, edit func(*listing)) {
	before, ok, damaged := x.row(id)
	if damaged != nil || !ok {
		x.rebuild(id)
		return
	}
	after := before
	edit(&after)
	x.replace(before, after)
}

// rebuild makes rows anew from the journals of their tasks. A row stays as it is when
// the task's own row is damaged.
func (x index) rebuild(ids ...tasks.ID) {
	recount := false
	for _, id := range ids {
		task, ok, damaged := x.task(id)
		if damaged != nil || !ok {
			continue
		}
		after := x.fromJournal(id, task)
		before, _, damaged := x.row(id)
		if damaged == nil {
			x.replace(before, after)
			continue
		}
		x.clear(id, task.Chat)
		x.write(listing{}, after)
		recount = true
	}
	if recount {
		x.recount()
	}
}

// clear deletes a damaged row, and all keys that it may have in TableListed.
func (x index) clear(id tasks.ID, c bot.Chat) {
	openRows.drop(x, id)
	for _, status := range finalStatuses {
		x.write(listing{Row: tasks.Row{Task: id, Chat: c, Status: status}}, listing{})
	}
}

// replace replaces a row, and counts the change. A row without a task is none.
func (x index) replace(before, after listing) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if before.Status != after.Status {
		counts := x.statuses()
		counts[before.Status]--
		counts[after.Status]++
		maps.DeleteFunc(counts, func(status string, n int) bool { return status == "" || n <= 0 })
		metaCounts.put(x, metaTasks, counts)
	}
	x.write(before, after)
}

// write replaces a row and its keys in TableListed. A row without a task is none.
func (x index) write(before, after listing) {
	for _, key := range groupKeys(before) {
		listed.drop(x, key)
	}
	if before.Task != "" {
		rowsOf(before).drop(x, before.Task)
	}
	for _, key := range groupKeys(after) {
		listed.put(x, key, struct{}{})
	}
	if after.Task != "" {
		rowsOf(after).put(x, after.Task, after)
	}
}

// statuses returns how many tasks there are of each status.
func (x index) statuses() map[string]int {
	counts, ok, damaged := metaCounts.get(x, metaTasks)
	if damaged != nil {
		x.skip(TableMeta, []byte(metaTasks), damaged)
		return x.countRows()
	}
	if !ok {
		return map[string]int{}
	}
	return counts
}

// recount counts all tasks anew. It serves when the status of a damaged row is not
// known.
func (x index) recount() { metaCounts.put(x, metaTasks, x.countRows()) }

// countRows counts all readable rows by their status.
func (x index) countRows() map[string]int {
	counts := map[string]int{}
	for r := range records(x, TableListed, []byte{ofPlatform}, []byte{ofPlatform + 1}, Ascending) {
		counts[statusIn(r.Key)]++
	}
	for e := range openRows.scan(x, nil, nil, Ascending) {
		if e.damaged == nil {
			counts[e.value.Status]++
		}
	}
	return counts
}

// notify queues the delivery of a task's outcome, if a webhook wants it. The sender
// of the delivery makes its body.
func (x index) notify(id tasks.ID, outcome string) {
	// After damage it is not known whether a webhook wants it, or has it already.
	if l, _, damaged := x.row(id); damaged == nil && l.webhook != "" {
		_ = outgoing(x).queue(tasks.Delivery{ID: outcomeDeliveryID(id), Webhook: l.webhook, Kind: "task." + outcome, Task: id})
	}
}

// outcomeDeliveryID is the id of the delivery of a task's outcome.
func outcomeDeliveryID(id tasks.ID) string { return "notify-" + string(id) }

// fromJournal makes a task's row from its events. When some of them are damaged, the
// row says that the task has failed.
func (x index) fromJournal(id tasks.ID, task taskRow) listing {
	first, err := journals(x).event(id, 1)
	if err != nil {
		return unreadListing(id, task)
	}
	l := openedListing(id, task, first)
	events, err := journals(x).events(id, 1, task.Last)
	if err != nil {
		if !errors.Is(err, tasks.ErrDamaged) {
			x.fail(err)
		}
		return l
	}
	var s planner.State
	for _, e := range append([]planner.Event{first}, events...) {
		s = planner.Apply(s, e)
		x.follow(&l, s, e)
	}
	if len(s.Parts) > 0 {
		if o, _, err := journals(x).question(id, s); err == nil {
			l.ask(o)
		}
	}
	if task.Over && !s.Finished() {
		l.drop(l.Changed)
	}
	return l
}

// unreadListing is the row of a task whose journal cannot be read.
func unreadListing(id tasks.ID, t taskRow) listing {
	made, _ := id.Time()
	made = made.UTC()
	return listing{Row: tasks.Row{Task: id, Chat: t.Chat, From: t.From, Status: string(planner.Failed), Opened: made, Changed: made}}
}

// openedListing is the row of a task of which only the first event is known.
func openedListing(id tasks.ID, t taskRow, first planner.Event) listing {
	l := unreadListing(id, t)
	l.Opened, l.Changed = first.At, first.At
	if o := first.Opening; o != nil {
		l.ask(o)
		l.External = o.External
		if o.Notify != nil {
			l.webhook = o.Notify.Webhook
		}
	}
	return l
}

// ask sets the question of a row.
func (l *listing) ask(o *planner.Opening) { l.Goal = clip.Marked(o.Goal, goalBytes-len(clip.Mark)) }

// drop turns the row into that of a dropped task.
func (l *listing) drop(at time.Time) {
	if l.Status != string(planner.Failed) {
		l.Changed = at
	}
	l.Status, l.Waits, l.Since, l.asked = string(planner.Failed), false, time.Time{}, 0
}

// indexedState is the part of a state that is in a task's row.
type indexedState struct {
	status string
	round  int
	works  int // number of sub-tasks
	asked  int // seq of the event that asked the oldest open question; 0: no question is open
}

func indexedStateOf(s planner.State) indexedState {
	g := indexedState{status: s.Status(), round: s.Round, works: len(s.Subtasks)}
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk && (g.asked == 0 || a.ID.Seq < g.asked) {
			g.asked = a.ID.Seq
		}
	}
	return g
}

// groupsOf lists the groups of a task's sub-tasks, apart from the model alone.
func groupsOf(s planner.State) (groups []string) {
	for _, w := range s.Subtasks {
		if w.Name != planner.LLMTool {
			groups = append(groups, w.Name)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// follow brings a row to the state that an event led to.
func (x index) follow(l *listing, s planner.State, e planner.Event) {
	g := indexedStateOf(s)
	if l.Status != g.status {
		l.Changed = e.At
	}
	l.Status, l.Round, l.Groups = g.status, g.round, groupsOf(s)
	if g.asked == l.asked {
		return
	}
	l.asked, l.Waits, l.Since = g.asked, g.asked > 0, time.Time{}
	switch {
	case g.asked == e.Seq:
		l.Since = e.At
	case l.Waits:
		asked, _ := journals(x).event(l.Task, g.asked) // a damaged one has no time
		l.Since = asked.At
	}
}
