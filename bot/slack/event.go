package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
)

// arrival is one inbound message with what has to be done before it is handed
// on.
type arrival struct {
	message bot.Message
	hook    string   // response URL of a slash command
	root    string   // text of the message that a task of a channel hangs under; empty for none
	halted  []string // ts of streams that Slack has ended
}

// identity is who the bot is, as auth.test tells.
type identity struct {
	team, user, bot, enterprise string
	workspace                   string // its name, for people
}

// outer is a delivery of the Events API. Only what is used is read, so that
// nothing else can make it unreadable.
type outer struct {
	Type      string          `json:"type"`
	Team      string          `json:"team_id"`
	ID        string          `json:"event_id"`
	Challenge string          `json:"challenge"`
	Event     json.RawMessage `json:"event"`
}

// event is a message or what happened to one.
type event struct {
	Type        string            `json:"type"`
	Subtype     string            `json:"subtype"`
	User        string            `json:"user"`
	Bot         string            `json:"bot_id"`
	Text        string            `json:"text"`
	TS          string            `json:"ts"`
	ThreadTS    string            `json:"thread_ts"`
	Channel     string            `json:"channel"`
	ChannelType string            `json:"channel_type"`
	Team        string            `json:"team"`
	UserTeam    string            `json:"user_team"`
	SourceTeam  string            `json:"source_team"`
	EventTS     string            `json:"event_ts"`
	DeletedTS   string            `json:"deleted_ts"`
	Halted      []string          `json:"streaming_message_ts"`
	Files       []json.RawMessage `json:"files"`
	Edited      *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Message  *event `json:"message"`
	Previous *event `json:"previous_message"`
}

// decodeEvent reads a delivery of the Events API. No arrival and no error: it
// is nothing for the bot.
func decodeEvent(me identity, body []byte) ([]arrival, error) {
	var o outer
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, fmt.Errorf("reading delivery: %w", err)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(o.Event, &kind); err != nil {
		return nil, fmt.Errorf("reading event: %w", err)
	}
	switch kind.Type {
	case "message", "app_mention", "agent_session_stopped":
	default:
		return nil, nil
	}
	var e event
	if err := json.Unmarshal(o.Event, &e); err != nil {
		return nil, fmt.Errorf("reading event of type %q: %w", kind.Type, err)
	}
	if e.Channel == "" {
		return nil, fmt.Errorf("reading event of type %q: it names no channel", kind.Type)
	}
	a, ok := arrival{}, false
	switch {
	case e.Type == "agent_session_stopped":
		a, ok = stopped(e, o)
	case e.Subtype == "message_changed":
		a, ok = changed(me, e)
	case e.Subtype == "message_deleted":
		a, ok = deleted(me, e, e.Previous, e.DeletedTS)
	case e.Subtype == "", e.Subtype == "thread_broadcast", e.Subtype == "file_share", e.Subtype == "me_message":
		a, ok = written(me, e)
	}
	if !ok {
		return nil, nil
	}
	a.message.Team = cmp.Or(a.message.Team, o.Team)
	return []arrival{a}, nil
}

// written is a new message. app_mention and message speak of the same one and
// give the same arrival.
func written(me identity, e event) (arrival, bool) {
	if e.TS == "" || !human(me, e) || !concerns(me, e) {
		return arrival{}, false
	}
	private, mentioned := e.private(), e.Type == "app_mention" || mentions(e.Text, me.user)
	m := bot.Message{
		Key:       "slack:msg:" + e.Channel + ":" + e.TS,
		Chat:      e.chat(),
		From:      bot.Person{Platform: Name, ID: e.User},
		ID:        e.TS,
		Text:      e.Text,
		At:        moment(e.TS),
		Overheard: !private && !mentioned,
		InThread:  e.within(),
		Team:      cmp.Or(e.UserTeam, e.SourceTeam, e.Team),
	}
	if len(e.Files) > 0 {
		m.Media = "file"
	}
	if e.Edited != nil { // message_changed and another app_mention tell of it
		m.Key += ":" + e.Edited.TS
		m.Kind = bot.MessageEdit
		if at := moment(e.Edited.TS); !at.IsZero() {
			m.At = at
		}
	}
	return arrival{message: m}, true
}

