package telegramfake

import (
	"slices"
	"strings"
	"time"
)

// Draft is a preview of what the bot is about to say, in a private chat. An
// empty text is shown as "thinking".
type Draft struct {
	ID       int64     `json:"id"`
	Topic    int       `json:"topic,omitempty"`
	Text     string    `json:"text"`
	Entities []Entity  `json:"entities,omitempty"`
	At       time.Time `json:"at"` // of its last change or refresh
}

const (
	draftLife  = 30 // seconds
	typingLife = 5
)

func (s *Server) sendMessageDraft(c *call) (any, *refusal) {
	id, why := c.params.int("draft_id")
	switch {
	case why != nil:
		return nil, why
	case c.chat.kind != "private":
		return nil, bad("drafts can be sent only to private chats")
	case id == 0:
		return nil, bad("draft_id must be non-zero")
	}
	text, entities, why := s.content(c, "text", "entities")
	if why != nil {
		return nil, why
	}
	if Length(text) > MaxText {
		return nil, bad("message is too long")
	}
	topic, why := s.topic(c)
	if why != nil {
		return nil, why
	}
	d := &Draft{ID: id, Topic: topic, Text: text, Entities: entities, At: s.o.Now()}
	c.chat.drafts[topic] = d
	s.note(c.chat, Event{Kind: EventDraft, Message: Message{From: s.Bot, Bot: true, Topic: topic, Text: text, Entities: entities}})
	return true, nil
}

const actions = "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location record_video_note upload_video_note"

func (s *Server) sendChatAction(c *call) (any, *refusal) {
	if !slices.Contains(strings.Fields(actions), c.params["action"]) {
		return nil, bad("wrong parameter action in request")
	}
	general := c.params["message_thread_id"] == "1" && c.chat.forum
	topic := 0
	if !general {
		var why *refusal
		if topic, why = s.topic(c); why != nil {
			return nil, why
		}
	}
	c.chat.typing[topic] = s.o.Now()
	return true, nil
}
