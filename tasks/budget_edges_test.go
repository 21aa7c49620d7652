package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
)

// stiff is a dear model whose prompts cannot be cut below 900 tokens, and whose
// answers are quoted twice as high as any other call.
type stiff struct{ *dear }

func (m stiff) Quote(r llm.Request) llm.Usage {
	u := m.dear.Quote(r)
	if r.Role == llm.RoleAnswer {
		u = m.QuoteTokens("", 900, 1100)
		if r.MaxOutput > 0 {
			u = m.QuoteTokens("", 900, min(500, r.MaxOutput))
		}
	}
	return u
}

// TestClosingAnswerThatHardlyShrinks: a closing answer whose prompt cannot be cut
// to its part of what is kept back is still made when all of it fits.
func TestClosingAnswerThatHardlyShrinks(t *testing.T) {
	s, m := newBudgetEnv(t, 2, tasks.BudgetRules{Unattended: true, Budgets: tasks.Budgets{TaskTokens: 5400}})
	s.stop()
	model := m.Answer
	m.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleReview {
			return llm.Reply{Text: `{"plan":[]}`}, nil
		}
		return model(ctx, r, stream)
	}
	s.model = stiff{m}
	s.play()
	id := s.starts("ann", room("hall"), "find it")
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by answer") {
		t.Errorf("answers = %q, want the closing one", got)
	}
	if got := m.total(); got.Tokens() > 5400 || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v of 5,400 tokens", got, s.spent())
	}
}

// terse is a dear model whose replies have 500 tokens at most.
type terse struct{ *dear }

func (m terse) QuoteTokens(role string, input, output int) llm.Usage {
	if output < 0 {
		output = 500
	}
	return m.dear.QuoteTokens(role, input, output)
}

// TestClosingAnswerOfATerseModel: short replies are not cut in the proportion of
// the prompt, so that a small budget, too, keeps back what an answer needs.
func TestClosingAnswerOfATerseModel(t *testing.T) {
	s, m := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(0.60)}})
	s.stop()
	s.model = terse{m}
	s.play()
	id, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(id, plan.ID)
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Answer with results so far")))
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by answer") {
		t.Errorf("answers = %q, want the closing one", got)
	}
	if got := m.total(); got.Cost > dollars(0.60) || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v of 60 cents", got, s.spent())
	}
}

// TestDayBudgetAfterTheClockWasSet: a day's budget that is reached is asked about
// also when the clock on the wall tells another day than the one by which
// things expire.
func TestDayBudgetAfterTheClockWasSet(t *testing.T) {
	s, _ := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{DayUSD: dollars(0.60)}})
	s.stop()
	s.wall = func() time.Time { return s.clock().AddDate(0, 0, 3) }
	s.play()
	id, plan := s.runs("boss", private("boss"), "find it")
	s.card(id, plan.ID)
	if over := s.state(id).Overdraft; over.Budget != tasks.BudgetDayUSD || over.Day != "2026-11-23" {
		t.Errorf("the question is about %+v, want the budget of the 23rd", over)
	}
}

// breaking is a dear model whose endpoint breaks every call off, each of which
// is made three times as long as the request agrees.
type breaking struct{ *dear }

func (m breaking) Call(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	var paid llm.Usage
	for range 3 {
		if paid != (llm.Usage{}) && r.BeforeRetry != nil && r.BeforeRetry() != nil {
			break
		}
		paid = paid.Add(m.use(r))
		m.mu.Lock()
		m.spent = m.spent.Add(m.use(r))
		m.mu.Unlock()
	}
	return llm.Reply{}, &llm.Error{Problem: llm.CutOff, Model: "main", Usage: paid}
}

// TestAttemptsKeepWithinTheBudget: a call that is made again takes of the budget
// again, so that none is exceeded by endpoints that break off.
func TestAttemptsKeepWithinTheBudget(t *testing.T) {
	s, m := newBudgetEnv(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{DayTokens: 8000}})
	s.stop()
	s.model = breaking{m}
	s.play()
	for i := range 6 {
		s.over(s.starts("ann", room("hall"), fmt.Sprintf("/task question %d", i)))
	}
	if got := m.total(); got.Tokens() > 8000 || got.Tokens() < 7000 || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v of 8,000 tokens", got, s.spent())
	}
}

