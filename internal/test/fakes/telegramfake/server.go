// Package telegramfake is a strict stand-in for the Telegram Bot API, for
// tests: the methods a chat bot needs over a real socket, people who write and
// press buttons, the limits and refusals of the real service with its own
// words, and the faults that networks show. What would be a bug of the client,
// or cost it a ban, is remembered as a violation, so that a careless client
// cannot pass a test by chance.
package telegramfake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/wire"
)

// Options say how a fake behaves. The zero value is a bot with privacy mode on
// and the limits of the real service.
type Options struct {
	// Token is the bot's; empty: "1000:TEST".
	Token string
	// Name and Username are the bot's; empty: "Legwork" and "legwork_bot".
	Name, Username string
	// ReadsAll turns privacy mode off: the bot gets all messages of its groups.
	ReadsAll bool
	// NoRich makes it an older server, which knows no rich messages.
	NoRich bool
	// NoLimits turns the rates off, for benchmarks.
	NoLimits bool
	// Second is how long a second of the service lasts: rates, long polls, the
	// life of drafts and of presses, the retries of a webhook. 0: a second.
	// retry_after stays in whole seconds.
	Second time.Duration
	// Now is the clock of rates, drafts and dates; nil: time.Now.
	Now func() time.Time
	// Pollers is how many programs may poll at once without it being held against
	// them: the older poll is ended with 409 in any case. 0: one.
	Pollers int
	// NeedSecret makes a webhook without secret_token a violation.
	NeedSecret bool
	// WebhookTo is where deliveries go in place of the scheme and host of the
	// webhook's address, such as "http://127.0.0.1:8080". Empty: to the address.
	WebhookTo string
	// Again makes every so many-th confirmed update come once more, as the
	// service does now and then; 0: none does.
	Again int
	// MaxFile is the most that a file holds, in bytes. 0: 50 MiB.
	MaxFile int64
	// FirstUpdate is the id of the first update; 0: 1000.
	FirstUpdate int
	// Log is the file that gets the wire log, one JSON Entry per line, each with
	// one write; it is appended to. Empty: none.
	Log string
	// Idle is after how long a connection without requests is closed; 0: never.
	Idle time.Duration
	// Listen is the address; empty: a free port of the loopback.
	Listen string
}

// Server is a running fake. Its methods are safe for concurrent use. It is built
// in layers, each of which knows the ones below it: the chats (state, faults and
// log), the updates that the bot polls or gets by webhook, the activity of
// people, and the Bot API that the bot calls.
type Server struct{ *botAPI }

// state is what the fake knows, behind one lock.
type state struct {
	URL   string // base URL without the token, as it belongs into api_url
	Token string // the bot's
	Bot   User

	o       Options
	methods map[string]method
	wire    *wire.Server
	ctx     context.Context //nolint:containedctx // the life of the server, for polls and deliveries
	cancel  context.CancelFunc
	busy    sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every change
	file       *wire.Log
	log        []Entry
	violations []string

	users     map[int64]User
	chats     map[int64]*chat
	commands  map[string][]Command // by scope and language
	texts     map[string]string    // descriptions by kind and language
	presses   map[string]*Press
	nextGroup int64
	nextPress int

	held     map[string]heldFile // by file_id
	paths    map[string]filePath // of downloads
	nextFile int
	local    bool // getFile gives paths of the server's disk

	queue  queue
	rates  rates
	faults []Fault
}

// New starts a fake for one test, stops it at the test's end and fails the
// test when there were violations.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	wire.Guard(t, s, "Telegram would object")
	return s
}

// Start starts a fake; the caller closes it and looks at Violations.
func Start(o Options) (*Server, error) {
	o.fill()
	w := &state{
		Token: o.Token, Bot: User{ID: botID(o.Token), Name: o.Name, Username: o.Username, bot: true},
		o: o, methods: methods(), changed: make(chan struct{}),
		users: map[int64]User{}, chats: map[int64]*chat{}, commands: map[string][]Command{},
		texts: map[string]string{}, presses: map[string]*Press{}, nextGroup: 100,
		held: samples(), paths: map[string]filePath{},
	}
	s := &Server{&botAPI{&activity{&updates{state: w}}}}
	s.reply = s.execute
	s.queue.next = o.FirstUpdate
	s.users[s.Bot.ID] = s.Bot
	var err error
	if s.file, err = wire.OpenLog(o.Log); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wire, err = wire.Serve(o.Listen, o.Idle, func(url string) http.Handler {
		s.URL = url
		return s
	})
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

func (o *Options) fill() {
	for _, option := range []struct {
		value *string
		usual string
	}{{&o.Token, "1000:TEST"}, {&o.Name, "Legwork"}, {&o.Username, "legwork_bot"}} {
		if *option.value == "" {
			*option.value = option.usual
		}
	}
	if o.Second == 0 {
		o.Second = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pollers == 0 {
		o.Pollers = 1
	}
	if o.MaxFile == 0 {
		o.MaxFile = 50 << 20
	}
	if o.FirstUpdate == 0 {
		o.FirstUpdate = 1000
	}
}

// Drain waits until all that a process sent before it was killed has been
// answered; see wire.Server.
func (s *Server) Drain(ctx context.Context) error { return s.wire.Drain(ctx) }

// Close ends all polls and deliveries and waits for them.
func (s *Server) Close() error {
	s.cancel()
	err := s.wire.Close()
	s.busy.Wait()
	return errors.Join(err, s.file.Close())
}

// Violations are what the real service would call a bug of the client, or
// answer with a ban. Refused requests are not among them by themselves: they
// are in the log.
func (s *state) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// violate is called with the lock held.
func (s *state) violate(format string, a ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, a...))
	s.change()
}

// change wakes everyone who waits; it is called with the lock held.
func (s *state) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *state) seconds(n int) time.Duration { return time.Duration(n) * s.o.Second }
