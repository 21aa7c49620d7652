package slack

import (
	"context"
	"strings"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// waitSign is the reaction on a question whose first message waits for Slack's rate
// limits.
const waitSign = "hourglass_flowing_sand"

// showWait puts the sign on a question, or takes it away. It never waits, and does
// nothing where the sign is, or is not, already. Apps without the scope
// reactions:write are asked once.
func (s *Slack) showWait(to bot.Chat, question string, waits bool) {
	if question == "" || strings.HasPrefix(question, "http") || !s.reactions.Load() {
		return
	}
	key := messageKey(to.ID, question)
	if s.waiting.Contains(key) == waits {
		return
	}
	method, change := "reactions.add", s.api.AddReactionContext
	if waits {
		s.waiting.Add(key, struct{}{})
	} else {
		s.waiting.Remove(key)
		method, change = "reactions.remove", s.api.RemoveReactionContext
	}
	s.background.add(func(ctx context.Context) {
		err := s.call(ctx, request{method: method, urgency: bot.PriorityNormal}, func(ctx context.Context) error {
			return change(ctx, waitSign, slackgo.NewRefToMessage(to.ID, question))
		})
		switch {
		case err == nil || ctx.Err() != nil:
		case unavailable(err):
			s.reactions.Store(false)
			s.log.InfoContext(ctx, "slack: no reactions, the app lacks the scope reactions:write; paste the manifest of \"legwork slack manifest\" into the app and install it again", "cause", err)
		default:
			s.log.DebugContext(ctx, "slack: reaction not changed", "chat", to.Key(), "cause", err)
		}
	})
}
