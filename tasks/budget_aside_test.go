package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// TestBurstWaitsForWhatIsSetAside: many tasks at once set aside more than there is
// in the budget of a day, and use half of it: none asks a person, none is refused.
func TestBurstWaitsForWhatIsSetAside(t *testing.T) {
	s, m := newBudgetEnv(t, 2, tasks.BudgetRules{Unattended: true, Budgets: tasks.Budgets{TaskUSD: dollars(1.6), UserDayUSD: dollars(8)}})
	m.wary = true
	var messages []bot.Message
	var chats []bot.Chat
	for i := range 10 { // of 40 cents each
		chats = append(chats, room(fmt.Sprint("hall", i)))
		messages = append(messages, s.by("ann", chats[i], "find it"))
	}
	s.send(messages...)
	for _, chat := range chats {
		turns, err := s.store.History(t.Context(), chat.Key(), "", 1<<20)
		if err != nil || len(turns) != 1 {
			t.Fatalf("%+v, %v; want one task", turns, err)
		}
		id := turns[0].Task
		s.over(id)
		events, err := s.store.Load(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Overdraft != nil {
				t.Errorf("the task in %s was held up: %s %+v", chat.ID, e.Type, *e.Overdraft)
			}
		}
	}
	if got := m.total(); got.Cost != dollars(4) || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v; want 4 dollars", got, s.spent())
	}
}

// aside sets so much aside for a task of ann's that does nothing: its plan waits
// for a yes.
func (s *engineEnv) aside(amount int64) (tasks.ID, tasks.ReservationID) {
	s.t.Helper()
	id, _ := s.asks("ann", room("other"), "/plan find it")
	r := tasks.Reservation{
		ID: tasks.ReservationID{Call: "work 1/a"}, Day: s.clock().Format(time.DateOnly), User: "phone:ann", Chat: room("other").Room(),
		Most: llm.Usage{Input: 500, Output: 500, Cost: amount},
	}
	if err := s.store.Reserve(s.t.Context(), id, r); err != nil {
		s.t.Fatal(err)
	}
	return id, r.ID
}

// TestNobodyUnderWay: a call waits for what is set aside for somebody else. When
// that does nothing, it counts as spent in the end.
func TestNobodyUnderWay(t *testing.T) {
	for _, free := range []bool{false, true} {
		t.Run(fmt.Sprint("comes free ", free), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, m := newBudgetEnv(t, 2, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(1)}})
				other, action := s.aside(dollars(0.85))
				before := m.total()
				id := s.starts("ann", room("hall"), "find it")
				synctest.Wait()
				if state := s.state(id); state.Settled() || m.total() != before {
					t.Fatal("it did not wait")
				}
				if free {
					if err := s.store.Settle(t.Context(), other, action, llm.Usage{Cost: 1}); err != nil {
						t.Fatal(err)
					}
				}
				s.planned(id)
				if why := s.state(id).Reason; (why == planner.ReasonBudget) == free {
					t.Errorf("it ended because of %q", why)
				}
			})
		})
	}
}

// TestPlanBesideWhatIsSetAside: a plan is not large because of what others set
// aside and will not use.
func TestPlanBesideWhatIsSetAside(t *testing.T) {
	s, _ := newBudgetEnv(t, 2, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(6), UserDayUSD: dollars(10)}})
	s.aside(dollars(7))
	id := s.opens("ann", room("hall"), "find it")
	s.planned(id)
	events, err := s.store.Load(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Reply != nil && e.Reply.Confirm {
			t.Errorf("its plan waits for a yes: %+v", *e.Reply.Estimate)
		}
	}
}

// planned waits until a task has a plan or is over.
func (s *engineEnv) planned(id tasks.ID) {
	s.t.Helper()
	s.until(id, "there is a plan", func(state planner.State) bool { return len(state.Planned) > 0 || state.Settled() })
}

// TestPassing: only what is set aside comes free.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		spent, aside, wanted, limit int64
		want                        bool
	}{{100, 0, 1, 100, false}, {100, 1, 1, 100, true}, {100, 1, 2, 100, false}, {150, 60, 10, 100, true}} {
		err := error(&tasks.BudgetError{Overdraft: planner.Overdraft{Spent: c.spent, Wanted: c.wanted, Limit: c.limit}, Aside: c.aside})
		over, ok := errors.AsType[*tasks.BudgetError](err)
		if !ok || over.Passing() != c.want || !errors.Is(err, tasks.ErrBudget) {
			t.Errorf("%+v: passing %t, want %t", c, over.Passing(), c.want)
		}
	}
}

// TestClosingAnswerWaitsShortly: a closing answer has little time. It waits a while
// for what others have set aside, and is made of what was kept back for it then,
// however long their calls take.
func TestClosingAnswerWaitsShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newBudgetEnv(t, 2, tasks.BudgetRules{Unattended: true, Budgets: tasks.Budgets{TaskUSD: dollars(0.72), UserDayUSD: dollars(2)}})
		m.wary = true
		plan := m.Answer
		m.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
			if r.Role == llm.RoleWork && strings.Contains(fmt.Sprint(r.Messages), "part 1") {
				<-ctx.Done() // it never comes to an end by itself
				return llm.Reply{}, ctx.Err()
			}
			return plan(ctx, r, stream)
		}
		half := func(in bot.Chat) tasks.ID {
			id := s.starts("ann", in, "find it")
			s.until(id, "a part of it is found", func(state planner.State) bool { return state.HasResults() })
			return id
		}
		half(room("busy"))
		id := half(room("hall"))
		s.aside(dollars(1.5))
		s.send(s.by("ann", room("hall"), "/stop"))
		s.over(id)
		if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by answer") {
			t.Errorf("answers = %q, want what was found", got)
		}
	})
}
