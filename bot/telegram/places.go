package telegram

import (
	"sync"
	"time"
)

// shut is how long a chat that refused the bot is left alone, unless somebody
// writes there before.
const shut = time.Hour

// manyPlaces is how many chats are remembered of each kind; then all are
// forgotten, which costs a refused call at most.
const manyPlaces = 10_000

// places is what was learned about chats. It is safe for concurrent use.
type places struct {
	now func() time.Time

	mu     sync.Mutex
	forums map[string]bool      // groups with topics
	moved  map[string]string    // groups that have another id now
	closed map[string]time.Time // chats that refuse the bot, and since when
}

func newPlaces(now func() time.Time) *places {
	return &places{now: now, forums: map[string]bool{}, moved: map[string]string{}, closed: map[string]time.Time{}}
}

// learn takes what an update tells of its chat.
func (p *places) learn(u update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range []*message{u.Message, u.Edited} {
		if m == nil {
			continue
		}
		id := number(m.Chat.ID)
		delete(p.closed, id)
		if m.Chat.IsForum && !p.forums[id] {
			room(p.forums)
			p.forums[id] = true
		}
		if m.MigrateTo != 0 {
			room(p.moved)
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
func (p *places) current(id string) string {
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

func (p *places) move(from string, to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	room(p.moved)
	p.moved[from] = number(to)
}

func (p *places) forum(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forums[id]
}

func (p *places) close(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	room(p.closed)
	p.closed[id] = p.now()
}

// isClosed reports that the chat refused the bot not long ago.
func (p *places) isClosed(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.closed[id]
	if ok && p.now().Sub(since) >= shut {
		delete(p.closed, id)
		return false
	}
	return ok
}

func room[V any](of map[string]V) {
	if len(of) >= manyPlaces {
		clear(of)
	}
}

// albums tells the first message of an album from the rest, which say nothing
// more when they have no text.
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
	room(a.first)
	key := number(m.Chat.ID) + "/" + m.Album
	first, seen := a.first[key]
	if !seen {
		a.first[key] = m.ID
	}
	return seen && first != m.ID && m.Text+m.Caption == ""
}
