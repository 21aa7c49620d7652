package slackfake

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxText     = 40000 // longer text is cut
	maxEdit     = 4000  // longer text of an edit is refused
	maxMarkdown = 12000
)

// place returns the channel a call names. A user's id names the direct
// conversation. The caller holds the lock.
func (s *workspace) place(id string) (*Channel, *refusal) {
	if user := s.users[id]; user != nil {
		switch {
		case user.ID == BotUser:
			return nil, refuse("cannot_dm_bot")
		case user.Gone:
			return nil, refuse("user_disabled")
		}
		return s.direct(user.ID), nil
	}
	c := s.channels[id]
	switch {
	case c == nil || c.Private && c.Outside:
		return nil, refuse("channel_not_found")
	case c.Archived:
		return nil, refuse("is_archived")
	case c.Outside:
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

// thread returns the thread a post goes to: none when the message it should
// stand under is gone, as Slack does. The caller holds the lock.
func (s *workspace) thread(c *Channel, ts string) string {
	if ts == "" {
		return ""
	}
	parent := s.find(c.ID, ts)
	switch {
	case parent == nil:
		return ""
	case parent.To != "":
		s.violate("thread_ts %s is a message that only %s sees", ts, parent.To)
		return ""
	case parent.Thread != "":
		s.violate("thread_ts %s is a reply; the message above it is %s", ts, parent.Thread)
		return parent.Thread
	}
	return ts
}

// body reads what a message is to say. The caller holds the lock.
func (s *webAPI) body(c call, m *Message) *refusal {
	text, markdown := c.text("text"), c.text("markdown_text")
	blocks := c.raw("blocks")
	switch {
	case markdown != "" && (text != "" || blocks != nil):
		return blame("markdown_text_conflict", "markdown_text with text or blocks")
	case utf8.RuneCountInString(markdown) > maxMarkdown:
		return blame("msg_too_long", "markdown_text of %d characters, over %d", utf8.RuneCountInString(markdown), maxMarkdown)
	case text == "" && markdown == "" && empty(blocks) && empty(c.raw("attachments")):
		return blame("no_text", "neither text nor blocks nor markdown_text")
	}
	if refused := checkBlocks(blocks, messageBlocks); refused != nil {
		return refused
	}
	if refused := checkMetadata(c.raw("metadata")); refused != nil {
		return refused
	}
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText])
	}
	m.Text, m.Markdown = text, markdown != ""
	if m.Markdown {
		m.Text = markdown
	}
	if blocks != nil || c.has("text") || m.Markdown {
		m.Blocks = blocks
	}
	if empty(m.Blocks) {
		m.Blocks = nil
	}
	if c.has("metadata") {
		m.Metadata = c.raw("metadata")
	}
	return nil
}

func empty(list json.RawMessage) bool { return len(list) == 0 || string(list) == "[]" }

func checkMetadata(raw json.RawMessage) *refusal {
	if raw == nil {
		return nil
	}
	var metadata struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	if err := json.Unmarshal(raw, &metadata); err != nil || metadata.Type == "" || metadata.Payload == nil {
		return blame("invalid_metadata_format", "metadata needs event_type and event_payload: %.100s", raw)
	}
	return nil
}

// checkLinks finds link previews left on: they let a model's text fetch URLs.
// The caller holds the lock.
func (s *webAPI) checkLinks(c call, m *Message) {
	said := m.Text + string(m.Blocks)
	if !strings.Contains(said, "http://") && !strings.Contains(said, "https://") {
		return
	}
	for _, name := range []string{"unfurl_links", "unfurl_media"} {
		if !c.has(name) || c.flag(name) {
			s.violate("%s: %s is not false for a message with links", c.method, name)
		}
	}
}

func (s *webAPI) postMessage(c call) (answer, *refusal) {
	channel, refused := s.place(c.text("channel"))
	if refused != nil {
		return nil, refused
	}
	m := &Message{Channel: channel.ID, User: BotUser}
	if refused := s.body(c, m); refused != nil {
		return nil, refused
	}
	s.checkLinks(c, m)
	m.Thread = s.thread(channel, c.text("thread_ts"))
	s.add(m)
	s.endStatus(channel.ID, m.Thread)
	s.echo(channel, m, "")
	return answer{"channel": channel.ID, "ts": m.TS, "message": m.wire(channel)}, nil
}

