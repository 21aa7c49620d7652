package api_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// TestSlowFollower: a slow follower holds up no other, and still gets
// everything, also messages that are no longer kept in memory.
func TestSlowFollower(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) { k.Limits.Notes = 0 })
	id := w.shares().ID
	const events = 1500
	begun, held, ready := make(chan any), make(chan any), make(chan any)
	type result struct {
		got int
		err error
	}
	slow, quick := make(chan result, 1), make(chan result, 1)
	follow := func(done chan result, first func()) {
		got, last := 0, 1
		err := w.FollowAll(t.Context(), agent, nil, nil, time.Minute, func(m api.FeedMessage) error {
			if got++; got == 1 {
				first()
			}
			if m.Seq != last+1 {
				return fmt.Errorf("message %d came after %d", m.Seq, last)
			}
			if last = m.Seq; got == events {
				return errCut
			}
			return nil
		}, func(uint64) error { ready <- nil; return nil }, func(uint64) error { return errors.New("something was lost") })
		done <- result{got, err}
	}
	go follow(slow, func() { close(begun); <-held })
	<-ready
	go follow(quick, func() {})
	<-ready
	for i := range events {
		if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	if r := <-quick; r.got != events || !errors.Is(r.err, errCut) {
		t.Errorf("while another is held up: got %d messages, %v; want %d", r.got, r.err, events)
	}
	close(held)
	if r := <-slow; r.got != events || !errors.Is(r.err, errCut) {
		t.Errorf("the follower that was held up got %d messages, %v; want %d", r.got, r.err, events)
	}
}

// TestQuota: one token cannot take all the room there is.
func TestQuota(t *testing.T) {
	var ahead atomic.Int64
	w := newEnv(t, func(k *enginetest.Env) {
		pause, err := tasks.OpenPause(t.Context(), k.Store)
		if err == nil {
			_, err = pause.Set(t.Context(), tasks.Paused{Name: "Ann", At: time.Now()})
		}
		if err != nil {
			t.Fatal(err)
		}
		k.Pause, k.Setup.Pause = pause, pause
		k.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	var err error
	var last api.Task
	started := 0
	for ; err == nil && started < 3000; started++ {
		var task api.Task
		if task, _, err = w.Start(t.Context(), operator, api.NewTask{Goal: "x"}); err == nil {
			last = task
		}
	}
	refused(t, fmt.Sprintf("task %d", started), err, api.ErrBusy)
	if started-1 != 2000 {
		t.Errorf("%d tasks were taken, want 2000", started-1)
	}
	w.starts(admin, api.NewTask{Goal: "of another token"})
	w.starts(operator, api.NewTask{Goal: "a context", External: true})
	if _, err := w.Cancel(t.Context(), operator, last.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(last.ID)
	ahead.Add(int64(2 * time.Second)) // it counts once a second
	w.starts(operator, api.NewTask{Goal: "when one has ended"})
}

// FuzzApprovalID: ids of approvals are taken only as they were given.
func FuzzApprovalID(f *testing.F) {
	w := newEnv(f, nil)
	id := w.shares().ID
	if _, err := w.Merge(f.Context(), agent, id, nil, values{"status": raw(`"NEEDS_HUMAN_REVIEW"`)}); err != nil {
		f.Fatal(err)
	}
	open := w.asked(id, "").ID
	for _, s := range []string{open, open + ".0", "..", string(id) + ".1.0", string(id) + ".01.0", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == open {
			return
		}
		_, err := w.Decide(t.Context(), operator, name, api.Decision{Approve: true})
		if !errors.Is(err, api.ErrNotFound) && !errors.Is(err, api.ErrConflict) {
			t.Errorf("%q: got %v, want that there is no such approval", name, err)
		}
	})
}

// TestPauseLeavesContexts: what outside agents work on is not held up by a pause.
func TestPauseLeavesContexts(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		pause, err := tasks.OpenPause(t.Context(), k.Store)
		if err == nil {
			_, err = pause.Set(t.Context(), tasks.Paused{Name: "Ann", At: time.Now()})
		}
		if err != nil {
			t.Fatal(err)
		}
		k.Pause, k.Setup.Pause = pause, pause
	})
	if task := w.starts(operator, api.NewTask{Goal: "x"}); !task.Paused {
		t.Errorf("what legwork works on is %+v, want it paused", task)
	}
	if task := w.starts(operator, api.NewTask{Goal: "a context", External: true}); task.Paused {
		t.Errorf("a context is %+v, want it to go on", task)
	}
}
