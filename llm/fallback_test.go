package llm_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/llm"
)

func TestRetriesUntilItWorks(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(500, ""), drop(says("Hel")), sse(says("Hell")), sse(whole()))
	m, w := open(t, f.config())
	var h hear
	got, err := m.Call(t.Context(), ask(), h.take)
	if err != nil || got.Text != "Hello there" {
		t.Fatalf("reply %+v, error %v, want Hello there", got, err)
	}
	if h.text != "Hello there" || h.resets != 2 {
		t.Errorf("streamed %+v, want Hello there after 2 resets: one for each attempt that had begun", h)
	}
	want := llm.Usage{Input: 10 + 3 + 3, CachedInput: 3, Output: 2 + 1 + 1, Estimated: true}
	if got.Usage != want {
		t.Errorf("usage %+v, want that of three attempts %+v", got.Usage, want)
	}
	if len(w.list) != 3 || w.list[0] < 250*time.Millisecond || w.list[2] > 5*time.Second {
		t.Errorf("waits %v, want three of at least 250ms and at most 5s", w.list)
	}
}

// TestThinkingAloneIsNotAskedForAgain: the caller tells the model what is missing.
func TestThinkingAloneIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, thinking := range []string{delta(`"reasoning":"hm"`), says("<think>hm")} {
		f := newFake(t, sse(thinking+ends("stop")+done), sse(whole()))
		m, _ := open(t, f.config())
		got, err := m.Call(t.Context(), ask(), nil)
		if n := len(f.requests()); err != nil || got.Text != "" || got.Thinking != "hm" || n != 1 {
			t.Errorf("%s: reply %+v, error %v after %d requests, want the thinking after one", thinking, got, err, n)
		}
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		code   int
		header string
		least  time.Duration
	}{
		{"seconds", 429, "Retry-After: 7", 7 * time.Second},
		{"with a fraction", 503, "Retry-After: 1.5", 1500 * time.Millisecond},
		{"milliseconds", 429, "Retry-After-Ms: 2500", 2500 * time.Millisecond},
		{"a date", 503, "Retry-After: Sun, 06 Nov 1994 08:50:07 GMT", 30 * time.Second},
		{"a date gone by", 503, "Retry-After: Sat, 05 Nov 1994 15:04:05 GMT", 250 * time.Millisecond},
		{"nonsense", 503, "Retry-After: soon", 250 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, status(tt.code, "", tt.header, "Date: Sun, 06 Nov 1994 08:49:37 GMT"), sse(whole()))
			m, w := open(t, f.config())
			if _, err := m.Call(t.Context(), ask(), nil); err != nil {
				t.Fatal(err)
			}
			if len(w.list) != 1 || w.list[0] < tt.least || w.list[0] > tt.least+10*time.Second {
				t.Errorf("waited %v after %q, want one wait of at least %v", w.list, tt.header, tt.least)
			}
		})
	}
}

// models builds a config of models that answer by one handler each, in order
// of their names m0, m1 and so on.
func models(t *testing.T, edit func(map[string]llm.ModelConfig), handlers ...http.HandlerFunc) (llm.Config, []*fake) {
	t.Helper()
	cfg := llm.Config{Models: map[string]llm.ModelConfig{}, Roles: map[string]string{"plan": "m0", "review": "m0", "work": "m0", "answer": "m0"}}
	var fakes []*fake
	for i, h := range handlers {
		f := newFake(t, h)
		fakes = append(fakes, f)
		cfg.Models[modelName(i)] = f.model()
	}
	edit(cfg.Models)
	return cfg, fakes
}

func modelName(i int) string { return "m" + string(rune('0'+i)) }

// with changes one model of a config.
func with(models map[string]llm.ModelConfig, name string, edit func(*llm.ModelConfig)) {
	m := models[name]
	edit(&m)
	models[name] = m
}

