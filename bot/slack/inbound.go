package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
)

// inbound is a message, and what must be done before it is handed on.
type inbound struct {
	message      bot.Message
	responseURL  string   // response URL of a slash command
	root         string   // text of the message under which a task of a channel lives; empty for none
	endedStreams []string // ts of streams that Slack has ended
	shortcut     bool     // it is the message shortcut: the bot may not be a member there
	author       string   // of the message that the shortcut is about
	threadRead   bool     // the message holds what is new in its thread
}

// identity is who the bot is, by auth.test.
type identity struct {
	team, user, bot, enterprise string
	workspace                   string // its name, for people
}

// eventDelivery is a delivery of the Events API (docs.slack.dev/apis/events-api).
// Only fields that are used are read, so that others cannot make it unreadable.
type eventDelivery struct {
	Type      string          `json:"type"`
	Team      string          `json:"team_id"`
	ID        string          `json:"event_id"`
	Challenge string          `json:"challenge"`
	Event     json.RawMessage `json:"event"`
}

// event is a message, or a change of one (docs.slack.dev/reference/events/message).
type event struct {
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype"`
	User         string          `json:"user"`
	Bot          string          `json:"bot_id"`
	Text         string          `json:"text"`
	TS           string          `json:"ts"`
	ThreadTS     string          `json:"thread_ts"`
	Channel      string          `json:"channel"`
	ChannelType  string          `json:"channel_type"`
	Team         string          `json:"team"`
	UserTeam     string          `json:"user_team"`
	SourceTeam   string          `json:"source_team"`
	EventTS      string          `json:"event_ts"`
	DeletedTS    string          `json:"deleted_ts"`
	EndedStreams []string        `json:"streaming_message_ts"`
	Files        []fileInfo      `json:"files"`
	Attachments  []attachment    `json:"attachments"`
	Blocks       json.RawMessage `json:"blocks"`
	Username     string          `json:"username"`
	Edited       *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Message  *event `json:"message"`
	Previous *event `json:"previous_message"`
}

// decodeEvent reads a delivery of the Events API. No inbound and no
// error: it does not concern the bot.
func decodeEvent(me identity, body []byte) ([]inbound, error) {
	var o eventDelivery
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
	a, ok := inbound{}, false
	switch {
	case e.Type == "agent_session_stopped":
		a, ok = stopPressed(e, o)
	case e.Subtype == "message_changed":
		a, ok = editedMessage(me, e)
	case e.Subtype == "message_deleted":
		a, ok = deletedMessage(me, e, e.Previous, e.DeletedTS)
	case e.Subtype == "", e.Subtype == "thread_broadcast", e.Subtype == "file_share", e.Subtype == "me_message":
		a, ok = newMessage(me, e)
	}
	if !ok {
		return nil, nil
	}
	a.message.Team = cmp.Or(a.message.Team, o.Team)
	return []inbound{a}, nil
}

// newMessage is a new message. The events app_mention and message about
// the same message give the same inbound.
func newMessage(me identity, e event) (inbound, bool) {
	if e.TS == "" || !isHuman(me, e) || !mayConcernBot(me, e) {
		return inbound{}, false
	}
	private, mentioned := e.private(), e.Type == "app_mention" || mentions(e.Text, me.user)
	m := bot.Message{
		Key:       "slack:msg:" + e.Channel + ":" + e.TS,
		Chat:      e.chat(),
		From:      bot.Person{Platform: Name, ID: e.User},
		ID:        e.TS,
		Text:      e.Text,
		At:        timeOf(e.TS),
		Overheard: !private && !mentioned,
		InThread:  e.inThread(),
		Team:      cmp.Or(e.UserTeam, e.SourceTeam, e.Team),
	}
	if len(e.Files) > 0 {
		m.Files = attachments(e.Files, e.User, e.User)
		if m.MediaName = unread(e.Files); m.MediaName != "" {
			m.Media = "file"
		}
	}
	m.Earlier = shared(me, e)
	if e.Edited != nil { // both message_changed and another app_mention report it
		m.Key += ":" + e.Edited.TS
		m.Kind = bot.MessageEdit
		if at := timeOf(e.Edited.TS); !at.IsZero() {
			m.At = at
		}
	}
	return inbound{message: m}, true
}

