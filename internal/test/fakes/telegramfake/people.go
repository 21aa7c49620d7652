package telegramfake

import (
	"fmt"
	"time"
)

// User is a person, or the bot.
type User struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Username string `json:"username,omitempty"`
	Language string `json:"language,omitempty"` // of their app, such as "de"
	bot      bool
}

func (u User) json() map[string]any {
	j := map[string]any{"id": u.ID, "is_bot": u.bot, "first_name": u.Name}
	if u.Username != "" {
		j["username"] = u.Username
	}
	if u.Language != "" {
		j["language_code"] = u.Language
	}
	return j
}

// chat is one conversation. Its fields are guarded by the server's lock.
type chat struct {
	id          int64
	kind        string // private, group, supergroup
	title       string
	user        User // of a private chat
	members     map[int64]User
	forum       bool
	topics      map[int]string
	admin       bool   // the bot is one
	closed      string // why the bot may not speak; empty: it may
	deleted     bool
	moved       int64 // the id that it has now
	noFiles     bool  // the bot may not send any
	noVoice     bool  // the person takes no voice messages
	noReactions bool  // the chat allows none
	refused     int   // how often it refused the bot since it last let it speak

	next     int
	messages map[int]*Message
	order    []int
	drafts   map[int]*Draft // by topic
	typing   map[int]time.Time
	history  []Event
}

func (c *chat) json() map[string]any {
	j := map[string]any{"id": c.id, "type": c.kind}
	if c.kind == "private" {
		j["first_name"] = c.user.Name
		if c.user.Username != "" {
			j["username"] = c.user.Username
		}
		return j
	}
	j["title"] = c.title
	if c.forum {
		j["is_forum"] = true
	}
	return j
}

// refusal is what the service says when the bot may not speak there.
func (c *chat) refusal() *refusal {
	switch {
	case c.moved != 0:
		why := bad("group chat was upgraded to a supergroup chat")
		why.MigrateTo = c.moved
		return why
	case c.deleted:
		return bad("chat not found")
	case c.closed != "":
		return forbidden(c.closed)
	}
	c.refused = 0
	return nil
}

func newChat(id int64, kind string) *chat {
	return &chat{
		id: id, kind: kind, members: map[int64]User{}, topics: map[int]string{}, next: 1,
		messages: map[int]*Message{}, drafts: map[int]*Draft{}, typing: map[int]time.Time{},
	}
}

// User makes a person known. The bot cannot write to them before they wrote to
// it: see Private and Say. Their @name is "user" and the id.
func (s *state) User(id int64, name, language string) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := User{ID: id, Name: name, Language: language, Username: fmt.Sprintf("user%d", id)}
	s.users[id] = u
	return u
}

// Private opens the private chat of a person with the bot, as pressing Start
// does, and returns its id, which is theirs.
func (s *state) Private(u User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.private(u).id
}

func (s *state) private(u User) *chat {
	c := s.chats[u.ID]
	if c == nil {
		c = newChat(u.ID, "private")
		c.user, c.title = u, u.Name
		c.members[u.ID] = u
		s.chats[u.ID], s.users[u.ID] = c, u
	}
	return c
}

// Group makes a basic group that the bot is in, and returns its id.
func (s *state) Group(title string, members ...User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	return s.group(-s.nextGroup, "group", title, members).id
}

// Supergroup makes a supergroup that the bot is in, and returns its id.
func (s *state) Supergroup(title string, members ...User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	return s.group(superID(s.nextGroup), "supergroup", title, members).id
}

// Forum makes a supergroup with topics that the bot is in, and returns its id.
// Messages without a topic are in General.
func (s *state) Forum(title string, members ...User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	c := s.group(superID(s.nextGroup), "supergroup", title, members)
	c.forum = true
	return c.id
}

func superID(n int64) int64 { return -1_000_000_000_000 - n }

func (s *state) group(id int64, kind, title string, members []User) *chat {
	c := newChat(id, kind)
	c.title = title
	for _, u := range append(members, s.Bot) {
		c.members[u.ID], s.users[u.ID] = u, u
	}
	s.chats[id] = c
	return c
}

// Topic opens a topic in a forum or a private chat and returns its thread id.
func (s *state) Topic(chatID int64, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	id := c.next + 1 // never 1, which is General
	c.next = id + 1
	c.topics[id] = name
	return id
}

// mustChat panics where a test names a chat that it did not make.
func (s *state) mustChat(id int64) *chat {
	c := s.chats[id]
	if c == nil {
		panic(fmt.Sprintf("telegramfake: there is no chat %d", id))
	}
	return c
}

// DeleteChat is a group being deleted. The bot is told nothing.
func (s *state) DeleteChat(chatID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chatID).deleted = true
	s.change()
}

// Promote makes the bot an administrator of a group: it then gets all messages.
func (s *state) Promote(chatID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chatID).admin = true
}
