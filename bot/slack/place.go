package slack

import (
	"context"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
)

// places finds where the tasks of commands and of message shortcuts live.
type places struct {
	*webClient
	people *people
	admit  func(context.Context, bot.Message) bool
	roots  *lru.Cache[string, bot.Chat] // where a command's task lives, by the command's key
}

func newPlaces(c *webClient, p *people, admit func(context.Context, bot.Message) bool) (*places, error) {
	roots, err := lru.New[string, bot.Chat](1000)
	return &places{webClient: c, people: p, admit: admit, roots: roots}, err
}

// ofShortcut finds out whether the bot can write below the message of a shortcut.
// Where it is not a member, the task uses the shortcut's response URL.
func (p *places) ofShortcut(ctx context.Context, a *inbound) {
	m := &a.message
	if !strings.HasPrefix(a.responseURL, "http") || !p.admit(ctx, *m) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.timings.root)
	defer cancel()
	if a.author != "" && len(m.Earlier) > 0 {
		m.Earlier[0].From = p.people.nameOf(ctx, a.author)
	}
	err := p.call(ctx, request{method: "conversations.replies", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		_, _, _, err := p.api.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{ChannelID: m.Chat.ID, Timestamp: m.ID, Limit: 1})
		return err
	})
	if gone(err) {
		m.Chat.Thread, m.Chat.Private = "", false // in direct messages of others the bot is not alone with one person
		m.ID = a.responseURL + personMark + m.From.ID
	}
}

// ofCommand posts the message under which the task of a command lives. Where the
// bot is not a member, the task uses the command's response URL instead.
func (p *places) ofCommand(ctx context.Context, a *inbound) {
	m := &a.message
	if m.At.IsZero() {
		m.At = p.now()
	}
	if a.root == "" {
		return
	}
	if chat, ok := p.roots.Get(m.Key); ok {
		m.Chat, m.ID = chat, chat.Thread
		return
	}
	if strings.HasPrefix(a.responseURL, "http") {
		m.ID = a.responseURL + personMark + m.From.ID
	}
	if !p.admit(ctx, *m) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.timings.root)
	defer cancel()
	var ts string
	err := p.call(ctx, request{method: "chat.postMessage", channel: m.Chat.ID, urgency: bot.PriorityHigh}, func(ctx context.Context) (err error) {
		_, ts, err = p.api.PostMessageContext(ctx, m.Chat.ID, text(a.root), quiet())
		return err
	})
	if err != nil {
		if !gone(err) {
			p.log.WarnContext(ctx, "slack: message for a command not posted", "chat", m.Chat.Key(), "cause", err)
		}
		return
	}
	m.Chat.Thread, m.ID = ts, ts
	if at := timeOf(ts); !at.IsZero() && at.Sub(m.At).Abs() < time.Minute {
		m.At = at
	}
	p.roots.Add(m.Key, m.Chat)
}
