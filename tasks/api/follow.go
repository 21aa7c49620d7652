package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Follow calls send for each message of a task after a seq, as they come, until
// the last one was sent (nil), ctx ends, or send fails. idle is called when
// nothing was sent for a while, as long as it returns nil.
func (s *Service) Follow(ctx context.Context, p Principal, id tasks.ID, after int, types []string, every time.Duration, send func(Message) error, idle func() error) error {
	if err := checkTypes(types); err != nil {
		return err
	}
	if _, err := s.authorize(ctx, p, OpRead, id); err != nil {
		return err
	}
	quiet := newIdleTimer(every)
	defer quiet.stop()
	for {
		changed := s.Store.Changed(id)
		state, err := s.foldedState(ctx, id)
		if err != nil {
			return err
		}
		j := journal{store: s.Store, id: id}
		tell := translator{id, state, j.read(ctx)}
		err = s.eachEvent(ctx, id, after, state.Seq, func(e planner.Event) error {
			after = e.Seq
			m, ok, err := tell.filtered(e, types)
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

// idleTimer tells when nothing was sent for a while.
type idleTimer struct {
	every time.Duration
	timer *time.Timer
}

func newIdleTimer(every time.Duration) idleTimer { return idleTimer{every, time.NewTimer(every)} }

func (q idleTimer) reset() { q.timer.Reset(q.every) }

func (q idleTimer) stop() { q.timer.Stop() }

// wait returns nil when something changed; meanwhile it calls idle now and then.
func (q idleTimer) wait(ctx context.Context, changed <-chan struct{}, idle func() error) error {
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
	if err := checkTypes(types); err != nil {
		return err
	}
	if err := p.Allowed(OpRead); err != nil {
		return err
	}
	defer s.feed.join(s.Store)()
	quiet := newIdleTimer(every)
	defer quiet.stop()
	f := follower{s: s, p: p, types: types, send: func(m FeedMessage) error { quiet.reset(); return send(m) }, lost: lost}
	if err := f.begin(ctx, after); err != nil {
		return err
	}
	if err := idle(f.cursor); err != nil {
		return err
	}
	for {
		grown := s.feed.nextChange()
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
	if item.deleted || !f.p.Sees(item.chat) || !wants(f.types, item.message.Type) {
		return nil
	}
	if f.s.Now().Sub(item.read) > recheckAfter {
		switch _, err := f.s.Store.Row(ctx, item.task); {
		case errors.Is(err, tasks.ErrNoTask), errors.Is(err, tasks.ErrDamaged):
			return nil
		case err != nil:
			return readError(item.task, err)
		}
	}
	return f.send(FeedMessage{item.cursor, item.task, item.message})
}

// recheckAfter is how long an item is told without a look whether its task was deleted
// since it was read. Who is not behind is told it much sooner.
const recheckAfter = time.Second

// How many items the feed keeps in memory, and how many are read at once.
const (
	keptItems = 1024
	pageItems = 64
)

// feed reads what is new in all tasks once for all who follow. Who is behind by
// more than it keeps reads for itself. It has no goroutine: whoever is first to
// want what is new reads it, and the others find it. Its zero value is ready.
type feed struct {
	joinMu    sync.Mutex
	followers int
	stop      func() // leaves the store's followers

	changedMu sync.Mutex    // the store rings while it holds locks of its own: nothing else is done under this one
	changed   chan struct{} // closed when something was stored

	readMu sync.Mutex  // held while the store is read for all
	items  []*feedItem // the newest that were read, without gaps; guarded by reading
}

// feedItem is an entry of the feed as everybody is told it.
type feedItem struct {
	cursor  uint64
	task    tasks.ID
	chat    bot.Chat
	message Message
	deleted bool // its task was deleted, or cannot be read
	read    time.Time
}

// join begins to listen to the store; leave ends that.
func (f *feed) join(store tasks.Store) (leave func()) {
	f.joinMu.Lock()
	defer f.joinMu.Unlock()
	if f.followers++; f.followers == 1 {
		f.notify()
		f.stop = store.Follow(func(tasks.ID) { f.notify() })
	}
	return func() {
		f.joinMu.Lock()
		defer f.joinMu.Unlock()
		if f.followers--; f.followers == 0 {
			f.stop()
			f.clear()
		}
	}
}

func (f *feed) notify() {
	f.changedMu.Lock()
	defer f.changedMu.Unlock()
	if f.changed != nil {
		close(f.changed)
	}
	f.changed = make(chan struct{})
}

// clear lets go of what was read: it would be far behind the next follower.
func (f *feed) clear() {
	f.readMu.Lock()
	defer f.readMu.Unlock()
	f.items = nil
}

// nextChange is closed when something was stored after this call.
func (f *feed) nextChange() <-chan struct{} {
	f.changedMu.Lock()
	defer f.changedMu.Unlock()
	return f.changed
}

// after returns the next items after a cursor. gap says that some of these are no
// longer kept; newest is the last one there is then.
func (f *feed) after(ctx context.Context, s *Service, cursor uint64) (page []*feedItem, gap bool, newest uint64, err error) {
	f.readMu.Lock()
	if page := f.kept(cursor); len(page) > 0 {
		f.readMu.Unlock()
		return page, false, 0, nil
	}
	if len(f.items) > 0 && cursor < f.items[0].cursor {
		f.readMu.Unlock() // it is behind: it holds up nobody
		return s.readFeed(ctx, cursor)
	}
	defer f.readMu.Unlock()
	page, gap, newest, err = s.readFeed(ctx, cursor)
	if n := len(page); err == nil && n > 0 && (len(f.items) > 0 || page[n-1].cursor == newest) {
		f.keep(page)
	}
	return page, gap, newest, err
}

// kept are the items after a cursor that are in memory.
func (f *feed) kept(cursor uint64) []*feedItem {
	if len(f.items) == 0 || cursor+1 < f.items[0].cursor {
		return nil
	}
	i, _ := slices.BinarySearchFunc(f.items, cursor, func(item *feedItem, c uint64) int {
		if item.cursor <= c {
			return -1
		}
		return 1
	})
	return f.items[i:min(len(f.items), i+pageItems)]
}

// keep adds items in a list of its own, since followers hold parts of the one
// before. What does not follow from these takes their place.
func (f *feed) keep(page []*feedItem) {
	list := f.items
	if n := len(list); n > 0 && list[n-1].cursor+1 != page[0].cursor {
		list = nil
	}
	list = append(slices.Clip(list), page...)
	f.items = list[max(0, len(list)-keptItems):]
}

// newest is the cursor of the last entry.
func (s *Service) newest(ctx context.Context) (uint64, error) {
	_, _, newest, err := s.Store.Feed(ctx, math.MaxUint64-1, 1)
	if err != nil {
		return 0, fmt.Errorf("reading the feed: %w", err)
	}
	return newest, nil
}

// readFeed reads the next items after a cursor from the store.
func (s *Service) readFeed(ctx context.Context, cursor uint64) (page []*feedItem, gap bool, newest uint64, err error) {
	entries, oldest, newest, err := s.Store.Feed(ctx, cursor, pageItems)
	if err != nil {
		return nil, false, 0, fmt.Errorf("reading the feed: %w", err)
	}
	if cursor > newest || oldest > 0 && cursor+1 < oldest {
		return nil, true, newest, nil
	}
	page = make([]*feedItem, len(entries))
	for i, entry := range entries {
		if page[i], err = s.feedItemOf(ctx, entry); err != nil {
			return nil, false, 0, err
		}
	}
	return page, false, newest, nil
}

// feedItemOf reads what an entry is about.
func (s *Service) feedItemOf(ctx context.Context, entry tasks.FeedEntry) (*feedItem, error) {
	item := &feedItem{cursor: entry.Cursor, task: entry.Task, read: s.Now()}
	row, err := s.Store.Row(ctx, entry.Task)
	if err == nil {
		item.chat = row.Chat
		if entry.Seq == 0 {
			item.message = droppedMessage(row)
		} else {
			item.message, err = s.messageAt(ctx, entry.Task, entry.Seq)
		}
	}
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
		item.deleted, err = true, nil
	}
	return item, err
}

// droppedMessage tells that the store has given up a task, which no message of its context
// does: its number is 0.
func droppedMessage(row tasks.Row) Message {
	return Message{SenderID: legwork, SenderType: senderSystem, Type: TypeStatus, Content: json.RawMessage(`{"event":"dropped"}`), Timestamp: Time{row.Changed}}
}
