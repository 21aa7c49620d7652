// Package slack is the chat platform Slack: it receives what people write and
// press, by Socket Mode or signed HTTP deliveries, and shows boards and answers
// as native streams where Slack allows them and as edited messages elsewhere.
package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
	"legwork/internal/retry"
	"legwork/internal/telemetry"

	slackgo "github.com/slack-go/slack"
)

// Name is the Platform of Slack's chats.
const Name = "slack"

// Options are what the program lends the platform.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
	// RateLimiter stands in front of every call of the Web API; Account is the id of
	// the workspace, Method the API's own name. nil: nothing is held back except
	// what Slack itself asks for.
	RateLimiter bot.RateLimiter
	// Admit says whether something may be posted on behalf of a command before
	// the command is handed on; its author is known to it. nil: always.
	Admit func(ctx context.Context, m bot.Message) bool
	Now   func() time.Time // nil: time.Now
	// Metrics count calls of the Web API; may be nil.
	Metrics *telemetry.Metrics
}

// Slack is one app in one workspace. Its methods are safe for concurrent use.
// A process that runs several needs a Slack for each.
type Slack struct {
	config  Config
	log     *slog.Logger
	metrics *telemetry.Metrics
	limiter bot.RateLimiter
	admit   func(context.Context, bot.Message) bool
	now     func() time.Time
	pause   pauses
	http    *http.Client
	api     *slackgo.Client

	people *people
	live   *live
	hooks  *hooks
	lanes  bot.Lanes                      // of deliveries by HTTP, by conversation
	askers *lru.Cache[string, asker]      // by conversation
	roots  *lru.Cache[string, bot.Chat]   // where a command's task lives, by its key
	moods  *lru.Cache[string, mood]       // what Slack shows about a conversation
	aside  chan func(ctx context.Context) // calls that nobody waits for

	uploads bot.Uploads

	identified sync.Mutex // held while auth.test is under way
	identity   atomic.Pointer[identity]
	state      atomic.Pointer[state]
	revoked    atomic.Pointer[state] // what Slack says against the bot's token; nil: nothing
	handler    atomic.Pointer[handler]
	sessions   atomic.Bool               // false once Slack said that this app has none
	typing     atomic.Bool               // likewise for the status of a thread
	streams    atomic.Bool               // likewise for native streams
	noFiles    atomic.Pointer[time.Time] // until when files are not tried; nil: they are
}

// asker is who asked last in a conversation: a stream is shown to somebody.
type asker struct{ user, team string }

type state struct{ problem error }

type handler struct {
	handle func(context.Context, []bot.Message) error
}

// pauses are the spans that tests shorten.
type pauses struct {
	greet       time.Duration // for how long a new connection may say nothing
	ping, deaf  time.Duration // between pings; silence after which a connection is given up
	quiet       time.Duration // without a delivery, after which a connection is replaced by a fresh one
	linger      time.Duration // for how long a connection is kept after its successor has come
	first, last time.Duration // between tries to connect or to store
	denied      time.Duration // between tries with a token that was refused
	rotate      time.Duration // age at which a native stream is ended; Slack does it at 5 minutes
	append      time.Duration // least gap between two frames of a stream
	update      time.Duration // least gap between two frames of an edited message
	root        time.Duration // for how long a command waits for its first message; with the look-up of its author less than 3 s
}

func usual() pauses {
	return pauses{
		greet: 15 * time.Second, ping: 10 * time.Second, deaf: 30 * time.Second, quiet: 5 * time.Minute, linger: 10 * time.Second,
		first: 250 * time.Millisecond, last: time.Minute, denied: time.Minute,
		rotate: 4 * time.Minute, append: time.Second, update: 1500 * time.Millisecond, root: 1500 * time.Millisecond,
	}
}

