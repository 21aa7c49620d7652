package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

// dear is a model whose calls cost ten cents for 1,000 tokens, or less if the reply
// is limited. It can be set to quote twice as much.
type dear struct {
	enginetest.Model
	subtasks int
	wary     bool
	under    atomic.Int64 // running calls
	most     atomic.Int64 // the most running calls at once
	wait     chan any     // calls of sub-tasks take a value from it, unless nil

	mu    sync.Mutex
	spent llm.Usage
	roles []string
}

// cent is a cent in millionths of a dollar.
const cent = 10_000

func (m *dear) use(r llm.Request) llm.Usage {
	u := llm.Usage{Input: 500, Output: 500}
	if r.MaxOutput > 0 {
		u.Output = min(u.Output, r.MaxOutput)
		u.Input = min(u.Input, r.MaxOutput) // its prompt is cut as well
	}
	return m.QuoteTokens("", u.Input, u.Output)
}

func (m *dear) Quote(r llm.Request) llm.Usage {
	u := m.use(r)
	if m.wary && r.MaxOutput == 0 {
		u = u.Add(u)
	}
	return u
}

func (*dear) QuoteTokens(_ string, input, output int) llm.Usage {
	if output < 0 {
		output = 8000
	}
	return llm.Usage{Input: input, Output: output, Cost: int64(input+output) * cent / 100}
}

func (*dear) Measured(llm.Request) bool { return true }

func (*dear) Chosen(llm.Request) string { return "main" }

func (*dear) Bytes(_ string, tokens int) int { return 100 * tokens }

// Call implements llm.Model.
func (m *dear) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	n := m.under.Add(1)
	defer m.under.Add(-1)
	for old := m.most.Load(); n > old && !m.most.CompareAndSwap(old, n); old = m.most.Load() {
	}
	reply, err := m.Model.Call(ctx, r, stream)
	if err == nil {
		reply.Usage, reply.Model = m.use(r), "main"
		m.mu.Lock()
		m.spent, m.roles = m.spent.Add(reply.Usage), append(m.roles, r.Role)
		m.mu.Unlock()
	}
	return reply, err
}

func (m *dear) total() llm.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// newBudgetEnv makes an engineEnv with an expensive model, whose plans have so many
// sub-tasks.
func newBudgetEnv(t *testing.T, subtasks int, budget tasks.BudgetRules) (*engineEnv, *dear) {
	t.Helper()
	m := &dear{subtasks: subtasks}
	m.Answer = func(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		switch {
		case r.Role == llm.RolePlan && m.subtasks > 0:
			var entries []string
			for i := range m.subtasks {
				entries = append(entries, fmt.Sprintf(`{"name":"look","description":"part %d","after":[]}`, i))
			}
			return llm.Reply{Text: `{"plan":[` + strings.Join(entries, ",") + `]}`}, nil
		case r.Role == llm.RoleWork && m.wait != nil:
			select {
			case <-m.wait:
			case <-ctx.Done():
				return llm.Reply{}, ctx.Err()
			}
		}
		return llm.Reply{Text: "found by " + r.Role}, nil
	}
	s := &engineEnv{env: newEnv(t), tools: &gated{definition: "d1", open: true}, model: m}
	s.rules.Budget = budget
	s.play()
	t.Cleanup(func() { s.stop() })
	return s, m
}

// spent is what the ledger says of all.
func (s *engineEnv) spent() llm.Usage {
	s.t.Helper()
	rows, err := s.store.Spent(s.t.Context(), tasks.SpentQuery{})
	if err != nil {
		s.t.Fatal(err)
	}
	var sum llm.Usage
	for _, row := range rows {
		sum = sum.Add(row.Usage)
	}
	return sum
}

// starts asks a question whose task may end at once.
func (s *engineEnv) starts(person string, in bot.Chat, text string) tasks.ID {
	s.t.Helper()
	s.send(s.by(person, in, text))
	turns, err := s.store.History(s.t.Context(), in.Key(), "", 1<<20)
	if err != nil || len(turns) == 0 || turns[len(turns)-1].Goal != strings.TrimPrefix(text, "/task ") {
		s.t.Fatalf("%q opened no task: %+v, %v", text, turns, err)
	}
	return turns[len(turns)-1].Task
}

// runs asks a question whose plan is so large that a person has to confirm it.
func (s *engineEnv) runs(person string, in bot.Chat, text string) (tasks.ID, enginetest.Post) {
	s.t.Helper()
	id, card := s.asks(person, in, text)
	s.send(s.press(person, in, label(s.t, card.Draft, "Run")))
	return id, card
}

