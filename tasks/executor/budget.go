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

// Pricer is a Model that knows what calls may cost. For a Model that is no Pricer,
// tokens are estimated from the length of prompts, and calls cost no money.
type Pricer interface {
	// Quote returns the most that a request may cost.
	Quote(r llm.Request) llm.Usage
	// QuoteTokens returns the most that so many tokens of prompt and reply cost with
	// the model of a role or a configured name. A negative output means the longest
	// reply.
	QuoteTokens(roleOrName string, input, output int) llm.Usage
	// Chosen returns the configured name of the model that a request asks for.
	Chosen(r llm.Request) string
	// Measured reports whether the model that a request asks for has replied before,
	// so that Quote knows how it counts tokens.
	Measured(r llm.Request) bool
	// Bytes returns how many bytes of a prompt make so many tokens.
	Bytes(roleOrName string, tokens int) int
}

// lengthPricer estimates tokens from the length of prompts, for a model without
// prices.
type lengthPricer struct{}

var _ Pricer = lengthPricer{}

// assumedOutput is the assumed length of the longest reply, in tokens.
const assumedOutput = 4000

func (g lengthPricer) Quote(r llm.Request) llm.Usage {
	bytes, images := 0, 0
	for _, m := range r.Messages {
		bytes, images = bytes+len(m.Content), images+len(m.Images)
	}
	return llm.Usage{Input: llm.EstimateTokens(bytes) + images*llm.ImageTokens, Output: min(cmp.Or(r.MaxOutput, assumedOutput), assumedOutput), Estimated: true}
}

func (g lengthPricer) QuoteTokens(_ string, input, output int) llm.Usage {
	if output < 0 {
		output = assumedOutput
	}
	return llm.Usage{Input: input, Output: output, Estimated: true}
}

func (g lengthPricer) Chosen(r llm.Request) string { return cmp.Or(r.Model, r.Role) }

func (g lengthPricer) Measured(llm.Request) bool { return true }

func (g lengthPricer) Bytes(_ string, tokens int) int { return 4 * tokens }

// pricerOf returns the model itself if it is a Pricer.
func pricerOf(model llm.Model) Pricer {
	if p, ok := model.(Pricer); ok {
		return p
	}
	return lengthPricer{}
}

// budget reserves the most that model calls may cost, and counts their real cost.
type budget struct {
	store tasks.Store
	log   *slog.Logger
	wall  func() time.Time
	rules *atomic.Pointer[tasks.PromptRules]
	price Pricer
	reservations
	unmeasured
}

// reservations holds the running calls of this process. When a call ends, the unused
// part of its reservation becomes free.
type reservations struct {
	mu    sync.Mutex
	calls []*reservedCall
	freed chan struct{} // closed when a call ends; nil while no caller waits
}

// reservedCall is one running call.
type reservedCall struct {
	task tasks.ID
	tasks.Reservation
}

// add adds a call that begins. The caller calls release when the call has ended and
// is settled.
func (t *reservations) add(id tasks.ID, r tasks.Reservation) (release func()) {
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

// nextEnded returns a channel that is closed when the next call ends.
func (t *reservations) nextEnded() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.freed == nil {
		t.freed = make(chan struct{})
	}
	return t.freed
}

// mayFree reports whether a running call may free some of the reached budget when it
// ends.
func (t *reservations) mayFree(id tasks.ID, over planner.Overdraft) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.calls, func(p *reservedCall) bool { return p.countsFor(id, over) })
}

// countsFor reports whether a call counts for the budget that the task has reached.
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

// reservation returns the reservation for a request.
func (b *budget) reservation(v *tasks.View, of tasks.ReservationID, r llm.Request) tasks.Reservation {
	opening, rules := v.Opening(), b.rules.Load().Budget
	return tasks.Reservation{
		ID: of, Day: rules.Day(b.wall()), User: opening.From.Key(), Chat: opening.Chat.Room(),
		Model: b.price.Chosen(r), Group: v.State.GroupOf(of.Action), Most: b.price.Quote(r), Budgets: rules.Budgets,
	}
}

// idleAfter is how long no call of a budget must have run before its reservations
// count as spent. A task runs its tools between two calls, and after a restart tasks
// start again; both need time.
const idleAfter = 10 * time.Second

