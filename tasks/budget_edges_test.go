package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
)

// stiff is an expensive model whose prompts cannot be cut below 900 tokens, and
// whose answers are quoted twice as high as other calls.
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

// TestClosingAnswerThatHardlyShrinks: a closing answer whose prompt cannot be cut to
// its share of the amount held back is still made if the whole call fits.
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

// terse is an expensive model whose replies have 500 tokens at most.
type terse struct{ *dear }

func (m terse) QuoteTokens(role string, input, output int) llm.Usage {
	if output < 0 {
		output = 500
	}
	return m.dear.QuoteTokens(role, input, output)
}

// TestClosingAnswerOfATerseModel: short replies are not cut in proportion to the
// prompt, so that even a small budget holds back enough for an answer.
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

// TestDayBudgetAfterTheClockWasSet: legwork asks about a reached day's budget even
// when the wall clock shows another day than the clock for expiry.
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

// breaking is an expensive model whose endpoint breaks off every call. Each call is
// tried three times if the request allows it.
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

// TestAttemptsKeepWithinTheBudget: each further attempt of a call reserves again, so
// that endpoints that break off exceed no budget.
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

// TestSamplingBeforeAQuestion: the cost of a model call for a server counts as soon
// as the tool call ends with a question, and not only when the task ends. The model
// gets the server's words as plain text.
func TestSamplingBeforeAQuestion(t *testing.T) {
	s := &engineEnv{
		env: newEnv(t), calls: [][]string{{`{}`}},
		tools: &gated{definition: "d1", open: true, sample: true, question: &form.Question{Message: "Really?"}},
	}
	m := &dear{}
	var asked []llm.Message
	m.Answer, s.model = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if len(r.Messages) == 1 {
			asked = r.Messages
		}
		return s.answer(ctx, r, stream)
	}, m
	s.play()
	t.Cleanup(func() { s.stop() })
	id, card := s.asks("ann", private("ann"), "book it")
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Yes, go on")))
	s.card(id, card.ID)
	if got := m.total(); got.Tokens() != 3000 || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v; want 3,000 tokens", got, s.spent())
	}
	if len(asked) != 1 || asked[0].Content != "what now? <_/data>" {
		t.Errorf("the model got %+q of the server", asked)
	}
}

// givenUp is a store that cancels a call just before or after it reserves.
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

// TestReservationGivenUp: the reservation of a call that is cancelled at that moment
// is freed. The reservation that a killed process made for the same call counts,
// because the call may have been made.
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

// TestBudgetQuestionExpires: when the question about a reached budget expires, the
// task answers with what it has, so that it does not block its chat.
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

// TestBurstWaitsForWhatIsSetAside: many tasks at once reserve more than the day's
// budget and use half of it. No person is asked, and no call is refused.
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

// aside reserves an amount for a task of ann that does nothing: its plan waits for a
// yes.
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

// TestNobodyUnderWay: a call waits for the reservation of another task. If that task
// does nothing, the reservation counts as spent in the end.
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

// TestPlanBesideWhatIsSetAside: the unused reservations of others do not make a plan
// count as large.
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

// planned waits until a task has a plan or has ended.
func (s *engineEnv) planned(id tasks.ID) {
	s.t.Helper()
	s.until(id, "there is a plan", func(state planner.State) bool { return len(state.Planned) > 0 || state.Settled() })
}

// TestPassing: only reserved amounts become free again.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		spent, aside, wanted, limit int64
		want                        bool
	}{{100, 0, 1, 100, false}, {100, 1, 1, 100, true}, {100, 1, 2, 100, false}, {150, 60, 10, 100, true}} {
		err := error(&tasks.BudgetError{Overdraft: planner.Overdraft{Spent: c.spent, Wanted: c.wanted, Limit: c.limit}, Reserved: c.aside})
		over, ok := errors.AsType[*tasks.BudgetError](err)
		if !ok || over.Temporary() != c.want || !errors.Is(err, tasks.ErrBudget) {
			t.Errorf("%+v: passing %t, want %t", c, over.Temporary(), c.want)
		}
	}
}

// TestClosingAnswerWaitsShortly: a closing answer waits a while for the reservations
// of others. Then it uses the amount that was held back for it, however long the
// other calls take.
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

// TestBudgetsAreHeardOf: programs get one notice of a reached day's budget, and
// another try if it failed. Then the admins get theirs.
func TestBudgetsAreHeardOf(t *testing.T) {
	s, _ := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(0.60)}})
	var heard []string
	away := errors.New("no admin is there")
	s.budgetHook = func(_ context.Context, reached bool, list []planner.Overdraft) error {
		if away != nil {
			return away
		}
		for _, over := range list {
			heard = append(heard, over.Budget+" "+over.Who)
			if !reached {
				t.Errorf("%s was heard of as nearly used up, but it is reached", over.Budget)
			}
		}
		return nil
	}
	s.again()
	id, plan := s.runs("ann", room("hall"), "find it")
	s.card(id, plan.ID)
	told := func() bool {
		s.inbox.Flush(t.Context())
		return slices.ContainsFunc(s.told("boss"), func(text string) bool { return strings.Contains(text, s.text("admin.budget_reached", nil)) })
	}
	if err := s.budgets.Check(t.Context()); !errors.Is(err, away) || told() {
		t.Fatalf("before an admin was there: %v, the admin read %q", err, s.told("boss"))
	}
	away = nil
	for range 2 {
		if err := s.budgets.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(heard, []string{tasks.BudgetUserDayUSD + " phone:ann"}) || !told() {
		t.Errorf("heard of: %q, the admin read %q; want the budget of ann once, and so the admin", heard, s.told("boss"))
	}
}
