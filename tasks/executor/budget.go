package executor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Pricer is a Model that tells what calls may cost. Without one, tokens are
// estimated by the length of prompts, and nothing costs money.
type Pricer interface {
	// Quote is the most that a request may take.
	Quote(r llm.Request) llm.Usage
	// QuoteTokens is what so many tokens of prompt and reply cost at most with the
	// model of a role or a configured name. Negative output stands for the longest
	// reply.
	QuoteTokens(roleOrName string, input, output int) llm.Usage
	// Chosen is the configured name of the model that a request asks for.
	Chosen(r llm.Request) string
	// Bytes is how many bytes of a prompt so many tokens hold.
	Bytes(roleOrName string, tokens int) int
}

// lengthPricer stands in for a model that quotes nothing.
type lengthPricer struct{}

var _ Pricer = lengthPricer{}

// assumedOutput is how long the longest reply is taken to be, in tokens.
const assumedOutput = 4000

func (g lengthPricer) Quote(r llm.Request) llm.Usage {
	bytes := 0
	for _, m := range r.Messages {
		bytes += len(m.Content)
	}
	return llm.Usage{Input: llm.EstimateTokens(bytes), Output: min(cmp.Or(r.MaxOutput, assumedOutput), assumedOutput), Estimated: true}
}

func (g lengthPricer) QuoteTokens(_ string, input, output int) llm.Usage {
	if output < 0 {
		output = assumedOutput
	}
	return llm.Usage{Input: input, Output: output, Estimated: true}
}

func (g lengthPricer) Chosen(r llm.Request) string { return cmp.Or(r.Model, r.Role) }

func (g lengthPricer) Bytes(_ string, tokens int) int { return 4 * tokens }

// pricerOf is the model itself where it tells what calls may cost.
func pricerOf(model llm.Model) Pricer {
	if p, ok := model.(Pricer); ok {
		return p
	}
	return lengthPricer{}
}

// budget sets aside the most that model calls may cost, and counts what they did cost.
type budget struct {
	store tasks.Store
	log   *slog.Logger
	wall  func() time.Time
	rules *atomic.Pointer[tasks.PromptRules]
	price Pricer
	reservations
}

// reservations knows the calls of this process that are under way: what they set aside
// and do not use comes free when they end.
type reservations struct {
	mu    sync.Mutex
	calls []*reservedCall
	freed chan struct{} // closed when one ends; nil while there is no waiter
}

// reservedCall is one call under way.
type reservedCall struct {
	task tasks.ID
	tasks.Reservation
}

// add notes a call that begins; leave that it has ended and is settled.
func (t *reservations) add(id tasks.ID, r tasks.Reservation) (leave func()) {
	p := &reservedCall{id, r}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, p)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.calls, p); i >= 0 {
			t.calls = slices.Delete(t.calls, i, i+1)
		}
		if t.freed != nil {
			close(t.freed)
			t.freed = nil
		}
	}
}

// nextEnded is closed when the next call ends.
func (t *reservations) nextEnded() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.freed == nil {
		t.freed = make(chan struct{})
	}
	return t.freed
}

// mayFree reports that a call is under way whose end may make room for a task in a
// budget.
func (t *reservations) mayFree(id tasks.ID, over planner.Overdraft) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.calls, func(p *reservedCall) bool { return p.countsFor(id, over) })
}

// countsFor reports that a call counts for the budget that has no room for the
// task.
func (p *reservedCall) countsFor(id tasks.ID, over planner.Overdraft) bool {
	switch over.Budget {
	case tasks.BudgetTaskTokens, tasks.BudgetTaskUSD:
		return p.task == id
	case tasks.BudgetUserDayUSD:
		return p.Day == over.Day && p.User == over.Who
	case tasks.BudgetChatDayUSD:
		return p.Day == over.Day && p.Chat == over.Who
	}
	return p.Day == over.Day
}

// reservation is what a request takes of the budgets.
func (b *budget) reservation(v *tasks.View, of tasks.ReservationID, r llm.Request) tasks.Reservation {
	opening, rules := v.Opening(), b.rules.Load().Budget
	return tasks.Reservation{
		ID: of, Day: rules.Day(b.wall()), User: opening.From.Key(), Chat: opening.Chat.Room(),
		Model: b.price.Chosen(r), Most: b.price.Quote(r), Budgets: rules.Budgets,
	}
}

// idleAfter is how long no call must have been under way for a budget before what
// is set aside in it counts as spent: between two calls of a task there are its
// tools, and after a restart the tasks begin anew.
const idleAfter = 10 * time.Second