func (s *webAPI) postEphemeral(c call) (answer, *refusal) {
	channel, refused := s.place(c.text("channel"))
	if refused != nil {
		return nil, refused
	}
	if s.users[c.text("user")] == nil {
		return nil, refuse("user_not_in_channel")
	}
	m := &Message{Channel: channel.ID, User: BotUser, To: c.text("user")}
	if refused := s.body(c, m); refused != nil {
		return nil, refused
	}
	s.checkLinks(c, m)
	m.Thread = s.thread(channel, c.text("thread_ts"))
	s.add(m)
	return answer{"message_ts": m.TS}, nil
}

// own returns a message of the app that can be changed. The caller holds the
// lock.
func (s *workspace) own(c call, other string) (*Channel, *Message, *refusal) {
	channel, refused := s.place(c.text("channel"))
	if refused != nil {
		return nil, nil, refused
	}
	if s.users[c.text("channel")] != nil {
		return nil, nil, blame("channel_not_found", "%s wants the id of the conversation, not a user's", c.method)
	}
	m := s.find(channel.ID, c.text("ts"))
	switch {
	case m == nil || m.To != "":
		return nil, nil, refuse("message_not_found")
	case m.User != BotUser:
		return nil, nil, blame(other, "the message is %s's", m.User)
	}
	s.age(m)
	return channel, m, nil
}

func (s *webAPI) update(c call) (answer, *refusal) {
	channel, m, refused := s.own(c, "cant_update_message")
	switch {
	case refused != nil:
		return nil, refused
	case m.Stream != nil && m.Stream.State == StreamLive:
		return nil, refuse("streaming_state_conflict")
	case utf8.RuneCountInString(c.text("text")) > maxEdit:
		return nil, blame("msg_too_long", "text of %d characters in an edit, over %d", utf8.RuneCountInString(c.text("text")), maxEdit)
	}
	if refused := s.body(c, m); refused != nil {
		return nil, refused
	}
	m.Edits++
	m.Stream = nil
	s.change()
	s.echo(channel, m, "message_changed")
	return answer{"channel": channel.ID, "ts": m.TS, "text": m.Text, "message": m.wire(channel)}, nil
}

func (s *webAPI) remove(c call) (answer, *refusal) {
	channel, m, refused := s.own(c, "cant_delete_message")
	if refused != nil {
		return nil, refused
	}
	if m.Stream != nil && m.Stream.State == StreamLive {
		return nil, refuse("cant_delete_message")
	}
	m.Deleted = true
	s.change()
	s.echo(channel, m, "message_deleted")
	return answer{"channel": channel.ID, "ts": m.TS}, nil
}

// wire is a message as the API tells it.
func (m Message) wire(c *Channel) answer {
	w := answer{"type": "message", "user": m.User, "text": m.Text, "ts": m.TS, "team": Team}
	if m.User == BotUser {
		w["bot_id"], w["app_id"] = BotID, AppID
		w["bot_profile"] = answer{"id": BotID, "app_id": AppID, "name": BotName, "team_id": Team}
	}
	if m.Thread != "" {
		w["thread_ts"] = m.Thread
	}
	if blocks := m.allBlocks(); blocks != nil {
		w["blocks"] = blocks
	}
	if m.Edits > 0 {
		w["edited"] = answer{"user": m.User, "ts": fmt.Sprintf("%d.000000", time.Now().Unix())}
	}
	if m.Stream != nil {
		w["streaming_state"], w["text"] = m.Stream.State, m.Stream.Text
	}
	if m.Files != nil {
		var files []answer
		for _, f := range m.Files {
			files = append(files, f.wire(false))
		}
		w["files"], w["upload"] = files, true
	}
	if m.Subtype != "" {
		w["subtype"] = m.Subtype
	}
	if m.Shared != nil {
		w["attachments"] = m.Shared
	}
	return w
}