// answers returns the final texts of tasks.
func (s *engineEnv) answers(id tasks.ID) []string {
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	list := map[string]string{}
	var order []string
	for _, p := range slices.Concat(s.phone.posts, s.phone.edits) {
		if p.Kind == bot.KindAnswer && p.Task == string(id) && !p.Partial {
			if _, known := list[p.ID]; !known {
				order = append(order, p.ID)
			}
			list[p.ID] = p.Text + "\n" + p.Footer
		}
	}
	for i, id := range order {
		order[i] = list[id]
	}
	return order
}

func dollars(n float64) int64 { return int64(n * 100 * cent) }

// TestBudgetExtendedByTap: a task that reaches its budget asks. Only an admin can
// extend the budget, once, and the task continues to its answer.
func TestBudgetExtendedByTap(t *testing.T) {
	s, m := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(0.60)}})
	id, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(id, plan.ID)
	want := "**The next step would exceed this task's budget.**\n$0.55 of $0.60 are spent or reserved; the next step may need up to $0.10.\n\nFor ANN: find it\nOnly an admin can extend the budget. ANN or an admin can ask for an answer from the results so far."
	if card.Text != want {
		t.Errorf("the card says\n%s\nwant\n%s", card.Text, want)
	}
	extend := label(t, card.Draft, "Extend by $0.30")
	for person, want := range map[string]string{"ann": s.text("error.admin_needed", nil), "bob": s.text("error.not_yours", nil)} {
		if got := s.send(s.press(person, room("hall"), extend)).words(); got != want {
			t.Errorf("%s's press was answered %q, want %q", person, got, want)
		}
	}
	if s.state(id).Budget == "" {
		t.Fatal("the budget was extended by somebody who may not")
	}
	s.again() // the question stays over a restart
	s.send(s.press("boss", room("hall"), extend), s.press("chief", room("hall"), extend))
	s.over(id)
	if got := s.last(card.ID).Text; !strings.HasSuffix(got, "Extended by $0.30 by BOSS, 12:00.") {
		t.Errorf("the card was closed with %q", got)
	}
	if got := s.state(id).Extended[tasks.BudgetTaskUSD]; got != dollars(0.30) {
		t.Errorf("extended by %d, want 30 cents, once", got)
	}
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by review") || !strings.Contains(got[0], "7k tokens · $0.70") {
		t.Errorf("answers = %q, want one with what it has cost", got)
	}
	if got, want := s.spent(), m.total(); got != want {
		t.Errorf("the ledger has %+v, the model %+v", got, want)
	}
}

// TestLargePlan: a plan that may need more than half of the budget is shown with its
// estimate, and waits. The measured usage of a group counts for the next plan, whose
// estimate is on the board.
func TestLargePlan(t *testing.T) {
	s, m := newBudgetEnv(t, 3, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(3)}})
	id, card := s.runs("ann", room("hall"), "find it")
	if want := "It may take about 34k tokens, $3.37. That is more than half of the task's budget"; !strings.Contains(card.Text, want) {
		t.Errorf("the plan says\n%s\nwant in it %s", card.Text, want)
	}
	s.over(id)
	m.wait = make(chan any)
	frames, posts := make(chan bot.Draft, 1000), make(chan bot.Chat, 1000)
	s.phone.mu.Lock()
	s.phone.frames, s.phone.sent = frames, posts
	s.phone.mu.Unlock()
	id = s.starts("ann", room("hall"), "and that")
	for told := false; !told; { // the board says it while the sub-tasks work
		var drafts []bot.Draft
		select {
		case d := <-frames:
			drafts = append(drafts, d)
		case <-posts: // of two posts in a row, the first one may be the board
			s.phone.mu.Lock()
			for _, p := range s.phone.posts {
				drafts = append(drafts, p.Draft)
			}
			s.phone.mu.Unlock()
		case <-time.After(watch.Patience):
			t.Fatal("no board said what the plan may take")
		}
		told = slices.ContainsFunc(drafts, func(d bot.Draft) bool {
			return d.Kind == bot.KindBoard && strings.Contains(d.Text, "0 of 3 sub-tasks done · about 9k tokens, $0.90")
		})
	}
	for range 3 {
		m.wait <- nil
	}
	s.over(id)
	if s.state(id).Round != 1 || len(s.decisions(id)) != 0 {
		t.Errorf("the next plan of the group was confirmed")
	}
	if e := s.event(id, s.state(id).Planned[0]).Reply.Estimate; e == nil || *e != (planner.Estimate{Tokens: 9000, Cost: dollars(0.90)}) {
		t.Errorf("its estimate is %+v, want 9,000 tokens: 4,000 were learnt, 5,000 are usual for an answer", e)
	}
}

