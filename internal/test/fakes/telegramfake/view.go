package telegramfake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Message is one that stands in a chat, as people see it.
type Message struct {
	ID       int        `json:"id"`
	From     User       `json:"from"`
	Bot      bool       `json:"bot,omitempty"` // the bot wrote it
	Text     string     `json:"text"`          // without markup; of media its caption; of rich messages their source
	Rich     bool       `json:"rich,omitempty"`
	Media    string     `json:"media,omitempty"`
	File     *File      `json:"file,omitempty"`
	Album    string     `json:"album,omitempty"`  // common to the files that were sent together
	Origin   *User      `json:"origin,omitempty"` // who wrote it, when its author passes it on
	Entities []Entity   `json:"entities,omitempty"`
	Buttons  [][]Button `json:"buttons,omitempty"` // rows
	ReplyTo  int        `json:"reply_to,omitempty"`
	Topic    int        `json:"topic,omitempty"`
	Silent   bool       `json:"silent,omitempty"`   // it made no sound
	Reaction string     `json:"reaction,omitempty"` // the bot's, an emoji
	Preview  bool       `json:"preview,omitempty"`  // a link in it is shown as a picture
	Sent     time.Time  `json:"sent"`
	Edited   time.Time  `json:"edited,omitzero"`
	Edits    int        `json:"edits,omitempty"`
}

// Button returns the data of the button with that label; empty: there is none.
func (m Message) Button(label string) string {
	for _, b := range slices.Concat(m.Buttons...) {
		if b.Text == label {
			return b.Data
		}
	}
	return ""
}

// What an Event tells.
const (
	EventMessage  = "message" // somebody wrote; Message as it was then
	EventEdit     = "edit"    // Message as it became
	EventDelete   = "delete"
	EventDraft    = "draft"    // the preview became Message's text
	EventReaction = "reaction" // the bot's reaction became Message.Reaction
	EventPress    = "press"    // Message.From pressed the button Message.Text of the message
	EventToast    = "toast"    // Message.From was shown Message.Text
)

// Event is something that happened in a chat.
type Event struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Message Message   `json:"message"`
	Press   string    `json:"press,omitempty"` // id of the callback query
}

// Chat is a conversation at one moment.
type Chat struct {
	ID       int64     `json:"id"`
	Kind     string    `json:"kind"` // private, group, supergroup
	Title    string    `json:"title"`
	Messages []Message `json:"messages"` // those that still stand, oldest first
	Drafts   []Draft   `json:"drafts"`   // previews that are shown, by topic
	Typing   bool      `json:"typing"`   // "is typing" is shown, in any topic
}

// Bots are the messages that the bot wrote.
func (c Chat) Bots() []Message {
	return slices.DeleteFunc(slices.Clone(c.Messages), func(m Message) bool { return !m.Bot })
}

// View looks at everything at one moment. It is valid only in the function it
// was given to, which must not call the server's methods.
type View struct{ s *state }

// Chat returns a chat; of one that does not exist, an empty one.
func (v View) Chat(id int64) Chat {
	c := v.s.chats[id]
	if c == nil {
		return Chat{ID: id}
	}
	now := v.s.o.Now()
	shown := Chat{ID: id, Kind: c.kind, Title: c.title}
	for _, id := range c.order {
		shown.Messages = append(shown.Messages, *c.messages[id])
	}
	for _, d := range c.drafts {
		if now.Sub(d.At) < v.s.seconds(draftLife) {
			shown.Drafts = append(shown.Drafts, *d)
		}
	}
	slices.SortFunc(shown.Drafts, func(a, b Draft) int { return cmp.Compare(a.Topic, b.Topic) })
	for at := range maps.Values(c.typing) {
		shown.Typing = shown.Typing || now.Sub(at) < v.s.seconds(typingLife)
	}
	return shown
}

// Events are what happened in a chat so far, in order.
func (v View) Events(id int64) []Event {
	if c := v.s.chats[id]; c != nil {
		return slices.Clone(c.history)
	}
	return nil
}

// Pressed returns a press by the id of its callback query.
func (v View) Pressed(id string) Press {
	if p := v.s.presses[id]; p != nil {
		return *p
	}
	return Press{ID: id}
}

