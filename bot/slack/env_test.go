package slack_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
)

func TestMain(m *testing.M) {
	need.Parallel(8)
	goleak.VerifyTestMain(m)
}

// span bounds what a test waits for.
const span = watch.Patience

// env is a Slack that runs against a fake workspace and writes down what
// arrives.
type env struct {
	*slackfake.Server
	s   *slack.Slack
	cfg slack.Config
	log *bytes.Buffer // read after the end

	mu      sync.Mutex
	batches [][]bot.Message
	refuse  func([]bot.Message) error // nil: everything is stored
	changed chan struct{}
	stop    func()
}

type set struct {
	fake    slackfake.Options
	cfg     func(*slack.Config)
	options slack.Options
	before  func(*slack.Slack)
	refuse  func([]bot.Message) error
	slow    bool // real pauses
}

func config(f *slackfake.Server) slack.Config {
	return slack.Config{BotToken: slackfake.BotToken, AppToken: slackfake.AppToken, SigningSecret: slackfake.SigningSecret, APIURL: f.APIURL}
}

// start runs Slack against a fake until the test ends. No token may be in the
// log, and no goroutine may be left.
func start(t *testing.T, o set) *env {
	t.Helper()
	if o.fake.Limits == nil {
		o.fake.Limits = map[string][]slackfake.Limit{}
	}
	o.fake.Quiet = true
	p := &env{Server: slackfake.New(t, o.fake), log: &bytes.Buffer{}, changed: make(chan struct{}), refuse: o.refuse}
	p.cfg = config(p.Server)
	if o.cfg != nil {
		o.cfg(&p.cfg)
	}
	o.options.Log = slog.New(slog.NewTextHandler(&locked{w: p.log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := slack.New(p.cfg, o.options)
	if err != nil {
		t.Fatal(err)
	}
	p.s = s
	if !o.slow {
		slack.Shorten(s, 20)
		slack.Pause(s, "denied", 50*time.Millisecond)
	}
	if o.before != nil {
		o.before(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, p.take) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
		case <-time.After(span):
			t.Error("Run did not end")
		}
		for _, secret := range []string{slackfake.BotToken, slackfake.AppToken, slackfake.SigningSecret, "/hook/"} {
			if strings.Contains(p.log.String(), secret) {
				t.Errorf("the log holds the secret %s:\n%s", secret, p.log)
			}
		}
	})
	t.Cleanup(p.stop)
	return p
}

// ready waits until Slack is connected.
func (p *env) ready(t *testing.T) *env {
	t.Helper()
	p.until(t, "the connection", func() bool { return p.s.Ready() == nil })
	return p
}

func (p *env) take(_ context.Context, batch []bot.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		close(p.changed)
		p.changed = make(chan struct{})
	}()
	if p.refuse != nil {
		if err := p.refuse(batch); err != nil {
			return err
		}
	}
	p.batches = append(p.batches, slices.Clone(batch))
	return nil
}

func (p *env) got() []bot.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.batches...)
}

// next waits until n messages with different keys have come and returns the
// first of each key.
func (p *env) next(t *testing.T, n int) []bot.Message {
	t.Helper()
	var all []bot.Message
	p.until(t, "messages", func() bool {
		seen := map[string]bool{}
		all = nil
		for _, m := range p.got() {
			if !seen[m.Key] {
				all = append(all, m)
			}
			seen[m.Key] = true
		}
		return len(all) >= n
	})
	return all
}

// until waits for a condition, which is looked at whenever something changed.
func (p *env) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond) // Ready has no signal
	defer tick.Stop()
	for !cond() {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s took too long; got %+v; ready: %v; log:\n%s", what, p.got(), p.s.Ready(), p.log)
		}
	}
}

type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func channel(thread string) bot.Chat { return bot.Chat{Platform: "slack", ID: "C1", Thread: thread} }

// post sends a draft and fails the test if that fails.
func (p *env) post(t *testing.T, to bot.Chat, d bot.Draft) string {
	t.Helper()
	id, err := p.s.Post(t.Context(), to, d)
	if err != nil {
		t.Fatalf("Post(%+v): %v", d, err)
	}
	return id
}

// edit changes a message, waiting for its turn, and returns where it is now.
func (p *env) edit(t *testing.T, to bot.Chat, id string, d bot.Draft) string {
	t.Helper()
	for {
		err := p.s.Edit(t.Context(), to, id, d)
		if later, ok := errors.AsType[*bot.LaterError](err); ok {
			<-time.After(later.After) // as long as the platform says, which is what is tested
			continue
		}
		if moved, ok := errors.AsType[*bot.MovedError](err); ok {
			return moved.ID
		}
		if err != nil {
			t.Fatalf("Edit(%s, %+v): %v", id, d, err)
		}
		return id
	}
}

func (p *env) message(t *testing.T, to bot.Chat, id string) slackfake.Message {
	t.Helper()
	m, ok := p.Message(to.ID, id)
	if !ok {
		t.Fatalf("there is no message %s in %s", id, to.ID)
	}
	return m
}