// editedMessage is an edit by a person. Slack's own edits, such as previews, are
// ignored.
func editedMessage(me identity, e event) (inbound, bool) {
	if e.Message == nil {
		return inbound{}, false
	}
	now := *e.Message
	now.Channel, now.ChannelType = e.Channel, e.ChannelType
	if now.Subtype == "tombstone" {
		return deletedMessage(me, e, e.Previous, cmp.Or(now.TS, e.DeletedTS))
	}
	if now.Edited == nil || e.Previous != nil && e.Previous.Text == now.Text {
		return inbound{}, false
	}
	if e.Previous != nil && mentions(e.Previous.Text, me.user) {
		now.Type = "app_mention" // it was meant for the bot and still is
	}
	return newMessage(me, now)
}

func deletedMessage(me identity, e event, gone *event, ts string) (inbound, bool) {
	if gone == nil || ts == "" {
		return inbound{}, false
	}
	old := *gone
	old.Channel, old.ChannelType, old.TS, old.Edited = e.Channel, e.ChannelType, ts, nil
	a, ok := newMessage(me, old)
	if !ok {
		return inbound{}, false
	}
	a.message.Key += ":deleted"
	a.message.Kind, a.message.Text, a.message.Media, a.message.MediaName, a.message.Files, a.message.Earlier = bot.MessageDeletion, "", "", "", nil, nil
	if at := timeOf(e.EventTS); !at.IsZero() {
		a.message.At = at
	}
	return a, true
}

// stopPressed is Slack's own Stop button.
func stopPressed(e event, o eventDelivery) (inbound, bool) {
	if e.User == "" {
		return inbound{}, false
	}
	chat := bot.Chat{Platform: Name, ID: e.Channel, Thread: e.ThreadTS, Private: e.private()}
	key := "slack:" + o.Team + ":" + cmp.Or(o.ID, e.Channel+":"+e.EventTS)
	if len(e.EndedStreams) > 0 {
		key = stopKey(e.Channel, e.EndedStreams[0])
	}
	return inbound{endedStreams: e.EndedStreams, message: bot.Message{
		Key:      key,
		Chat:     chat,
		From:     bot.Person{Platform: Name, ID: e.User},
		Text:     "/stop",
		At:       timeOf(e.EventTS),
		InThread: e.ThreadTS != "",
		Team:     o.Team,
	}}, true
}

// isHuman reports whether a person wrote it, not a bot.
func isHuman(me identity, e event) bool {
	return e.User != "" && e.Bot == "" && e.User != me.user && e.User != "USLACKBOT"
}

// mayConcernBot reports whether a message can be meant for the bot: it is in a
// direct message or a thread, or mentions the bot.
func mayConcernBot(me identity, e event) bool {
	return e.private() || e.inThread() || e.Type == "app_mention" || mentions(e.Text, me.user)
}

func (e event) private() bool { return e.ChannelType == "im" || strings.HasPrefix(e.Channel, "D") }

// inThread reports whether it is a reply in a thread, not the message above it.
func (e event) inThread() bool { return e.ThreadTS != "" && e.ThreadTS != e.TS }

// chat is the conversation: a thread, the thread that a message in a channel
// starts, or direct messages outside of threads.
func (e event) chat() bot.Chat {
	c := bot.Chat{Platform: Name, ID: e.Channel, Private: e.private()}
	switch {
	case e.inThread():
		c.Thread = e.ThreadTS
	case !c.Private:
		c.Thread = e.TS
	}
	return c
}

// convertTexts turns the texts of messages from Slack's markup into plain text.
func convertTexts(me identity, name func(id string) string, now time.Time, arrivals []inbound) {
	for i := range arrivals {
		m := &arrivals[i].message
		if m.At.IsZero() {
			m.At = now
		}
		if m.Kind != bot.MessageText && m.Kind != bot.MessageEdit || arrivals[i].responseURL != "" && !arrivals[i].shortcut {
			continue
		}
		addressed := !m.Overheard && !m.Chat.Private
		m.Text = command(plain(m.Text, me.user, name), m.Chat.Private, m.InThread)
		nameOwners(m.Files, name)
		for i := range m.Earlier {
			q := &m.Earlier[i]
			q.From, q.Text = plain(q.From, "", name), plain(q.Text, "", name)
			nameOwners(q.Files, name)
		}
		if m.Text == "" && m.Media == "" && len(m.Files) == 0 && len(m.Earlier) == 0 && addressed && !m.InThread && m.Kind != bot.MessageEdit {
			m.Text = "/help" // only the mention; in a thread it asks about the thread
		}
	}
}

