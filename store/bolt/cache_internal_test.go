package bolt

import (
	"fmt"
	"strings"
	"testing"

	"legwork/planner"
	"legwork/tasks"
)

// TestCacheBounded: tasks that agents make as large as they may do not fill
// the memory; the ones used last are remembered.
func TestCacheBounded(t *testing.T) {
	c := newCache()
	large := planner.State{Seq: 1, Phase: planner.PhaseShared, Changes: make([]int, 1000), Shared: map[string]planner.Value{}}
	for n := range 100 {
		large.Shared[fmt.Sprint(n, strings.Repeat("k", 250))] = planner.Value{}
	}
	const all = 2000
	for n := range all {
		c.keep(tasks.ID(fmt.Sprint(n)), large)
		c.keep("small", planner.State{Seq: n + 1, Phase: planner.PhaseShared})
	}
	if n := c.live.Len(); n < 100 || n > all/2 || c.size > cachedBytes {
		t.Errorf("%d tasks are remembered, of %d bytes", n, c.size)
	}
	if s, ok := c.state("small"); !ok || s.Seq != all {
		t.Errorf("a small one that is used all the time: got seq %d, %v", s.Seq, ok)
	}
	for n := range all {
		c.drop(tasks.ID(fmt.Sprint(n)))
	}
	c.keep("small", planner.State{Phase: planner.PhaseOver})
	if c.size != 0 || c.live.Len() != 0 {
		t.Errorf("nothing is remembered, and weighs %d bytes", c.size)
	}
}

// TestForgottenStates: a task that is remembered no more is what its journal says.
func TestForgottenStates(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := planner.Opening{Goal: "goal", External: true}
	o.Chat.Platform, o.Chat.ID = "api", "ci"
	in := tasks.Inbound{ID: "t", Chat: o.Chat, Open: &planner.Event{Type: planner.Opened, Opening: &o}}
	if _, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		s.cache.drop("t")
		if err := s.Append(t.Context(), "t", n+1, 0, planner.Event{Type: planner.NoteAdded, By: "agent:x", Note: &planner.Note{Type: "thought", Content: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
	}
	s.cache.drop("t")
	if state, err := s.State(t.Context(), "t"); err != nil || state.Seq != 4 || len(state.Notes) != 3 {
		t.Errorf("got %d events and %d notes, %v", state.Seq, len(state.Notes), err)
	}
}
