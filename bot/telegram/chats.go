package telegram

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// closedFor is how long legwork sends nothing to a chat that refused the bot,
// unless somebody writes there before.
const closedFor = time.Hour

// refusedFor is how long legwork does not try again in a chat what Telegram refused
// there and what is not needed, such as drafts.
const refusedFor = 10 * time.Minute

// maxChats is how many chats of each kind are remembered. Forgetting one costs one
// refused call at most.
const maxChats = 10_000

// chats is what the bot has learned about chats. It is safe for concurrent use.
type chats struct {
	now    func() time.Time
	forums *lru.Cache[string, bool]      // groups with topics
	moved  *lru.Cache[string, string]    // groups that have another id now
	closed *lru.Cache[string, time.Time] // chats that refuse the bot, and since when
	extras *lru.Cache[string, time.Time] // methods that are not needed, by method and chat, and when Telegram refused them there
}

func newChats(now func() time.Time) *chats {
	return &chats{now: now, forums: newCache[bool](), moved: newCache[string](), closed: newCache[time.Time](), extras: newCache[time.Time]()}
}

// newCache is a cache of facts about chats.
func newCache[V any]() *lru.Cache[string, V] {
	cache, err := lru.New[string, V](maxChats)
	if err != nil {
		panic(err) // the size is positive
	}
	return cache
}

// learn notes what an update says about its chat.
func (p *chats) learn(u update) {
	for _, m := range []*message{u.Message, u.Edited} {
		if m == nil {
			continue
		}
		id := number(m.Chat.ID)
		p.closed.Remove(id)
		if m.Chat.IsForum {
			p.forums.Add(id, true)
		}
		if m.MigrateTo != 0 {
			p.noteMoved(id, m.MigrateTo)
		}
	}
	if u.Callback != nil && u.Callback.Message != nil {
		p.closed.Remove(number(u.Callback.Message.Chat.ID))
	}
	if u.Member != nil && u.Member.New.Status != "kicked" && u.Member.New.Status != "left" {
		p.closed.Remove(number(u.Member.Chat.ID))
	}
}

// noteMoved notes that a group has another id now.
func (p *chats) noteMoved(id string, to int64) { p.moved.Add(id, number(to)) }

// current is the id that a chat has now.
func (p *chats) current(id string) string {
	for range 4 { // each upgrade makes a supergroup, which is never upgraded
		to, ok := p.moved.Get(id)
		if !ok {
			break
		}
		id = to
	}
	return id
}

// isForum reports whether the chat is known to have topics.
func (p *chats) isForum(id string) bool { return p.forums.Contains(id) }

// noteClosed notes that the chat refuses the bot.
func (p *chats) noteClosed(id string) { p.closed.Add(id, p.now()) }

// isClosed reports whether the chat refused the bot not long ago.
func (p *chats) isClosed(id string) bool {
	since, ok := p.closed.Get(id)
	return ok && p.now().Sub(since) < closedFor
}

// noteRefused notes that Telegram refused a method in a chat. It reports whether that
// is news.
func (p *chats) noteRefused(method, id string) (news bool) {
	news = !p.refused(method, id)
	p.extras.Add(method+"/"+id, p.now())
	return news
}

// refused reports whether Telegram refused a method in a chat not long ago.
func (p *chats) refused(method, id string) bool {
	since, ok := p.extras.Get(method + "/" + id)
	return ok && p.now().Sub(since) < refusedFor
}
