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
	"legwork/tasks"
)

// trusted is how long an item is told without a look whether its task was deleted
// since it was read. Who is not behind is told it much sooner.
const trusted = time.Second

// How many items the feed keeps in memory, and how many are read at once.
const (
	keptItems = 1024
	pageItems = 64
)

// feed reads what is new in all tasks once for all who follow. Who is behind by
// more than it keeps reads for itself. It has no goroutine: whoever is first to
// want what is new reads it, and the others find it. Its zero value is ready.
type feed struct {
	joining sync.Mutex
	joined  int
	stop    func() // leaves the store's followers

	ringing sync.Mutex    // the store rings while it holds locks of its own: nothing else is done under this one
	bell    chan struct{} // closed when something was stored

	reading sync.Mutex  // held while the store is read for all
	items   []*feedItem // the newest that were read, without gaps; guarded by reading
}

// feedItem is an entry of the feed as everybody is told it.
type feedItem struct {
	cursor  uint64
	task    tasks.ID
	chat    bot.Chat
	message Message
	gone    bool // its task was deleted, or cannot be read
	read    time.Time
}

// join begins to listen to the store; leave ends that.
func (f *feed) join(store tasks.Store) (leave func()) {
	f.joining.Lock()
	defer f.joining.Unlock()
	if f.joined++; f.joined == 1 {
		f.ring()
		f.stop = store.Follow(func(tasks.ID) { f.ring() })
	}
	return func() {
		f.joining.Lock()
		defer f.joining.Unlock()
		if f.joined--; f.joined == 0 {
			f.stop()
			f.forget()
		}
	}
}

func (f *feed) ring() {
	f.ringing.Lock()
	defer f.ringing.Unlock()
	if f.bell != nil {
		close(f.bell)
	}
	f.bell = make(chan struct{})
}

// forget lets go of what was read: it would be far behind the next follower.
func (f *feed) forget() {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.items = nil
}

// grown is closed when something was stored after this call.
func (f *feed) grown() <-chan struct{} {
	f.ringing.Lock()
	defer f.ringing.Unlock()
	return f.bell
}

// after returns the next items after a cursor. gap says that some of these are no
// longer kept; newest is the last one there is then.
func (f *feed) after(ctx context.Context, s *Service, cursor uint64) (page []*feedItem, gap bool, newest uint64, err error) {
	f.reading.Lock()
	if page := f.kept(cursor); len(page) > 0 {
		f.reading.Unlock()
		return page, false, 0, nil
	}
	if len(f.items) > 0 && cursor < f.items[0].cursor {
		f.reading.Unlock() // it is behind: it holds up nobody
		return s.readFeed(ctx, cursor)
	}
	defer f.reading.Unlock()
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
		if page[i], err = s.item(ctx, entry); err != nil {
			return nil, false, 0, err
		}
	}
	return page, false, newest, nil
}

// item reads what an entry is about.
func (s *Service) item(ctx context.Context, entry tasks.FeedEntry) (*feedItem, error) {
	item := &feedItem{cursor: entry.Cursor, task: entry.Task, read: s.Now()}
	row, err := s.Store.Row(ctx, entry.Task)
	if err == nil {
		item.chat = row.Chat
		if entry.Seq == 0 {
			item.message = dropped(row)
		} else {
			item.message, err = s.messageAt(ctx, entry.Task, entry.Seq)
		}
	}
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
		item.gone, err = true, nil
	}
	return item, err
}

// dropped tells that the store has given up a task, which no message of its context
// does: its number is 0.
func dropped(row tasks.Row) Message {
	return Message{SenderID: legwork, SenderType: senderSystem, Type: TypeStatus, Content: json.RawMessage(`{"event":"dropped"}`), Timestamp: Time{row.Changed}}
}
