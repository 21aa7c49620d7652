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
	changes background                   // of their own: a change may have to be tried again
	on      *lru.Cache[string, struct{}] // questions with the sign, by channel and ts
	none    atomic.Bool                  // Slack said that this app may not react
}

func newWaitSigns(c *webClient) (*waitSigns, error) {
	on, err := lru.New[string, struct{}](10_000)
	return &waitSigns{webClient: c, changes: make(background, 256), on: on}, err
}

// run makes the changes, one after the other, until ctx ends.
func (s *waitSigns) run(ctx context.Context) { s.changes.run(ctx) }

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
	if waits {
		s.on.Add(key, struct{}{})
	} else {
		s.on.Remove(key)
	}
	s.changes.add(func(ctx context.Context) { s.change(ctx, to, question, waits) })
}

// change adds or removes the sign. It tries to remove it until Slack answers: the sign
// would stay otherwise.
func (s *waitSigns) change(ctx context.Context, to bot.Chat, question string, waits bool) {
	method, do := "reactions.add", s.api.AddReactionContext
	if !waits {
		method, do = "reactions.remove", s.api.RemoveReactionContext
	}
	for pauses := s.timings.retries(); ; {
		err := s.call(ctx, request{method: method, urgency: bot.PriorityNormal}, func(ctx context.Context) error {
			return do(ctx, waitSign, slackgo.NewRefToMessage(to.ID, question))
		})
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case unavailable(err):
			s.none.Store(true)
			s.log.InfoContext(ctx, "slack: no reactions, the app lacks the scope reactions:write; paste the manifest of \"legwork slack manifest\" into the app and install it again", "cause", err)
			return
		}
		s.log.DebugContext(ctx, "slack: reaction not changed", "chat", to.Key(), "cause", err)
		if waits || !passing(err) || pauses.Sleep(ctx) != nil {
			return
		}
	}
}