// Presses are all presses so far, in order.
func (v View) Presses() []Press {
	var all []Press
	for _, p := range v.s.presses {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Press) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Log is what Server.Log returns. It must not be changed.
func (v View) Log() []Entry { return v.s.log }

// Pending is the number of updates that are not confirmed.
func (v View) Pending() int { return len(v.s.queue.pending) + len(v.s.queue.again) }

// Polling reports whether a getUpdates waits.
func (v View) Polling() bool { return v.s.queue.poll != nil }

// Chat returns a chat as it is now; of one that does not exist, an empty one.
func (s *state) Chat(id int64) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{s}.Chat(id)
}

// Events are what happened in a chat so far, in order.
func (s *state) Events(id int64) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{s}.Events(id)
}

// WaitFor returns when the condition holds. It is looked at after every change,
// and when previews and "is typing" may have run out. Its error is ctx's.
func (s *state) WaitFor(ctx context.Context, holds func(View) bool) error {
	for {
		ok, changed, next := s.look(holds)
		if ok {
			return nil
		}
		timer := time.NewTimer(next)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for a change in fake Telegram: %w", ctx.Err())
		}
		timer.Stop()
	}
}

func (s *state) look(holds func(View) bool) (ok bool, changed <-chan struct{}, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return holds(View{s}), s.changed, s.o.Second
}

// messageJSON is a message as the service shows it to the bot.
func (s *state) messageJSON(c *chat, m *Message) map[string]any {
	j := c.shallowJSON(m)
	switch to := c.messages[m.ReplyTo]; {
	case to != nil:
		j["reply_to_message"] = c.shallowJSON(to)
		if c.kind == "supergroup" && m.Topic == 0 {
			j["message_thread_id"] = c.root(to).ID // a chain of replies, no topic
		}
	case m.Topic != 0 && c.forum && !m.Bot:
		// A message that is no reply is one to the message that opened the
		// topic.
		j["reply_to_message"] = map[string]any{
			"message_id": m.Topic, "from": m.From.json(), "chat": c.json(), "date": m.Sent.Unix(), "message_thread_id": m.Topic,
			"is_topic_message": true, "forum_topic_created": map[string]any{"name": c.topics[m.Topic], "icon_color": 7322096},
		}
	}
	return j
}

// root is the first message of a chain of replies.
func (c *chat) root(m *Message) *Message {
	for to := c.messages[m.ReplyTo]; to != nil && to.ID < m.ID; to = c.messages[m.ReplyTo] {
		m = to
	}
	return m
}

// shallowJSON leaves out the message that is replied to.
func (c *chat) shallowJSON(m *Message) map[string]any {
	j := map[string]any{"message_id": m.ID, "from": m.From.json(), "chat": c.json(), "date": m.Sent.Unix()}
	text, entities := "text", "entities"
	if m.Media != "" {
		text, entities = "caption", "caption_entities"
		j[m.Media] = mediaJSON(m.Media)
		if m.File != nil {
			j[m.Media] = fileJSON(m.Media, m.File)
		}
	}
	if m.Album != "" {
		j["media_group_id"] = m.Album
	}
	if m.Origin != nil {
		j["forward_origin"] = map[string]any{"type": "user", "date": m.Sent.Unix(), "sender_user": m.Origin.json()}
	}
	if m.Text != "" {
		j[text] = m.Text
	}
	if len(m.Entities) > 0 {
		j[entities] = m.Entities
	}
	if m.Topic != 0 {
		j["message_thread_id"], j["is_topic_message"] = m.Topic, true
	}
	if !m.Edited.IsZero() {
		j["edit_date"] = m.Edited.Unix()
	}
	if m.Buttons != nil {
		j["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	return j
}

// mediaJSON is what a message holds in place of text, such as a sticker.
func mediaJSON(kind string) any {
	file := map[string]any{"file_id": "AgADfile-" + kind, "file_unique_id": "QQAD", "file_size": 1000}
	switch kind {
	case "photo":
		file["width"], file["height"] = 90, 90
		return []any{file}
	case "sticker":
		file["type"], file["width"], file["height"], file["is_animated"], file["is_video"], file["emoji"] = "regular", 512, 512, false, false, "👍"
	case "voice", "audio", "video", "video_note":
		file["duration"] = 3
	case "location":
		return map[string]any{"latitude": 59.9, "longitude": 10.7}
	}
	return file
}
