package slackfake

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// activity is what people do in the workspace: they write, edit, press and join.
type activity struct{ *delivery }

// Say lets a person write, in a thread if one is named, and returns the ts. The
// app is told as Slack tells it: of a message that names the app in a channel
// twice, as message and as app_mention with another event id; of nothing in a
// channel that it is not in. It panics when there is no such channel or person.
func (s *activity) Say(channel, user, text, thread string) string {
	ts, err := s.say(channel, user, text, thread)
	if err != nil {
		panic(err)
	}
	return ts
}

func (s *activity) say(channel, user, text, thread string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(Message{Channel: channel, User: user, Text: text, Thread: thread})
}

// Share lets a person share a message of another conversation, with words or without,
// and returns the ts. It panics when there is no such message, channel or person.
func (s *activity) Share(channel, user, text, thread, from, ts string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.find(from, ts)
	if of == nil {
		panic(fmt.Sprintf("sharing %s of %s: there is no such message", ts, from))
	}
	blocks := any(of.allBlocks())
	if of.allBlocks() == nil {
		blocks = spoken(of.Text)
	}
	a := map[string]any{
		"id": 1, "is_share": true, "is_msg_unfurl": true, "author_id": of.User, "author_name": s.name(of.User), "author_subname": s.name(of.User),
		"channel_id": from, "channel_team": Team, "ts": of.TS, "text": of.Text, "fallback": "[now] " + s.name(of.User) + ": " + of.Text,
		"from_url": s.URL + "/archives/" + from + "/p" + strings.ReplaceAll(ts, ".", ""), "mrkdwn_in": []string{"text"}, "footer": "Slack Conversation",
		"message_blocks": []any{map[string]any{"team": Team, "channel": from, "ts": of.TS, "message": map[string]any{"blocks": blocks}}},
	}
	if files := of.wire(s.channels[from])["files"]; files != nil {
		a["files"] = files
	}
	ts, err := s.write(Message{Channel: channel, User: user, Text: text, Thread: thread, Shared: []map[string]any{a}})
	if err != nil {
		panic(err)
	}
	return ts
}

// write adds a person's message and tells the app. The caller holds the lock.
func (s *activity) write(said Message) (string, error) {
	c, err := s.stage(said.Channel, said.User)
	if err != nil {
		return "", err
	}
	said.Channel = c.ID
	m, user, text := s.add(&said), said.User, said.Text
	s.tell(c, user, s.messageEvent(c, m))
	if c.User == "" && strings.Contains(text, "<@"+BotUser+">") {
		mention := s.messageEvent(c, m)
		mention["type"] = "app_mention"
		delete(mention, "channel_type")
		delete(mention, "subtype")
		s.tell(c, user, mention)
	}
	return m.TS, nil
}

// stage finds where a person acts. The caller holds the lock.
func (s *activity) stage(channel, user string) (*Channel, error) {
	c := s.channels[channel]
	if s.users[user] == nil {
		return nil, fmt.Errorf("acting in %s: there is no person %s", channel, user)
	}
	if c == nil && channel == "D"+user {
		c = s.direct(user)
	}
	if c == nil {
		return nil, fmt.Errorf("acting as %s: there is no channel %s", user, channel)
	}
	return c, nil
}

// messageEvent is the event about a person's new message. The caller holds the
// lock.
func (s *delivery) messageEvent(c *Channel, m *Message) map[string]any {
	team := s.users[m.User].Team
	event := map[string]any{
		"type": "message", "client_msg_id": "cmid-" + m.TS, "user": m.User, "text": m.Text, "ts": m.TS, "team": team,
		"channel": c.ID, "channel_type": c.kind(), "event_ts": m.TS, "blocks": spoken(m.Text),
	}
	if c.Shared {
		event["user_team"], event["source_team"] = team, team
	}
	if m.Files != nil {
		event["files"], event["upload"], event["subtype"] = m.wire(c)["files"], true, m.Subtype
	}
	if m.Shared != nil {
		event["attachments"] = m.Shared
	}
	if m.Thread != "" {
		event["thread_ts"] = m.Thread
		if parent := s.find(c.ID, m.Thread); parent != nil {
			event["parent_user_id"] = parent.User
		}
	}
	return event
}

// spoken is the rich text that Slack makes of what a person types.
func spoken(text string) []map[string]any {
	if text == "" {
		return nil
	}
	words := []map[string]any{{"type": "text", "text": text}}
	section := []map[string]any{{"type": "rich_text_section", "elements": words}}
	return []map[string]any{{"type": "rich_text", "block_id": "b1", "elements": section}}
}

// kind is the channel_type of events.
func (c *Channel) kind() string {
	switch {
	case c.User != "":
		return "im"
	case c.Private:
		return "group"
	}
	return "channel"
}