// TestSamplingBeforeAQuestion: what a server has a model called for is counted
// also when its call ends with a question, and not only when the task is over.
func TestSamplingBeforeAQuestion(t *testing.T) {
	s := &engineEnv{
		env: newEnv(t), calls: [][]string{{`{}`}},
		tools: &gated{definition: "d1", open: true, sample: true, question: &form.Question{Message: "Really?"}},
	}
	m := &dear{}
	m.Answer, s.model = s.answer, m
	s.play()
	t.Cleanup(func() { s.stop() })
	id, card := s.asks("ann", private("ann"), "book it")
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Yes, go on")))
	s.card(id, card.ID)
	if got := m.total(); got.Tokens() != 3000 || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v; want 3,000 tokens", got, s.spent())
	}
}

// givenUp has a call cancelled just before or after what it may take is set aside.
type givenUp struct {
	*memory.Store
	before, after func()
}

func (s givenUp) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	s.before()
	if err := s.Store.Reserve(ctx, id, r); err != nil {
		return err
	}
	s.after()
	return ctx.Err()
}

// TestReservationGivenUp: the reservation of a call that was cancelled at that
// moment is given back; the reservation by a killed process for the same call,
// which it may have made, is counted.
func TestReservationGivenUp(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			s, m := newBudgetEnv(t, 0, tasks.BudgetRules{})
			s.stop()
			ctx, cancel := context.WithCancel(t.Context())
			store := givenUp{Store: s.store, before: func() {}, after: cancel}
			if when == "before" {
				store.before = cancel
			}
			presenters := presenter.New(presenter.Config{
				Store: store, Texts: s.texts, Chats: tasks.Chats{"phone": s.phone}, Log: slog.New(slog.DiscardHandler), Now: s.clock,
			})
			x := executor.New(executor.Config{
				Store: store, Model: m, Tools: s.tools, Texts: s.texts,
				Log: slog.New(slog.DiscardHandler), Now: s.clock, Append: presenters.Append,
			})
			id := s.opens("ann", private("ann"), "how are you")
			v := tasks.NewView(s.store, id)
			if err := v.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			a := planner.Todo(v.State)[0]
			former := tasks.Reservation{ID: tasks.ReservationID{Action: a.ID}, Day: "2026-11-20", Most: llm.Usage{Input: 100, Output: 50}}
			if err := s.store.Reserve(t.Context(), id, former); err != nil {
				t.Fatal(err)
			}
			if err := x.Do(ctx, v, a, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("Do: got %v, want that it was cancelled", err)
			}
			if err := s.store.Reserve(t.Context(), id, former); err != nil { // a reservation counts as made now
				t.Fatal(err)
			}
			spent, err := s.store.Spent(t.Context(), tasks.SpentQuery{})
			if err != nil || len(spent) != 1 || spent[0].Calls != 1 || spent[0].Usage.Tokens() != 100 {
				t.Errorf("counted %+v, %v; want what the former call was given to read, once", spent, err)
			}
		})
	}
}

// TestBudgetQuestionExpires: when the question about a reached budget expires,
// the task is answered with what there is, so that it does not hold up its
// chat for ever.
func TestBudgetQuestionExpires(t *testing.T) {
	s, m := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(0.60)}})
	s.stop()
	s.rules.Approvals.Expire = expire
	s.play()
	id, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(id, plan.ID)
	s.stop()
	s.pass(expire + time.Minute)
	s.play()
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by answer") || m.total().Cost > dollars(0.60) {
		t.Errorf("answers = %q for %+v, want the closing one within the budget", got, m.total())
	}
	if got := s.last(card.ID); !strings.HasSuffix(got.Text, s.text("question.expired", nil)) || len(got.Buttons) > 0 {
		t.Errorf("the card was closed as %+v", got)
	}
}
