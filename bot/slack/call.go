package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
)

const openMethod = "apps.connections.open"

// How often a call is tried when Slack limits it, and how long it waits when
// Slack does not say how long.
const (
	maxLimited        = 5
	defaultRetryAfter = 10 * time.Second
)

// webClient calls Slack's Web API (docs.slack.dev/apis/web-api).
type webClient struct {
	config  Config
	log     *slog.Logger
	metrics *telemetry.Metrics
	limiter bot.RateLimiter
	now     func() time.Time
	timings timings
	http    *http.Client
	files   *http.Client // of downloads: without a limit on time and length
	api     *slackgo.Client

	identified sync.Mutex // held while auth.test is under way
	identity   atomic.Pointer[identity]
	revoked    atomic.Pointer[state] // why Slack refuses the bot's token; nil: it does not
}

// request is what the rate limiter has to know about a call.
type request struct {
	method  string
	channel string // where the limit is per channel
	private bool
	urgency bot.Priority
}

// pausedChannel is the channel that is paused when Slack limits a call. Only
// posts are limited by channel, other calls by workspace
// (docs.slack.dev/apis/web-api/rate-limits).
func (r request) pausedChannel() string {
	if r.method == "chat.postMessage" {
		return r.channel
	}
	return ""
}

// call makes one call of the Web API when the rate limiter allows it. When Slack
// limits the call, it pauses the limiter and waits; frames do not wait, their
// error is a *bot.LaterError.
func (s *webClient) call(ctx context.Context, r request, do func(ctx context.Context) error) error {
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
		err := s.send(ctx, r.method, do)
		failpoint.Hit("slack.after." + r.method)
		wait, limited := retryAfter(err)
		if !limited {
			s.noteToken(ctx, r.method, err)
			return s.redact(r.method, err)
		}
		s.limiter.Pause(bot.Request{Account: me.team, Chat: r.pausedChannel(), Method: r.method}, wait)
		if !r.urgency.Waits() {
			return &bot.LaterError{After: wait}
		}
		s.log.DebugContext(ctx, "slack: rate limited", "method", r.method, "wait", wait)
		if try == maxLimited {
			return s.redact(r.method, err)
		}
		if retry.Sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// send makes a call. A call that makes a message is waited for when ctx ends: Slack
// may show the message all the same, and a search does not find it before that.
func (s *webClient) send(ctx context.Context, method string, do func(context.Context) error) error {
	if method == "chat.postMessage" || method == "chat.startStream" {
		var done context.CancelFunc
		ctx, done = retry.WithGrace(ctx, s.timings.sent)
		defer done()
	}
	return s.measure(ctx, method, do)
}

// noteToken notes whether Slack accepts the bot's token: deliveries go on after it
// was revoked, only calls show it.
func (s *webClient) noteToken(ctx context.Context, method string, err error) {
	if method == openMethod || method == responseURLMethod { // they do not use that token
		return
	}
	if r := s.revoked.Load(); tokenRefused(err) {
		problem := explain(s.redact(method, err))
		if s.revoked.Store(&state{problem}); r == nil {
			s.log.ErrorContext(ctx, "slack: token refused", "cause", problem)
		}
	} else if err == nil && r != nil {
		s.revoked.Store(nil)
	}
}

// retryAfter is how long Slack wants no call of that method.
func retryAfter(err error) (time.Duration, bool) {
	if limited, ok := errors.AsType[*slackgo.RateLimitedError](err); ok {
		return max(limited.RetryAfter, time.Second), true
	}
	switch code(err) {
	case "ratelimited", "rate_limited":
		return defaultRetryAfter, true
	}
	return 0, false
}

// tooEarly reports whether a frame came before the rate limiter allows it.
func tooEarly(err error) bool {
	_, ok := errors.AsType[*bot.LaterError](err)
	return ok
}

// code is Slack's name of an error; empty for errors that are not Slack's.
func code(err error) string {
	if answer, ok := errors.AsType[slackgo.SlackErrorResponse](err); ok {
		return answer.Err
	}
	return ""
}

// redact names the method that failed and keeps secrets out of the error.
func (s *webClient) redact(method string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range []string{s.config.BotToken, s.config.AppToken, s.config.SigningSecret} {
		if secret != "" && (strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret))) {
			return fmt.Errorf("calling %s: the cause is omitted because it contains a secret", method)
		}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok && method == responseURLMethod {
		err = failed.Err // without the address, which is as good as a token
	}
	return fmt.Errorf("calling %s: %w", method, err)
}

