// Package slack is the chat platform Slack: it receives what people write and
// press, by Socket Mode or signed HTTP deliveries, and shows boards and answers
// as native streams where Slack allows them and as edited messages elsewhere.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
)

// Name is the Platform of Slack's chats.
const Name = "slack"

// Options connect a Slack to the rest of the program.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
	// RateLimiter sees every call of the Web API; Account is the id of the workspace,
	// Method the API's own name. Nil: calls wait only when Slack asks for it.
	RateLimiter bot.RateLimiter
	// Admit says whether the author of m may use the bot in that chat. Until Slack says
	// who that is, m.External is set. Nil: all but guests and people of other
	// organisations.
	Admit func(ctx context.Context, m bot.Message) bool
	// FollowsUp says whether a message in a thread that does not address the bot is taken
	// as a question or guidance, so that it brings along what is new in the thread. Nil:
	// none is.
	FollowsUp func(ctx context.Context, m bot.Message) bool
	Now       func() time.Time // nil: time.Now
	// People, unless nil, keeps what Slack said about people who addressed the bot and
	// how far the bot has read threads, so that both are known after a restart.
	People PeopleStore
	// Metrics count calls of the Web API; may be nil.
	Metrics *telemetry.Metrics
}

// Slack is one app in one workspace. Its methods are safe for concurrent use.
// A process that runs several needs a Slack for each.
type Slack struct {
	*webClient

	people       *people
	active       *activeMessages
	responseURLs *responseURLs
	threads      *threads
	places       *places
	sessions     *sessions
	waitSigns    *waitSigns
	lanes        bot.Lanes                     // of deliveries, see delivery.lane
	lastAskers   *lru.Cache[string, asker]     // by conversation
	noStreams    *lru.Cache[string, time.Time] // by channel: until when no stream is tried
	background   background

	uploads bot.Uploads

	state   atomic.Pointer[state]
	handler atomic.Pointer[handler]
	noFiles atomic.Pointer[time.Time] // until when files are not tried; nil: they are
}

// asker is the person who asked last in a conversation. A stream has a recipient.
type asker struct{ user, team string }

type state struct{ problem error }

type handler struct {
	handle func(context.Context, []bot.Message) error
	start  func(do func(context.Context)) bool // as intake.start does, with the context of Run
	in     *intake
}

// timings are the durations that tests shorten.
type timings struct {
	hello                time.Duration // until a new connection must say hello
	ping, silence        time.Duration // between pings; without any frame, until a connection counts as dead
	idle                 time.Duration // without a delivery, until a connection is replaced
	overlap              time.Duration // how long a connection is kept after its successor opened
	firstRetry, maxRetry time.Duration // between tries to connect or to store
	badToken             time.Duration // between tries with a token that was refused
	rotate               time.Duration // age at which a native stream is ended; Slack does it at 5 minutes
	append               time.Duration // least gap between two frames of a stream
	update               time.Duration // least gap between two frames of an edited message
	root                 time.Duration // how long a command waits for its first message
	stall                time.Duration // after which a download that brings nothing is cut
	acknowledge          time.Duration // until a delivery is answered that is not stored yet; Slack gives up after 3 s
	sent                 time.Duration // that a message on its way may still take after its context ended
}

func defaultTimings() timings {
	return timings{
		hello: 15 * time.Second, ping: 10 * time.Second, silence: 30 * time.Second, idle: 5 * time.Minute, overlap: 10 * time.Second,
		firstRetry: 250 * time.Millisecond, maxRetry: time.Minute, badToken: time.Minute,
		rotate: 4 * time.Minute, append: time.Second, update: 1500 * time.Millisecond, root: 1500 * time.Millisecond, stall: bot.StallTimeout, acknowledge: 2 * time.Second, sent: 2 * time.Second,
	}
}

// retries are the pauses between tries.
func (t timings) retries() *retry.Pauses { return retry.New(t.firstRetry, t.maxRetry, 0) }

