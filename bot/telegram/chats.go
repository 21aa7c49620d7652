package telegram

import (
	"sync"
	"time"
)

// closedFor is how long legwork sends nothing to a chat that refused the bot,
// unless somebody writes there before.
const closedFor = time.Hour

// maxChats is how many chats of each kind are remembered. Then all are
// forgotten, which costs one refused call each at most.
const maxChats = 10_000

// chats is what the bot has learned about chats. It is safe for concurrent use.
type chats struct {
	now func() time.Time

	mu     sync.Mutex
	forums map[string]bool      // groups with topics
	moved  map[string]string    // groups that have another id now
	closed map[string]time.Time // chats that refuse the bot, and since when
}

func newChats(now func() time.Time) *chats {
	return &chats{now: now, forums: map[string]bool{}, moved: map[string]string{}, closed: map[string]time.Time{}}
}

// learn notes what an update says about its chat.
func (p *chats) learn(u update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range []*message{u.Message, u.Edited} {
		if m == nil {
			continue
		}
		id := number(m.Chat.ID)
		delete(p.closed, id)
		if m.Chat.IsForum && !p.forums[id] {
			makeRoom(p.forums)
			p.forums[id] = true
		}
		if m.MigrateTo != 0 {
			makeRoom(p.moved)
			p.moved[id] = number(m.MigrateTo)
		}
	}
	if u.Callback != nil && u.Callback.Message != nil {
		delete(p.closed, number(u.Callback.Message.Chat.ID))
	}
	if u.Member != nil && u.Member.New.Status != "kicked" && u.Member.New.Status != "left" {
		delete(p.closed, number(u.Member.Chat.ID))
	}
}

// current is the id that a chat has now.
func (p *chats) current(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 4 { // each upgrade makes a supergroup, which is never upgraded
		to, ok := p.moved[id]
		if !ok {
			break
		}
		id = to
	}
	return id
}

func (p *chats) move(from string, to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	makeRoom(p.moved)
	p.moved[from] = number(to)
}

func (p *chats) forum(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forums[id]
}

func (p *chats) close(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	makeRoom(p.closed)
	p.closed[id] = p.now()
}

// isClosed reports whether the chat refused the bot not long ago.
func (p *chats) isClosed(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.closed[id]
	if ok && p.now().Sub(since) >= closedFor {
		delete(p.closed, id)
		return false
	}
	return ok
}

func makeRoom[V any](of map[string]V) {
	if len(of) >= maxChats {
		clear(of)
	}
}

// albums finds the first message of each album: the others are ignored unless
// they have a text.
type albums struct {
	mu    sync.Mutex
	first map[string]int64
}

func (a *albums) repeats(m *message) bool {
	if m == nil || m.Album == "" {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first == nil {
		a.first = map[string]int64{}
	}
	makeRoom(a.first)
	key := number(m.Chat.ID) + "/" + m.Album
	first, seen := a.first[key]
	if !seen {
		a.first[key] = m.ID
	}
	return seen && first != m.ID && m.Text+m.Caption == ""
}
