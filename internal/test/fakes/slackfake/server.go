// Package slackfake is a strict stand-in for Slack, for tests: the Web API,
// Socket Mode and signed HTTP deliveries over real sockets, with people who
// write, press and stop, and with the faults that the real one shows. It
// refuses what Slack refuses, and remembers what Slack's makers would call a
// bug of the client as a violation. Slack's time spans (3 s to acknowledge,
// 5 minutes of a stream) can be shortened.
//
// Where Slack's reference is silent the fake follows what was measured in
// public by users of the API, and is stricter rather than kinder.
package slackfake

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

// Options say how a fake behaves. The zero value is a workspace with a few
// people and channels (see World), Socket Mode and all limits.
type Options struct {
	// BotToken, AppToken and SigningSecret are the accepted ones; empty: the
	// constants of this package.
	BotToken, AppToken, SigningSecret string
	// AgentView says that the app declares itself an agent. Without it
	// agents.sessions.setStatus answers not_authorized.
	AgentView bool
	// App is the base URL of the app's webhooks. Empty: Socket Mode. SetApp
	// changes it.
	App string
	// World is who and what there is; its zero value is DefaultWorld.
	World World
	// Second is how long one of Slack's seconds takes; 0: a second. It scales
	// what Slack waits for and how long things live. Retry-After and the
	// timestamps of signatures stay in real seconds.
	Second time.Duration
	// Now is the time by which streams, statuses, response URLs and rates age;
	// nil: time.Now. Deliveries go by the real one.
	Now func() time.Time
	// Limits are the rates by method; nil: DefaultLimits, empty: none.
	Limits map[string][]Limit
	// Retries are the waits before an event that was not acknowledged is sent
	// again; nil: none, a minute, 5 minutes, as Slack does.
	Retries []time.Duration
	// NoFiles says that the app was not given the scope files:write. GrantFiles
	// changes it.
	NoFiles bool
	// NoReading says that the app was not given the scope files:read. GrantReading
	// changes it.
	NoReading bool
	// ShareLate is how many calls of files.info it takes until a file that the app
	// shares is shown. 0: it is shown at once.
	ShareLate int
	// Quiet keeps back the events about the app's own messages.
	Quiet bool
	// Log is the file that gets the wire log, one JSON Entry per line, each with
	// one write; it is appended to. Empty: none.
	Log string
	// Listen is the address; empty: a free port of the loopback.
	Listen string
}

// The tokens and the secret of a fake that was given none.
const (
	BotToken      = "xoxb-1-2-fakebot"
	AppToken      = "xapp-1-A1-2-fakeapp"
	SigningSecret = "fakesigningsecret0123456789abcdef"
)

// Server is a running fake. Its methods are safe for concurrent use. It is built
// in layers, each of which knows the ones below it: the workspace (state, faults
// and log), the delivery of events to the app, the activity of people, streamed
// messages, and the Web API that the app calls.
type Server struct{ *webAPI }

// workspace is the state of the fake.
type workspace struct {
	URL    string // where it listens, without a path
	APIURL string // base URL of the Web API, as it belongs into api_url

	o     Options
	wire  *wire.Server
	mux   *http.ServeMux
	known map[string]method
	done  chan struct{}  // closed by Close; every goroutine of the fake ends then
	busy  sync.WaitGroup // requests and deliveries

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change

	app        string // base URL of the app's webhooks
	users      map[string]*User
	channels   map[string]*Channel
	messages   map[string][]*Message // by channel, in order of their ts
	statuses   map[string]*Status    // by channel and thread
	revoked    map[string]string     // token to its error
	hooks      map[string]*hook      // response URLs by id
	triggers   map[string]*trigger   // by id
	modals     []*Modal              // in order
	faults     []*Fault
	uploads    map[string]*upload    // by id of the file
	files      map[string]*File      // by id
	late       map[string]*lateShare // by id of the file
	windows    map[string]*window    // spent rates
	deliveries []*Delivery
	byEnvelope map[string]*attempt
	tails      map[string]chan struct{} // end of the newest HTTP attempt, by channel
	waiting    []*attempt               // for a connection
	shy        int                      // connections that will not be greeted
	sockets    []*socket
	tickets    map[string]bool
	lastTS     int64 // microseconds
	seq        int
	entries    []Entry
	log        *wire.Log
	violations []string
}

