package slack

import (
	"context"
	"strings"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
)

// waitSign is the reaction on a question whose first message waits for Slack's rate
// limits.
const waitSign = "hourglass_flowing_sand"

// waitSigns puts the sign on questions.
type waitSigns struct {
	*webClient
	background background
	on         *lru.Cache[string, struct{}] // questions with the sign, by channel and ts
	none       atomic.Bool                  // Slack said that this app may not react
}

func newWaitSigns(c *webClient, b background) (*waitSigns, error) {
	on, err := lru.New[string, struct{}](10_000)
	return &waitSigns{webClient: c, background: b, on: on}, err
}

// show puts the sign on a question, or takes it away. It never waits, and does
// nothing where the sign is, or is not, already. Apps without the scope
// reactions:write are asked once.
func (s *waitSigns) show(to bot.Chat, question string, waits bool) {
	if question == "" || strings.HasPrefix(question, "http") || s.none.Load() {
		return
	}
	key := messageKey(to.ID, question)
	if s.on.Contains(key) == waits {
		return
	}
	method, change := "reactions.add", s.api.AddReactionContext
	if waits {
		s.on.Add(key, struct{}{})
	} else {
		s.on.Remove(key)
		method, change = "reactions.remove", s.api.RemoveReactionContext
	}
	s.background.add(func(ctx context.Context) {
		err := s.call(ctx, request{method: method, urgency: bot.PriorityNormal}, func(ctx context.Context) error {
			return change(ctx, waitSign, slackgo.NewRefToMessage(to.ID, question))
		})
		switch {
		case err == nil || ctx.Err() != nil:
		case unavailable(err):
			s.none.Store(true)
			s.log.InfoContext(ctx, "slack: no reactions, the app lacks the scope reactions:write; paste the manifest of \"legwork slack manifest\" into the app and install it again", "cause", err)
		default:
			s.log.DebugContext(ctx, "slack: reaction not changed", "chat", to.Key(), "cause", err)
		}
	})
}
