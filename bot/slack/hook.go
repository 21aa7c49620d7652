package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// hookMethod is what errors call a response URL: the address itself is as good
// as a token for half an hour.
const hookMethod = "response_url"

// What Slack allows with one response URL.
const (
	hookUses = 5
	hookLife = 30 * time.Minute
)

// answered is where a delivery is answered: at its response URL when that is
// Slack's own, and by an ephemeral message otherwise. What a delivery names is
// called from inside of the network that legwork runs in.
func (c Config) answered(address string) string {
	if !strings.HasPrefix(address, "http") {
		return address
	}
	to, err := url.Parse(address)
	api, bad := url.Parse(c.APIURL)
	if err != nil || bad != nil || to.User != nil {
		return tokenHere
	}
	slacks := to.Scheme == "https" && (to.Host == "hooks.slack.com" || to.Host == "hooks."+api.Host)
	if slacks || c.APIURL != DefaultAPIURL && to.Scheme == api.Scheme && to.Host == api.Host {
		return address
	}
	return tokenHere
}

// hooks counts how often response URLs were used.
type hooks struct {
	mu   sync.Mutex
	used map[string]hook
}

type hook struct {
	times int
	first time.Time
}

func newHooks() *hooks { return &hooks{used: map[string]hook{}} }

// use takes one of the uses of a response URL, keeping so many back; false when
// there is none left.
func (h *hooks) use(address string, now time.Time, keep int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, one := range h.used {
		if now.Sub(one.first) > 2*hookLife {
			delete(h.used, key)
		}
	}
	one, known := h.used[address]
	if !known {
		one.first = now
	}
	if one.times+keep >= hookUses || now.Sub(one.first) > hookLife {
		return false
	}
	one.times++
	h.used[address] = one
	return true
}

// hooked sends a message through the response URL of a command. The last use
// is kept for an outcome; when there is none left, the message goes to the
// person's direct messages.
func (s *Slack) hooked(ctx context.Context, id string, d bot.Draft) (string, error) {
	if d.Partial && d.Kind == bot.KindAnswer {
		return id, nil // what was said through it cannot be changed; the whole follows
	}
	address, person, _ := strings.Cut(id, hookMark)
	keep := 1
	if d.Kind == bot.KindAnswer {
		keep = 0
	}
	if s.hooks.use(address, s.now(), keep) {
		err := s.respond(ctx, address, d, d.Kind == bot.KindAnswer)
		if err == nil || !expired(err) {
			return id, err
		}
	}
	if d.Kind == bot.KindBoard {
		return id, nil // nothing is lost
	}
	if person == "" {
		return "", fmt.Errorf("answering a command: %w: its response URL is used up", bot.ErrGone)
	}
	to, err := s.Direct(ctx, person)
	if err != nil {
		return "", err
	}
	if _, err := s.postMessage(ctx, to, d); err != nil {
		return "", mark(err)
	}
	return id, nil
}

// rehooked takes the place of an edit, which a response URL has none of: frames
// are left out, an outcome is a message of its own.
func (s *Slack) rehooked(ctx context.Context, id string, d bot.Draft) error {
	if d.Partial || d.Kind == bot.KindBoard {
		return nil
	}
	_, err := s.hooked(ctx, id, d)
	return err
}

func (s *Slack) respond(ctx context.Context, address string, d bot.Draft, all bool) error {
	off, who := false, slackgo.ResponseTypeEphemeral
	if all {
		who = slackgo.ResponseTypeInChannel
	}
	err := s.shown(ctx, d, func(ctx context.Context, l look) error {
		m := &slackgo.WebhookMessage{Text: l.text, ResponseType: who, UnfurlLinks: &off, UnfurlMedia: &off}
		if len(l.blocks) > 0 {
			m.Blocks = &slackgo.Blocks{BlockSet: l.blocks}
		}
		err := s.call(ctx, request{method: hookMethod, urgency: bot.PriorityHigh}, func(ctx context.Context) error {
			return slackgo.PostWebhookCustomHTTPContext(ctx, address, s.http, m)
		})
		return err
	})
	return err
}

// expired reports whether a response URL works no more.
func expired(err error) bool {
	status, ok := errors.AsType[slackgo.StatusCodeError](err)
	return ok && (status.Code == http.StatusNotFound || status.Code == http.StatusGone || status.Code == http.StatusForbidden)
}

// Answer shows text to the author of a command or press alone. A press needs
// no end, so that an empty text does nothing.
func (s *Slack) Answer(ctx context.Context, m bot.Message, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	d := bot.Draft{Kind: bot.KindNotice, Text: text}
	if strings.HasPrefix(m.Token, "http") && s.hooks.use(m.Token, s.now(), 0) {
		if err := s.respond(ctx, m.Token, d, false); err == nil || !expired(err) {
			return err
		}
	}
	r := request{method: "chat.postEphemeral", channel: m.Chat.ID, private: m.Chat.Private, urgency: bot.PriorityHigh}
	err := s.shown(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) error {
			_, err := s.api.PostEphemeralContext(ctx, m.Chat.ID, m.From.ID, l.options(), thread(m.Chat))
			return err
		})
	})
	return mark(err)
}

// Direct returns the direct messages with a person.
func (s *Slack) Direct(ctx context.Context, person string) (bot.Chat, error) {
	var id string
	err := s.call(ctx, request{method: "conversations.open", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		c, _, _, err := s.api.OpenConversationContext(ctx, &slackgo.OpenConversationParameters{Users: []string{person}})
		if err == nil {
			id = c.ID
		}
		return err
	})
	if err != nil {
		return bot.Chat{}, mark(err)
	}
	return bot.Chat{Platform: Name, ID: id, Private: true}, nil
}
