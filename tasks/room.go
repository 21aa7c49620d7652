package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"legwork/internal/retry"
	"legwork/planner"
)

// Between the tries to store an outcome on a full disk.
const (
	firstRoom = 200 * time.Millisecond
	lastRoom  = 30 * time.Second
)

// fullTasks are the tasks whose chats know that the disk is full.
type fullTasks struct {
	mu  sync.Mutex
	ids map[ID]bool
}

// append stores outcomes. While the disk is full they wait in memory: doing the
// action again would pay for it again, make a call of unknown outcome, or show
// an answer twice. The chat is told once.
func (x *Executor) append(ctx context.Context, id ID, e ...planner.Event) error {
	for i := range e {
		if p := e[i].Problem; p != nil && e[i].Type == planner.Broke {
			p.Reason = x.Clean(p.Reason)
		}
	}
	err := appendEvents(ctx, x.Store, x.Now, id, e...)
	if !errors.Is(err, ErrFull) {
		return err
	}
	for pauses := retry.New(firstRoom, lastRoom, 0); errors.Is(err, ErrFull); {
		pause := pauses.Next()
		x.Log.ErrorContext(ctx, "an outcome waits for room on the disk", "task", id, "in", pause, "cause", err)
		x.tellFull(ctx, id)
		if stopped := retry.Sleep(ctx, pause); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
		err = appendEvents(ctx, x.Store, x.Now, id, e...)
	}
	x.full.mu.Lock()
	delete(x.full.ids, id)
	x.full.mu.Unlock()
	return err
}

// tellFull says in the task's chat that the disk is full, unless it was said.
func (x *Executor) tellFull(ctx context.Context, id ID) {
	x.full.mu.Lock()
	told := x.full.ids[id]
	if x.full.ids == nil {
		x.full.ids = map[ID]bool{}
	}
	x.full.ids[id] = true
	x.full.mu.Unlock()
	if told {
		return
	}
	opened, err := x.Store.Event(ctx, id, 1)
	if err != nil || opened.Opening == nil {
		x.Log.ErrorContext(ctx, "the chat cannot be told of the full disk", "task", id, "cause", err)
		return
	}
	if p, err := x.Present(id, opened.Opening); err == nil {
		p.Notice(ctx, opened.Opening.Language, "problem.disk_full")
	}
}