// New makes the platform; Run connects it. The config must be valid, as
// Validate says.
func New(cfg Config, o Options) (*Slack, error) {
	if err := cfg.Validate().Err("slack."); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RateLimiter == nil {
		o.RateLimiter = unlimited{}
	}
	if o.Admit == nil {
		o.Admit = func(_ context.Context, m bot.Message) bool { return !m.External }
	}
	if o.FollowsUp == nil {
		o.FollowsUp = func(context.Context, bot.Message) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &webClient{config: cfg.WithDefaults(), log: o.Log, metrics: o.Metrics, limiter: o.RateLimiter, now: o.Now, timings: defaultTimings()}
	c.http, c.files, c.api = connect(c.config)
	s := &Slack{webClient: c, active: newActiveMessages(), responseURLs: newResponseURLs(), background: make(background, 256)}
	s.state.Store(&state{errors.New("slack: not connected yet")})
	var errs [7]error
	s.lastAskers, errs[0] = lru.New[string, asker](10_000)
	s.noStreams, errs[1] = lru.New[string, time.Time](10_000)
	s.people, errs[2] = newPeople(c, o.People, o.Admit)
	s.threads, errs[3] = newThreads(c, s.people, o)
	s.places, errs[4] = newPlaces(c, s.people, o.Admit)
	s.sessions, errs[5] = newSessions(c, s.background, s.lastAskers)
	s.waitSigns, errs[6] = newWaitSigns(c)
	return s, errors.Join(errs[:]...)
}

// connect makes the clients of the Web API. They follow no redirects: tokens are in the bodies.
func connect(cfg Config) (h, files *http.Client, api *slackgo.Client) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	files = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	h = &http.Client{Timeout: 30 * time.Second, Transport: limitedTransport{transport}, CheckRedirect: files.CheckRedirect}
	return h, files, slackgo.New(cfg.BotToken, slackgo.OptionAPIURL(cfg.APIURL), slackgo.OptionAppLevelToken(cfg.AppToken),
		slackgo.OptionHTTPClient(h), slackgo.OptionLog(log.New(io.Discard, "", 0)))
}

// Name is the Platform of every Chat it makes.
func (s *Slack) Name() string { return Name }

// Limits are those of a message: markdown blocks hold 12,000 characters. Split
// keeps to them.
func (s *Slack) Limits() bot.Limits { return bot.Limits{Text: 12_000, Edits: true} }

// Ready returns nil while deliveries arrive and can be answered, and otherwise
// what is wrong and what to do. No text holds a token.
func (s *Slack) Ready() error {
	if revoked := s.revoked.Load(); revoked != nil {
		return revoked.problem
	}
	return s.state.Load().problem
}

// Run receives until ctx ends, and returns nil then. After problems with the
// network or the tokens it tries again, forever; Ready returns the cause.
func (s *Slack) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.http.CloseIdleConnections()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { s.background.run(ctx) })
	work.Go(func() { s.waitSigns.run(ctx) })
	work.Go(func() { s.runRotation(ctx) })
	work.Go(func() { s.runCheck(ctx) })
	if !s.authenticate(ctx) {
		return nil
	}
	in := newIntake(s, handle)
	defer in.stop()
	defer cancel()
	s.handler.Store(&handler{handle, func(do func(context.Context)) bool { return in.start(func() { do(ctx) }) }, in})
	defer s.handler.Store(nil)
	if s.config.Mode == ModeHTTP {
		s.connected(ctx)
		<-ctx.Done()
		s.setState(errors.New("slack: stopped"))
		return nil
	}
	work.Go(func() { in.run(ctx) })
	s.runSockets(ctx, in)
	s.setState(errors.New("slack: stopped"))
	return nil
}

