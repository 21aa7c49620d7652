package api

import (
	"context"
	"errors"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// Follow calls send for each message of a task after a seq, as they come, until
// the last one was sent (nil), ctx ends, or send fails. idle is called when
// nothing was sent for a while, as long as it returns nil.
func (s *Service) Follow(ctx context.Context, p Principal, id tasks.ID, after int, types []string, every time.Duration, send func(Message) error, idle func() error) error {
	if err := known(types); err != nil {
		return err
	}
	if _, err := s.may(ctx, p, OpRead, id); err != nil {
		return err
	}
	quiet := newQuiet(every)
	defer quiet.stop()
	for {
		changed := s.Store.Changed(id)
		state, err := s.state(ctx, id)
		if err != nil {
			return err
		}
		j := journal{store: s.Store, id: id}
		tell := telling{id, state, j.read(ctx)}
		err = s.each(ctx, id, after, state.Seq, func(e planner.Event) error {
			after = e.Seq
			m, ok, err := tell.chosen(e, types)
			if err == nil {
				err = j.err
			}
			if err != nil || !ok {
				return err
			}
			quiet.reset()
			return send(m)
		})
		if err != nil || state.Finished() {
			return err
		}
		if err := quiet.wait(ctx, changed, idle); err != nil {
			return err
		}
	}
}

// quiet tells when nothing was sent for a while.
type quiet struct {
	every time.Duration
	timer *time.Timer
}

func newQuiet(every time.Duration) quiet { return quiet{every, time.NewTimer(every)} }

func (q quiet) reset() { q.timer.Reset(q.every) }

func (q quiet) stop() { q.timer.Stop() }

// wait returns nil when something changed; meanwhile it calls idle now and then.
func (q quiet) wait(ctx context.Context, changed <-chan struct{}, idle func() error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			return nil
		case <-q.timer.C:
			if err := idle(); err != nil {
				return err
			}
			q.reset()
		}
	}
}

// FeedMessage is a message in the order of all tasks.
type FeedMessage struct {
	Cursor uint64   `json:"cursor" doc:"The position of the message in that order; the 'id' of the event."`
	TaskID tasks.ID `json:"task_id" doc:"The id of its task."`
	Message
}

// FollowAll is Follow for all tasks that the principal sees, from a cursor on;
// it does not end by itself. A nil after begins with what comes from now on.
// idle is called at the beginning, and when nothing was sent for a while, with
// the cursor up to which everything was looked at. lost is called when entries
// after the cursor are no longer kept; it goes on with what comes after newest.
func (s *Service) FollowAll(ctx context.Context, p Principal, after *uint64, types []string, every time.Duration, send func(FeedMessage) error, idle func(cursor uint64) error, lost func(newest uint64) error) error {
	if err := known(types); err != nil {
		return err
	}
	if err := p.Allowed(OpRead); err != nil {
		return err
	}
	defer s.feed.join(s.Store)()
	quiet := newQuiet(every)
	defer quiet.stop()
	f := follower{s: s, p: p, types: types, send: func(m FeedMessage) error { quiet.reset(); return send(m) }, lost: lost}
	if err := f.begin(ctx, after); err != nil {
		return err
	}
	if err := idle(f.cursor); err != nil {
		return err
	}
	for {
		grown := s.feed.grown()
		if err := f.catchUp(ctx); err != nil {
			return err
		}
		if err := quiet.wait(ctx, grown, func() error { return idle(f.cursor) }); err != nil {
			return err
		}
	}
}

// follower goes through the feed at its own pace.
type follower struct {
	s      *Service
	p      Principal
	types  []string
	cursor uint64 // of the last entry that was looked at
	send   func(FeedMessage) error
	lost   func(newest uint64) error
}

// begin finds the cursor to begin after.
func (f *follower) begin(ctx context.Context, after *uint64) error {
	if after != nil {
		f.cursor = *after
		return nil
	}
	newest, err := f.s.newest(ctx)
	f.cursor = newest
	return err
}

// catchUp sends what there is.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		page, gap, newest, err := f.s.feed.after(ctx, f.s, f.cursor)
		if err != nil {
			return err
		}
		if gap {
			f.cursor = newest
			if err := f.lost(newest); err != nil {
				return err
			}
			continue
		}
		if len(page) == 0 {
			return nil
		}
		for _, item := range page {
			if err := f.look(ctx, item); err != nil {
				return err
			}
			f.cursor = item.cursor
		}
	}
}

// look sends an item if it is for the follower.
func (f *follower) look(ctx context.Context, item *feedItem) error {
	if item.gone || !f.p.Sees(item.chat) || !wants(f.types, item.message.Type) {
		return nil
	}
	if f.s.Now().Sub(item.read) > trusted {
		switch _, err := f.s.Store.Row(ctx, item.task); {
		case errors.Is(err, tasks.ErrNoTask), errors.Is(err, tasks.ErrDamaged):
			return nil
		case err != nil:
			return told(item.task, err)
		}
	}
	return f.send(FeedMessage{item.cursor, item.task, item.message})
}
