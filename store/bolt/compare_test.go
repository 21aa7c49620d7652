package bolt_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/memory"
	"legwork/tasks"
)

// TestSameAsMemory does the same random things to a store on disk and to one
// in memory, closing and opening the one on disk now and then: both must say
// the same all the time.
func TestSameAsMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		now := func() time.Time { return at }
		dir := t.TempDir()
		p := &pair{memory: memory.New(now), t: t}
		reopen := func() {
			s, err := bolt.Open(t.Context(), dir, bolt.Options{Now: now})
			if err != nil {
				r.Fatal(err)
			}
			p.disk = s
		}
		reopen()
		defer func() { _ = p.disk.Close() }()
		r.Repeat(map[string]func(*rapid.T){
			"read": p.check,
			"deliver": func(r *rapid.T) {
				at = at.Add(time.Duration(rapid.IntRange(0, 600).Draw(r, "minutes")) * time.Minute)
				p.deliver(r)
			},
			"append": p.append,
			"finish": p.finish,
			"drop": func(r *rapid.T) {
				id := p.id(r)
				p.same(r, "Drop", func(s tasks.Store) (any, error) { return nil, s.Drop(p.t.Context(), id) })
			},
			"forget": func(r *rapid.T) {
				c := p.chat(r).Key()
				p.same(r, "Forget", func(s tasks.Store) (any, error) { return s.Forget(p.t.Context(), c) })
			},
			"move": func(r *rapid.T) {
				from, to := p.chat(r).Key(), p.chat(r)
				p.same(r, "Move", func(s tasks.Store) (any, error) { return nil, s.Move(p.t.Context(), from, to) })
			},
			"reopen": func(r *rapid.T) {
				if err := p.disk.Close(); err != nil {
					r.Fatal(err)
				}
				reopen()
			},
		})
		p.check(r)
	})
}

// pair is two stores that must not differ.
type pair struct {
	t            *testing.T
	disk, memory tasks.Store
	opened       int
}

// same does one thing to both.
func (p *pair) same(r *rapid.T, what string, do func(tasks.Store) (any, error)) {
	r.Helper()
	got, errDisk := do(p.disk)
	want, errMemory := do(p.memory)
	for _, sentinel := range []error{tasks.ErrConflict, tasks.ErrFenced, tasks.ErrRefused, tasks.ErrNoTask} {
		if errors.Is(errDisk, sentinel) != errors.Is(errMemory, sentinel) {
			r.Fatalf("%s: on disk %v, in memory %v", what, errDisk, errMemory)
		}
	}
	if (errDisk == nil) != (errMemory == nil) {
		r.Fatalf("%s: on disk %v, in memory %v", what, errDisk, errMemory)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateErrors()); diff != "" {
		r.Fatalf("%s (-memory +disk):\n%s", what, diff)
	}
}

// id draws a task that exists, or one that does not.
func (p *pair) id(r *rapid.T) tasks.ID {
	return tasks.ID(fmt.Sprintf("t%d", rapid.IntRange(0, p.opened).Draw(r, "task")))
}

func (p *pair) chat(r *rapid.T) bot.Chat {
	return bot.Chat{Platform: "test", ID: fmt.Sprint(rapid.IntRange(1, 2).Draw(r, "chat"))}
}

func (p *pair) deliver(r *rapid.T) {
	var batch []tasks.Inbound
	for range rapid.IntRange(1, 3).Draw(r, "batch") {
		in := tasks.Inbound{Chat: p.chat(r), Key: fmt.Sprint(rapid.IntRange(0, 30).Draw(r, "key")), Cut: rapid.IntRange(0, 9).Draw(r, "cut") == 0}
		if rapid.Bool().Draw(r, "guidance") {
			in.To, in.Event = p.id(r), planner.Event{Type: planner.Said, Text: "hint"}
		}
		if in.To == "" || rapid.Bool().Draw(r, "way out") {
			p.opened++
			q := question(in.Chat, tasks.ID(fmt.Sprintf("t%d", p.opened)), rapid.StringN(0, 20, -1).Draw(r, "goal"))
			in.ID, in.Open = q.ID, q.Open
		}
		batch = append(batch, in)
	}
	p.same(r, "Open", func(s tasks.Store) (any, error) {
		receipts, err := s.Open(p.t.Context(), batch)
		for i, receipt := range receipts {
			for _, sentinel := range []error{tasks.ErrRefused, tasks.ErrNoTask} {
				if errors.Is(receipt.Err, sentinel) {
					receipts[i].Err = sentinel
				}
			}
		}
		return receipts, err
	})
}

func (p *pair) append(r *rapid.T) {
	id, after, fence := p.id(r), rapid.IntRange(-1, 4).Draw(r, "after"), rapid.Int64Range(0, 3).Draw(r, "fence")
	e := planner.Event{Type: rapid.SampledFrom([]planner.EventType{planner.Said, planner.Stopped, planner.Resumed, planner.Replied}).Draw(r, "type"), Text: "x"}
	state, err := p.memory.State(p.t.Context(), id)
	if todo := planner.Todo(state); err == nil && e.Type == planner.Replied && len(todo) > 0 {
		e.Action, e.Reply = todo[0].ID, &planner.Reply{Text: "answer"}
		if state.Phase == planner.PhaseDeciding && rapid.Bool().Draw(r, "plan") {
			e.Reply = &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: fmt.Sprintf("%d/a", state.Round+1), Name: "web", Description: "look"}}}
		}
	}
	p.same(r, "Append", func(s tasks.Store) (any, error) { return nil, s.Append(p.t.Context(), id, after, fence, e) })
}

func (p *pair) finish(r *rapid.T) {
	id := p.id(r)
	p.same(r, "Append of the end", func(s tasks.Store) (any, error) {
		return nil, s.Append(p.t.Context(), id, -1, 0, planner.Event{Type: planner.Began, Slot: planner.SlotAnswer},
			planner.Event{Type: planner.Shown, Slot: planner.SlotAnswer, Message: "m", Last: true})
	})
}

// check reads everything.
func (p *pair) check(r *rapid.T) {
	for n := range p.opened + 1 {
		id := tasks.ID(fmt.Sprintf("t%d", n))
		p.same(r, "Load", func(s tasks.Store) (any, error) { return s.Load(p.t.Context(), id, 0) })
		p.same(r, "State", func(s tasks.Store) (any, error) { return s.State(p.t.Context(), id) })
	}
	for n := range 3 {
		c := bot.Chat{Platform: "test", ID: fmt.Sprint(n)}.Key()
		p.same(r, "Live", func(s tasks.Store) (any, error) { return s.Live(p.t.Context(), c) })
		p.same(r, "History", func(s tasks.Store) (any, error) { return s.History(p.t.Context(), c, "", 100) })
	}
	p.same(r, "Live of all", func(s tasks.Store) (any, error) { return s.Live(p.t.Context(), "") })
}
