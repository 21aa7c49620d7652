package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"legwork/store/rules"
	"legwork/tasks"
)

// Erase implements tasks.Deletion. The bytes go with the next compaction.
func (s *Store) Erase(ctx context.Context, who string) (tasks.Deleted, error) {
	d, err := s.retention(ctx).Erase(who)
	if err != nil {
		return d, fmt.Errorf("forgetting %s: %w", who, err)
	}
	return d, nil
}

// Retain implements tasks.Deletion. The bytes go with the next compaction.
func (s *Store) Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (tasks.Deleted, error) {
	d, err := s.retention(ctx).Retain(tasksBefore, historyBefore)
	if err != nil {
		return d, fmt.Errorf("deleting old data: %w", err)
	}
	return d, nil
}

func (s *Store) retention(ctx context.Context) rules.Retention {
	return rules.Retention{
		View:   func(do func(rules.Snapshot) error) error { return s.view(ctx, func(b snapshot) error { return do(b) }) },
		Change: func(do func(*rules.Tx) error) error { return s.submit(ctx, do) },
	}
}

// Tasks implements rules.Snapshot.
func (b snapshot) Tasks(after tasks.ID, n int) (list []rules.TaskEntry, err error) {
	err = guard(func() error {
		c := b.bucket(bucketTasks).Cursor()
		k, v := c.Seek(append([]byte(after), 0))
		for ; k != nil && len(list) < n; k, v = c.Next() {
			t := rules.TaskEntry{ID: tasks.ID(k)}
			if err := unsealJSON(k, v, &t.Task); err != nil {
				b.log.Error("task skipped", "record", describe(bucketTasks, k), "cause", err)
				continue
			}
			list = append(list, t)
		}
		return nil
	})
	return list, err
}

// EndedAt implements rules.Snapshot.
func (b snapshot) EndedAt(id tasks.ID, t rules.Task) (at time.Time, err error) {
	err = guard(func() error {
		key := journalKey(id, t.Last)
		if e, err := event(key, b.bucket(bucketJournal).Get(key)); err == nil {
			at = e.At
		}
		return nil
	})
	return at, err
}

// Conversations implements rules.Snapshot.
func (b snapshot) Conversations(after string, n int) (list []string, err error) {
	err = guard(func() error {
		c := b.bucket(bucketHistory).Cursor()
		k, _ := c.First()
		if after != "" {
			k, _ = c.Seek(afterConversation(after))
		}
		for k != nil && len(list) < n {
			name := conversationOf(k)
			list = append(list, name)
			k, _ = c.Seek(afterConversation(name))
		}
		return nil
	})
	return list, err
}

// afterConversation is a key of the history behind all keys of a conversation.
func afterConversation(conversation string) []byte {
	return append(namePrefix(conversation), bytes.Repeat([]byte{0xff}, 10)...)
}

// conversationOf returns the name at the beginning of a key.
func conversationOf(key []byte) string {
	if len(key) < 2 {
		return ""
	}
	n := int(binary.BigEndian.Uint16(key))
	return string(key[2:min(2+n, len(key))])
}

// AllSettings implements rules.Snapshot. A damaged one is left out.
func (b snapshot) AllSettings() (map[rules.Setting]string, error) {
	all := map[rules.Setting]string{}
	err := guard(func() error {
		c := b.bucket(bucketSettings).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			body, err := unseal(k, v)
			if err != nil {
				b.log.Error("setting skipped", "record", describe(bucketSettings, k), "cause", err)
				continue
			}
			owner := conversationOf(k)
			all[rules.Setting{Owner: owner, Name: string(k[min(2+len(owner), len(k)):])}] = string(body)
		}
		return nil
	})
	return all, err
}

// SpentKeys implements rules.Snapshot.
func (b snapshot) SpentKeys(match func(rules.SpentKey) bool, n int) (list []rules.SpentKey, err error) {
	err = guard(func() error {
		c := b.bucket(bucketSpent).Cursor()
		for k, _ := c.First(); k != nil && len(list) < n; k, _ = c.Next() {
			if row, ok := readSpentKey(k); ok && match(row) {
				list = append(list, row)
			}
		}
		return nil
	})
	return list, err
}
