package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"

	slackgo "github.com/slack-go/slack"
)

const openMethod = "apps.connections.open"

// How often a call waits out a limit that Slack names, and how long when it
// names none.
const (
	limitTries = 5
	limitPause = 10 * time.Second
)

// request is what the limiter has to know of a call.
type request struct {
	method  string
	channel string // where the limit is per channel
	private bool
	urgency bot.Priority
}

// limited is the channel whose limit a refusal tells of. Only posts have one in
// each channel; the others are counted for the workspace.
func (r request) limited() string {
	if r.method == "chat.postMessage" {
		return r.channel
	}
	return ""
}

// call makes one call of the Web API when its turn has come. A limit that Slack
// names is told to the limiter and waited for, except for frames: their error is
// a *bot.LaterError.
func (s *Slack) call(ctx context.Context, r request, do func(ctx context.Context) error) error {
	me, err := s.me(ctx)
	if err != nil {
		return err
	}
	turn := bot.Request{Account: me.team, Chat: r.channel, Group: !r.private, Method: r.method, Priority: r.urgency}
	for try := 1; ; try++ {
		if err := s.limiter.Wait(ctx, turn); err != nil {
			return err
		}
		failpoint.Hit("slack.before." + r.method)
		err := s.measured(ctx, r.method, do)
		failpoint.Hit("slack.after." + r.method)
		wait, limited := limit(err)
		if !limited {
			s.heed(ctx, r.method, err)
			return s.clean(r.method, err)
		}
		s.limiter.Pause(bot.Request{Account: me.team, Chat: r.limited(), Method: r.method}, wait)
		if !r.urgency.Waits() {
			return &bot.LaterError{After: wait}
		}
		s.log.DebugContext(ctx, "slack asks to wait", "method", r.method, "wait", wait)
		if try == limitTries {
			return s.clean(r.method, err)
		}
		if retry.Sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// heed notes whether Slack still knows the bot's token: deliveries go on when it
// was revoked, and only calls show it.
func (s *Slack) heed(ctx context.Context, method string, err error) {
	if method == openMethod || method == hookMethod { // they go without that token
		return
	}
	if r, known := s.revoked.Load(), slices.Contains([]string{"token_revoked", "account_inactive", "invalid_auth", "not_authed", "token_expired"}, code(err)); known {
		problem := explain(s.clean(method, err))
		if s.revoked.Store(&state{problem}); r == nil {
			s.log.ErrorContext(ctx, "slack takes no calls", "cause", problem)
		}
	} else if err == nil && r != nil {
		s.revoked.Store(nil)
	}
}

// limit is how long Slack wants nothing of that kind.
func limit(err error) (time.Duration, bool) {
	if limited, ok := errors.AsType[*slackgo.RateLimitedError](err); ok {
		return max(limited.RetryAfter, time.Second), true
	}
	switch code(err) {
	case "ratelimited", "rate_limited":
		return limitPause, true
	}
	return 0, false
}

// early reports whether a frame came before its turn.
func early(err error) bool {
	_, ok := errors.AsType[*bot.LaterError](err)
	return ok
}

// code is Slack's own name of an error; empty when it is none of Slack's.
func code(err error) string {
	if answer, ok := errors.AsType[slackgo.SlackErrorResponse](err); ok {
		return answer.Err
	}
	return ""
}

// clean names the method that failed and keeps tokens out of the error.
func (s *Slack) clean(method string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range []string{s.config.BotToken, s.config.AppToken, s.config.SigningSecret} {
		if secret != "" && (strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret))) {
			return fmt.Errorf("calling %s: the cause holds a secret and is left out", method)
		}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok && method == hookMethod {
		err = failed.Err // without the address, which is as good as a token
	}
	return fmt.Errorf("calling %s: %w", method, err)
}

// gone reports whether no further try in that place will help.
func gone(err error) bool {
	return slices.Contains([]string{
		"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "users_not_found", "user_disabled", "user_is_bot",
		"cannot_dm_bot", "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "thread_not_found", "cannot_reply_to_message", "messages_tab_disabled",
		"no_permission", "access_denied", "team_not_found", "not_allowed_for_grid_workspace",
	}, code(err))
}

// lost reports whether a message cannot be changed any more, while a new one
// can be sent.
func lost(err error) bool {
	return slices.Contains([]string{"message_not_found", "cant_update_message", "edit_window_closed", "update_failed"}, code(err))
}

// refused reports whether Slack may take the same words in another look: Slack
// has more names for what it does not like than anybody knows.
func refused(err error) bool {
	passing := []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "team_added_to_org"}
	return code(err) != "" && !gone(err) && !lost(err) && !denied(err) && !broken(err) && !slices.Contains(passing, code(err))
}

// denied reports whether the tokens, not the network, are the problem.
func denied(err error) bool { return remedy(err) != "" }

// mark makes an error of Post and Edit one that the presenter can read.
func mark(err error) error {
	if gone(err) {
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	}
	return err
}

// explain says to operators what to do about an error of a connection.
func explain(err error) error {
	if hint := remedy(err); hint != "" {
		return fmt.Errorf("slack: %w: %s", err, hint)
	}
	return fmt.Errorf("slack: %w", err)
}

// remedy is what helps against a refused token; empty for other errors.
func remedy(err error) string {
	switch code(err) {
	case "invalid_auth", "not_authed", "token_expired":
		return "the token is not valid in this workspace; copy it again from the app's settings, bot_token from OAuth & Permissions, app_token from Basic Information"
	case "token_revoked", "account_inactive":
		return "the token was revoked or the app removed; install the app again and copy the new token"
	case "not_allowed_token_type":
		return "a token of another kind stands in its place; bot_token is xoxb-..., app_token is xapp-..."
	case "missing_scope", "no_permission":
		return "the token may not do that; paste the manifest of \"legwork slack manifest\" into the app and install it again"
	case "org_login_required", "ekm_access_denied", "team_access_not_granted", "access_denied":
		return "the workspace does not let this app in; ask its admins"
	case "too_many_websockets":
		return "ten connections of this app are open already; stop the others"
	case "link_disabled", "socket_mode_disabled":
		return "Socket Mode is off; turn it on in the app's settings"
	}
	return ""
}
