package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"legwork/llm"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// Reserve implements tasks.Ledger.
func (s *Store) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return s.change(ctx, "reserving", func(tx *rules.Tx) error { return tx.Reserve(id, r) })
}

// Settle implements tasks.Ledger.
func (s *Store) Settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) error {
	return s.change(ctx, "settling", func(tx *rules.Tx) error { return tx.Settle(id, of, cost) })
}

// Room implements tasks.Ledger.
func (s *Store) Room(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	state, err := s.State(ctx, id)
	if err == nil {
		err = s.view(ctx, func(b snapshot) error {
			return rules.NewTx(folded{b, state}, s.now()).Reserve(id, r)
		})
	}
	if err != nil {
		return fmt.Errorf("looking for room: %w", err)
	}
	return nil
}

// folded is the committed data with the state of one task.
type folded struct {
	snapshot
	state planner.State
}

// State implements rules.Snapshot.
func (f folded) State(tasks.ID) (planner.State, error) { return f.state, nil }

// Spent implements tasks.Ledger. A damaged row is left out.
func (s *Store) Spent(ctx context.Context, q tasks.SpentQuery) ([]tasks.Spent, error) {
	var list []tasks.Spent
	err := s.view(ctx, func(b snapshot) error {
		c := b.bucket(bucketSpent).Cursor()
		for k, v := c.Seek([]byte(q.From)); k != nil; k, v = c.Next() {
			row, ok := readSpentKey(k)
			if ok && q.To != "" && row.Day > q.To {
				return nil
			}
			if ok && (q.User != "" && row.User != q.User || q.Chat != "" && row.Chat != q.Chat) {
				continue
			}
			spent, err := spentValue(row, k, v)
			if err != nil || !ok {
				b.log.Error("ledger row skipped", "record", describe(bucketSpent, k), "cause", err)
				continue
			}
			list = append(list, spent)
		}
		return nil
	})
	return list, wrap("reading the ledger", err)
}

// Extended implements tasks.Ledger.
func (s *Store) Extended(ctx context.Context, day string) (list []tasks.Extended, err error) {
	err = s.view(ctx, func(b snapshot) (err error) { list, err = rules.Extended(b, day); return err })
	return list, wrap("reading by how much budgets were extended", err)
}

// Account implements rules.Snapshot. A damaged one costs what its task has spent
// and reserved; the rest of the task goes on.
func (b snapshot) Account(id tasks.ID) (rules.Account, error) {
	var a rules.Account
	if id == "" {
		return a, nil
	}
	_, err := b.row(bucketAccounts, []byte(id), &a)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("account damaged, counting again", "cause", err)
		return rules.Account{}, nil
	}
	return a, err
}

// Accounts implements rules.Snapshot.
func (b snapshot) Accounts() (ids []tasks.ID, err error) {
	err = guard(func() error {
		c := b.bucket(bucketAccounts).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			ids = append(ids, tasks.ID(k))
		}
		return nil
	})
	return ids, err
}

// closeOldAccounts runs before anything else is written. Reservations of accounts
// that it cannot close stay for their day.
func (s *Store) closeOldAccounts() {
	for _, j := range s.commitJobs([]*job{{do: (*rules.Tx).CloseOldAccounts}}, nil) {
		if j.err != nil {
			s.log.Error("old accounts not closed", "cause", j.err)
		}
	}
}

// Total implements rules.Snapshot. A damaged one is added up anew from the rows of its
// day; by how much it was extended is lost.
func (b snapshot) Total(of rules.TotalKey) (rules.Total, error) {
	var sum rules.Total
	_, err := b.row(bucketSums, totalKey(of), &sum)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("budget total damaged, adding up again", "cause", err)
		return b.addUpTotal(of)
	}
	return sum, err
}

// TotalKeys implements rules.Snapshot.
func (b snapshot) TotalKeys() (list []rules.TotalKey, err error) {
	err = guard(func() error {
		c := b.bucket(bucketSums).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if of, ok := readTotalKey(k); ok {
				list = append(list, of)
			}
		}
		return nil
	})
	return list, err
}

// addUpTotal computes a total from the ledger and the tasks' reservations.
func (b snapshot) addUpTotal(of rules.TotalKey) (sum rules.Total, err error) {
	err = guard(func() error {
		c := b.bucket(bucketSpent).Cursor()
		day := appendOrdered(nil, of.Day)
		for k, v := c.Seek(day); bytes.HasPrefix(k, day); k, v = c.Next() {
			row, _ := readSpentKey(k)
			if spent, err := spentValue(row, k, v); err == nil {
				sum = sum.Plus(of, spent)
			}
		}
		c = b.bucket(bucketAccounts).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			var a rules.Account
			if unsealJSON(k, v, &a) == nil {
				sum = sum.With(of, a)
			}
		}
		return nil
	})
	return sum, err
}

// Spent implements rules.Snapshot. A damaged row begins anew.
func (b snapshot) Spent(row rules.SpentKey) (spent tasks.Spent, err error) {
	key := spentKey(row)
	spent = tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}
	err = guard(func() error {
		value := b.bucket(bucketSpent).Get(key)
		if value == nil {
			return nil
		}
		stored, err := spentValue(row, key, value)
		if err != nil {
			b.log.Error("ledger row damaged, starting at zero", "record", describe(bucketSpent, key), "cause", err)
			return nil
		}
		spent = stored
		return nil
	})
	return spent, err
}