// TestLargePlanWithNobodyThere: if no person can confirm a large plan, only the
// budget limits it.
func TestLargePlanWithNobodyThere(t *testing.T) {
	s, _ := newBudgetEnv(t, 2, tasks.BudgetRules{Unattended: true, Budgets: tasks.Budgets{TaskUSD: dollars(1)}})
	id := s.starts("ann", room("hall"), "find it")
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by review") || len(s.decisions(id)) != 0 {
		t.Errorf("answers = %q with %d decisions, want one without a confirmation", got, len(s.decisions(id)))
	}
}

// TestThousandQuestions: very many questions at once use up the day's budget and do
// not exceed it: calls wait for the unused reservations of others.
func TestThousandQuestions(t *testing.T) {
	s, m := newBudgetEnv(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{DayTokens: 100_000}})
	m.wary = true
	var batch []bot.Message
	for i := range 1000 {
		q := s.by("ann", bot.Chat{Platform: "phone", ID: "hall", Thread: fmt.Sprint(i)}, "/task how are you")
		batch = append(batch, q)
	}
	s.send(batch...)
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if err := tasks.Idle(ctx, s.store, ""); err != nil {
		t.Fatal(err)
	}
	if got := m.total().Tokens(); got != 99_000 && got != 100_000 || s.spent() != m.total() {
		t.Errorf("%d tokens of 100,000 were spent; the ledger has %+v", got, s.spent())
	}
}

// TestBudgetDeclined: when a person declines to extend the budget, the task answers
// with what it has, from the amount that was held back for that.
func TestBudgetDeclined(t *testing.T) {
	s, m := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(0.60)}})
	id, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(id, plan.ID)
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Answer with results so far")))
	s.over(id)
	if got := s.last(card.ID).Text; !strings.HasSuffix(got, "ANN asked for an answer from the results so far, 12:00.") {
		t.Errorf("the card was closed with %q", got)
	}
	if got := s.answers(id); len(got) != 1 || !strings.Contains(got[0], "found by answer") {
		t.Errorf("answers = %q, want the closing one", got)
	}
	if got := m.total().Cost; got > dollars(0.60) || s.spent() != m.total() {
		t.Errorf("the model had %+v, the ledger %+v of 60 cents", m.total(), s.spent())
	}
}

// TestBudgetTooSmallForAnAnswer: if the amount held back is too small for an answer,
// no model is called, and the message names the budget.
func TestBudgetTooSmallForAnAnswer(t *testing.T) {
	s, m := newBudgetEnv(t, 2, tasks.BudgetRules{AskerExtends: true, Budgets: tasks.Budgets{TaskTokens: 1500}})
	id, plan := s.runs("ann", private("ann"), "find it")
	card := s.card(id, plan.ID)
	before := m.total()
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Answer with results so far")))
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.HasPrefix(got[0], "The next step would exceed this task's budget (1.4k tokens of 1.5k tokens are spent or reserved). Try a smaller question, or ask an admin to raise budget.task_tokens.") {
		t.Errorf("answers = %q, want a sentence that names the budget", got)
	}
	if m.total() != before {
		t.Errorf("a model was called after the budget was declined: %v", m.roles)
	}
}

// TestDayBudgetEndsQuestions: a plain question for which the day's budget has no
// room gets one message, and the admins get one notice for all such questions.
func TestDayBudgetEndsQuestions(t *testing.T) {
	s, m := newBudgetEnv(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{DayTokens: 2600}})
	for i := range 6 {
		id := s.starts("ann", room("hall"), fmt.Sprintf("/task question %d", i))
		s.over(id)
		want := "found by plan"
		if i >= 2 {
			want = "The next step would exceed today's budget for everybody (2k tokens of 2.6k tokens are spent or reserved). Ask again tomorrow, or ask an admin to raise budget.day_tokens."
		}
		if got := s.answers(id); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("question %d was answered %q, want %q", i, got, want)
		}
	}
	if got := m.total().Tokens(); got != 2000 {
		t.Errorf("%d tokens were spent, want 2000 of 2600", got)
	}
	for range 3 {
		if err := s.budgets.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.inbox.Flush(t.Context())
	if got := s.told("boss"); len(got) != 1 || !strings.Contains(got[0], "The next step would exceed today's budget, so legwork refuses questions or lets them wait:\n\n* everybody together: 2k tokens of 2.6k tokens (budget.day_tokens)") {
		t.Errorf("the admin was told %q", got)
	}
	s.pass(24 * time.Hour)
	id := s.starts("ann", room("hall"), "/task the day after")
	s.over(id)
	if got := s.answers(id); len(got) != 1 || !strings.HasPrefix(got[0], "found by plan") {
		t.Errorf("the day after, the answer is %q", got)
	}
}

