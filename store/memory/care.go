package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"legwork/store/rules"
	"legwork/tasks"
)

// ForgetWho implements tasks.Care.
func (s *Store) ForgetWho(ctx context.Context, who string) (tasks.Deleted, error) {
	d, err := s.retention(ctx).ForgetWho(who)
	return d, wrap("forgetting "+who, err)
}

// Retain implements tasks.Care.
func (s *Store) Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (tasks.Deleted, error) {
	d, err := s.retention(ctx).Retain(tasksBefore, historyBefore)
	return d, wrap("deleting old data", err)
}

func (s *Store) retention(ctx context.Context) rules.Retention {
	return rules.Retention{
		View: func(do func(rules.Snapshot) error) error {
			return s.view(ctx, func(c *snapshot) error { return do(c) })
		},
		Change: func(do func(*rules.Tx) error) error { return s.change(ctx, do) },
	}
}

// after are at most n of the sorted keys of a map that come after one.
func after[K ~string, V any](m map[K]V, last K, n int) []K {
	keys := slices.Sorted(maps.Keys(m))
	at, found := slices.BinarySearch(keys, last)
	if found {
		at++
	}
	return keys[at:min(at+n, len(keys))]
}

// Tasks implements rules.Snapshot.
func (c *snapshot) Tasks(last tasks.ID, n int) ([]rules.TaskEntry, error) {
	var list []rules.TaskEntry
	for _, id := range after(c.tasks, last, n) {
		list = append(list, rules.TaskEntry{ID: id, Task: c.tasks[id]})
	}
	return list, nil
}

// EndedAt implements rules.Snapshot.
func (c *snapshot) EndedAt(id tasks.ID, t rules.Task) (time.Time, error) {
	events, err := c.events(id, t.Last-1)
	if err != nil || len(events) == 0 {
		return time.Time{}, err
	}
	return events[0].At, nil
}

// Conversations implements rules.Snapshot.
func (c *snapshot) Conversations(last string, n int) ([]string, error) {
	return after(c.history, last, n), nil
}

// AllSettings implements rules.Snapshot.
func (c *snapshot) AllSettings() (map[rules.Setting]string, error) {
	return maps.Clone(c.settings), nil
}

// SpentKeys implements rules.Snapshot.
func (c *snapshot) SpentKeys(match func(rules.SpentKey) bool, n int) (list []rules.SpentKey, err error) {
	for row := range c.spent {
		if len(list) < n && match(row) {
			list = append(list, row)
		}
	}
	return list, nil
}