// New makes the platform; Run connects it. The config must be valid, as
// Validate says.
func New(cfg Config, o Options) (*Slack, error) {
	if issues := cfg.Validate(); len(issues) > 0 {
		return nil, fmt.Errorf("slack: %s %s", issues[0].Path, issues[0].Problem)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RateLimiter == nil {
		o.RateLimiter = unlimited{}
	}
	if o.Admit == nil {
		o.Admit = func(context.Context, bot.Message) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Slack{config: cfg.WithDefaults(), log: o.Log, metrics: o.Metrics, limiter: o.RateLimiter, admit: o.Admit, now: o.Now, pause: usual(), aside: make(chan func(context.Context), 256)}
	s.http, s.api = client(s.config)
	s.live, s.hooks = newLive(), newHooks()
	s.sessions.Store(true)
	s.typing.Store(true)
	s.streams.Store(true)
	s.state.Store(&state{errors.New("slack: not connected yet")})
	var errs [4]error
	s.people, errs[0] = newPeople(s)
	s.askers, errs[1] = lru.New[string, asker](10_000)
	s.roots, errs[2] = lru.New[string, bot.Chat](1000)
	s.moods, errs[3] = lru.New[string, mood](10_000)
	return s, errors.Join(errs[:]...)
}

// client is the Web API's. It follows no redirects: tokens are in the bodies.
func client(cfg Config) (*http.Client, *slackgo.Client) {
	h := &http.Client{
		Timeout:       30 * time.Second,
		Transport:     bounded{http.DefaultTransport.(*http.Transport).Clone()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, slackgo.New(cfg.BotToken, slackgo.OptionAPIURL(cfg.APIURL), slackgo.OptionAppLevelToken(cfg.AppToken),
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

// Run receives until ctx ends; it returns nil then. Problems with the network
// or the tokens are told by Ready and tried again, forever.
func (s *Slack) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.http.CloseIdleConnections()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { s.runAside(ctx) })
	work.Go(func() { s.runRotation(ctx) })
	work.Go(func() { s.runCheck(ctx) })
	if !s.authenticate(ctx) {
		return nil
	}
	s.handler.Store(&handler{handle})
	defer s.handler.Store(nil)
	if s.config.Mode == ModeHTTP {
		s.connected(ctx)
		<-ctx.Done()
		s.become(errors.New("slack: stopped"))
		return nil
	}
	in := newIntake(s, handle)
	work.Go(func() { in.run(ctx) })
	s.runSockets(ctx, in)
	s.become(errors.New("slack: stopped"))
	return nil
}

// pauses are those between tries.
func (s *Slack) pauses() *retry.Pauses { return retry.New(s.pause.first, s.pause.last, 0) }

// authenticate learns who the bot is, however long that takes; false when ctx
// ended before.
func (s *Slack) authenticate(ctx context.Context) bool {
	for pause := s.pauses(); ; {
		_, err := s.me(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		problem := explain(err)
		s.become(problem)
		wait := pause.Next()
		if denied(err) {
			wait = s.pause.denied
		}
		s.log.WarnContext(ctx, "slack is not connected", "cause", problem, "again", wait)
		if retry.Sleep(ctx, wait) != nil {
			return false
		}
	}
}

// me is who the bot is; it is asked once.
func (s *Slack) me(ctx context.Context) (identity, error) {
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
		return identity{}, s.clean("auth.test", err)
	}
	me := identity{team: r.TeamID, user: r.UserID, bot: r.BotID, enterprise: r.EnterpriseID, workspace: r.Team}
	s.identity.Store(&me)
	return me, nil
}

func (s *Slack) become(problem error) { s.state.Store(&state{problem}) }

// connected notes that deliveries arrive, and tells operators when that is news.
func (s *Slack) connected(ctx context.Context) {
	if me := s.identity.Load(); s.Ready() != nil && me != nil {
		s.log.InfoContext(ctx, "slack is connected", "workspace", me.workspace, "mode", s.config.Mode)
	}
	s.become(nil)
}

// runAside makes the calls that nobody waits for, one after the other.
func (s *Slack) runAside(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-s.aside:
			do(ctx)
		}
	}
}

// later queues a call that nobody waits for; it is dropped when there are too many.
func (s *Slack) later(do func(ctx context.Context)) {
	select {
	case s.aside <- do:
	default:
	}
}

// unlimited lets everything through at once.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context, _ bot.Request) error { return ctx.Err() }

func (unlimited) Pause(bot.Request, time.Duration) {}

// Try says in one round who the tokens belong to, such as "@legwork in Acme",
// or what is wrong with them and what to do.
func Try(ctx context.Context, cfg Config) (who string, err error) {
	s, err := New(cfg, Options{})
	if err != nil {
		return "", err
	}
	defer s.http.CloseIdleConnections()
	r, err := s.api.AuthTestContext(ctx)
	if err != nil {
		return "", explain(s.clean("auth.test", err))
	}
	if s.config.Mode == ModeSocket {
		if _, _, err := s.api.StartSocketModeContext(ctx); err != nil {
			return "", explain(s.clean(openMethod, err))
		}
	}
	return fmt.Sprintf("@%s in %s", r.User, r.Team), nil
}
