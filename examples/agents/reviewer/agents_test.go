package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/policy"
	webapi "legwork/web/api"
)

const goal = "How do street trees cool a city in summer heat?"

// env is a legwork whose front door jams: of seven requests of agents one is
// refused with 429, one is done but its reply is lost, and one has half of its reply
// lost.
type env struct {
	t       *testing.T
	url     string
	service *api.Service
	person  api.Principal
}

func newEnv(t *testing.T) *env {
	t.Helper()
	kit := enginetest.NewEnv(t, memory.New(time.Now))
	kit.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	service := api.New(api.Config{Store: kit.Store, Inbox: kit.Inbox, Webhooks: func() []string { return nil }, Now: kit.Now})
	h := &env{t: t, service: service, person: api.Principal{Name: "ann", Role: policy.RoleOperator, Chats: []string{"*"}}}
	server := &jammedAPI{rooms: webapi.New(webapi.Config{Service: service}).Handler()}
	web := httptest.NewServer(server)
	h.url = web.URL
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		http.DefaultClient.CloseIdleConnections()
		kit.Stop()
	})
	return h
}

type jammedAPI struct {
	rooms    http.Handler
	requests atomic.Int64
}

func (d *jammedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name == "stranger" {
		http.Error(w, `{"title":"A token is needed","status":401}`, http.StatusUnauthorized)
		return
	}
	r = r.WithContext(api.With(r.Context(), api.Principal{Name: name, Role: policy.RoleAgent, Chats: []string{"api:*"}}))
	switch d.requests.Add(1) % 7 {
	case 2:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "too much at once", http.StatusTooManyRequests)
	case 4:
		reply := httptest.NewRecorder()
		d.rooms.ServeHTTP(reply, r)
		w.Header().Set("Content-Length", strconv.Itoa(reply.Body.Len()))
		w.WriteHeader(reply.Code)
		_, _ = w.Write(reply.Body.Bytes()[:reply.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case 5:
		d.rooms.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		d.rooms.ServeHTTP(w, r)
	}
}

// opens starts a shared context.
func (h *env) opens() tasks.ID {
	h.t.Helper()
	task, _, err := h.service.Start(h.t.Context(), h.person, api.NewTask{Goal: goal, External: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return task.ID
}

// decides waits until a person is asked, and decides.
func (h *env) decides(ctx context.Context, id tasks.ID, d api.Decision) {
	h.t.Helper()
	for version := 0; ; {
		waiting, _, err := h.service.Approvals(ctx, h.person, api.ApprovalQuery{Task: id})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(waiting) > 0 {
			if _, err := h.service.Decide(ctx, h.person, waiting[0].ID, d); err != nil {
				h.t.Fatal(err)
			}
			return
		}
		s, err := h.service.AwaitState(ctx, h.person, id, nil, version)
		if err != nil || ctx.Err() != nil || s.Over {
			h.t.Fatalf("no question was asked: %+v, %v", s, err)
		}
		version = s.Version
	}
}

// TestJammedAPI runs both agents against a legwork that refuses and forgets: the
// draft becomes what the person asks for, and every step is in the context once.
func TestJammedAPI(t *testing.T) {
	t.Parallel()
	python := need.Command(t, "python3", "apt-get install python3")
	h := newEnv(t)
	id := h.opens()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	writer := exec.CommandContext(ctx, python, "../writer.py", "--task", string(id), "--url", h.url)
	writer.Env = append(os.Environ(), "LEGWORK_TOKEN=writer", "PYTHONDONTWRITEBYTECODE=1")
	var log strings.Builder
	writer.Stderr = &log
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	reviewer := make(chan error, 1)
	go func() {
		reviewer <- run(ctx, []string{"-task", string(id), "-url", h.url}, func(string) string { return "reviewer" }, io.Discard, io.Discard)
	}()

	h.decides(ctx, id, api.Decision{Comment: "Say what they cost, too."})
	h.decides(ctx, id, api.Decision{Approve: true})
	if err := <-reviewer; err != nil {
		t.Errorf("the reviewer ended with %v", err)
	}
	if err := writer.Wait(); err != nil {
		t.Errorf("the writer ended with %v: %s", err, log.String())
	}
	task, err := h.service.Get(ctx, h.person, id)
	if err != nil || task.State != "done" || task.Answer == nil || !strings.Contains(*task.Answer, "## Cost") {
		t.Fatalf("the task is %+v, %v; want it done with a section about the cost", task, err)
	}
	h.once(ctx, id)
}

// once looks for steps that are in the context more than once.
func (h *env) once(ctx context.Context, id tasks.ID) {
	h.t.Helper()
	all, err := h.service.Context(ctx, h.person, id, api.ContextQuery{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range all.Messages {
		seen[fmt.Sprintf("%s %s %s", m.SenderID, m.Type, m.Content)]++
	}
	for step, times := range seen {
		if times > 1 && !strings.HasPrefix(step, "agent:reviewer observation \"The draft is sound") { // of two drafts
			h.t.Errorf("%d times in the context: %s", times, step)
		}
	}
	if len(seen) < 15 {
		h.t.Errorf("the context holds %v, want all steps", seen)
	}
}

// TestStartedTwice: the reviewer that starts a task itself starts one, however
// often it is started; with nothing to be found it says so.
func TestStartedTwice(t *testing.T) {
	t.Parallel()
	h := newEnv(t)
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	var out [2]strings.Builder
	for i := range out {
		if err := run(ctx, []string{"-goal", "Who won the cup?", "-url", h.url}, func(string) string { return "reviewer" }, &out[i], io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if out[0].String() != out[1].String() || out[0].Len() < 20 {
		t.Errorf("started twice, it printed %q and %q, want one task", out[0].String(), out[1].String())
	}
	task, err := h.service.Get(ctx, h.person, tasks.ID(strings.TrimSpace(out[0].String())))
	if err != nil || task.State != "done" || task.Answer == nil || !strings.Contains(*task.Answer, "nothing") {
		t.Errorf("the task is %+v, %v; want the answer that there is nothing", task, err)
	}
}

func TestWrongUse(t *testing.T) {
	h := newEnv(t)
	for _, test := range []struct {
		token string
		args  []string
		want  string
	}{
		{"", []string{"-task", "x"}, "LEGWORK_TOKEN"},
		{"reviewer", nil, "-task ID or -goal TEXT"},
		{"reviewer", []string{"-task", "x", "-goal", "y"}, "-task ID or -goal TEXT"},
		{"stranger", []string{"-task", "x", "-url", h.url}, "401"},
		{"reviewer", []string{"-task", "unknown", "-url", h.url}, "404"},
		{"reviewer", []string{"-task", "x", "-url", "localhost:8080"}, "http://"},
	} {
		err := run(t.Context(), test.args, func(string) string { return test.token }, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q with the token %q gave %v, want an error with %q", test.args, test.token, err, test.want)
		}
	}
}

func TestFlaws(t *testing.T) {
	d := progress{
		sources: []Source{{ID: "a2000"}, {ID: "b2001"}},
		outline: outline{Sections: []section{{Heading: "heat"}}},
		draft:   draft{Text: "## Cold\nIt is so [a2000], and so [c1999]."},
	}
	want := "It does not cite b2001. It cites c1999, which is none of the sources. It has no section about heat."
	if got := strings.Join(flaws(d), " "); got != want {
		t.Errorf("the flaws are %q, want %q", got, want)
	}
	d.draft.Text = "## Heat\nIt is so [a2000] [b2001]."
	if got := flaws(d); len(got) != 0 {
		t.Errorf("of a sound draft the flaws are %q", got)
	}
}

func TestSearch(t *testing.T) {
	all, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		goal:                         "arlen2019 birke2021 dahl2022 costa2020",
		"Say what they COST, too.":   "ekman2018 fujii2023",
		"Who won the cup?":           "",
		"what about some of this? !": "",
	} {
		if got := strings.Join(ids(search(all, question, 4)), " "); got != want {
			t.Errorf("searching for %q gave %q, want %q", question, got, want)
		}
	}
}
