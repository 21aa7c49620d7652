package llm_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
	"legwork/llm"
)

// switchboard answers by the name of the model that is asked for; a model
// without an answer says "fine".
type switchboard struct {
	mu      sync.Mutex
	answers map[string]llmfake.Response
}

func (b *switchboard) set(model string, r llmfake.Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[model] = r
}

func (b *switchboard) respond(r llmfake.Request) llmfake.Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer, ok := b.answers[r.Model]; ok {
		return answer
	}
	return llmfake.Say("fine")
}

// news keeps what OnHealth was told.
type news struct {
	mu   sync.Mutex
	told []string
}

func (n *news) hear(model string, h llm.Health) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := model + " up"
	if h.Down {
		text = model + " down"
	}
	if h.RoleDown {
		text += ", stranded"
	}
	n.told = append(n.told, text)
}

func (n *news) list() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.told, "; ")
}

// exchange is two models, m0 with the fallback m1, behind a switchboard. Its clock
// goes on only while a call waits and when m0 rests.
type exchange struct {
	*llm.Models
	*switchboard
	news
	clock waits
	t     *testing.T
	fake  *llmfake.Server
	log   strings.Builder
}

// rests lets the time pass after which a model that failed last before now may be tried.
func (x *exchange) rests() { _ = x.clock.sleep(x.t.Context(), 30*time.Second) }

func newExchange(t *testing.T, edit func(map[string]llm.ModelConfig)) *exchange {
	t.Helper()
	x := &exchange{switchboard: &switchboard{answers: map[string]llmfake.Response{}}, t: t}
	x.fake = llmfake.New(t, llmfake.Options{Respond: x.respond})
	models := map[string]llm.ModelConfig{}
	for _, name := range []string{"m0", "m1"} {
		models[name] = llm.ModelConfig{BaseURL: x.fake.URL, APIKey: "sk-secret", Model: name}
	}
	with(models, "m0", func(m *llm.ModelConfig) { m.Fallback = []string{"m1"} })
	if edit != nil {
		edit(models)
	}
	var err error
	x.Models, err = llm.New(llm.Config{Models: models, Roles: map[string]string{"plan": "m0", "review": "m0", "work": "m0", "answer": "m0"}}, llm.Options{
		Sleep: x.clock.sleep, Now: x.clock.now, OnHealth: x.hear, Log: slog.New(slog.NewTextHandler(&x.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// asked counts the requests to a model so far.
func (x *exchange) asked(model string) int {
	n := 0
	for _, r := range x.fake.Requests() {
		if r.Model == model {
			n++
		}
	}
	return n
}

// ask makes a call and returns which model answered, or what was wrong.
func (x *exchange) ask() string {
	x.t.Helper()
	reply, err := x.Call(x.t.Context(), ask(), nil)
	var e *llm.Error
	switch {
	case err == nil:
		return reply.Model
	case errors.As(err, &e):
		return string(e.Problem)
	}
	return err.Error()
}

// fails makes calls that open the breaker of m0.
func (x *exchange) fails() {
	x.t.Helper()
	for range 3 {
		x.ask()
	}
	if !x.Health()["m0"].Down {
		x.t.Fatalf("after three failures the health is %+v, want m0 to be down", x.Health())
	}
}

// TestFailingModelIsLeftAlone: after three calls that failed by the endpoint's
// fault the next go straight to the fallback, until one call finds it well.
func TestFailingModelIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]llmfake.Response{
		"500": llmfake.Status(500), "401": llmfake.Status(401), "404": llmfake.Status(404), "reset": llmfake.Broken(llmfake.FaultReset, 0, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExchange(t, nil)
			x.set("m0", broken)
			x.fails()
			before := x.asked("m0")
			if got := x.ask(); got != "m1" || x.asked("m0") != before {
				t.Errorf("answered by %q after %d more requests to m0, want m1 at once", got, x.asked("m0")-before)
			}
			h := x.Health()["m0"]
			if h.RoleDown || h.Cause == "" || strings.Contains(h.Cause, "sk-secret") || h.Since.IsZero() {
				t.Errorf("health %+v, want a cause, no key, and not stranded", h)
			}
			x.set("m0", llmfake.Say("fine"))
			x.rests()
			if got := x.ask(); got != "m0" || x.Health()["m0"].Down {
				t.Errorf("later answered by %q, health %+v, want m0 to be tried and well", got, x.Health()["m0"])
			}
			if got := x.list(); got != "m0 down; m0 up" {
				t.Errorf("told %q, want once that it is down and once that it is up", got)
			}
			if text := x.log.String(); strings.Count(text, "model unavailable") != 1 || strings.Count(text, "model available") != 1 {
				t.Errorf("log:\n%s\nwant each change once", text)
			}
		})
	}
}

// TestProbeThatFails: a model that is still broken when it is tried again is
// asked once, and its health is not reported again.
func TestProbeThatFails(t *testing.T) {
	need.Check(t)
	t.Parallel()
	x := newExchange(t, nil)
	x.set("m0", llmfake.Status(401))
	x.fails()
	for range 3 {
		before := x.asked("m0")
		x.rests()
		if first, second := x.ask(), x.ask(); first != "m1" || second != "m1" || x.asked("m0")-before != 1 {
			t.Errorf("answered by %s and %s with %d requests to m0, want m1 and one request", first, second, x.asked("m0")-before)
		}
	}
	if got := x.list(); got != "m0 down" {
		t.Errorf("told %q, want it once", got)
	}
}

// TestNoModelIsLeft: without a fallback calls fail at once, with the reason and
// what can be done, and it is told that the role is down.
func TestNoModelIsLeft(t *testing.T) {
	t.Parallel()
	x := newExchange(t, func(m map[string]llm.ModelConfig) { with(m, "m0", func(c *llm.ModelConfig) { c.Fallback = nil }) })
	x.set("m0", llmfake.Status(401))
	x.fails()
	before := x.asked("m0")
	_, err := x.Call(t.Context(), ask(), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Problem != llm.Refused || !strings.Contains(e.Hint, "models.m0.api_key") || !strings.Contains(err.Error(), "has not been called") || x.asked("m0") != before {
		t.Errorf("error %v after %d requests, want the refusal of before, a hint and no request", err, x.asked("m0")-before)
	}
	if got := x.list(); got != "m0 down, stranded" {
		t.Errorf("told %q, want that it is stranded", got)
	}
}

// TestFallbackFailsToo: when the fallback is not called either, the role is down,
// and the health of the model that failed last says so.
func TestFallbackFailsToo(t *testing.T) {
	t.Parallel()
	x := newExchange(t, nil)
	x.set("m0", llmfake.Status(401))
	x.fails()
	x.set("m1", llmfake.Status(403))
	for range 3 {
		x.ask()
	}
	if got := x.list(); got != "m0 down; m1 down, stranded" {
		t.Errorf("told %q, want m0 down, then m1 and nothing left", got)
	}
	before := len(x.fake.Requests())
	if got := x.ask(); got != "refused" || len(x.fake.Requests()) != before {
		t.Errorf("got %q after %d requests, want a refusal at once", got, len(x.fake.Requests())-before)
	}
	if h := x.Health(); !h["m0"].RoleDown || !h["m1"].RoleDown {
		t.Errorf("health %+v, want both stranded", h)
	}
}

// TestWhatDoesNotCount: complaints about a request, filters, overload, broken
// streams and calls that were given up say nothing against the endpoint.
func TestWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llmfake.Response{
		"400": llmfake.Status(400), "too long": llmfake.Status(413), "busy": llmfake.Status(429), "cut": llmfake.Broken(llmfake.FaultCut, 3, "a b c d"),
		"filtered": {Text: "a", Finish: "content_filter"}, "length": {Text: "a", Finish: "length"}, "empty": {},
	} {
		x := newExchange(t, nil)
		x.set("m0", r)
		for range 5 {
			x.ask()
		}
		if h := x.Health()["m0"]; h.Down || x.list() != "" {
			t.Errorf("%s: health %+v, told %q, want it to be called on", name, h, x.list())
		}
	}
	x := newExchange(t, nil)
	x.set("m0", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}})
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := x.Call(ctx, ask(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the caller's deadline", err)
		}
		cancel()
	}
	if h := x.Health()["m0"]; h.Down {
		t.Errorf("given up: health %+v, want it to be called on", h)
	}
}