func TestFallback(t *testing.T) {
	t.Parallel()
	fallback := func(of map[string]llm.ModelConfig, name string, to ...string) {
		with(of, name, func(m *llm.ModelConfig) { m.Fallback = to })
	}
	tests := []struct {
		name     string
		edit     func(map[string]llm.ModelConfig)
		handlers []http.HandlerFunc
		model    string // that answers; empty: none
		requests []int  // at each
	}{
		{
			"in order, then those of the fallbacks, each once",
			func(m map[string]llm.ModelConfig) {
				fallback(m, "m0", "m1", "m2")
				fallback(m, "m1", "m3", "m0")
			},
			[]http.HandlerFunc{status(401, ""), status(404, ""), status(400, ""), sse(whole())},
			"m3",
			[]int{1, 1, 1, 1},
		},
		{
			"a cycle of models that all fail",
			func(m map[string]llm.ModelConfig) { fallback(m, "m0", "m1"); fallback(m, "m1", "m0") },
			[]http.HandlerFunc{status(500, ""), status(500, "")},
			"",
			[]int{4, 4},
		},
		{
			"thinking alone",
			func(m map[string]llm.ModelConfig) { fallback(m, "m0", "m1") },
			[]http.HandlerFunc{sse(delta(`"reasoning":"hm"`) + ends("stop") + done), sse(whole())},
			"m1",
			[]int{1, 1},
		},
		{
			"a long Retry-After is not waited for",
			func(m map[string]llm.ModelConfig) { fallback(m, "m0", "m1") },
			[]http.HandlerFunc{status(429, "", "Retry-After: 60"), sse(whole())},
			"m1",
			[]int{1, 1},
		},
		{
			"too long: only a larger context helps",
			func(m map[string]llm.ModelConfig) {
				fallback(m, "m0", "m1", "m2")
				with(m, "m2", func(c *llm.ModelConfig) { c.ContextTokens = 1000000 })
			},
			[]http.HandlerFunc{status(413, ""), sse(whole()), sse(whole())},
			"m2",
			[]int{1, 0, 1},
		},
		{
			"length: only a larger limit helps",
			func(m map[string]llm.ModelConfig) { fallback(m, "m0", "m1") },
			[]http.HandlerFunc{sse(says("Hello") + ends("length")), sse(whole())},
			"",
			[]int{1, 0},
		},
		{
			"a timeout of the first leaves the second its time",
			func(m map[string]llm.ModelConfig) {
				fallback(m, "m0", "m1")
				with(m, "m0", func(c *llm.ModelConfig) { c.Timeout = time.Second })
			},
			[]http.HandlerFunc{hang(says("He")), sse(whole())},
			"m1",
			[]int{1, 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, fakes := models(t, tt.edit, tt.handlers...)
			m, _ := open(t, cfg)
			var h hear
			got, err := m.Call(t.Context(), ask(), h.take)
			if (err == nil) != (tt.model != "") || tt.model != "" && (got.Model != tt.model || h.text != "Hello there") {
				t.Errorf("reply %+v, streamed %+v, error %v, want an answer of %q", got, h, err, tt.model)
			}
			var requests []int
			for _, f := range fakes {
				requests = append(requests, len(f.requests()))
			}
			if !slices.Equal(requests, tt.requests) {
				t.Errorf("requests %v, want %v", requests, tt.requests)
			}
		})
	}
}

func TestErrorTellsOfAllModels(t *testing.T) {
	t.Parallel()
	cfg, _ := models(t, func(m map[string]llm.ModelConfig) {
		with(m, "m0", func(c *llm.ModelConfig) { c.Fallback = []string{"m1"} })
	}, sse(says("Hello")+ends("content_filter")+counts(7, 1)+done), status(403, "go away"))
	m, _ := open(t, cfg)
	_, err := m.Call(t.Context(), ask(), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Model != "m1" || e.Problem != llm.Refused || e.Usage.Input != 7 {
		t.Fatalf("error %+v, want m1's refusal with the usage of m0", err)
	}
	for _, part := range []string{`"m1": refused: HTTP 403 go away`, `before that, calling model "m0": filtered`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want it to contain %q", err, part)
		}
	}
}