// gone reports whether no further try in that chat will help.
func gone(err error) bool {
	return slices.Contains([]string{
		"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "users_not_found", "user_disabled", "user_is_bot",
		"cannot_dm_bot", "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "thread_not_found", "cannot_reply_to_message", "messages_tab_disabled",
		"no_permission", "access_denied", "team_not_found", "not_allowed_for_grid_workspace",
	}, code(err))
}

// notEditable reports whether a message can no longer be changed, while a new one
// can be sent.
func notEditable(err error) bool {
	return slices.Contains([]string{"message_not_found", "cant_update_message", "edit_window_closed", "update_failed"}, code(err))
}

// contentRefused reports whether Slack may accept the same text in another look. It
// names the errors of other kinds: Slack has too many names for refused
// content to list them.
func contentRefused(err error) bool {
	return !passing(err) && !gone(err) && !notEditable(err) && !badToken(err) && !streamEnded(err)
}

// passing reports whether another try may get an answer: the error is one of the
// network, of Slack's servers, of a limit, or of a token that can be replaced.
func passing(err error) bool {
	return code(err) == "" || tokenRefused(err) || slices.Contains([]string{
		"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "team_added_to_org",
	}, code(err))
}

// tokenRefused reports whether Slack does not accept the token any more.
func tokenRefused(err error) bool {
	return slices.Contains([]string{"token_revoked", "account_inactive", "invalid_auth", "not_authed", "token_expired"}, code(err))
}

// badToken reports whether the tokens, not the network, are the problem.
func badToken(err error) bool { return remedy(err) != "" }

// wrapGone adds bot.ErrGone to errors after which no further try helps.
func wrapGone(err error) error {
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

// remedy is what an operator can do about a refused token; empty for other errors.
func remedy(err error) string {
	switch code(err) {
	case "invalid_auth", "not_authed", "token_expired":
		return "the token is not valid in this workspace; copy it again from the app's settings, bot_token from OAuth & Permissions, app_token from Basic Information"
	case "token_revoked", "account_inactive":
		return "the token was revoked or the app removed; install the app again and copy the new token"
	case "not_allowed_token_type":
		return "this is a token of another kind; bot_token is xoxb-..., app_token is xapp-..."
	case "missing_scope", "no_permission":
		return "the token lacks a permission; paste the manifest of \"legwork slack manifest\" into the app and install it again"
	case "org_login_required", "ekm_access_denied", "team_access_not_granted", "access_denied":
		return "the workspace does not let this app in; ask its admins"
	case "too_many_websockets":
		return "ten connections of this app are open already; stop the others"
	case "link_disabled", "socket_mode_disabled":
		return "Socket Mode is off; turn it on in the app's settings"
	}
	return ""
}

// measure makes a call and counts it.
func (s *webClient) measure(ctx context.Context, method string, do func(context.Context) error) error {
	begin := time.Now()
	ctx, span := telemetry.Start(ctx, telemetry.Client, Name+" "+method)
	err := do(ctx)
	outcome := outcomeOf(err)
	span.Text(telemetry.PlatformKey, Name)
	if outcome != telemetry.OK && outcome != telemetry.Given {
		span.Fail(outcome)
	}
	span.End(nil)
	s.metrics.PlatformCalled(Name, method, outcome, time.Since(begin))
	return err
}

func outcomeOf(err error) string {
	switch _, limited := retryAfter(err); {
	case err == nil:
		return telemetry.OK
	case limited:
		return telemetry.Limited
	case errors.Is(err, context.Canceled):
		return telemetry.Given
	case code(err) != "":
		return telemetry.Refused
	}
	return telemetry.Failed
}

// maxAnswer is how many bytes of one answer of the Web API are read, after
// decompression.
const maxAnswer = 8 << 20

// limitedTransport is a transport that cuts answers of endless length, which are no
// JSON then.
type limitedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// CloseIdleConnections lets the client close them.
func (b limitedTransport) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