// tell sends an event to the app, if it is in the channel. The caller holds the
// lock.
func (s *delivery) tell(c *Channel, user string, event map[string]any) {
	if c.Outside {
		return
	}
	name, _ := event["type"].(string)
	s.seq++
	id := fmt.Sprintf("Ev%08d", s.seq)
	team := Team
	if u := s.users[user]; u != nil {
		team = u.Team
	}
	payload, err := json.Marshal(map[string]any{
		"token": "deprecated", "team_id": Team, "context_team_id": team, "api_app_id": AppID, "event": event, "type": "event_callback",
		"event_id": id, "event_time": time.Now().Unix(), "is_ext_shared_channel": c.Shared, "event_context": "ec-" + id,
		"authorizations": []map[string]any{{"enterprise_id": nil, "team_id": Team, "user_id": BotUser, "is_bot": true, "is_enterprise_install": false}},
	})
	if err != nil {
		panic(err) // of plain values
	}
	s.send(&Delivery{ID: id, Kind: KindEvent, Name: name, Channel: c.ID, Payload: payload})
}

// echo tells the app of its own message. The caller holds the lock.
func (s *delivery) echo(c *Channel, m *Message, subtype string) {
	if s.o.Quiet {
		return
	}
	event := map[string]any(m.wire(c))
	if subtype != "" {
		event = map[string]any{"type": "message", "subtype": subtype, "hidden": true, "ts": s.newTS()}
		switch subtype {
		case "message_deleted":
			event["deleted_ts"], event["previous_message"] = m.TS, m.wire(c)
		default:
			event["message"], event["previous_message"] = m.wire(c), m.wire(c)
		}
	}
	event["channel"], event["channel_type"], event["event_ts"] = c.ID, c.kind(), event["ts"]
	s.tell(c, BotUser, event)
}

// Edit lets the author change a message. Of one that names the app then, in a
// channel, it is told twice, as of a new one.
func (s *activity) Edit(channel, ts, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil {
		return fmt.Errorf("editing %s in %s: there is no such message", ts, channel)
	}
	c := s.channels[channel]
	before := m.wire(c)
	m.Text = text
	m.Edits++
	s.change()
	after := m.wire(c)
	if m.Thread != "" {
		after["parent_user_id"] = ""
	}
	at := s.newTS()
	s.tell(c, m.User, map[string]any{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.ID, "channel_type": c.kind(),
		"ts": at, "event_ts": at, "message": after, "previous_message": before,
	})
	if c.User == "" && strings.Contains(text, "<@"+BotUser+">") {
		mention := s.messageEvent(c, m)
		mention["type"], mention["edited"] = "app_mention", after["edited"]
		delete(mention, "channel_type")
		s.tell(c, m.User, mention)
	}
	return nil
}

// Delete lets the author, or an owner of the workspace, delete a message.
func (s *activity) Delete(channel, ts string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil {
		return fmt.Errorf("deleting %s in %s: there is no such message", ts, channel)
	}
	c := s.channels[channel]
	m.Deleted = true
	s.change()
	at := s.newTS()
	s.tell(c, m.User, map[string]any{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.ID, "channel_type": c.kind(),
		"ts": at, "event_ts": at, "deleted_ts": m.TS, "previous_message": m.wire(c),
	})
	return nil
}

// Noise puts a message with a subtype into a channel, such as channel_join,
// channel_topic or another app's bot_message.
func (s *activity) Noise(channel, subtype, user, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	m := s.add(&Message{Channel: channel, User: user, Text: text, Subtype: subtype})
	event := map[string]any{
		"type": "message", "subtype": subtype, "user": user, "text": text, "ts": m.TS,
		"channel": channel, "channel_type": c.kind(), "event_ts": m.TS,
	}
	if subtype == "bot_message" {
		event["bot_id"], event["username"] = "B9", user
		delete(event, "user")
	}
	s.tell(c, user, event)
	return m.TS
}

// Event sends any event: app_home_opened, member_joined_channel, or one that
// does not exist yet. It fills type and event_ts.
func (s *activity) Event(channel, kind string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event := map[string]any{"type": kind, "channel": channel, "event_ts": s.newTS()}
	for name, value := range fields {
		event[name] = value
	}
	c := s.channels[channel]
	if c == nil {
		c = &Channel{ID: channel}
	}
	user, _ := event["user"].(string)
	s.tell(c, user, event)
}

// OpenHome lets a person open the app's home.
func (s *activity) OpenHome(user string) {
	s.Event(s.DM(user), "app_home_opened", map[string]any{"user": user, "tab": "messages"})
}

// Join lets a person, or the app itself (BotUser), come into a channel.
func (s *activity) Join(channel, user string) {
	s.mu.Lock()
	c := s.channels[channel]
	if user == BotUser {
		c.Outside = false
	}
	kind := "C"
	if c.Private {
		kind = "G"
	}
	s.mu.Unlock()
	s.Event(channel, "member_joined_channel", map[string]any{"user": user, "channel_type": kind, "team": Team})
}
