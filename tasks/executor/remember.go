package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Older turns of a conversation are kept in prompts as a summary, which a model
// makes after a task is over. Let the budget be HistoryBytes, or a third of what
// a prompt may hold: when the turns since the last summary have more bytes, the
// oldest go into a new one, until half of the budget is left. Until it is there,
// prompts hold up to one and a half times the budget, and drop what is older:
// between two summaries, each prompt begins with the one before it.
const (
	summarisers    = 2           // conversations that are summarised at a time
	summarisedNext = 500         // turns that are looked at together
	summaryReach   = 8           // times the budget: what a conversation may have without a summary
	summaryShare   = 4           // what part of the budget the summary itself may be
	summaryRounds  = 20          // summaries in a row, of a conversation that has long been without
	summaryPatient = time.Minute // how long people's calls come first
	toSummarise    = 10_000      // conversations that wait; further ones wait for their next task
)

// remembering is what waits for a summary.
type remembering struct {
	mu      sync.Mutex
	waiting map[string]tasks.ID // by conversation: the task that was over last
	order   []string
	working map[string]bool
	bell    chan struct{}
}

func newRemembering() *remembering {
	return &remembering{waiting: map[string]tasks.ID{}, working: map[string]bool{}, bell: make(chan struct{}, 1)}
}

// note lets a conversation be looked at after a task of it is over.
func (r *remembering) note(conversation string, id tasks.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.waiting[conversation]; !known {
		if len(r.order) >= toSummarise {
			return
		}
		r.order = append(r.order, conversation)
	}
	r.waiting[conversation] = id
	r.ring()
}

func (r *remembering) ring() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// next takes the first conversation that no worker has.
func (r *remembering) next() (conversation string, id tasks.ID, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range r.order {
		if r.working[c] {
			continue
		}
		id = r.waiting[c]
		r.order = append(r.order[:i:i], r.order[i+1:]...)
		delete(r.waiting, c)
		r.working[c] = true
		if len(r.order) > 0 {
			r.ring()
		}
		return c, id, true
	}
	return "", "", false
}

func (r *remembering) done(conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.working, conversation)
	if len(r.order) > 0 {
		r.ring()
	}
}

// Remember summarises conversations whose tasks are over, until ctx ends. What it
// has not done then is done after the conversation's next task.
func (x *Executor) Remember(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	for range summarisers {
		work.Go(func() {
			for ctx.Err() == nil {
				conversation, id, ok := x.remembering.next()
				if !ok {
					select {
					case <-x.remembering.bell:
					case <-ctx.Done():
					}
					continue
				}
				if err := x.remember(ctx, conversation, id); err != nil && ctx.Err() == nil {
					x.Log.WarnContext(ctx, "a conversation could not be summarised", "task", id, "cause", err)
				}
				x.remembering.done(conversation)
			}
		})
	}
	return nil
}

