package telegramfake

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// MaxText is the most that a message holds, in UTF-16 units without markup.
const MaxText = 4096

// Length is the length of a text as the service counts it: in UTF-16 units.
func Length(text string) int { return len(utf16.Encode([]rune(text))) }

// content reads a text of a call and its formatting, which are parameters of
// those names.
func (s *botAPI) content(c *call, name, formatting string) (text string, entities []Entity, why *refusal) {
	text = clean(c.params[name])
	switch mode := strings.ToLower(c.params["parse_mode"]); mode {
	case "html":
		parsed, err := parseHTML(text)
		if err != "" {
			return "", nil, bad("can't parse entities: %s", err)
		}
		for _, problem := range parsed.problems {
			s.violate("%s: %s in %q", c.method.name, problem, text)
		}
		text, entities = parsed.text, parsed.entities
	case "":
		if _, why := c.params.object(formatting, &entities); why != nil {
			return "", nil, why
		}
	default:
		return "", nil, bad("unsupported parse_mode")
	}
	text, entities = trim(text, entities)
	if len(entities) > maxEntities {
		c.entry.Notes = append(c.entry.Notes, "more than 100 entities: the rest is left out")
		entities = entities[:maxEntities]
	}
	return text, entities, nil
}

func (s *botAPI) sendMessage(c *call) (any, *refusal) {
	m, why := s.compose(c, Message{From: s.Bot, Bot: true, Silent: c.params.bool("disable_notification")}, "message is too long")
	if why != nil {
		return nil, why
	}
	return s.send(c, m)
}

// send puts a message of the bot where the call wants it.
func (s *botAPI) send(c *call, m Message) (any, *refusal) {
	topic, why := s.topic(c)
	if why != nil {
		return nil, why
	}
	reply, why := s.replied(c)
	if why != nil {
		return nil, why
	}
	m.Topic = topic
	if reply != nil {
		m.ReplyTo = reply.ID
		m.Topic = cmp.Or(topic, reply.Topic)
	}
	s.put(c.chat, &m)
	delete(c.chat.drafts, m.Topic)
	delete(c.chat.typing, m.Topic)
	c.entry.Message = m.ID
	return s.messageJSON(c.chat, &m), nil
}

// compose puts the text and the buttons of a call into a message.
func (s *botAPI) compose(c *call, m Message, tooLong string) (Message, *refusal) {
	if c.params["rich_message"] != "" {
		return s.composeRich(c, m)
	}
	m.Rich = false
	text, entities, why := s.content(c, "text", "entities")
	switch {
	case why != nil:
		return m, why
	case text == "":
		return m, bad("message text is empty")
	case Length(text) > MaxText:
		return m, bad("%s", tooLong)
	}
	m.Text, m.Entities, m.Preview = text, entities, preview(c, text, entities)
	m.Buttons, why = s.markup(c)
	return m, why
}

// put adds a message to a chat; it is called with the lock held.
func (s *state) put(c *chat, m *Message) {
	m.ID, m.Sent = c.next, s.o.Now()
	c.next++
	c.messages[m.ID] = m
	c.order = append(c.order, m.ID)
	s.note(c, Event{Kind: EventMessage, Message: *m})
}

// topic checks message_thread_id; 0 is none.
func (s *botAPI) topic(c *call) (int, *refusal) {
	id, why := c.params.int("message_thread_id")
	if why != nil || id == 0 {
		return 0, why
	}
	if _, ok := c.chat.topics[int(id)]; !ok {
		return 0, bad("message thread not found")
	}
	return int(id), nil
}

// replied finds the message that is replied to; nil for none.
func (s *botAPI) replied(c *call) (*Message, *refusal) {
	var to struct {
		MessageID int             `json:"message_id"`
		ChatID    json.RawMessage `json:"chat_id"`
		Anyway    bool            `json:"allow_sending_without_reply"`
	}
	given, why := c.params.object("reply_parameters", &to)
	if why != nil {
		return nil, why
	}
	if !given {
		id, why := c.params.int("reply_to_message_id")
		if why != nil {
			return nil, why
		}
		to.MessageID, to.Anyway = int(id), c.params.bool("allow_sending_without_reply")
	}
	m := c.chat.messages[to.MessageID]
	if m == nil && (to.MessageID != 0 || given) && !to.Anyway {
		return nil, bad("message to be replied not found")
	}
	return m, nil
}

