package slack

import (
	"context"
	"encoding/json"

	"legwork/bot"
	"legwork/internal/retry"
)

// runCheck asks about a refused token until it is good again: nothing else may
// call in the meantime.
func (s *Slack) runCheck(ctx context.Context) {
	for retry.Sleep(ctx, s.pause.denied) == nil {
		if s.revoked.Load() != nil {
			s.check(ctx)
		}
	}
}

// check asks Slack about the bot token. What it says is heeded like that of any
// call.
func (s *Slack) check(ctx context.Context) {
	_ = s.call(ctx, request{method: "auth.test", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		_, err := s.api.AuthTestContext(ctx)
		return err
	})
}

// revokes reports whether an event says that a token was taken back. It may
// have been another one.
func revokes(body []byte) bool {
	var o struct {
		Event struct {
			Type string `json:"type"`
		} `json:"event"`
	}
	return json.Unmarshal(body, &o) == nil && (o.Event.Type == "tokens_revoked" || o.Event.Type == "app_uninstalled")
}