// remember summarises a conversation as far as is needed, after a task of it.
func (x *Executor) remember(ctx context.Context, conversation string, id tasks.ID) (err error) {
	defer tasks.Catch(&err)
	first, err := x.Store.Event(ctx, id, 1)
	if errors.Is(err, tasks.ErrNoTask) || err == nil && first.Opening == nil {
		return nil // it was forgotten
	}
	if err != nil {
		return fmt.Errorf("reading task %s: %w", id, err)
	}
	for range summaryRounds {
		more, err := x.summarise(ctx, conversation, id, first.Opening)
		if errors.Is(err, tasks.ErrConflict) || errors.Is(err, tasks.ErrBudget) || errors.Is(err, tasks.ErrPaused) || errors.Is(err, tasks.ErrNoTask) {
			x.Log.InfoContext(ctx, "a summary is left out", "task", id, "cause", err)
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// summarise makes one summary of the oldest turns; more is false when there was
// nothing to do.
func (x *Executor) summarise(ctx context.Context, conversation string, id tasks.ID, opening *planner.Opening) (more bool, err error) {
	before, err := x.Store.Summary(ctx, conversation)
	if err != nil {
		return false, fmt.Errorf("reading a summary: %w", err)
	}
	size := x.promptBytes(llm.RoleAnswer)
	budget := x.historyBudget(size)
	turns, err := x.unsummarised(ctx, conversation, before.Until, budget)
	if err != nil {
		return false, fmt.Errorf("reading turns: %w", err)
	}
	turns = oldest(turns, budget, size/2)
	if len(turns) == 0 {
		return false, nil
	}
	request, err := planner.SummaryPrompt(x.digest(before, turns, opening, size))
	if err != nil {
		return false, err
	}
	text, err := x.callForSummary(ctx, id, opening, request)
	if err != nil {
		return false, err
	}
	next := tasks.Summary{
		Until: turns[len(turns)-1].Order, Text: clip.Marked(text, max(1000, budget/summaryShare)), At: x.Now(),
		Tainted: before.Tainted || !opening.Chat.Private || slices.ContainsFunc(turns, func(t tasks.Turn) bool { return t.Tainted }),
	}
	if err := x.Store.PutSummary(ctx, conversation, before.Until, next); err != nil {
		return false, fmt.Errorf("storing a summary: %w", err)
	}
	x.Log.InfoContext(ctx, "a conversation was summarised", "task", id, "turns", len(turns), "bytes", len(next.Text))
	return true, nil
}

// unsummarised are the turns after a summary. Of a conversation that has none
// the oldest are left out when it is long: to read all of what prompts have done
// without would cost a lot at once.
func (x *Executor) unsummarised(ctx context.Context, conversation string, until uint64, budget int) ([]tasks.Turn, error) {
	if until > 0 {
		return x.Store.Turns(ctx, conversation, until, summarisedNext)
	}
	return x.Store.History(ctx, conversation, "", summaryReach*budget)
}

// oldest are the turns that go into the next summary: none as long as all fit
// into the budget, otherwise so many that the rest takes half of it. The newest
// stays, and so does one without an outcome yet, and those after it, unless they
// have become too many. most bounds what goes into one summary; 0: nothing does.
func oldest(turns []tasks.Turn, budget, most int) []tasks.Turn {
	left := 0
	for _, t := range turns {
		left += len(t.Goal) + len(t.Answer)
	}
	if left <= budget && len(turns) < summarisedNext {
		return nil
	}
	n, taken := 0, 0
	for n < len(turns)-1 && left > budget/2 {
		t := turns[n]
		size := len(t.Goal) + len(t.Answer)
		unfinished := t.Answer == "" && !t.Failed
		if unfinished && left <= summaryReach*budget && len(turns) < summarisedNext || n > 0 && most > 0 && taken+size > most {
			break
		}
		taken, left, n = taken+size, left-size, n+1
	}
	return turns[:n]
}

func (x *Executor) digest(before tasks.Summary, turns []tasks.Turn, opening *planner.Opening, size int) planner.Digest {
	d := planner.Digest{Texts: x.Texts, Language: opening.Language, Before: before.Text, MaxBytes: size}
	for _, t := range turns {
		d.Turns = append(d.Turns, planner.Exchange{Goal: t.Goal, Answer: t.Answer, Failed: t.Failed})
	}
	return d
}

// callForSummary makes the model call, when no people wait for theirs, as long as
// the budgets of the day have room for it.
func (x *Executor) callForSummary(ctx context.Context, id tasks.ID, opening *planner.Opening, r llm.Request) (string, error) {
	if err := x.modelCalls.idle(ctx, summaryPatient); err != nil {
		return "", err
	}
	rules := x.rules.Load().Budget
	budgets := rules.Budgets
	budgets.TaskTokens, budgets.TaskUSD = 0, 0 // the task is over
	aside := tasks.Reservation{
		ID: tasks.ReservationID{Call: "summary"}, Day: rules.Day(x.Wall()), User: opening.From.Key(), Chat: opening.Chat.Room(),
		Model: x.price.Chosen(r), Most: x.price.Quote(r), After: true, Budgets: budgets,
	}
	leave, err := x.reserve(ctx, id, aside, nil)
	if err != nil {
		return "", fmt.Errorf("setting aside what a summary may cost: %w", err)
	}
	defer leave()
	r.BeforeRetry = x.again(ctx, id, aside)
	reply, err := x.Model.Call(ctx, r, nil)
	cost := reply.Usage
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		cost = failed.Usage
	}
	x.settle(ctx, id, aside.ID, cost)
	if err != nil {
		return "", fmt.Errorf("calling a model: %w", err)
	}
	text := planner.VisibleText(reply.Text)
	if text == "" || len(reply.ToolCalls) > 0 || callsInText(text) {
		return "", errNoSummary
	}
	return text, nil
}

var errNoSummary = errors.New("the reply is no summary")

// promptBytes is what a prompt of that role may hold; 0: no limit.
func (x *Executor) promptBytes(role string) int {
	if f := x.rules.Load().PromptBytes; f != nil {
		return f(role)
	}
	return 0
}
