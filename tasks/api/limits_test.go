package api_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// manyContexts is a store that lists more contexts of a program than it has, and that
// stores new ones when the gate is open.
type manyContexts struct {
	*memory.Store
	more   int
	gate   chan struct{}
	counts atomic.Int64
}

func (c *manyContexts) Tasks(ctx context.Context, q tasks.TaskQuery) (rows []tasks.Row, more bool, err error) {
	rows, more, err = c.Store.Tasks(ctx, q)
	if slices.Equal(q.Rooms, []string{"api:ops"}) && !more {
		c.counts.Add(1)
		rows = slices.Concat(rows, slices.Repeat([]tasks.Row{{External: true}}, c.more))
	}
	return rows, more, err
}

func (c *manyContexts) Open(ctx context.Context, in []tasks.Inbound) ([]tasks.Receipt, error) {
	select {
	case <-c.gate:
		return c.Store.Open(ctx, in)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// replica is a process over a store, whose clock goes on by a minute with each look.
func replica(t *testing.T, s tasks.Store) *api.Service {
	t.Helper()
	var looks atomic.Int64
	k := enginetest.NewEnv(t, s)
	k.Engine = idle{}
	k.Now = func() time.Time { return time.Now().Add(time.Duration(looks.Add(1)) * time.Minute) }
	k.Use(s)
	return api.New(api.Config{Store: s, Inbox: k.Inbox, Now: k.Now})
}

var aContext = api.NewTask{Goal: "x", External: true}

// TestQuotaAtOnce: a context that is being opened counts, however late it is
// stored.
func TestQuotaAtOnce(t *testing.T) {
	s := &manyContexts{Store: memory.New(nil), more: 9_990, gate: make(chan struct{})}
	one := replica(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	taken := make(chan bool, 60)
	var starting sync.WaitGroup
	for range cap(taken) {
		starting.Go(func() {
			_, _, err := one.Start(ctx, operator, aContext)
			if err != nil && !errors.Is(err, api.ErrBusy) {
				t.Errorf("starting at once: %v", err)
			}
			taken <- err == nil
		})
	}
	for range 50 {
		if <-taken {
			t.Error("a context was started before the store had it")
		}
	}
	close(s.gate)
	starting.Wait()
	for range 10 {
		if !<-taken {
			t.Error("there was room for ten, but one of them was refused")
		}
	}
}

// TestQuotaReplicas: processes over one store stay within the limit together, and
// do not count for each task.
func TestQuotaReplicas(t *testing.T) {
	s := &manyContexts{Store: memory.New(nil), more: 9_800, gate: make(chan struct{})}
	close(s.gate)
	var all []*api.Service
	for range 4 {
		all = append(all, replica(t, s))
	}
	started, refusals := 0, 0
	for i := 0; refusals < len(all); i++ {
		_, _, err := all[i%len(all)].Start(t.Context(), operator, aContext)
		switch {
		case errors.Is(err, api.ErrBusy):
			refusals++
		case err != nil:
			t.Fatal(err)
		default:
			started, refusals = started+1, 0
		}
	}
	if started != 200 {
		t.Errorf("%d contexts were started where there was room for 200", started)
	}
	if counts := int(s.counts.Load()); counts > 150 {
		t.Errorf("they were counted %d times", counts)
	}
}

// TestQuotaNotStored: a context that was not stored takes no room.
func TestQuotaNotStored(t *testing.T) {
	s := &manyContexts{Store: memory.New(nil), more: 9_999, gate: make(chan struct{})}
	close(s.gate)
	one := replica(t, s)
	one.Inbox.Load = func() int { return 1 << 20 }
	for range 3 {
		_, _, err := one.Start(t.Context(), operator, aContext)
		refused(t, "one while there is too much of everybody", err, api.ErrBusy)
	}
	one.Inbox.Load = nil
	keyed := api.NewTask{Goal: "x", External: true, Key: "k"}
	for i := range 2 {
		if _, again, err := one.Start(t.Context(), operator, keyed); err != nil || again != (i > 0) {
			t.Errorf("the last one: again %v, %v", again, err)
		}
	}
	_, _, err := one.Start(t.Context(), operator, aContext)
	refused(t, "one more", err, api.ErrBusy)
}
