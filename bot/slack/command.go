package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
)

// slash is a slash command, from a form or as JSON of Socket Mode.
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

// hookMark stands in a message's id between the response URL of a command and
// the person who gave it, so that both outlive a restart.
const hookMark = "#"

// decodeCommand reads a slash command.
func decodeCommand(c Commands, name func(id string) string, body []byte) (arrival, error) {
	var s slash
	if err := json.Unmarshal(body, &s); err != nil {
		return arrival{}, fmt.Errorf("reading slash command: %w", err)
	}
	return s.arrival(c, name)
}

func (s slash) arrival(c Commands, name func(id string) string) (arrival, error) {
	if s.User == "" || s.Channel == "" || s.Trigger == "" {
		return arrival{}, errors.New("reading slash command: user, channel or trigger id is missing")
	}
	text := plain(s.Text, "", name)
	verb, rest := "task", text
	if s.Command != c.Task {
		verb = strings.Fields(text + " help")[0]
		rest = strings.TrimSpace(strings.TrimPrefix(text, verb))
		verb = strings.ToLower(strings.TrimLeft(verb, "/!"))
	}
	private := strings.HasPrefix(s.Channel, "D") || s.ChannelName == "directmessage"
	hook := cmp.Or(s.ResponseURL, tokenHere)
	a := arrival{hook: hook, message: bot.Message{
		Key:   "slack:command:" + s.Trigger,
		Chat:  bot.Chat{Platform: Name, ID: s.Channel, Private: private},
		From:  bot.Person{Platform: Name, ID: s.User},
		Text:  strings.TrimSpace("/" + verb + " " + rest),
		Team:  s.Team,
		Token: hook,
	}}
	if verb == "claim" && private {
		a.message.Text = "/start " + rest
	}
	if !private && rest != "" {
		switch verb {
		case "task", "plan":
			a.root = "<@" + s.User + ">: " + markdown.SlackEscape(cut(rest, 3000))
		case "prompt": // what it lacks is asked for in the thread
			a.root = "<@" + s.User + ">: " + markdown.SlackEscape(cut(c.Main+" prompt "+rest, 3000))
		}
	}
	return a, nil
}

// Spell is how a command is written: in threads, where Slack has no commands of
// its own, "!NAME".
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
	Type        string      `json:"type"`
	Trigger     string      `json:"trigger_id"`
	ResponseURL string      `json:"response_url"`
	User        pressUser   `json:"user"`
	Team        named       `json:"team"`
	Channel     named       `json:"channel"`
	Container   pressed     `json:"container"`
	Message     pressed     `json:"message"`
	Actions     []pressItem `json:"actions"`
}

type named struct {
	ID string `json:"id"`
}

type pressUser struct {
	ID   string `json:"id"`
	Team string `json:"team_id"`
}

// pressed is where the button stands, as Slack says it in two places.
type pressed struct {
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

// decodePress reads an interaction. No arrival and no error: it is no press of
// a button of ours.
func decodePress(body []byte) ([]arrival, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &kind); err != nil {
		return nil, fmt.Errorf("reading interaction: %w", err)
	}
	if kind.Type != "block_actions" {
		return nil, nil
	}
	var p press
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("reading press: %w", err)
	}
	channel := cmp.Or(p.Channel.ID, p.Container.Channel)
	if p.User.ID == "" || channel == "" {
		return nil, errors.New("reading press: user or channel is missing")
	}
	var all []arrival
	for _, action := range p.Actions {
		if !strings.HasPrefix(action.ID, actionPrefix) || action.Value == "" {
			continue
		}
		ts := cmp.Or(p.Container.Message, p.Message.TS)
		thread := cmp.Or(p.Container.ThreadTS, p.Message.ThreadTS)
		all = append(all, arrival{message: bot.Message{
			Key:      "slack:press:" + cmp.Or(p.Trigger, channel+":"+ts+":"+p.User.ID) + ":" + cmp.Or(action.TS, action.ID),
			Chat:     bot.Chat{Platform: Name, ID: channel, Thread: thread, Private: strings.HasPrefix(channel, "D")},
			From:     bot.Person{Platform: Name, ID: p.User.ID},
			ID:       ts,
			ReplyTo:  ts,
			Kind:     bot.MessagePress,
			Data:     action.Value,
			InThread: thread != "",
			At:       moment(action.TS),
			Team:     cmp.Or(p.User.Team, p.Team.ID),
			Token:    cmp.Or(p.ResponseURL, tokenHere),
		}})
	}
	return all, nil
}
