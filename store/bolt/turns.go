package bolt

import (
	"bytes"
	"encoding/binary"

	"legwork/store/rules"
	"legwork/tasks"
)

// Cut implements rules.Snapshot.
func (b snapshot) Cut(conversation string) (uint64, error) {
	var cut uint64
	_, err := b.row(bucketCuts, []byte(conversation), &cut)
	return cut, err
}

// Settings implements rules.Snapshot. A damaged one is left out.
func (b snapshot) Settings(owner string) (map[string]string, error) {
	all := map[string]string{}
	prefix := namePrefix(owner)
	err := guard(func() error {
		c := b.bucket(bucketSettings).Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			body, err := unseal(k, v)
			if err != nil {
				b.log.Error("leaving out a setting", "record", describe(bucketSettings, k), "error", err)
				continue
			}
			all[string(k[len(prefix):])] = string(body)
		}
		return nil
	})
	return all, err
}

// Turn implements rules.Snapshot.
func (b snapshot) Turn(conversation string, after uint64) (rows []rules.HistoryRow, err error) {
	prefix := namePrefix(conversation)
	err = guard(func() error {
		c := b.bucket(bucketHistory).Cursor()
		k, v := c.Seek(historyKey(conversation, after+1, false))
		for ; bytes.HasPrefix(k, prefix) && len(k) == len(prefix)+9; k, v = c.Next() {
			order := binary.BigEndian.Uint64(k[len(prefix):])
			if len(rows) > 0 && rows[0].Order != order {
				return nil
			}
			row, err := historyRow(k, v)
			if err != nil {
				b.log.Error("leaving out a text of the history", "record", describe(bucketHistory, k), "error", err)
				row = rules.HistoryRow{Order: order, Answer: k[len(prefix)+8] == 1, Task: b.taskWithOrder(order)}
			}
			row.Conversation = conversation
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// taskWithOrder finds a task by its order among all that there are; empty when none
// has it.
func (b snapshot) taskWithOrder(order uint64) tasks.ID {
	c := b.bucket(bucketTasks).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		var t rules.Task
		if unsealJSON(k, v, &t) == nil && t.Order == order {
			return tasks.ID(k)
		}
	}
	return ""
}
