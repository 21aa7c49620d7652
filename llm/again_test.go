package llm_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"legwork/llm"
)

// TestAgainIsAskedBeforeWhatCostsMore: before an attempt that follows one which
// was paid for, at the same model or at a fallback, the request is asked; what
// costs nothing is tried again without that.
func TestAgainIsAskedBeforeWhatCostsMore(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough was spent")
	for _, c := range []struct {
		name            string
		allowed         int // attempts that Again lets pass
		asked, requests int
		problem         llm.Problem
		text            string
	}{
		{"none", 0, 1, 2, llm.CutOff, "Hel"},
		{"one", 1, 2, 3, llm.CutOff, "Hello"},
		{"the fallback as well", 2, 2, 4, "", "Hello there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, status(500, ""), drop(says("Hel")), sse(says("Hello")+ends("length")), sse(whole()))
			cfg := f.config()
			main, backup := cfg.Models["main"], f.model()
			main.Fallback, main.MaxOutputTokens, backup.MaxOutputTokens = []string{"backup"}, 100, 200
			cfg.Models = map[string]llm.ModelConfig{"main": main, "backup": backup}
			cfg.Roles = map[string]string{llm.RoleAnswer: "main"}
			m, _ := open(t, cfg)
			asked := 0
			r := ask()
			r.BeforeRetry = func() error {
				if asked++; asked > c.allowed {
					return enough
				}
				return nil
			}
			reply, err := m.Call(t.Context(), r, nil)
			var e *llm.Error
			text := reply.Text
			if errors.As(err, &e) {
				text = e.Partial
			}
			if c.problem == "" && err != nil || c.problem != "" && (e == nil || e.Problem != c.problem) {
				t.Errorf("error %v, want the problem %q", err, c.problem)
			}
			if n := len(f.requests()); n != c.requests || asked != c.asked || text != c.text {
				t.Errorf("%d requests, asked %d times, %q; want %d, %d and %q", n, asked, text, c.requests, c.asked, c.text)
			}
		})
	}
}

// TestCancelledBeforeTheReply: a request that an endpoint has taken is counted by
// its prompt when the caller cancels before the reply. A request that the endpoint
// refused, or that was not made, is not counted.
func TestCancelledBeforeTheReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		begins func(w http.ResponseWriter)
		want   llm.Usage
	}{
		{"no answer at all", func(http.ResponseWriter) {}, llm.Usage{Input: 3, Estimated: true}},
		{"nothing of the reply", func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, llm.Usage{Input: 3, Estimated: true}},
		{"refused", func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, llm.Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				c.begins(w)
				if c.want != (llm.Usage{}) {
					cancel()
					<-r.Context().Done()
				}
			})
			m, err := llm.New(f.config(), llm.Options{Sleep: func(context.Context, time.Duration) error { cancel(); return ctx.Err() }})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			reply, err := m.Call(ctx, ask(), nil)
			if !errors.Is(err, context.Canceled) || reply.Usage != c.want {
				t.Errorf("usage %+v, error %v; want %+v and that it was cancelled", reply.Usage, err, c.want)
			}
		})
	}
}