func TestWhichModelIsCalled(t *testing.T) {
	t.Parallel()
	cfg, fakes := models(t, func(map[string]llm.ModelConfig) {}, sse(whole()), sse(whole()))
	cfg.Roles["work"] = "m1"
	m, _ := open(t, cfg)
	tests := []struct {
		role, model string
		requests    []int // so far
		err         string
	}{
		{"plan", "", []int{1, 0}, ""},
		{"work", "", []int{1, 1}, ""},
		{"plan", "m1", []int{1, 2}, ""},
		{"plan", "m9", []int{1, 2}, `no model is named "m9"; there are: m0, m1`},
		{"vision", "", []int{1, 2}, `no model has the role "vision"; set roles.vision`},
	}
	for _, tt := range tests {
		r := ask()
		r.Role, r.Model = tt.role, tt.model
		_, err := m.Call(t.Context(), r, nil)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("role %q, model %q: error %v, want %q", tt.role, tt.model, err, tt.err)
		}
		if got := []int{len(fakes[0].requests()), len(fakes[1].requests())}; !slices.Equal(got, tt.requests) {
			t.Errorf("role %q, model %q: requests so far %v, want %v", tt.role, tt.model, got, tt.requests)
		}
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(500, ""))
	ctx, cancel := context.WithCancel(t.Context())
	m, err := llm.New(f.config(), llm.Options{Sleep: func(context.Context, time.Duration) error { cancel(); return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Call(ctx, ask(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	// Without an own Sleep the wait is real and ends with the context.
	m, err = llm.New(f.config(), llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel = context.WithCancel(t.Context())
	defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
	if _, err := m.Call(ctx, ask(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestQuote: a quote is for the dearest model that may be called, with the
// longest reply; a model without a price costs nothing that is known.
func TestQuote(t *testing.T) {
	t.Parallel()
	cached := 0.5
	cfg := llm.Config{Models: map[string]llm.ModelConfig{
		"main":   {Model: "a", Price: &llm.Price{Input: 2, CachedInput: &cached, Output: 10}, Fallback: []string{"dear"}, MaxOutputTokens: 1000},
		"dear":   {Model: "b", Price: &llm.Price{Input: 20, Output: 5}, MaxOutputTokens: 500},
		"secret": {Model: "d", MaxOutputTokens: 100},
	}}
	m, _ := open(t, cfg)
	ask := func(model string, most int) llm.Request {
		return llm.Request{Role: llm.RoleWork, Model: model, MaxOutput: most, Messages: []llm.Message{{Role: llm.User, Content: strings.Repeat("word", 100)}}}
	}
	for _, c := range []struct {
		name string
		got  llm.Usage
		want llm.Usage
	}{
		{"the chain", m.Quote(ask("main", 0)), llm.Usage{Input: 100, Output: 1000, Cost: 10200, Estimated: true}},
		{"a bounded reply", m.Quote(ask("main", 10)), llm.Usage{Input: 100, Output: 10, Cost: 2050, Estimated: true}},
		{"no price", m.Quote(ask("secret", 0)), llm.Usage{Input: 100, Output: 100, Estimated: true, Unpriced: true}},
		{"unknown", m.Quote(ask("unknown", 0)), llm.Usage{}},
		{"tokens", m.QuoteTokens("main", 1000000, -1), llm.Usage{Input: 1000000, Output: 1000, Cost: 20002500, Estimated: true}},
		{"tokens of a role", m.QuoteTokens(llm.RolePlan, 100, 5), llm.Usage{Input: 100, Output: 5, Cost: 2025, Estimated: true}},
		{"tokens of unknown", m.QuoteTokens("unknown", 100, -1), llm.Usage{Input: 100, Estimated: true, Unpriced: true}},
	} {
		if c.got != c.want {
			t.Errorf("quote of %s = %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

// TestCost: each attempt costs what the model takes that was called, with what
// it has cached; the limit of a reply is sent.
func TestCost(t *testing.T) {
	t.Parallel()
	cached := 0.5
	f := newFake(t, sse(says("Hi")+ends("stop")+`data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":400}}}`+"\n\n"+done))
	cfg := f.config()
	for name, c := range cfg.Models {
		c.Price = &llm.Price{Input: 2, CachedInput: &cached, Output: 10}
		cfg.Models[name] = c
		c.Price = nil
		cfg.Models["unpriced"] = c
	}
	m, _ := open(t, cfg)
	r := ask()
	r.MaxOutput = 33
	reply, err := m.Call(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Usage{Input: 1000, CachedInput: 400, Output: 7, Cost: 1470}); reply.Usage != want {
		t.Errorf("usage = %+v, want %+v", reply.Usage, want)
	}
	r.Model = "unpriced"
	other, err := m.Call(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Usage{Input: 2000, CachedInput: 800, Output: 14, Cost: 1470, Unpriced: true}); reply.Usage.Add(other.Usage) != want {
		t.Errorf("together with a call without a price: %+v, want %+v", reply.Usage.Add(other.Usage), want)
	}
}

// TestImagesAreEstimated: an image counts as many tokens whatever the gauge knows about
// text, and the gauge learns nothing from prompts with images.
func TestImagesAreEstimated(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(says("Hi")+ends("stop")+counts(100, 1)+done))
	m, _ := open(t, f.config())
	r := llm.Request{Role: llm.RoleAnswer, MaxOutput: 10, Messages: []llm.Message{
		{Role: llm.User, Content: strings.Repeat("word", 100), Images: []llm.Image{{Type: "image/png", Data: []byte("abc")}, {Type: "image/png", Data: []byte("abc")}}},
	}}
	want := llm.Usage{Input: 100 + 2*llm.ImageTokens, Output: 10, Estimated: true}
	if got := m.Quote(r); got != want {
		t.Errorf("quote %+v, want %+v", got, want)
	}
	if _, err := m.Call(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if got := m.Quote(r); got != want {
		t.Errorf("quote after a call %+v, want %+v", got, want)
	}
}

// The estimate follows what the endpoint reports.
func TestEstimateIsCalibrated(t *testing.T) {
	t.Parallel()
	const perToken = 2 // bytes
	prompt := strings.Repeat("ab", 50000)
	f := newFake(t, sse(says("Hi")+ends("stop")+counts(len(prompt)/perToken, 1)+done))
	m, _ := open(t, f.config())
	if got := m.Tokens(llm.RoleWork, 4000); got != 1000 {
		t.Errorf("before any call 4000 bytes are %d tokens, want 1000", got)
	}
	r := llm.Request{Role: llm.RoleWork, Messages: []llm.Message{{Role: llm.User, Content: prompt}}}
	if _, err := m.Call(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if got := m.Tokens(llm.RoleWork, 4000); got < 1900 || got > 2000 {
		t.Errorf("after a call at 2 bytes per token 4000 bytes are %d tokens, want some 2000", got)
	}
	if got := m.Bytes("main", 1000); got < 2000 || got > 2100 {
		t.Errorf("1000 tokens are %d bytes, want some 2000", got)
	}
	if got := m.Context(llm.RolePlan); got != 128000 {
		t.Errorf("Context = %d, want the default 128000", got)
	}
	if got := []int{m.Tokens("unknown", 9), m.Bytes("unknown", 2), m.Context("unknown"), llm.EstimateTokens(5)}; !slices.Equal(got, []int{3, 8, 0, 2}) {
		t.Errorf("estimates without a model: %v, want [3 8 0 2]", got)
	}
}
