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

// responseURLMethod stands for a response URL in errors: for half an hour the address
// is as good as a token.
const responseURLMethod = "response_url"

// What Slack allows with one response URL
// (docs.slack.dev/interactivity/handling-user-interaction).
const (
	maxURLUses = 5
	urlLife    = 30 * time.Minute
)

// answerAddress is where a delivery is answered: at its response URL when that is
// Slack's own, and by an ephemeral message otherwise. The check is needed because
// legwork calls the address from inside its own network.
func (c Config) answerAddress(address string) string {
	if !strings.HasPrefix(address, "http") {
		return address
	}
	to, err := url.Parse(address)
	api, bad := url.Parse(c.APIURL)
	if err != nil || bad != nil || to.User != nil {
		return ephemeralToken
	}
	slacks := to.Scheme == "https" && (to.Host == "hooks.slack.com" || to.Host == "hooks."+api.Host)
	if slacks || c.APIURL != DefaultAPIURL && to.Scheme == api.Scheme && to.Host == api.Host {
		return address
	}
	return ephemeralToken
}

// responseURLs count how often each response URL was used.
type responseURLs struct {
	mu   sync.Mutex
	used map[string]urlUse
}

type urlUse struct {
	times int
	first time.Time
}

func newResponseURLs() *responseURLs { return &responseURLs{used: map[string]urlUse{}} }

// use counts a use of a response URL; false when no more than keep are left.
func (h *responseURLs) use(address string, now time.Time, keep int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, one := range h.used {
		if now.Sub(one.first) > 2*urlLife {
			delete(h.used, key)
		}
	}
	one, known := h.used[address]
	if !known {
		one.first = now
	}
	if one.times+keep >= maxURLUses || now.Sub(one.first) > urlLife {
		return false
	}
	one.times++
	h.used[address] = one
	return true
}

// postToURL sends a message through the response URL of a command. The last use
// is kept for an outcome. When no use is left, the message goes to the person's
// direct messages. Slack replaces or deletes messages that were sent in this way only
// when somebody presses a button below them
// (docs.slack.dev/interactivity/handling-user-interaction).
func (s *Slack) postToURL(ctx context.Context, id string, d bot.Draft) (string, error) {
	if d.Partial && d.Kind == bot.KindAnswer {
		return id, nil // it cannot be changed later; the full answer follows
	}
	if d.Kind == bot.KindBoard {
		d = bot.Draft{Kind: bot.KindBoard, Task: d.Task, Text: d.Fixed}
	}
	address, person, _ := strings.Cut(id, personMark)
	keep := 1
	if d.Kind == bot.KindAnswer {
		keep = 0
	}
	if s.responseURLs.use(address, s.now(), keep) {
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
		return "", wrapGone(err)
	}
	return id, nil
}

// editAtURL replaces an edit, which response URLs do not allow: it skips frames and
// sends an outcome as a message of its own.
func (s *Slack) editAtURL(ctx context.Context, id string, d bot.Draft) error {
	if d.Partial || d.Kind == bot.KindBoard {
		return nil
	}
	_, err := s.postToURL(ctx, id, d)
	return err
}

func (s *Slack) respond(ctx context.Context, address string, d bot.Draft, all bool) error {
	off, who := false, slackgo.ResponseTypeEphemeral
	if all {
		who = slackgo.ResponseTypeInChannel
	}
	err := s.tryLooks(ctx, d, func(ctx context.Context, l look) error {
		m := &slackgo.WebhookMessage{Text: l.text, ResponseType: who, UnfurlLinks: &off, UnfurlMedia: &off}
		if len(l.blocks) > 0 {
			m.Blocks = &slackgo.Blocks{BlockSet: l.blocks}
		}
		err := s.call(ctx, request{method: responseURLMethod, urgency: bot.PriorityHigh}, func(ctx context.Context) error {
			return slackgo.PostWebhookCustomHTTPContext(ctx, address, s.http, m)
		})
		return err
	})
	return err
}

// expired reports whether a response URL no longer works.
func expired(err error) bool {
	status, ok := errors.AsType[slackgo.StatusCodeError](err)
	return ok && (status.Code == http.StatusNotFound || status.Code == http.StatusGone || status.Code == http.StatusForbidden)
}

// Answer shows text only to the author of a command or press. Slack shows no
// waiting press, so an empty text does nothing.
func (s *Slack) Answer(ctx context.Context, m bot.Message, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.AnswerWith(ctx, m, bot.Draft{Kind: bot.KindNotice, Text: text})
}

// AnswerWith implements bot.ButtonAnswerer.
func (s *Slack) AnswerWith(ctx context.Context, m bot.Message, d bot.Draft) error {
	if strings.HasPrefix(m.Token, "http") && s.responseURLs.use(m.Token, s.now(), 0) {
		if err := s.respond(ctx, m.Token, d, false); err == nil || !expired(err) {
			return err
		}
	}
	r := request{method: "chat.postEphemeral", channel: m.Chat.ID, private: m.Chat.Private, urgency: bot.PriorityHigh}
	err := s.tryLooks(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) error {
			_, err := s.api.PostEphemeralContext(ctx, m.Chat.ID, m.From.ID, l.options(), thread(m.Chat))
			return err
		})
	})
	return wrapGone(err)
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
		return bot.Chat{}, wrapGone(err)
	}
	return bot.Chat{Platform: Name, ID: id, Private: true}, nil
}