// changed is an edit by a person, not one of Slack's own, such as a preview.
func changed(me identity, e event) (arrival, bool) {
	if e.Message == nil {
		return arrival{}, false
	}
	now := *e.Message
	now.Channel, now.ChannelType = e.Channel, e.ChannelType
	if now.Subtype == "tombstone" {
		return deleted(me, e, e.Previous, cmp.Or(now.TS, e.DeletedTS))
	}
	if now.Edited == nil || e.Previous != nil && e.Previous.Text == now.Text {
		return arrival{}, false
	}
	if e.Previous != nil && mentions(e.Previous.Text, me.user) {
		now.Type = "app_mention" // it was meant for the bot and still is
	}
	return written(me, now)
}

func deleted(me identity, e event, gone *event, ts string) (arrival, bool) {
	if gone == nil || ts == "" {
		return arrival{}, false
	}
	old := *gone
	old.Channel, old.ChannelType, old.TS, old.Edited = e.Channel, e.ChannelType, ts, nil
	a, ok := written(me, old)
	if !ok {
		return arrival{}, false
	}
	a.message.Key += ":deleted"
	a.message.Kind, a.message.Text, a.message.Media = bot.MessageDeletion, "", ""
	if at := moment(e.EventTS); !at.IsZero() {
		a.message.At = at
	}
	return a, true
}

// stopped is Slack's own Stop button.
func stopped(e event, o outer) (arrival, bool) {
	if e.User == "" {
		return arrival{}, false
	}
	chat := bot.Chat{Platform: Name, ID: e.Channel, Thread: e.ThreadTS, Private: e.private()}
	key := "slack:" + o.Team + ":" + cmp.Or(o.ID, e.Channel+":"+e.EventTS)
	if len(e.Halted) > 0 {
		key = stopKey(e.Channel, e.Halted[0])
	}
	return arrival{halted: e.Halted, message: bot.Message{
		Key:      key,
		Chat:     chat,
		From:     bot.Person{Platform: Name, ID: e.User},
		Text:     "/stop",
		At:       moment(e.EventTS),
		InThread: e.ThreadTS != "",
		Team:     o.Team,
	}}, true
}

// human tells people from bots, this one included.
func human(me identity, e event) bool {
	return e.User != "" && e.Bot == "" && e.User != me.user && e.User != "USLACKBOT"
}

// concerns reports whether a message can be meant for the bot: it is in a
// direct message or a thread, or mentions the bot.
func concerns(me identity, e event) bool {
	return e.private() || e.within() || e.Type == "app_mention" || mentions(e.Text, me.user)
}

func (e event) private() bool { return e.ChannelType == "im" || strings.HasPrefix(e.Channel, "D") }

// within reports whether it is a reply in a thread, not the message above it.
func (e event) within() bool { return e.ThreadTS != "" && e.ThreadTS != e.TS }

// chat is the conversation: a thread, that which a message in a channel starts,
// or a direct message as such.
func (e event) chat() bot.Chat {
	c := bot.Chat{Platform: Name, ID: e.Channel, Private: e.private()}
	switch {
	case e.within():
		c.Thread = e.ThreadTS
	case !c.Private:
		c.Thread = e.TS
	}
	return c
}

// finish turns the texts of arrivals from Slack's markup into words.
func finish(me identity, name func(id string) string, now time.Time, arrivals []arrival) {
	for i := range arrivals {
		m := &arrivals[i].message
		if m.At.IsZero() {
			m.At = now
		}
		if m.Kind != bot.MessageText && m.Kind != bot.MessageEdit || arrivals[i].hook != "" {
			continue
		}
		addressed := !m.Overheard && !m.Chat.Private
		m.Text = command(plain(m.Text, me.user, name), m.Chat.Private, m.InThread)
		switch {
		case m.Text != "":
			m.Media = ""
		case m.Media == "" && addressed && m.Kind != bot.MessageEdit:
			m.Text = "/help" // nothing but the mention
		}
	}
}
