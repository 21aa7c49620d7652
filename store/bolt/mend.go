package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// mending makes a file that was put together from two others agree with itself:
// journals with the rows of their tasks, lanes with tasks, the due-table with the
// schedules. A task whose latest events may be lost is not taken up again:
// nobody knows what it did after them, and it could do so twice.
type mending struct {
	tx   *bbolt.Tx
	base base
	r    *restoration

	last    uint64 // order number
	rows    map[tasks.ID]rules.Task
	live    map[tasks.ID]rules.Task // tasks that are not over
	states  map[tasks.ID]planner.State
	dropped map[tasks.ID]rules.Task
}

// mend is one transaction.
func (r *restoration) mend() error {
	return r.target.Update(func(tx *bbolt.Tx) error {
		m := &mending{
			tx: tx, base: base{tx: tx, cache: newCache(), log: r.o.Log}, r: r,
			rows: map[tasks.ID]rules.Task{}, live: map[tasks.ID]rules.Task{},
			states: map[tasks.ID]planner.State{}, dropped: map[tasks.ID]rules.Task{},
		}
		for _, step := range []func() error{m.tasks, m.orphans, m.history, m.lanes, m.dues, m.index, m.meta} {
			if err := step(); err != nil {
				return err
			}
		}
		r.loss.Dropped = slices.Sorted(maps.Keys(m.dropped))
		slices.Sort(r.loss.Broken)
		return nil
	})
}

// tasks holds each task's row against its journal.
func (m *mending) tasks() error {
	c := m.base.bucket(bucketTasks).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		var t rules.Task
		if err := unsealJSON(k, v, &t); err != nil {
			return err
		}
		id := tasks.ID(k)
		m.last = max(m.last, t.Order)
		whole := m.contiguous(id)
		if whole != t.Last || m.r.rows[id] || m.r.behind && !t.Over {
			t = m.correct(id, t, whole)
		}
		if !t.Over {
			m.live[id] = t
		}
	}
	for id, t := range m.rows {
		if err := putJSON(m.tx, bucketTasks, []byte(id), t); err != nil {
			return err
		}
	}
	return nil
}

// contiguous counts the events of a task without a gap.
func (m *mending) contiguous(id tasks.ID) int {
	seq := 0
	c := m.base.bucket(bucketJournal).Cursor()
	for k, _ := c.Seek(journalKey(id, 1)); bytes.Equal(k, journalKey(id, seq+1)); k, _ = c.Next() {
		seq++
	}
	return seq
}

// correct decides about a task whose row and journal may be of different times.
func (m *mending) correct(id tasks.ID, t rules.Task, whole int) rules.Task {
	switch {
	case whole < t.Last && t.Over:
		m.r.loss.Broken = append(m.r.loss.Broken, id)
		return t
	case whole < t.Last, !t.Over && m.lost(journalKey(id, whole+1)):
		t.Over = true
		m.dropped[id] = t
	default: // the row is older than the journal
		state, err := m.state(id, whole)
		t.Last, t.Over = whole, t.Over || err != nil || state.Finished()
		if err != nil {
			m.dropped[id] = t
		}
	}
	m.rows[id] = t
	return t
}

// lost reports that there may have been an event that nobody can read any more.
func (m *mending) lost(key []byte) bool {
	return m.r.behind || slices.ContainsFunc(m.r.gaps, func(gap span) bool { return gap.holds(key) })
}

// state folds a journal.
func (m *mending) state(id tasks.ID, last int) (planner.State, error) {
	events := make([]planner.Event, 0, last)
	for seq := 1; seq <= last; seq++ {
		key := journalKey(id, seq)
		e, err := event(key, m.base.bucket(bucketJournal).Get(key))
		if err != nil {
			return planner.State{}, err
		}
		events = append(events, e)
	}
	return planner.Fold(events), nil
}

// orphans deletes journals without a task: nothing leads to them.
func (m *mending) orphans() error {
	rows, journal := m.base.bucket(bucketTasks), m.base.bucket(bucketJournal)
	var keys [][]byte
	c := journal.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) > 8 && rows.Get(k[:len(k)-8]) == nil {
			keys = append(keys, bytes.Clone(k))
			if id := tasks.ID(k[:len(k)-8]); seqOf(k) == 1 {
				m.r.loss.Broken = append(m.r.loss.Broken, id)
			}
		}
	}
	return deleteKeys(journal, keys)
}

// history counts the turns, and notes in it that dropped tasks failed.
func (m *mending) history() error {
	b := m.base.bucket(bucketHistory)
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if end := len(k) - 1; end >= 8 && k[end] == 0 {
			m.r.loss.Turns++
			m.last = max(m.last, binary.BigEndian.Uint64(k[end-8:end]))
		}
	}
	for id, t := range m.dropped {
		key := historyKey(t.Chat.Key(), t.Order, true)
		if b.Get(key) != nil {
			continue
		}
		row := rules.Row{Task: id, Answer: true, Failed: true, At: m.r.o.Now()}
		if err := b.Put(key, historyValue(key, row)); err != nil {
			return err
		}
	}
	return nil
}

// lanes leaves exactly the tasks that are not over in their conversations.
func (m *mending) lanes() error {
	rows, err := m.base.live("")
	if err != nil {
		return err
	}
	b := m.base.bucket(bucketLive)
	there := map[tasks.ID]bool{}
	for _, row := range rows {
		id := row.LaneEntry.Task
		if t, ok := m.live[id]; ok && t.Chat.Key() == row.Chat.Key() && t.Order == row.Order && !there[id] {
			there[id] = true
			continue
		}
		if err := b.Delete(liveKey(row.Chat.Key(), row.Order)); err != nil {
			return err
		}
	}
	for id, t := range m.live {
		if there[id] {
			continue
		}
		s, err := m.state(id, t.Last)
		if err != nil {
			return err
		}
		entry := tasks.LaneEntry{Task: id, Planned: s.Round > 0, Held: s.Held()}
		if err := putLive(b, t.Chat.Key(), liveRow{Task: t, LaneEntry: entry}); err != nil {
			return err
		}
	}
	return m.accounts()
}

// accounts deletes those of tasks that are over.
func (m *mending) accounts() error {
	b := m.base.bucket(bucketAccounts)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if _, live := m.live[tasks.ID(k)]; !live {
			keys = append(keys, bytes.Clone(k))
		}
	}
	return deleteKeys(b, keys)
}

// dues writes the due-table anew.
func (m *mending) dues() error {
	b := m.base.bucket(bucketDue)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	if err := deleteKeys(b, keys); err != nil {
		return err
	}
	all, err := m.base.Schedules("")
	if err != nil {
		return err
	}
	for _, v := range all {
		if !rules.Waits(v) {
			continue
		}
		key := dueKey(v)
		if err := b.Put(key, seal(key, nil)); err != nil {
			return err
		}
	}
	return nil
}

// meta writes what the file says of itself. Order numbers are never given twice.
func (m *mending) meta() error {
	order, err := m.base.Order()
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	return errors.Join(
		m.tx.Bucket([]byte(bucketMeta)).Delete([]byte(metaCopied)), // a backup's: its tasks were looked at one by one
		putJSON(m.tx, bucketMeta, []byte("order"), max(order, m.last)),
		putJSON(m.tx, bucketMeta, []byte("format"), format),
		putJSON(m.tx, bucketMeta, []byte("added"), added()),
	)
}

func deleteKeys(b *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// seqOf is the number of the event at a key of the journal.
func seqOf(key []byte) int { return int(binary.BigEndian.Uint64(key[len(key)-8:])) }