// told returns the notices in a person's private chat.
func (s *engineEnv) told(person string) []string {
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	var list []string
	for _, p := range s.phone.posts {
		if p.Chat.Key() == private(person).Key() && p.Kind == bot.KindNotice {
			list = append(list, p.Text)
		}
	}
	return list
}

// TestBudgetNearlyUsedUp: admins get a notice when four fifths of a day's budget are
// used.
func TestBudgetNearlyUsedUp(t *testing.T) {
	s, _ := newBudgetEnv(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(1)}})
	for i := range 8 {
		if err := s.budgets.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.inbox.Flush(t.Context())
		if got := s.told("boss"); len(got) != 0 {
			t.Fatalf("after %d questions the admin was told %q", i, got)
		}
		s.over(s.starts("ann", room("hall"), fmt.Sprintf("/task question %d", i)))
	}
	for range 2 {
		if err := s.budgets.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.inbox.Flush(t.Context())
	if got := s.told("boss"); len(got) != 1 || !strings.Contains(got[0], "`phone:ann`: $0.80 of $1.00 (budget.user_day_usd)") {
		t.Errorf("the admin was told %q", got)
	}
}

// TestUsageOfAnExtendedBudget: /usage and the notice to admins include the extension
// of a day's budget.
func TestUsageOfAnExtendedBudget(t *testing.T) {
	s, _ := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(0.60), ChatDayUSD: dollars(5), DayUSD: dollars(5)}})
	id, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(id, plan.ID)
	s.send(s.press("boss", room("hall"), label(t, card.Draft, "Extend by $0.30")))
	s.over(id)
	if got := s.say("ann", private("ann"), "/usage"); !strings.Contains(got, "$0.70 of $0.90") {
		t.Errorf("/usage said\n%s\nwant in it $0.70 of $0.90", got)
	}
	for range 2 { // the second time as if it had not been reached
		if err := s.budgets.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.store.PutSetting(t.Context(), "legwork", "budgets_reported", ""); err != nil {
			t.Fatal(err)
		}
	}
	s.inbox.Flush(t.Context())
	if got := s.told("boss"); slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, "nearly used up") }) {
		t.Errorf("the admin was told %q of 70 cents of 90", got)
	}
	s.pass(24 * time.Hour)
	if got := s.say("ann", private("ann"), "/usage"); !strings.Contains(got, "$0.00 of $0.60") {
		t.Errorf("the day after, /usage said\n%s\nwant in it $0.00 of $0.60", got)
	}
}

// TestUsageOfUnknownPrice: spending without a known price is no "$0.00".
func TestUsageOfUnknownPrice(t *testing.T) {
	s := newEngineEnv(t)
	s.stop()
	s.rules.Budget = tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(2)}}
	var calls atomic.Int32
	s.model = &enginetest.Model{Answer: func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		used := llm.Usage{Input: 900, Output: 100, Unpriced: true}
		if calls.Add(1) > 1 {
			used.Cost, used.Unpriced = 20_000, false
		}
		return llm.Reply{Text: "hello", Model: "main", Usage: used}, nil
	}}
	s.play()
	s.over(s.opens("ann", private("ann"), "hello"))
	want := "**You**\n* today: 1k tokens, price unknown of $2.00\n* this month: 1k tokens, price unknown\n* in all: 1k tokens, price unknown"
	if got := s.say("ann", private("ann"), "/usage"); got != want {
		t.Errorf("/usage said\n%s\nwant\n%s", got, want)
	}
	s.over(s.opens("ann", private("ann"), "hello again"))
	want = "**You**\n* today: 2k tokens, at least $0.02 of $2.00\n* this month: 2k tokens, at least $0.02\n* in all: 2k tokens, at least $0.02"
	if got := s.say("ann", private("ann"), "/usage"); got != want {
		t.Errorf("after a call with a price, /usage said\n%s\nwant\n%s", got, want)
	}
}

