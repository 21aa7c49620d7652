package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
)

// token is what must never be seen outside of a request.
const token = "1000:CANARY-canary_CANARY-canary_CANARY-1"

const patience = watch.Patience

func TestMain(m *testing.M) {
	need.Parallel(8)
	goleak.VerifyTestMain(m)
}

// env is a running platform before a fake of Telegram.
type env struct {
	t       *testing.T
	fake    *telegramfake.Server
	tg      *telegram.Telegram
	limiter *limiter
	inbox   *inbox
	log     *log
	stop    func()
}

// start runs a platform; change may alter how. It is stopped at the test's end,
// and whatever it logged must not hold the token.
func start(t *testing.T, o telegramfake.Options, change ...func(*telegram.Config, *telegram.Options)) *env {
	t.Helper()
	if o.Token == "" {
		o.Token = token
	}
	r := &env{t: t, fake: telegramfake.New(t, o), limiter: &limiter{}, inbox: &inbox{news: make(chan struct{}, 1)}, log: &log{}}
	r.run(change...)
	return r
}

func (r *env) run(change ...func(*telegram.Config, *telegram.Options)) {
	r.t.Helper()
	cfg := telegram.Config{Token: token}
	if r.fake != nil {
		cfg.APIURL = r.fake.URL
	}
	options := telegram.Options{RateLimiter: r.limiter, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, c := range change {
		c(&cfg, &options)
	}
	tg, err := telegram.New(cfg, options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.tg = tg
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tg.Run(ctx, r.inbox.handle) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run returned %v, want nil after its context ended", err)
		}
		if text := r.log.String(); strings.Contains(text, "CANARY") {
			r.t.Errorf("the log holds the token:\n%s", text)
		}
	})
	r.t.Cleanup(r.stop)
}

// ready waits until the platform is connected.
func (r *env) ready() {
	r.t.Helper()
	r.until("the platform is ready", func() bool { return r.tg.Ready() == nil })
}

// until waits for what no channel tells: it looks again whenever the fake
// changed or a moment passed.
func (r *env) until(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("waited %s in vain until %s; ready: %v; log:\n%s", patience, what, r.tg.Ready(), r.log)
		}
	}
}

// inbox takes what the platform hands on.
type inbox struct {
	mu       sync.Mutex
	fail     int // how many more batches are refused
	batches  int
	messages []bot.Message
	read     int
	news     chan struct{}
}

var errStore = errors.New("the store is not there")

func (i *inbox) handle(_ context.Context, batch []bot.Message) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.batches++
	if i.fail > 0 {
		i.fail--
		return errStore
	}
	i.messages = append(i.messages, batch...)
	select {
	case i.news <- struct{}{}:
	default:
	}
	return nil
}

// seen is how many batches came, and the messages of those that were taken.
func (i *inbox) seen() (batches int, messages []bot.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.batches, slices.Clone(i.messages)
}

func (i *inbox) refuse(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fail = n
}

// next waits for the next message.
func (r *env) next() bot.Message {
	r.t.Helper()
	end := time.After(patience)
	for {
		r.inbox.mu.Lock()
		if r.inbox.read < len(r.inbox.messages) {
			m := r.inbox.messages[r.inbox.read]
			r.inbox.read++
			r.inbox.mu.Unlock()
			return m
		}
		r.inbox.mu.Unlock()
		select {
		case <-r.inbox.news:
		case <-end:
			r.t.Fatalf("no message came; ready: %v; log:\n%s", r.tg.Ready(), r.log)
		}
	}
}

// rest are the messages that the test has not looked at.
func (r *env) rest() []bot.Message {
	r.inbox.mu.Lock()
	defer r.inbox.mu.Unlock()
	return r.inbox.messages[r.inbox.read:]
}

// count is how often a method was called so far.
func (r *env) count(method string) int {
	n := 0
	for _, e := range r.fake.Log() {
		if e.Method == method {
			n++
		}
	}
	return n
}

// last is the newest call of a method.
func (r *env) last(method string) telegramfake.Entry {
	r.t.Helper()
	log := r.fake.Log()
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Method == method {
			return log[i]
		}
	}
	r.t.Fatalf("%s was never called", method)
	return telegramfake.Entry{}
}

// limiter only obeys what it is told to leave alone.
type limiter struct {
	mu    sync.Mutex
	until map[string]time.Time
	asked []bot.Request
	held  []bot.Request
}

func (p *limiter) Wait(ctx context.Context, r bot.Request) error {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	rest := time.Until(p.until[r.Chat])
	p.mu.Unlock()
	switch {
	case rest <= 0:
		return nil
	case !r.Priority.Waits():
		return &bot.LaterError{After: rest}
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *limiter) Pause(r bot.Request, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	p.until[r.Chat] = time.Now().Add(d)
	p.held = append(p.held, r)
}

// log is what the platform logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// golden compares with a file of testdata, and writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

var update = flag.Bool("update", false, "rewrite the files of testdata")
