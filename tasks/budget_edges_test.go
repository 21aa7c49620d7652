package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/llm"
	"legwork/tasks"
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
	s, m := newShop(t, 2, tasks.BudgetRules{Unattended: true, Budgets: tasks.Budgets{TaskTokens: 5400}})
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

// TestDayBudgetAfterTheClockWasSet: a day's budget that is reached is asked about
// also when the clock on the wall tells another day than the one by which
// things expire.
func TestDayBudgetAfterTheClockWasSet(t *testing.T) {
	s, _ := newShop(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{DayUSD: dollars(0.60)}})
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
		if paid != (llm.Usage{}) && r.Again != nil && r.Again() != nil {
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
	s, m := newShop(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{DayTokens: 8000}})
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