func preview(c *call, text string, entities []Entity) bool {
	var options struct {
		Off bool `json:"is_disabled"`
	}
	if given, _ := c.params.object("link_preview_options", &options); given && options.Off || c.params.bool("disable_web_page_preview") {
		return false
	}
	return strings.Contains(text, "http://") || strings.Contains(text, "https://") ||
		slices.ContainsFunc(entities, func(e Entity) bool { return e.Type == "text_link" })
}

// target finds the message that is to be edited.
func (s *botAPI) target(c *call) (*Message, *refusal) {
	id, why := c.params.int("message_id")
	if why != nil {
		return nil, why
	}
	m := c.chat.messages[int(id)]
	switch {
	case c.params["inline_message_id"] != "":
		return nil, bad("MESSAGE_ID_INVALID")
	case c.params["message_id"] == "":
		return nil, bad("message identifier is not specified")
	case m == nil:
		return nil, bad("message to edit not found")
	case !m.Bot:
		return nil, bad("message can't be edited")
	}
	c.entry.Message = m.ID
	return m, nil
}

func (s *botAPI) editMessageText(c *call) (any, *refusal) {
	m, why := s.target(c)
	if why != nil {
		return nil, why
	}
	if m.Media != "" {
		return nil, bad("there is no text in the message to edit")
	}
	changed, why := s.compose(c, *m, "MESSAGE_TOO_LONG")
	if why != nil {
		return nil, why
	}
	return s.edit(c, m, changed)
}

func (s *botAPI) editMessageReplyMarkup(c *call) (any, *refusal) {
	m, why := s.target(c)
	if why != nil {
		return nil, why
	}
	buttons, why := s.markup(c)
	if why != nil {
		return nil, why
	}
	changed := *m
	changed.Buttons = buttons
	return s.edit(c, m, changed)
}

func (s *botAPI) edit(c *call, m *Message, changed Message) (any, *refusal) {
	if changed.Text == m.Text && slices.Equal(changed.Entities, m.Entities) && reflect.DeepEqual(changed.Buttons, m.Buttons) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	changed.Edits, changed.Edited = m.Edits+1, s.o.Now()
	*m = changed
	s.note(c.chat, Event{Kind: EventEdit, Message: *m})
	return s.messageJSON(c.chat, m), nil
}

func (s *botAPI) deleteMessage(c *call) (any, *refusal) {
	id, why := c.params.int("message_id")
	if why != nil {
		return nil, why
	}
	m := c.chat.messages[int(id)]
	switch {
	case m == nil:
		return nil, bad("message to delete not found")
	case !m.Bot && c.chat.kind != "private" && !c.chat.admin:
		return nil, bad("message can't be deleted")
	}
	c.entry.Message = m.ID
	s.remove(c.chat, m)
	return true, nil
}

func (s *state) remove(c *chat, m *Message) {
	delete(c.messages, m.ID)
	c.order = slices.DeleteFunc(c.order, func(id int) bool { return id == m.ID })
	s.note(c, Event{Kind: EventDelete, Message: *m})
}

// note adds to what happened in a chat.
func (s *state) note(c *chat, e Event) {
	e.At = s.o.Now()
	c.history = append(c.history, e)
	s.change()
}

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

// draftID reads the id of a draft, which only private chats take.
func (s *botAPI) draftID(c *call) (int64, *refusal) {
	id, why := c.params.int("draft_id")
	switch {
	case why != nil:
		return 0, why
	case c.chat.kind != "private":
		return 0, bad("drafts can be sent only to private chats")
	case id == 0:
		return 0, bad("draft_id must be non-zero")
	}
	return id, nil
}

func (s *botAPI) sendMessageDraft(c *call) (any, *refusal) {
	id, why := s.draftID(c)
	if why != nil {
		return nil, why
	}
	text, entities, why := s.content(c, "text", "entities")
	if why != nil {
		return nil, why
	}
	if Length(text) > MaxText {
		return nil, bad("message is too long")
	}
	return s.preview(c, Draft{ID: id, Text: text, Entities: entities})
}

// preview shows a draft.
func (s *botAPI) preview(c *call, d Draft) (any, *refusal) {
	topic, why := s.topic(c)
	if why != nil {
		return nil, why
	}
	d.Topic, d.At = topic, s.o.Now()
	c.chat.drafts[topic] = &d
	s.note(c.chat, Event{Kind: EventDraft, Message: Message{From: s.Bot, Bot: true, Topic: topic, Text: d.Text, Entities: d.Entities}})
	return true, nil
}

const actions = "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location record_video_note upload_video_note"

func (s *botAPI) sendChatAction(c *call) (any, *refusal) {
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