// slash is a slash command (docs.slack.dev/interactivity/implementing-slash-commands),
// from a form or as JSON of Socket Mode.
type slash struct {
	Command     string `json:"command"`
	Text        string `json:"text"`
	User        string `json:"user_id"`
	Channel     string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	Team        string `json:"team_id"`
	Trigger     string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
}

// personMark stands in a message's id between the response URL of a command and
// the person who gave it, so that both outlive a restart.
const personMark = "#"

// decodeCommand reads a slash command.
func decodeCommand(c Commands, name func(id string) string, body []byte) (inbound, error) {
	var s slash
	if err := json.Unmarshal(body, &s); err != nil {
		return inbound{}, fmt.Errorf("reading slash command: %w", err)
	}
	return s.arrival(c, name)
}

func (s slash) arrival(c Commands, name func(id string) string) (inbound, error) {
	if s.User == "" || s.Channel == "" || s.Trigger == "" {
		return inbound{}, errors.New("reading slash command: user, channel or trigger id is missing")
	}
	text := plain(s.Text, "", name)
	verb, rest := "task", text
	if s.Command != c.Task {
		verb = strings.Fields(text + " help")[0]
		rest = strings.TrimSpace(strings.TrimPrefix(text, verb))
		verb = strings.ToLower(strings.TrimLeft(verb, "/!"))
	}
	private := strings.HasPrefix(s.Channel, "D") || s.ChannelName == "directmessage"
	hook := cmp.Or(s.ResponseURL, ephemeralToken)
	a := inbound{responseURL: hook, message: bot.Message{
		Key:   "slack:command:" + s.Trigger,
		Chat:  bot.Chat{Platform: Name, ID: s.Channel, Private: private},
		From:  bot.Person{Platform: Name, ID: s.User},
		Text:  strings.TrimSpace("/" + verb + " " + rest),
		Team:  s.Team,
		Token: hook, Trigger: s.Trigger,
	}}
	if verb == "claim" && private {
		a.message.Text = "/start " + rest
	}
	if !private && rest != "" {
		switch verb {
		case "task", "plan":
			a.root = "<@" + s.User + ">: " + markdown.SlackEscape(cut(rest, 3000))
		case "prompt": // missing arguments are asked for in the thread
			a.root = "<@" + s.User + ">: " + markdown.SlackEscape(cut(c.Main+" prompt "+rest, 3000))
		}
	}
	return a, nil
}

// Spell is how a command is written. Slack has no slash commands in threads, so
// there it is "!NAME".
func (s *Slack) Spell(to bot.Chat, name string) string {
	commands := s.config.Commands
	switch {
	case name == "start" && to.Private:
		return "claim"
	case to.Thread != "":
		return "!" + name
	case name == "task":
		return commands.Task
	}
	return commands.Main + " " + name
}

// press is what a button sends.
type press struct {
	Type        string         `json:"type"`
	Trigger     string         `json:"trigger_id"`
	ResponseURL string         `json:"response_url"`
	User        pressUser      `json:"user"`
	Team        idField        `json:"team"`
	Channel     idField        `json:"channel"`
	Container   pressContainer `json:"container"`
	Message     pressContainer `json:"message"`
	Actions     []pressItem    `json:"actions"`
}

// shortcutID is the callback id of the message shortcut of the manifest.
const shortcutID = "legwork_ask"

// shortcut is what the message shortcut sends
// (docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload).
type shortcut struct {
	Callback    string    `json:"callback_id"`
	Trigger     string    `json:"trigger_id"`
	ResponseURL string    `json:"response_url"`
	User        pressUser `json:"user"`
	Team        idField   `json:"team"`
	Channel     idField   `json:"channel"`
	TS          string    `json:"message_ts"`
	Message     event     `json:"message"`
}