// New starts a fake for one test, stops it at the test's end and fails the
// test when the client violated the protocol.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	wire.Guard(t, s, "Slack would not have liked")
	return s
}

// Start starts a fake; the caller closes it and looks at Violations.
func Start(o Options) (*Server, error) {
	o = o.filled()
	log, err := wire.OpenLog(o.Log)
	if err != nil {
		return nil, err
	}
	w := &workspace{
		o: o, done: make(chan struct{}), changed: make(chan struct{}), log: log, app: o.App,
		users: map[string]*User{}, channels: map[string]*Channel{}, messages: map[string][]*Message{},
		statuses: map[string]*Status{}, revoked: map[string]string{}, hooks: map[string]*hook{}, triggers: map[string]*trigger{},
		windows: map[string]*window{}, byEnvelope: map[string]*attempt{}, tails: map[string]chan struct{}{},
		tickets: map[string]bool{}, uploads: map[string]*upload{}, files: map[string]*File{}, late: map[string]*lateShare{},
	}
	w.settle(o.World)
	s := &Server{&webAPI{&streams{&activity{&delivery{w}}}}}
	s.mux, s.known = s.routes(), methods()
	s.wire, err = wire.Serve(o.Listen, 0, func(url string) http.Handler {
		s.URL, s.APIURL = url, url+"/api/"
		return s
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return s, nil
}

func (o Options) filled() Options {
	for _, d := range []struct {
		value *string
		usual string
	}{{&o.BotToken, BotToken}, {&o.AppToken, AppToken}, {&o.SigningSecret, SigningSecret}} {
		if *d.value == "" {
			*d.value = d.usual
		}
	}
	if o.Second == 0 {
		o.Second = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits == nil {
		o.Limits = DefaultLimits()
	}
	if o.Retries == nil {
		o.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if o.World.empty() {
		o.World = DefaultWorld()
	}
	return o
}

// Drain waits until all that a process sent before it was killed has been
// answered; see wire.Server.
func (s *Server) Drain(ctx context.Context) error { return s.wire.Drain(ctx) }

// Close ends all connections and deliveries and waits for them. It is called
// once.
func (s *Server) Close() error {
	close(s.done)
	err := s.wire.Close()
	s.closeSockets()
	s.busy.Wait()
	return errors.Join(err, s.log.Close())
}

// Violations are what the client did wrong: calls that Slack would always
// refuse, rates overrun after being told to wait, link previews left on.
// Refusals that depend on the state of the workspace (a channel that is
// archived, a token that was revoked) are none.
func (s *workspace) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// SetApp sets the base URL of the app's webhooks; empty: Socket Mode.
func (s *workspace) SetApp(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.app = url
}

// WaitFor returns when cond holds, and ctx's error, with what it waited for,
// when that ends first. cond is asked after every change and may use the fake.
func (s *workspace) WaitFor(ctx context.Context, what string, cond func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-s.done:
			return fmt.Errorf("waiting for %s: the fake was closed", what)
		case <-changed:
		}
	}
}

// ServeHTTP speaks the Web API, the sockets of Socket Mode, response URLs and
// the controls of the fake.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	s.mux.ServeHTTP(w, r)
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("GET /socket", s.serveSocket)
	mux.HandleFunc("POST /hook/{id}", s.serveHook)
	mux.HandleFunc("POST /upload/v1/{ticket}", s.serveUpload)
	mux.HandleFunc("GET /files-pri/{key}/{name...}", s.serveFile)
	mux.HandleFunc("GET /signin", s.serveSignIn)
	s.controls(mux)
	return mux
}

func (s *workspace) closing() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// change tells those who wait. The caller holds the lock.
func (s *workspace) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// span is how long one of Slack's time spans takes here.
func (s *workspace) span(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(s.o.Second) / float64(time.Second))
}

// violate remembers a fault of the client. The caller holds the lock.
func (s *workspace) violate(format string, a ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, a...))
	s.note(Entry{Event: EventViolation, Problem: s.violations[len(s.violations)-1]})
}