// TestGoodRepliesInBetween: a good reply in between begins the count anew.
func TestGoodRepliesInBetween(t *testing.T) {
	t.Parallel()
	x := newExchange(t, nil)
	for range 3 {
		x.set("m0", llmfake.Status(401))
		x.ask()
		x.ask()
		x.set("m0", llmfake.Say("fine"))
		x.ask()
	}
	if h := x.Health()["m0"]; h.Down {
		t.Errorf("health %+v, want it up: it never failed three times in succession", h)
	}
}

// TestParallelCallsShareTheBreaker: of many calls at once, those that come after
// three failures do not ask the endpoint; when it may be tried again, one call does.
func TestParallelCallsShareTheBreaker(t *testing.T) {
	t.Parallel()
	x := newExchange(t, nil)
	x.set("m0", llmfake.Status(401))
	all := func(n int) {
		var wait sync.WaitGroup
		for range n {
			wait.Go(func() {
				if reply, err := x.Call(t.Context(), ask(), nil); err != nil || reply.Model != "m1" {
					t.Errorf("reply %+v, error %v, want m1's", reply, err)
				}
			})
		}
		wait.Wait()
	}
	all(10)
	before := x.asked("m0")
	all(20)
	if n := x.asked("m0") - before; n != 0 {
		t.Errorf("%d requests to a model whose breaker is open, want none", n)
	}
	x.rests()
	slow := llmfake.Status(401)
	slow.First = 50 * time.Millisecond
	x.set("m0", slow)
	all(20)
	if n := x.asked("m0") - before; n != 1 {
		t.Errorf("%d requests when it may be tried, want one", n)
	}
	if got := x.list(); got != "m0 down" {
		t.Errorf("told %q, want it once", got)
	}
}

// TestPanicOfAListener: a panic of who listens does not leave the breaker
// half open for ever.
func TestPanicOfAListener(t *testing.T) {
	t.Parallel()
	x := newExchange(t, nil)
	x.set("m0", llmfake.Status(401))
	x.fails()
	x.rests()
	x.set("m0", llmfake.Say("fine"))
	func() {
		defer func() { _ = recover() }()
		_, _ = x.Call(t.Context(), ask(), func(llm.Delta) { panic("the listener") })
	}()
	if got := x.ask(); got != "m0" {
		t.Errorf("after the panic of a probe: answered by %q, want m0 to be tried", got)
	}
}
