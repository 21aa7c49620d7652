package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/form"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// jobsEnv is a fake server that does calls as tasks, in one era on one transport.
type jobsEnv struct {
	*testing.T
	log string
	cfg client.Config
}

// eachJobs runs a test for every way to do calls as tasks.
func eachJobs(t *testing.T, test func(e *jobsEnv)) {
	t.Helper()
	for _, by := range []string{stdio, http} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(by+" "+era, func(t *testing.T) {
				t.Parallel()
				e := &jobsEnv{T: t, log: filepath.Join(t.TempDir(), "log")}
				e.cfg = fake(t, by, "-jobs", "-era", era, "-log", e.log)
				test(e)
				if strings.Contains(read(e.log), `"violation"`) {
					t.Errorf("the client broke the protocol: %s", read(e.log))
				}
			})
		}
	}
}

// logged reports whether the log of the server has an event of a job.
func (e *jobsEnv) logged(event, job string) bool {
	for line := range strings.Lines(read(e.log)) {
		var entry struct{ Event, Note string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Event == event && entry.Note == job {
			return true
		}
	}
	return false
}

// TestTasks: a call that its server does as a task is followed to its end, and its status
// messages are progress.
func TestTasks(t *testing.T) {
	t.Parallel()
	eachJobs(t, func(e *jobsEnv) {
		s := ready(e, e.cfg)
		var messages, states []string
		r := call(e, s, "build", `{"item":"shed","steps":3}`, func(c *client.Call) {
			c.Progress = func(p client.Progress) { messages = append(messages, p.Message) }
			c.Began = func(_ context.Context, state json.RawMessage) error {
				if e.logged("looked", "job-1") {
					e.Error("the server was asked before the id was told")
				}
				states = append(states, string(state))
				return nil
			}
		})
		wantText(e, "build", r, false, "built shed")
		if len(states) != 1 || !strings.Contains(states[0], "job-1") {
			e.Errorf("Began got %v, want the id once", states)
		}
		if len(messages) == 0 || !strings.Contains(messages[len(messages)-1], "step 3 of 3") {
			e.Errorf("progress: %v", messages)
		}
		wantText(e, "a task that fails", call(e, s, "build", `{"item":"shed","steps":1,"fail":true}`), true, "out of bricks")
	})
}

// TestTaskAsks: questions of a task reach a person.
func TestTaskAsks(t *testing.T) {
	t.Parallel()
	eachJobs(t, func(e *jobsEnv) {
		s := ready(e, e.cfg)
		green := form.Answer{Action: form.Accept, Values: map[string]json.RawMessage{"colour": json.RawMessage(`"green"`)}}
		ask := func(_ context.Context, q form.Question) (form.Answer, error) {
			if !strings.Contains(q.Message, "Which colour for shed?") {
				e.Errorf("the question is %+v", q)
			}
			return green, nil
		}
		r := call(e, s, "build", `{"item":"shed","steps":2,"ask":true}`, func(c *client.Call) { c.Ask = ask })
		if r.Question != nil { // the answer may come after a restart
			s = ready(e, e.cfg)
			if _, err := ask(e.Context(), *r.Question); err != nil {
				e.Fatal(err)
			}
			if e.cfg.Command != "" { // which ends the server with its tasks
				return
			}
			r = call(e, s, "build", `{"item":"shed","steps":2,"ask":true}`, func(c *client.Call) { c.Resume = &client.Resume{State: r.State, Answer: green} })
		}
		wantText(e, "build", r, false, "built shed green")
	})
}

// TestTaskGoesOn: another process goes on with a task by what Began got, and a task that
// its server does not know has an unknown outcome.
func TestTaskGoesOn(t *testing.T) {
	t.Parallel()
	eachJobs(t, func(e *jobsEnv) {
		if e.cfg.Command != "" {
			e.Skip("a server on standard input and output ends with its client")
		}
		ctx, stop := context.WithCancel(e.Context())
		var state json.RawMessage
		c := client.Call{
			Tool: "build", Arguments: json.RawMessage(`{"item":"shed","steps":3}`), Timeout: watch.Patience, Keep: 1 << 20,
			Began: func(_ context.Context, s json.RawMessage) error { state = s; stop(); return nil },
		}
		if r, err := ready(e, e.cfg).Call(ctx, c); !errors.Is(err, context.Canceled) {
			e.Fatalf("the call gave %+v, %v", r, err)
		}
		s := ready(e, e.cfg)
		c.Resume, c.Began = &client.Resume{State: state}, nil
		r, err := s.Call(e.Context(), c)
		if wantText(e, "resumed", r, false, "built shed"); err != nil {
			e.Error(err)
		}
		if e.logged("stopped", "job-1") || strings.Count(read(e.log), `"event":"call"`) != 1 {
			e.Errorf("the server saw %s, want one call and no cancel", read(e.log))
		}
		c.Resume.State = json.RawMessage(strings.ReplaceAll(string(state), "job-1", "job-9"))
		if r, err := s.Call(e.Context(), c); !r.Unknown || !strings.Contains(r.Text, "does not know its task any more") {
			e.Errorf("a task that is gone gave %+v, %v", r, err)
		}
	})
}

// TestTaskCancelled: a task is cancelled when its call is not wanted any more, or takes
// too long.
func TestTaskCancelled(t *testing.T) {
	t.Parallel()
	eachJobs(t, func(e *jobsEnv) {
		s := ready(e, e.cfg)
		began := func(c *client.Call) { c.Began = func(context.Context, json.RawMessage) error { return nil } }
		if r := call(e, s, "build", `{"item":"shed","steps":1000000}`, began, within(time.Second)); !r.Unknown {
			e.Errorf("a call that takes too long gave %+v", r)
		}
		watch.Until(e, "cancelled", func() bool { return e.logged("stopped", "job-1") })
		ctx, withdraw := context.WithCancelCause(e.Context())
		c := client.Call{Tool: "build", Arguments: json.RawMessage(`{"item":"shed","steps":1000000}`), Timeout: watch.Patience, Keep: 1 << 20}
		c.Began = func(context.Context, json.RawMessage) error { withdraw(client.ErrWithdrawn); return nil }
		if _, err := s.Call(ctx, c); err == nil {
			e.Error("a call that is not wanted any more gave no error")
		}
		watch.Until(e, "cancelled", func() bool { return e.logged("stopped", "job-2") })
		c.Began = func(context.Context, json.RawMessage) error { return errors.New("no space left") }
		if r, err := s.Call(e.Context(), c); err == nil || !r.Failed {
			e.Errorf("a task whose id cannot be kept gave %+v, %v", r, err)
		}
		watch.Until(e, "cancelled", func() bool { return e.logged("stopped", "job-3") })
	})
}