// decodeShortcut reads a use of the message shortcut: a question about that message,
// in its thread.
func decodeShortcut(me identity, body []byte) ([]inbound, error) {
	var s shortcut
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("reading shortcut: %w", err)
	}
	if s.Callback != shortcutID {
		return nil, nil
	}
	e := s.Message
	e.Channel, e.TS = s.Channel.ID, cmp.Or(e.TS, s.TS)
	if s.User.ID == "" || e.Channel == "" || e.TS == "" || s.Trigger == "" {
		return nil, errors.New("reading shortcut: user, channel, message or trigger id is missing")
	}
	of := attachment{IsShare: true, Author: cmp.Or(e.User, e.Bot), Subname: e.Username, Text: e.Text, Files: e.Files, TS: jsonText(e.TS), Blocks: e.Blocks}
	for _, a := range e.Attachments {
		of.Text = strings.TrimSpace(of.Text + "\n" + a.words())
	}
	hook := cmp.Or(s.ResponseURL, ephemeralToken)
	return []inbound{{responseURL: hook, shortcut: true, author: e.User, message: bot.Message{
		Key:        "slack:shortcut:" + s.Trigger,
		Chat:       e.chat(),
		From:       bot.Person{Platform: Name, ID: s.User.ID},
		ID:         e.TS,
		Earlier:    shared(me, event{User: s.User.ID, Attachments: []attachment{of}}),
		Standalone: true,
		Team:       cmp.Or(s.User.Team, s.Team.ID),
		Token:      hook,
	}}}, nil
}

type idField struct {
	ID string `json:"id"`
}

type pressUser struct {
	ID   string `json:"id"`
	Team string `json:"team_id"`
}

// pressContainer is the message of the button. Slack names it in two places.
type pressContainer struct {
	TS       string `json:"ts"`
	Message  string `json:"message_ts"`
	Channel  string `json:"channel_id"`
	ThreadTS string `json:"thread_ts"`
}

type pressItem struct {
	ID    string `json:"action_id"`
	Value string `json:"value"`
	TS    string `json:"action_ts"`
}

// decodeInteraction reads an interaction. No inbound and no error: it is neither a
// press of one of our buttons nor our shortcut nor a form of ours.
func decodeInteraction(me identity, body []byte) ([]inbound, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &kind); err != nil {
		return nil, fmt.Errorf("reading interaction: %w", err)
	}
	switch kind.Type {
	case "message_action":
		return decodeShortcut(me, body)
	case "block_actions":
		return decodePress(body)
	case "view_submission":
		return decodeSubmission(body)
	}
	return nil, nil
}

func decodePress(body []byte) ([]inbound, error) {
	var p press
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("reading press: %w", err)
	}
	channel := cmp.Or(p.Channel.ID, p.Container.Channel)
	if p.User.ID == "" || channel == "" {
		return nil, errors.New("reading press: user or channel is missing")
	}
	var all []inbound
	for _, action := range p.Actions {
		if !strings.HasPrefix(action.ID, actionPrefix) || action.Value == "" {
			continue
		}
		ts := cmp.Or(p.Container.Message, p.Message.TS)
		thread := cmp.Or(p.Container.ThreadTS, p.Message.ThreadTS)
		all = append(all, inbound{message: bot.Message{
			Key:      "slack:press:" + cmp.Or(p.Trigger, channel+":"+ts+":"+p.User.ID) + ":" + cmp.Or(action.TS, action.ID),
			Chat:     bot.Chat{Platform: Name, ID: channel, Thread: thread, Private: strings.HasPrefix(channel, "D")},
			From:     bot.Person{Platform: Name, ID: p.User.ID},
			ID:       ts,
			ReplyTo:  ts,
			Kind:     bot.MessagePress,
			Data:     action.Value,
			InThread: thread != "",
			At:       timeOf(action.TS),
			Team:     cmp.Or(p.User.Team, p.Team.ID),
			Token:    cmp.Or(p.ResponseURL, ephemeralToken),
			Trigger:  p.Trigger,
		}})
	}
	return all, nil
}
