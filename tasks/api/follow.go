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
	"legwork/tasks/policy"
)

// Follow calls send for each message of a task after a seq, as they come. It returns
// nil after the last message of the task, or an error when ctx ends or send fails.
// It calls idle when it has sent nothing for a while; an error of idle ends it, too.
func (s *Service) Follow(ctx context.Context, p Principal, id tasks.ID, after int, types []string, every time.Duration, send func(Message) error, idle func() error) error {
	if err := checkTypes(types); err != nil {
		return err
	}
	seen, err := s.authorize(ctx, p, policy.OpRead, id)
	if err != nil {
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
		tr := translator{id, state, j.read(ctx), p.values(seen.row.From)}
		err = s.eachEvent(ctx, id, after, state.Seq, func(e planner.Event) error {
			after = e.Seq
			m, ok, err := tr.filtered(e, types)
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

// idleTimer fires when nothing was sent for a while.
type idleTimer struct {
	every time.Duration
	timer *time.Timer
}

func newIdleTimer(every time.Duration) idleTimer { return idleTimer{every, time.NewTimer(every)} }

func (q idleTimer) reset() { q.timer.Reset(q.every) }

func (q idleTimer) stop() { q.timer.Stop() }

// wait returns nil when changed is closed. It calls idle each time the timer fires.
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

// FollowAll is Follow for all tasks that the principal sees, after a cursor; it does
// not end by itself. With a nil after it starts with new messages. It calls idle at
// the beginning and when it has sent nothing for a while, with the cursor that it
// has reached. It calls lost when entries after the cursor are no longer kept, and
// continues after newest.
func (s *Service) FollowAll(ctx context.Context, p Principal, after *uint64, types []string, every time.Duration, send func(FeedMessage) error, idle func(cursor uint64) error, lost func(newest uint64) error) error {
	if err := checkTypes(types); err != nil {
		return err
	}
	if err := p.Allowed(policy.OpRead); err != nil {
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

// follower reads the feed at its own pace.
type follower struct {
	s      *Service
	p      Principal
	types  []string
	cursor uint64 // of the last entry that was handled
	send   func(FeedMessage) error
	lost   func(newest uint64) error
}

// begin sets the first cursor.
func (f *follower) begin(ctx context.Context, after *uint64) error {
	if after != nil {
		f.cursor = *after
		return nil
	}
	newest, err := f.s.newest(ctx)
	f.cursor = newest
	return err
}

// catchUp sends everything that is there.
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

// look sends an item if the follower may and wants to see it.
func (f *follower) look(ctx context.Context, item *feedItem) error {
	if item.deleted || !f.p.SeesTask(item.chat, item.from) || !wants(f.types, item.message.Type) {
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
	m := item.message
	if f.p.values(item.from) {
		m = item.whole
	}
	return f.send(FeedMessage{item.cursor, item.task, m})
}

// recheckAfter is the age from which on an item is sent only after a check whether
// its task still exists. A follower that keeps up gets items much earlier.
const recheckAfter = time.Second

// The number of items that the feed keeps in memory, and that it reads at once.
const (
	keptItems = 1024
	pageItems = 64
)

// feed reads new entries of all tasks once for all followers. A follower that is far
// behind reads for itself. The feed has no goroutine: the first follower that wants
// new entries reads them, and the others use them. The zero value is ready.
type feed struct {
	joinMu    sync.Mutex
	followers int
	stop      func() // unregisters from the store

	changedMu sync.Mutex    // the store calls notify while it holds its own locks: no other lock is taken under this one
	changed   chan struct{} // closed when something was stored

	readMu sync.Mutex  // held while one follower reads the store for all
	items  []*feedItem // the newest that were read, without gaps; guarded by readMu
}

// feedItem is an entry of the feed with its message.
type feedItem struct {
	cursor  uint64
	task    tasks.ID
	chat    bot.Chat
	from    bot.Person
	message Message // without what people have entered into forms of servers
	whole   Message // with that
	deleted bool    // its task was deleted, or cannot be read
	read    time.Time
}

// join registers with the store; leave ends that.
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

// clear drops the items, which would be too old for the next follower.
func (f *feed) clear() {
	f.readMu.Lock()
	defer f.readMu.Unlock()
	f.items = nil
}

// nextChange is closed when something is stored after this call.
func (f *feed) nextChange() <-chan struct{} {
	f.changedMu.Lock()
	defer f.changedMu.Unlock()
	return f.changed
}

// after returns the next items after a cursor. gap says that some of them are no
// longer kept; newest is then the newest cursor.
func (f *feed) after(ctx context.Context, s *Service, cursor uint64) (page []*feedItem, gap bool, newest uint64, err error) {
	f.readMu.Lock()
	if page := f.kept(cursor); len(page) > 0 {
		f.readMu.Unlock()
		return page, false, 0, nil
	}
	if len(f.items) > 0 && cursor < f.items[0].cursor {
		f.readMu.Unlock() // a follower that is behind must not block the others
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

// keep adds a page to the items. It makes a new slice, since followers hold parts of
// the old one. A page that does not follow the items replaces them.
func (f *feed) keep(page []*feedItem) {
	list := f.items
	if n := len(list); n > 0 && list[n-1].cursor+1 != page[0].cursor {
		list = nil
	}
	list = append(slices.Clip(list), page...)
	f.items = list[max(0, len(list)-keptItems):]
}

// newest is the cursor of the newest entry.
func (all journals) newest(ctx context.Context) (uint64, error) {
	_, _, newest, err := all.store.Feed(ctx, math.MaxUint64-1, 1)
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

// feedItemOf reads the message of an entry.
func (s *Service) feedItemOf(ctx context.Context, entry tasks.FeedEntry) (*feedItem, error) {
	item := &feedItem{cursor: entry.Cursor, task: entry.Task, read: s.Now()}
	row, err := s.Store.Row(ctx, entry.Task)
	if err == nil {
		item.chat, item.from = row.Chat, row.From
		if entry.Seq == 0 {
			item.message = droppedMessage(row)
		} else {
			item.message, err = s.messageAt(ctx, entry.Task, entry.Seq, false)
		}
		item.whole = item.message
	}
	if err == nil && item.message.Type == TypeApproval {
		item.whole, err = s.messageAt(ctx, entry.Task, entry.Seq, true)
	}
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
		item.deleted, err = true, nil
	}
	return item, err
}

// droppedMessage says that the store has dropped a task. It is in no context, so
// that its number is 0.
func droppedMessage(row tasks.Row) Message {
	return Message{SenderID: legwork, SenderType: senderSystem, Type: TypeStatus, Content: json.RawMessage(`{"event":"dropped"}`), Timestamp: Time{row.Changed}}
}
