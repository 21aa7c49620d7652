package telegram

import (
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
)

// maxOverheard is how much the bot keeps of what was said in a conversation since it
// was last asked there, in bytes; the newest messages stay.
const maxOverheard = 16 << 10

// maxOverheardChats is for how many conversations it keeps that.
const maxOverheardChats = 1000

// overheard holds what was said in groups since the bot was last asked, where
// Config.Overhear allows it. It is lost at a restart. It is safe for concurrent use.
type overheard struct {
	mu    sync.Mutex
	chats *lru.Cache[string, []overheardMessage]
}

type overheardMessage struct {
	id, author int64 // author 0: unknown, or no person
	bot.Quoted
}

func newOverheard() *overheard {
	cache, err := lru.New[string, []overheardMessage](maxOverheardChats)
	if err != nil {
		panic(err) // the size is positive
	}
	return &overheard{chats: cache}
}

// hear keeps the message of an update that does not address the bot.
func (o *overheard) hear(r reader, u update) {
	m := u.Message
	if m == nil {
		m = u.Edited
	}
	if m == nil || m.Chat.Type == "private" {
		return
	}
	if _, _, ok := author(*m); !ok || m.Chat.ID == 0 {
		return
	}
	q := r.quote(*m, user{})
	if q.Pointed = false; !q.Empty() {
		by := authorID(*m)
		if m.forwarded() {
			by = 0
		}
		o.add(place(*m).Key(), overheardMessage{m.ID, by, q})
	}
}

// attach gives a question what was said in its conversation since the last one. undo
// takes that back.
func (o *overheard) attach(m *bot.Message) (undo func()) {
	name, _, _ := strings.Cut(m.Text, " ")
	if m.Kind != bot.MessageText || m.Chat.Private || strings.HasPrefix(name, "/") && name != "/task" && name != "/plan" {
		return func() {}
	}
	chat := m.Chat.Key()
	list := o.take(chat)
	if len(list) == 0 {
		return func() {}
	}
	var earlier []bot.Quoted
	for _, q := range list {
		if number(q.id) != m.ReplyTo { // that one comes as the message pointed at
			if q.author != 0 && number(q.author) == m.From.ID {
				q.Own, q.Files = true, ownFiles(q.Files)
			}
			earlier = append(earlier, q.Quoted)
		}
	}
	m.Earlier = append(earlier, m.Earlier...)
	return func() { o.putBack(chat, list) }
}

// add keeps a message of a conversation. A message that came before, or was edited,
// keeps its place.
func (o *overheard) add(chat string, m overheardMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, _ := o.chats.Get(chat)
	list = slices.Clone(list)
	if i := slices.IndexFunc(list, func(old overheardMessage) bool { return old.id == m.id }); i >= 0 {
		list[i] = m
	} else {
		list = append(list, m)
	}
	o.chats.Add(chat, newest(list))
}

// newest are the last messages that fit into maxOverheard.
func newest(list []overheardMessage) []overheardMessage {
	room := maxOverheard
	for i := range slices.Backward(list) {
		room -= len(list[i].From) + len(list[i].Text)
		for _, f := range list[i].Files {
			room -= len(f.Ref) + len(f.Name)
		}
		if room < 0 {
			return list[i+1:]
		}
	}
	return list
}

// take removes what is kept of a conversation.
func (o *overheard) take(chat string) []overheardMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, _ := o.chats.Get(chat)
	o.chats.Remove(chat)
	return list
}

// putBack undoes take, because the message that took it was not stored.
func (o *overheard) putBack(chat string, list []overheardMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	later, _ := o.chats.Get(chat)
	o.chats.Add(chat, newest(append(slices.Clone(list), later...)))
}
