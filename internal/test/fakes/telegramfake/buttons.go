package telegramfake

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// Button is one under a message.
type Button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	URL   string `json:"url,omitempty"`
	Style string `json:"style,omitempty"`
	Copy  string `json:"-"` // what it copies (core.telegram.org/bots/api#copytextbutton)
}

const (
	maxData    = 64 // bytes
	maxButtons = 100
	maxToast   = 200 // characters of an answer to a press
	maxCopied  = 256 // characters that a button copies
	// pressLife is how many seconds a press can be answered.
	pressLife = 30
)

// markup reads an inline keyboard; nil is none.
func (s *activity) markup(c *call) ([][]Button, *refusal) {
	var given struct {
		Rows [][]map[string]json.RawMessage `json:"inline_keyboard"`
	}
	if _, why := c.params.object("reply_markup", &given); why != nil {
		return nil, why
	}
	var rows [][]Button
	count := 0
	for _, row := range given.Rows {
		var buttons []Button
		for _, fields := range row {
			b, why := s.button(c, fields)
			if why != nil {
				return nil, why
			}
			buttons = append(buttons, b)
		}
		if count += len(buttons); len(buttons) > 0 {
			rows = append(rows, buttons)
		}
	}
	if count > maxButtons {
		return nil, bad("reply markup is too long")
	}
	return rows, nil
}

func (s *activity) button(c *call, fields map[string]json.RawMessage) (Button, *refusal) {
	var b Button
	for name, into := range map[string]*string{"text": &b.Text, "callback_data": &b.Data, "url": &b.URL, "style": &b.Style} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, into) != nil {
			return b, bad("can't parse inline keyboard button: field \"%s\" must be of type String", name)
		}
	}
	if raw, ok := fields["copy_text"]; ok {
		var copied struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &copied) != nil || copied.Text == "" || Length(copied.Text) > maxCopied {
			return b, bad("BUTTON_COPY_TEXT_INVALID")
		}
		b.Copy = copied.Text
	}
	for name := range fields {
		if !slices.Contains([]string{"text", "callback_data", "url", "style", "copy_text", "icon_custom_emoji_id"}, name) {
			s.violate("%s: an inline button has no field %q here", c.method.name, name)
		}
	}
	if !slices.Contains([]string{"", "danger", "success", "primary"}, b.Style) {
		s.violate("%s: there is no button style %q", c.method.name, b.Style)
	}
	_, data := fields["callback_data"]
	_, link := fields["url"]
	switch {
	case b.Text == "":
		return b, bad("can't parse inline keyboard button: field \"text\" must be non-empty")
	case !data && !link && b.Copy == "":
		return b, bad("text buttons are unallowed in the inline keyboard")
	case data && (b.Data == "" || len(b.Data) > maxData):
		return b, bad("BUTTON_DATA_INVALID")
	case link:
		if u, err := url.Parse(b.URL); err != nil || u.Scheme == "" || u.Host == "" {
			return b, bad("inline keyboard button URL '%s' is invalid: wrong HTTP URL", b.URL)
		}
	}
	return b, nil
}

// Press is a button that a person pressed, and what they saw of it.
type Press struct {
	ID       string    `json:"id"` // of the callback query
	Chat     int64     `json:"chat"`
	Message  int       `json:"message"`
	User     User      `json:"user"`
	Label    string    `json:"label"`
	Data     string    `json:"data"`
	At       time.Time `json:"at"`
	Answered bool      `json:"answered"` // the button no longer waits
	Text     string    `json:"text"`     // the shown text; empty: nothing
	Alert    bool      `json:"alert"`    // as a dialog
}

// Press presses a button by its label or else by its data, and returns the id
// of the callback query. Data that no button has is what an old or a forged
// client sends; a message that is deleted is an old picture of it.
func (s *activity) Press(chatID int64, messageID int, button string, u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	s.nextPress++
	p := &Press{ID: fmt.Sprintf("%d%06d", s.Bot.ID, s.nextPress), Chat: chatID, Message: messageID, User: u, Label: button, Data: button, At: s.o.Now()}
	shown := map[string]any{"chat": c.json(), "message_id": messageID, "date": 0}
	if m := c.messages[messageID]; m != nil {
		shown = s.messageJSON(c, m)
		for _, b := range slices.Concat(m.Buttons...) {
			if b.Text == button && b.Data != "" {
				p.Data = b.Data
			} else if b.Data == button {
				p.Label = b.Text
			}
		}
	}
	s.presses[p.ID] = p
	s.note(c, Event{Kind: EventPress, Press: p.ID, Message: Message{ID: messageID, From: u, Text: p.Label}})
	s.push("callback_query", map[string]any{
		"id": p.ID, "from": u.json(), "message": shown, "chat_instance": fmt.Sprint(-chatID), "data": p.Data,
	})
	return p.ID
}

// Pressed returns a press by the id of its callback query.
func (s *activity) Pressed(id string) Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{s.state}.Pressed(id)
}

// Presses are all presses so far, in order.
func (s *activity) Presses() []Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return View{s.state}.Presses()
}

func (s *activity) answerCallbackQuery(c *call) (any, *refusal) {
	p := s.presses[c.params["callback_query_id"]]
	if p == nil || p.Answered || s.o.Now().Sub(p.At) > s.seconds(pressLife) {
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	}
	text := c.params["text"]
	if len([]rune(text)) > maxToast {
		return nil, bad("MESSAGE_TOO_LONG")
	}
	p.Answered, p.Text, p.Alert = true, text, c.params.bool("show_alert")
	c.entry.Chat, c.entry.Message = p.Chat, p.Message
	if text != "" {
		s.note(s.chats[p.Chat], Event{Kind: EventToast, Press: p.ID, Message: Message{ID: p.Message, From: p.User, Text: text}})
	}
	return true, nil
}
