package telegramfake

import (
	"fmt"
	"strings"
)

// activity is what people do in the chats: they write, edit, press and leave.
type activity struct{ *updates }

// Opt says more about a message of a person.
type Opt func(*Message)

// ReplyTo makes it a reply.
func ReplyTo(id int) Opt { return func(m *Message) { m.ReplyTo = id } }

// InTopic puts it in a topic.
func InTopic(id int) Opt { return func(m *Message) { m.Topic = id } }

// Media makes it a sticker, photo, voice, document or the like; the text is
// its caption.
func Media(kind string) Opt { return func(m *Message) { m.Media = kind } }

// Say is a person writing in a chat; it returns the id of the message. The bot
// is told unless it may not read it: privacy mode, blocked, no longer a member.
// In a private chat, writing also opens it. It panics on a chat that does not
// exist.
func (s *activity) Say(chatID int64, u User, text string, opts ...Opt) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.say(chatID, u, text, opts)
}

// say is called with the lock held.
func (s *activity) say(chatID int64, u User, text string, opts []Opt) int {
	if chatID == u.ID {
		s.private(u)
	}
	c := s.mustChat(chatID)
	m := &Message{From: u, Text: text, Entities: detect(text)}
	for _, opt := range opts {
		opt(m)
	}
	if m.File != nil {
		s.hold(m.Media, m.File)
	}
	c.members[u.ID], s.users[u.ID] = u, u
	s.put(c, m)
	if s.hears(c, m) {
		s.push("message", s.messageJSON(c, m))
	}
	return m.ID
}

// Edit is a person changing a message of theirs. It panics on a message that
// does not exist.
func (s *activity) Edit(chatID int64, id int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	m := c.messages[id]
	if m == nil {
		panic(fmt.Sprintf("telegramfake: there is no message %d in chat %d", id, chatID))
	}
	m.Text, m.Entities, m.Edited, m.Edits = text, detect(text), s.o.Now(), m.Edits+1
	s.note(c, Event{Kind: EventEdit, Message: *m})
	if s.hears(c, m) {
		s.push("edited_message", s.messageJSON(c, m))
	}
}

// Delete is somebody deleting a message, also one of the bot's. The service
// tells bots nothing of it.
func (s *activity) Delete(chatID int64, id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	if m := c.messages[id]; m != nil {
		s.remove(c, m)
	}
}

// hears reports whether the bot gets a message: all of private chats, and in
// groups with privacy mode on only commands, mentions and replies to it.
func (s *activity) hears(c *chat, m *Message) bool {
	switch {
	case c.closed != "" || c.deleted || c.moved != 0:
		return false
	case c.kind == "private" || s.o.ReadsAll || c.admin:
		return true
	}
	if to := c.messages[m.ReplyTo]; to != nil && to.Bot {
		return true
	}
	for _, e := range m.Entities {
		word := part(m.Text, e)
		switch e.Type {
		case "mention":
			if strings.EqualFold(word, "@"+s.Bot.Username) {
				return true
			}
		case "bot_command":
			if _, to, addressed := strings.Cut(word, "@"); !addressed || strings.EqualFold(to, s.Bot.Username) {
				return true
			}
		}
	}
	return false
}

// Block is a person blocking the bot.
func (s *activity) Block(u User) {
	s.member(u.ID, u, "bot was blocked by the user", "member", "kicked")
}

// Unblock takes Block back.
func (s *activity) Unblock(u User) { s.member(u.ID, u, "", "kicked", "member") }

// Deactivate is a person deleting their account. The bot is told nothing.
func (s *activity) Deactivate(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.private(u).closed = "user is deactivated"
	s.change()
}

// KickBot removes the bot from a group.
func (s *activity) KickBot(chatID int64, by User) {
	s.mu.Lock()
	kind := s.mustChat(chatID).kind
	s.mu.Unlock()
	s.member(chatID, by, "bot was kicked from the "+kind+" chat", "member", "kicked")
}

// AddBot adds the bot to a group again, or tells it that it was added.
func (s *activity) AddBot(chatID int64, by User) { s.member(chatID, by, "", "left", "member") }

// member changes whether the bot may speak in a chat, and tells it.
func (s *activity) member(chatID int64, by User, closed, before, after string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if chatID == by.ID {
		s.private(by)
	}
	c := s.mustChat(chatID)
	c.closed, c.refused = closed, 0
	s.tellMember(c, by, before, after)
}

func (s *activity) tellMember(c *chat, by User, before, after string) {
	status := func(status string) map[string]any {
		return map[string]any{"user": s.Bot.json(), "status": status}
	}
	s.push("my_chat_member", map[string]any{
		"chat": c.json(), "from": by.json(), "date": s.o.Now().Unix(),
		"old_chat_member": status(before), "new_chat_member": status(after),
	})
	if c.kind != "private" && after == "member" {
		s.service(c, by, map[string]any{"new_chat_members": []any{s.Bot.json()}})
	}
}

// service sends a message that the service itself writes into a group.
func (s *activity) service(c *chat, by User, fields map[string]any) {
	fields["message_id"], fields["from"], fields["chat"], fields["date"] = c.next, by.json(), c.json(), s.o.Now().Unix()
	c.next++
	s.push("message", fields)
}

// Migrate turns a group into a supergroup: its id changes, and everything the
// bot does under the old one is refused. It returns the new id.
func (s *activity) Migrate(chatID int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mustChat(chatID)
	s.nextGroup++
	c := s.group(superID(s.nextGroup), "supergroup", old.title, nil)
	c.members, c.admin = old.members, old.admin
	s.service(old, s.Bot, map[string]any{"migrate_to_chat_id": c.id})
	s.service(c, s.Bot, map[string]any{"migrate_from_chat_id": old.id})
	old.moved = c.id
	return c.id
}
