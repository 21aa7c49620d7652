package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"legwork/internal/test/callers"
	"legwork/internal/test/watch"
	"legwork/tasks/api"
	webapi "legwork/web/api"
)

// TestLongPollsReleaseDecoders: waiting requests hold no decoder.
func TestLongPollsReleaseDecoders(t *testing.T) {
	e := newEnv(t)
	const many = 20
	var waiting sync.WaitGroup
	for range many {
		waiting.Go(func() {
			got := e.do(request{method: "POST", path: "/v1/tasks", token: "operator", header: map[string]string{"Prefer": "wait=60"}, body: map[string]any{"goal": "Wait.", "run": false}})
			if !strings.Contains(string(got.body), `"stopped"`) {
				t.Errorf("got %d %s, want it stopped", got.status, got.body)
			}
		})
	}
	for stopped := map[string]bool{}; len(stopped) < many; {
		list, _ := want[webapi.Page[api.TaskSummary]](e, http.StatusOK, request{method: "GET", path: "/v1/tasks?state=working"})
		for _, one := range list.Items {
			want[api.Task](e, http.StatusOK, request{method: "POST", path: "/v1/tasks/" + string(one.ID) + "/cancel"})
			stopped[string(one.ID)] = true
		}
	}
	waiting.Wait()
}

// TestRefusalsReleaseDecoders: clients that do not read their reply hold no decoder.
func TestRefusalsReleaseDecoders(t *testing.T) {
	e := newEnv(t)
	handler := e.api.Handler()
	stuck := &stuckReply{header: http.Header{}, begun: make(chan bool), end: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	var replies sync.WaitGroup
	defer replies.Wait()
	defer close(stuck.end)
	for n := range 20 {
		replies.Go(func() {
			body := map[bool]string{true: `{"goal":"x","unknown":1}`, false: "no JSON"}[n%2 == 0]
			r := httptest.NewRequestWithContext(api.With(t.Context(), callers.Principal("operator")), "POST", "/v1/tasks", strings.NewReader(body))
			one := *stuck
			one.header = http.Header{}
			handler.ServeHTTP(&one, r)
		})
	}
	for n := range 20 {
		select {
		case <-stuck.begun:
		case <-ctx.Done():
			t.Fatalf("%d of 20 were answered", n)
		}
	}
	want[api.Task](e, http.StatusCreated, request{method: "POST", path: "/v1/tasks", body: map[string]any{"goal": "Go on.", "run": false}})
}

// TestCanceledBeforeDecoding: the body of a request that was canceled while it waited
// for a decoder is not read.
func TestCanceledBeforeDecoding(t *testing.T) {
	e := newEnv(t)
	handler := e.api.Handler()
	asks := func(ctx context.Context, body io.Reader) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(api.With(ctx, callers.Principal("operator")), "POST", "/v1/tasks", body)
		handler.ServeHTTP(w, r)
		return w
	}
	slow := &slowBody{begun: make(chan bool), end: make(chan struct{})}
	var others sync.WaitGroup
	defer others.Wait()
	defer close(slow.end)
	for range 8 {
		others.Go(func() { asks(t.Context(), slow) })
		<-slow.begun
	}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	if got := asks(gone, strings.NewReader("no JSON")); got.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s, want 503", got.Code, got.Body)
	}
}

// slowBody does not end before end is closed.
type slowBody struct {
	begun chan bool
	end   chan struct{}
}

func (b *slowBody) Read([]byte) (int, error) {
	b.begun <- true
	<-b.end
	return 0, io.EOF
}

// stuckReply is a reply that the client does not read.
type stuckReply struct {
	header http.Header
	begun  chan bool
	end    chan struct{}
}

func (s *stuckReply) Header() http.Header { return s.header }
func (s *stuckReply) WriteHeader(int)     {}
func (s *stuckReply) Write(b []byte) (int, error) {
	select {
	case s.begun <- true:
	case <-s.end:
	}
	<-s.end
	return len(b), nil
}
