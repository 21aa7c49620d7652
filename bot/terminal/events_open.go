package terminal

import (
	"context"
	"slices"

	"legwork/bot"
)

// finish waits until everything is answered, and says no in nobody's name to
// what is asked meanwhile.
func (e *events) finish(ctx context.Context, handle handler) error {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	e.ring()
	if e.t.cfg.Wait == nil {
		return nil
	}
	over := make(chan error, 1)
	go func() { over <- e.t.cfg.Wait(ctx) }()
	for {
		select {
		case err := <-over:
			return err
		case <-e.wake:
			if err := e.decline(ctx, handle); err != nil {
				return err
			}
		}
	}
}

// decline answers what nobody will answer any more.
func (e *events) decline(ctx context.Context, handle handler) error {
	e.mu.Lock()
	open := e.open
	e.open = nil
	e.mu.Unlock()
	for _, q := range open {
		if q.task == "" {
			continue
		}
		if err := handle(ctx, []bot.Message{e.t.nobody(q)}); err != nil && ctx.Err() == nil {
			if err := e.write(event{Type: "error", Text: ptr(err.Error())}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *events) ring() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// note keeps account of which questions are open.
func (e *events) note(id string, d bot.Draft) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = slices.DeleteFunc(e.open, func(q question) bool {
		return q.id == id || d.Kind == bot.KindAnswer && !d.Partial && q.task == d.Task
	})
	if d.Kind == bot.KindQuestion {
		if e.open = append(e.open, questionOf(id, d)); e.ended {
			e.ring()
		}
	}
}