// authenticate asks who the bot is until Slack answers; false when ctx ended
// before.
func (s *Slack) authenticate(ctx context.Context) bool {
	logged := ""
	for pauses := s.timings.retries(); ; {
		_, err := s.me(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		problem := explain(err)
		s.setState(problem)
		wait := pauses.Next()
		if badToken(err) {
			wait = s.timings.badToken
		}
		if text := problem.Error(); text != logged {
			logged = text
			s.log.WarnContext(ctx, "slack: not connected", "cause", problem, "again", wait)
		}
		if retry.Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// me is who the bot is. Slack is asked once.
func (s *webClient) me(ctx context.Context) (identity, error) {
	if known := s.identity.Load(); known != nil {
		return *known, nil
	}
	s.identified.Lock()
	defer s.identified.Unlock()
	if known := s.identity.Load(); known != nil {
		return *known, nil
	}
	r, err := s.api.AuthTestContext(ctx)
	if err != nil {
		return identity{}, s.redact("auth.test", err)
	}
	me := identity{team: r.TeamID, user: r.UserID, bot: r.BotID, enterprise: r.EnterpriseID, workspace: r.Team}
	s.identity.Store(&me)
	return me, nil
}

func (s *Slack) setState(problem error) { s.state.Store(&state{problem}) }

// connected notes that deliveries arrive, and logs the change.
func (s *Slack) connected(ctx context.Context) {
	if me := s.identity.Load(); s.Ready() != nil && me != nil {
		s.log.InfoContext(ctx, "slack: connected", "workspace", me.workspace, "mode", s.config.Mode)
	}
	s.setState(nil)
}

// background are calls whose result is not needed.
type background chan func(ctx context.Context)

// run makes the calls, one after the other.
func (b background) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-b:
			do(ctx)
		}
	}
}

// add queues a call. It drops the call when too many wait.
func (b background) add(do func(ctx context.Context)) {
	select {
	case b <- do:
	default:
	}
}

// unlimited is a rate limiter without rules.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context, _ bot.Request) error { return ctx.Err() }

func (unlimited) Pause(bot.Request, time.Duration) {}

// Try asks Slack who the tokens belong to, such as "@legwork in Acme", and names
// permissions that the app lacks. The error
// says what is wrong with them and what to do.
func Try(ctx context.Context, cfg Config) (who string, err error) {
	s, err := New(cfg, Options{})
	if err != nil {
		return "", err
	}
	defer s.http.CloseIdleConnections()
	r, err := s.api.AuthTestContext(ctx)
	if err != nil {
		return "", explain(s.redact("auth.test", err))
	}
	if s.config.Mode == ModeSocket {
		if _, _, err := s.api.StartSocketModeContext(ctx); err != nil {
			return "", explain(s.redact(openMethod, err))
		}
	}
	return fmt.Sprintf("@%s in %s%s", r.User, r.Team, missingScopes(r.Header.Get("X-OAuth-Scopes"))), nil
}

// missingScopes says which permissions an app lacks that was installed with an older
// manifest. given are those that it has, with commas; empty: Slack does not say it.
func missingScopes(given string) string {
	if given == "" {
		return ""
	}
	has := strings.FieldsFunc(given, func(c rune) bool { return c == ',' || c == ' ' })
	missing := slices.DeleteFunc(botScopes(), func(s string) bool { return slices.Contains(has, s) })
	if len(missing) == 0 {
		return ""
	}
	return ", without " + strings.Join(missing, ", ") + `: paste the manifest of "legwork slack manifest" into the app and install it again`
}

// runCheck asks about a refused token until Slack accepts it again, because there may
// be no other call meanwhile.
func (s *webClient) runCheck(ctx context.Context) {
	for retry.Sleep(ctx, s.timings.badToken) == nil {
		if s.revoked.Load() != nil {
			s.check(ctx)
		}
	}
}

// check asks Slack about the bot token; call notes the result.
func (s *webClient) check(ctx context.Context) {
	_ = s.call(ctx, request{method: "auth.test", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		_, err := s.api.AuthTestContext(ctx)
		return err
	})
}

// revokes reports whether an event says that a token was revoked. It may be
// another token than ours.
func revokes(body []byte) bool {
	var o struct {
		Event struct {
			Type string `json:"type"`
		} `json:"event"`
	}
	return json.Unmarshal(body, &o) == nil && (o.Event.Type == "tokens_revoked" || o.Event.Type == "app_uninstalled")
}