// reserve sets aside what a call may take, and waits where what others have set
// aside, and will not all use, leaves no room: until enough, nil for as long as it
// takes. Otherwise a budget without room is a *BudgetError. leave is called when
// the call is settled.
func (b *budget) reserve(ctx context.Context, id tasks.ID, r tasks.Reservation, enough <-chan struct{}) (leave func(), err error) {
	var late <-chan time.Time // nil: somebody is under way, or was at the last look
	for waited := false; ; {
		freed := b.nextEnded()
		leave, err := b.reserveNow(ctx, id, r)
		over, reached := errors.AsType[*tasks.BudgetError](err)
		if !reached || !over.Temporary() {
			return leave, err
		}
		switch {
		case b.mayFree(id, over.Overdraft):
			late, waited = nil, false
		case waited:
			return nil, err
		case late == nil:
			late = time.After(idleAfter)
		}
		select {
		case <-freed:
		case <-late:
			waited = true
		case <-enough:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserveNow is reserve without waiting. Who gives up meanwhile waits for the
// store: to give back what may not be set aside would give back what a process
// that was killed had set aside for the same action, and that counts.
func (b *budget) reserveNow(ctx context.Context, id tasks.ID, r tasks.Reservation) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	until, end := context.WithTimeout(context.WithoutCancel(ctx), tasks.StoreTimeout)
	defer end()
	if err := b.store.Reserve(until, id, r); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		b.settle(ctx, id, r.ID, llm.Usage{})
		return nil, ctx.Err()
	}
	return b.add(id, r), nil
}

// settle counts the cost of a call whose outcome no event reports. Like an
// outcome it is worth a moment after the call was cancelled.
func (b *budget) settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tasks.StoreTimeout)
	defer cancel()
	if err := b.store.Settle(ctx, id, of, cost); err != nil && !errors.Is(err, tasks.ErrNoTask) {
		b.log.WarnContext(ctx, "what a call has cost could not be counted", "task", id, "action", of.Action, "call", of.Call, "cause", err)
	}
}

// reserveRetries sets aside what one more attempt of a call may take for which the
// reservation was made, each time that it is called. It does not wait: the call
// itself holds what it would wait for.
func (b *budget) reserveRetries(ctx context.Context, id tasks.ID, r tasks.Reservation) func() error {
	attempt := 1
	return func() error {
		attempt++
		more := r
		more.ID.Attempt, more.Hold, more.Closing = attempt, nil, false
		return b.store.Reserve(ctx, id, more)
	}
}

// What a closing answer is given to read and to write at most, when a budget
// has room for no more, and the part of a budget that is kept back for it.
const (
	closingInput  = 8000 // tokens
	closingOutput = 8000
	closingShare  = 4 // a fourth
	minOutput     = 100
)

// closingSize is how many tokens are kept back for the closing answer of a task:
// less where the budgets are small, and none where they are so small that no
// answer would come of it. Of what is kept back at most half is for the reply,
// and the rest for the prompt. model is a configured one in place of the role's.
func (b *budget) closingSize(model string) (input, output int, ok bool) {
	by, budgets := cmp.Or(model, llm.RoleAnswer), b.rules.Load().Budget.Budgets
	output = largest(min(closingOutput, b.price.QuoteTokens(by, closingInput, -1).Output), func(n int) bool {
		return budgets.Allow(2*closingShare, b.price.QuoteTokens(by, 0, n))
	})
	input = largest(closingInput, func(n int) bool {
		return budgets.Allow(closingShare, b.price.QuoteTokens(by, n, output))
	})
	return input, output, output >= minOutput
}

// largest is the largest number up to most that fits, where all below one that
// fits do, too; 0 fits.
func largest(most int, fits func(int) bool) int {
	return sort.Search(most, func(n int) bool { return !fits(n + 1) })
}

// closingHold is what is kept back for the closing answer; nil for nothing.
func (b *budget) closingHold(model string) *llm.Usage {
	input, output, ok := b.closingSize(model)
	if !ok {
		return nil
	}
	hold := b.price.QuoteTokens(cmp.Or(model, llm.RoleAnswer), input, output)
	return &hold
}

// callForServer makes a model call within an action. The event that ends the action holds
// its cost.
func (x *Executor) callForServer(ctx context.Context, v *tasks.View, of tasks.ReservationID, r llm.Request) (llm.Reply, error) {
	aside := x.budget.reservation(v, of, r)
	leave, err := x.budget.reserve(ctx, v.ID, aside, nil)
	if err != nil {
		return llm.Reply{}, err
	}
	defer leave()
	r.BeforeRetry = x.budget.reserveRetries(ctx, v.ID, aside)
	reply, err := x.Model.Call(ctx, r, nil)
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		reply.Usage = failed.Usage
	}
	if reply.Usage == (llm.Usage{}) {
		x.budget.settle(ctx, v.ID, aside.ID, reply.Usage)
	}
	return reply, err
}