// reserve reserves what a call may cost. If only the reservations of other calls
// take up the room, it waits until one of them frees some, or until giveUp is closed
// (nil: never). It returns a *BudgetError if the budget has no room otherwise. The
// caller calls release when the call is settled.
func (b *budget) reserve(ctx context.Context, id tasks.ID, r tasks.Reservation, giveUp <-chan struct{}) (release func(), err error) {
	var idle <-chan time.Time // nil: a call is running, or was at the last check
	for waited := false; ; {
		freed := b.nextEnded()
		release, err := b.reserveNow(ctx, id, r)
		over, reached := errors.AsType[*tasks.BudgetError](err)
		if !reached || !over.Temporary() {
			return release, err
		}
		switch {
		case b.mayFree(id, over.Overdraft):
			idle, waited = nil, false
		case waited:
			return nil, err
		case idle == nil:
			idle = time.After(idleAfter)
		}
		select {
		case <-freed:
		case <-idle:
			waited = true
		case <-giveUp:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserveNow is reserve without waiting for other calls. It lets the store finish
// after ctx ends. Otherwise it would not know whether the store made the
// reservation. It must settle only a reservation that it has made: if the store
// refused it, a reservation of the same action may exist that a killed process made,
// and that one has to count.
func (b *budget) reserveNow(ctx context.Context, id tasks.ID, r tasks.Reservation) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), tasks.StoreTimeout)
	defer cancel()
	if err := b.store.Reserve(storing, id, r); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		b.settle(ctx, id, r.ID, llm.Usage{})
		return nil, ctx.Err()
	}
	return b.add(id, r), nil
}

// settle counts the cost of a call whose outcome no event reports. It works for a
// short time after the call was cancelled, as AppendEvents does.
func (b *budget) settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tasks.StoreTimeout)
	defer cancel()
	if err := b.store.Settle(ctx, id, of, cost); err != nil && !errors.Is(err, tasks.ErrNoTask) {
		b.log.WarnContext(ctx, "counting cost of call failed", "task", id, "action", of.Action, "call", of.Call, "cause", err)
	}
}

// reserveRetries returns a function that reserves the cost of one more attempt of a
// call each time it is called. The function does not wait for room, because it would
// wait for the reservation of its own call.
func (b *budget) reserveRetries(ctx context.Context, id tasks.ID, r tasks.Reservation) func() error {
	attempt := 1
	return func() error {
		attempt++
		more := r
		more.ID.Attempt, more.Hold, more.Closing = attempt, nil, false
		return b.store.Reserve(ctx, id, more)
	}
}

// The most that a closing answer reads and writes when a budget is reached, and the
// share of each budget that is held back for it.
const (
	closingInput  = 8000 // tokens
	closingOutput = 8000
	closingShare  = 4 // one part in so many
	minOutput     = 100
)

// closingSize returns how many tokens are held back for the closing answer of a
// task. Small budgets hold back less. ok is false when the budgets are too small for
// an answer; then nothing is held back. The reply gets at most half of the amount,
// and the prompt gets the rest. model is a configured model that replaces the
// role's; empty: none.
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

// largest returns the largest number up to most that fits. If a number fits, all
// smaller ones fit too; 0 always fits.
func largest(most int, fits func(int) bool) int {
	return sort.Search(most, func(n int) bool { return !fits(n + 1) })
}

// closingHold returns the amount to hold back for the closing answer; nil for
// nothing.
func (b *budget) closingHold(model string) *llm.Usage {
	input, output, ok := b.closingSize(model)
	if !ok {
		return nil
	}
	hold := b.price.QuoteTokens(cmp.Or(model, llm.RoleAnswer), input, output)
	return &hold
}

// callForServer makes a model call for a server, within a tool action. The event
// that ends the action holds the cost of the call.
func (x *Executor) callForServer(ctx context.Context, v *tasks.View, of tasks.ReservationID, r llm.Request) (llm.Reply, error) {
	leave, err := x.budget.enter(ctx, x.budget.price, r)
	if err != nil {
		return llm.Reply{}, err
	}
	defer leave()
	reserved := x.budget.reservation(v, of, r)
	release, err := x.budget.reserve(ctx, v.ID, reserved, nil)
	if err != nil {
		return llm.Reply{}, err
	}
	defer release()
	r.BeforeRetry = x.budget.reserveRetries(ctx, v.ID, reserved)
	reply, err := x.Model.Call(ctx, r, nil)
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		reply.Usage = failed.Usage
	}
	if reply.Usage == (llm.Usage{}) {
		x.budget.settle(ctx, v.ID, reserved.ID, reply.Usage)
	}
	return reply, err
}