// putLedger writes accounts, totals and the ledger.
func putLedger(b snapshot, c *rules.Changes) error {
	for id, a := range c.Accounts {
		write := func() error { return putJSON(b.tx, bucketAccounts, []byte(id), a) }
		if a.Empty() {
			write = func() error { return b.bucket(bucketAccounts).Delete([]byte(id)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	for of, sum := range c.Totals {
		if err := putTotal(b, of, sum); err != nil {
			return err
		}
	}
	for _, row := range c.SpentDeleted {
		if err := b.bucket(bucketSpent).Delete(spentKey(row)); err != nil {
			return err
		}
	}
	for row, spent := range c.Spent {
		key := spentKey(row)
		if err := b.bucket(bucketSpent).Put(key, seal(key, spentBody(spent))); err != nil {
			return err
		}
	}
	return nil
}

// keptDays is for how many days totals are kept. It counts existing days, not the
// clock: after a clock that jumps and comes back the budgets are as before.
const keptDays = 32

// putTotal writes a total. The first one of a day deletes the oldest day.
func putTotal(b snapshot, of rules.TotalKey, sum rules.Total) error {
	key := totalKey(of)
	if sum == (rules.Total{}) {
		return b.bucket(bucketSums).Delete(key)
	}
	begins := of == rules.TotalKey{Day: of.Day} && b.bucket(bucketSums).Get(key) == nil
	if err := putJSON(b.tx, bucketSums, key, sum); err != nil || !begins {
		return err
	}
	var days [][]byte
	c := b.bucket(bucketSums).Cursor()
	for k, _ := c.First(); k != nil; {
		day, _, _ := bytes.Cut(k, []byte{0})
		day = append(bytes.Clone(day), 0)
		days = append(days, day)
		k, _ = c.Seek(append(bytes.Clone(day), 0xff))
	}
	for _, day := range days[:max(0, len(days)-keptDays)] {
		if string(day) == of.Day+"\x00" {
			continue // a clock far ahead may have made the newer days
		}
		if err := deletePrefix(b, bucketSums, day); err != nil {
			return err
		}
	}
	return nil
}

// deletePrefix deletes the records whose keys have a prefix.
func deletePrefix(b snapshot, bucket string, prefix []byte) error {
	var keys [][]byte
	c := b.bucket(bucket).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := b.bucket(bucket).Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// appendOrdered appends a name to a key. Such keys sort like their names, and no
// name is the beginning of another.
func appendOrdered(key []byte, name string) []byte {
	for _, c := range []byte(name) {
		key = append(key, c)
		if c == 0 {
			key = append(key, 0xff)
		}
	}
	return append(key, 0, 1)
}

// readOrdered reads a name that appendOrdered wrote, and returns the rest of the
// key.
func readOrdered(key []byte) (name string, rest []byte, ok bool) {
	var text []byte
	for len(key) > 1 {
		c, next := key[0], key[1]
		switch {
		case c != 0:
			text, key = append(text, c), key[1:]
		case next == 1:
			return string(text), key[2:], true
		default:
			text, key = append(text, 0), key[2:]
		}
	}
	return "", nil, false
}

func totalKey(of rules.TotalKey) []byte {
	return appendOrdered(appendOrdered(appendOrdered(nil, of.Day), of.User), of.Chat)
}

// readTotalKey reads a key of totalKey.
func readTotalKey(key []byte) (of rules.TotalKey, ok bool) {
	ok = readNames(key, &of.Day, &of.User, &of.Chat)
	return of, ok
}

func spentKey(r rules.SpentKey) []byte {
	return appendOrdered(appendOrdered(appendOrdered(appendOrdered(nil, r.Day), r.User), r.Chat), r.Model)
}

// readSpentKey reads a key of spentKey.
func readSpentKey(key []byte) (r rules.SpentKey, ok bool) {
	ok = readNames(key, &r.Day, &r.User, &r.Chat, &r.Model)
	return r, ok
}

// readNames reads the names of a key.
func readNames(key []byte, parts ...*string) bool {
	ok := true
	for _, part := range parts {
		if ok {
			*part, key, ok = readOrdered(key)
		}
	}
	return ok
}

// spentBody is calls, input, cached input, output, cost and whether some of it
// is estimated.
func spentBody(s tasks.Spent) []byte {
	body := make([]byte, 0, 24)
	estimated := uint64(0)
	if s.Usage.Estimated {
		estimated = 1
	}
	u := s.Usage
	for _, n := range []uint64{uint64(s.Calls), uint64(u.Input), uint64(u.CachedInput), uint64(u.Output), uint64(u.Cost), estimated} {
		body = binary.AppendUvarint(body, n)
	}
	return body
}

// spentValue reads what spentBody wrote.
func spentValue(row rules.SpentKey, key, value []byte) (tasks.Spent, error) {
	s := tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}
	body, err := unseal(key, value)
	if err != nil {
		return s, err
	}
	var n [6]uint64
	for i := range n {
		v, size := binary.Uvarint(body)
		if size <= 0 {
			return s, fmt.Errorf("%w: the ledger", tasks.ErrDamaged)
		}
		n[i], body = v, body[size:]
	}
	s.Calls = int(n[0])
	s.Usage = llm.Usage{Input: int(n[1]), CachedInput: int(n[2]), Output: int(n[3]), Cost: int64(n[4]), Estimated: n[5] != 0}
	return s, nil
}