// TestBudgetRenewed: a task that waits for a day's budget continues when another
// task's question extends the budget, or a new day begins. Its own question is
// closed.
func TestBudgetRenewed(t *testing.T) {
	s, _ := newBudgetEnv(t, 8, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(0.60)}})
	first, plan := s.runs("ann", room("hall"), "find it")
	card := s.card(first, plan.ID)
	s.send(s.press("boss", room("hall"), label(t, card.Draft, "Extend by $0.30")))
	second := s.card(first, card.ID) // the next one, when that is used up
	if err := s.budgets.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.state(first).Budget == "" {
		t.Fatal("the task goes on without room")
	}
	s.pass(24 * time.Hour)
	if err := s.budgets.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.over(first)
	if got := s.last(second.ID).Text; !strings.HasSuffix(got, s.text("budget.renewed", nil)) {
		t.Errorf("the question was closed with %q", got)
	}
	if got := s.last(card.ID).Text; !strings.HasSuffix(got, "Extended by $0.30 by BOSS, 12:00.") {
		t.Errorf("the first question was closed with %q", got)
	}
}

// TestCallsWaitForRoom: calls with high quotes wait for each other and not for
// people, and none exceeds the budget.
func TestCallsWaitForRoom(t *testing.T) {
	s, m := newBudgetEnv(t, 6, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(1.20)}})
	m.wary = true
	id, _ := s.runs("ann", room("hall"), "find it")
	s.over(id)
	if got := s.state(id); got.Outcome != planner.Done || got.Budget != "" {
		t.Fatalf("the task ended as %s, budget %q", got.Outcome, got.Budget)
	}
	if got := m.total(); got.Cost != dollars(0.80) || s.spent() != got {
		t.Errorf("the model had %+v, the ledger %+v; want 80 cents", got, s.spent())
	}
	if got := m.most.Load(); got > 4 {
		t.Errorf("%d calls of up to 20 cents were under way at once, within 90 cents", got)
	}
}

// TestUsage: people see their own spending, groups the spending of the chat, and
// admins in private all spending.
func TestUsage(t *testing.T) {
	s, _ := newBudgetEnv(t, 0, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(2), DayUSD: dollars(5)}})
	for _, q := range []struct {
		person string
		chat   bot.Chat
	}{{"ann", room("hall")}, {"ann", private("ann")}, {"bob", room("hall")}} {
		s.over(s.starts(q.person, q.chat, "/task how are you"))
	}
	s.pass(24 * time.Hour)
	s.over(s.starts("ann", private("ann"), "/task how are you"))
	mine := "**You**\n* today: 1k tokens, $0.10 of $2.00\n* this month: 3k tokens, $0.30\n* in all: 3k tokens, $0.30"
	if got := s.say("ann", private("ann"), "/usage"); got != mine {
		t.Errorf("in private /usage said\n%s\nwant\n%s", got, mine)
	}
	here := "\n\n**This chat**\n* today: 0 tokens\n* this month: 2k tokens, $0.20\n* in all: 2k tokens, $0.20"
	if got := s.say("ann", room("hall"), "/usage"); got != mine+here {
		t.Errorf("in a group /usage said\n%s\nwant\n%s", got, mine+here)
	}
	s.pass(20 * 24 * time.Hour)
	all := "**You**\n* today: 0 tokens, $0.00 of $2.00\n* this month: 0 tokens\n* in all: 0 tokens\n\n**Everybody**\n* today: 0 tokens, $0.00 of $5.00\n* this month: 0 tokens\n* in all: 4k tokens, $0.40"
	if got := s.say("boss", private("boss"), "/usage"); got != all {
		t.Errorf("an admin's /usage said\n%s\nwant\n%s", got, all)
	}
	s.pass(-20 * 24 * time.Hour)
	parts := []string{
		"**By person, 2026-11**\n* `phone:ann`: 3k tokens, $0.30\n* `phone:bob`: 1k tokens, $0.10",
		"**By chat, 2026-11**\n* `phone:ann`: 2k tokens, $0.20\n* `phone:hall`: 2k tokens, $0.20",
		"**By model, 2026-11**\n* `main`: 4k tokens, $0.40",
	}
	got := s.say("boss", private("boss"), "/usage")
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("an admin's /usage said\n%s\nwant in it\n%s", got, part)
		}
	}
}
