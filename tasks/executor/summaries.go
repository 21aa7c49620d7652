package executor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Prompts hold the older turns of a conversation as a summary. A model makes it
// after a task has ended. The budget is HistoryBytes, or a third of what a prompt
// may hold if that is less. When the turns since the last summary have more bytes
// than the budget, the oldest of them go into a new summary, until half of the
// budget is left. Until the new summary is there, prompts hold up to one and a half
// times the budget of turns and drop older ones. So between two summaries each
// prompt begins with the text of the prompt before it.
const (
	summarisers     = 2           // conversations that are summarised at a time
	summaryTurns    = 500         // turns that are looked at together
	unsummarisedMax = 8           // times the budget: what a conversation may have without a summary
	summaryShare    = 4           // what part of the budget the summary itself may be
	summaryRounds   = 20          // summaries in a row, of a conversation that has long been without
	summaryMaxWait  = time.Minute // how long people's calls come first
	maxWaiting      = 10_000      // conversations that wait; further ones wait for their next task
)

// summaries updates the summaries of conversations after their tasks have ended.
type summaries struct {
	cfg    *Config
	rules  *atomic.Pointer[tasks.PromptRules]
	budget *budget
	calls  *modelCalls

	mu      sync.Mutex
	waiting map[string]tasks.ID // by conversation: the task that ended last
	order   []string
	working map[string]bool
	signal  chan struct{} // holds one signal: a conversation waits
}

// enqueue adds a conversation after one of its tasks has ended.
func (s *summaries) enqueue(conversation string, id tasks.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.waiting[conversation]; !known {
		if len(s.order) >= maxWaiting {
			return
		}
		s.order = append(s.order, conversation)
	}
	s.waiting[conversation] = id
	s.wake()
}

func (s *summaries) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// next takes the first conversation that no worker is working on.
func (s *summaries) next() (conversation string, id tasks.ID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.order {
		if s.working[c] {
			continue
		}
		id = s.waiting[c]
		s.order = append(s.order[:i:i], s.order[i+1:]...)
		delete(s.waiting, c)
		s.working[c] = true
		if len(s.order) > 0 {
			s.wake()
		}
		return c, id, true
	}
	return "", "", false
}

func (s *summaries) done(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.working, conversation)
	if len(s.order) > 0 {
		s.wake()
	}
}

// run summarises conversations whose tasks have ended, until ctx ends. Conversations
// that still wait then are summarised after their next task.
func (s *summaries) run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	for range summarisers {
		work.Go(func() {
			for ctx.Err() == nil {
				conversation, id, ok := s.next()
				if !ok {
					select {
					case <-s.signal:
					case <-ctx.Done():
					}
					continue
				}
				if err := s.update(ctx, conversation, id); err != nil && ctx.Err() == nil {
					s.cfg.Log.WarnContext(ctx, "conversation not summarised", "task", id, "cause", err)
				}
				s.done(conversation)
			}
		})
	}
	return nil
}

// update summarises a conversation as far as needed, after one of its tasks.
func (s *summaries) update(ctx context.Context, conversation string, id tasks.ID) (err error) {
	defer tasks.Catch(&err)
	first, err := s.cfg.Store.Event(ctx, id, 1)
	if errors.Is(err, tasks.ErrNoTask) || err == nil && first.Opening == nil {
		return nil // the task was deleted
	}
	if err != nil {
		return fmt.Errorf("reading task %s: %w", id, err)
	}
	for range summaryRounds {
		more, err := s.summarise(ctx, conversation, id, first.Opening)
		if errors.Is(err, tasks.ErrConflict) || errors.Is(err, tasks.ErrBudget) || errors.Is(err, tasks.ErrPaused) || errors.Is(err, tasks.ErrNoTask) {
			s.cfg.Log.InfoContext(ctx, "summary skipped", "task", id, "cause", err)
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// summarise makes one summary of the oldest turns. more is false when there was
// nothing to do.
func (s *summaries) summarise(ctx context.Context, conversation string, id tasks.ID, opening *planner.Opening) (more bool, err error) {
	before, err := s.cfg.Store.Summary(ctx, conversation)
	if err != nil {
		return false, fmt.Errorf("reading a summary: %w", err)
	}
	size := promptBytes(s.rules.Load(), llm.RoleAnswer)
	budget := historyBudget(s.rules.Load(), size)
	turns, err := s.unsummarised(ctx, conversation, before.Until, budget)
	if err != nil {
		return false, fmt.Errorf("reading turns: %w", err)
	}
	turns = turnsToSummarise(turns, budget, size/2)
	if len(turns) == 0 {
		return false, nil
	}
	request, err := planner.SummaryPrompt(s.summaryInput(before, turns, opening, size))
	if err != nil {
		return false, err
	}
	text, err := s.callForSummary(ctx, id, opening, request)
	if err != nil {
		return false, err
	}
	next := tasks.Summary{
		Until: turns[len(turns)-1].Order, Text: clip.Marked(text, max(1000, budget/summaryShare)), At: s.cfg.Now(),
		Private: before.Private,
		Tainted: before.Tainted || !opening.Chat.Private || slices.ContainsFunc(turns, func(t tasks.Turn) bool { return t.Tainted }),
	}
	for _, t := range turns {
		next.Private = next.Private.With(t.Private)
	}
	if err := s.cfg.Store.PutSummary(ctx, conversation, before.Until, next); err != nil {
		return false, fmt.Errorf("storing a summary: %w", err)
	}
	s.cfg.Log.InfoContext(ctx, "conversation summarised", "task", id, "turns", len(turns), "bytes", len(next.Text))
	return true, nil
}

// unsummarised returns the turns after a summary. Of a long conversation without a
// summary it leaves out the oldest turns: reading all of them at once would cost a
// lot, and prompts have done without them.
func (s *summaries) unsummarised(ctx context.Context, conversation string, until uint64, budget int) ([]tasks.Turn, error) {
	if until > 0 {
		return s.cfg.Store.Turns(ctx, conversation, until, summaryTurns)
	}
	return s.cfg.Store.History(ctx, conversation, "", unsummarisedMax*budget)
}

// turnsToSummarise returns the turns that go into the next summary. It returns none
// while all turns fit into the budget, and otherwise as many of the oldest as needed
// to leave half of the budget. The newest turn stays. A turn without an outcome
// stays too, with all turns after it, unless they have become too many. most is the
// most bytes in one summary, although one turn may have more; 0: no limit.
func turnsToSummarise(turns []tasks.Turn, budget, most int) []tasks.Turn {
	left := 0
	for _, t := range turns {
		left += t.Bytes()
	}
	if left <= budget && len(turns) < summaryTurns {
		return nil
	}
	n, taken := 0, 0
	for n < len(turns)-1 && left > budget/2 {
		t := turns[n]
		size := t.Bytes()
		unfinished := t.Answer == "" && !t.Failed
		if unfinished && left <= unsummarisedMax*budget && len(turns) < summaryTurns || n > 0 && most > 0 && taken+size > most {
			break
		}
		taken, left, n = taken+size, left-size, n+1
	}
	return turns[:n]
}

func (s *summaries) summaryInput(before tasks.Summary, turns []tasks.Turn, opening *planner.Opening, size int) planner.Digest {
	d := planner.Digest{Texts: s.cfg.Texts, Language: opening.Language, Before: before.Text, MaxBytes: size}
	for _, t := range turns {
		for _, q := range t.Brought {
			t.Goal += "\n\n" + q.Quotation()
		}
		d.Turns = append(d.Turns, planner.Exchange{Goal: t.Goal, Answer: t.Answer, Failed: t.Failed})
	}
	return d
}

// callForSummary makes the model call if the budgets of the day have room for it. It
// first waits for calls that people wait for.
func (s *summaries) callForSummary(ctx context.Context, id tasks.ID, opening *planner.Opening, r llm.Request) (string, error) {
	if err := s.calls.waitIdle(ctx, summaryMaxWait); err != nil {
		return "", err
	}
	reply, err := s.call(ctx, id, opening, "summary", r)
	if err != nil {
		return "", err
	}
	parsed, err := planner.ParseReply(reply.Text, planner.ParseOptions{Groups: []string{}})
	if err != nil || parsed.IsPlan || len(reply.ToolCalls) > 0 {
		return "", errNoSummary
	}
	return parsed.Answer, nil
}

// call makes a model call that is no action of a task, and counts its cost. The budgets
// of the day must have room for it; those of the task do not count.
func (s *summaries) call(ctx context.Context, id tasks.ID, opening *planner.Opening, name string, r llm.Request) (llm.Reply, error) {
	leave, err := s.budget.enter(ctx, s.budget.price, r)
	if err != nil {
		return llm.Reply{}, err
	}
	defer leave()
	rules := s.rules.Load().Budget
	budgets := rules.Budgets
	budgets.TaskTokens, budgets.TaskUSD = 0, 0
	reserved := tasks.Reservation{
		ID: tasks.ReservationID{Call: name}, Day: rules.Day(s.cfg.Wall()), User: opening.From.Key(), Chat: opening.Chat.Room(),
		Model: s.budget.price.Chosen(r), Most: s.budget.price.Quote(r), After: true, Budgets: budgets,
	}
	release, err := s.budget.reserve(ctx, id, reserved, nil)
	if err != nil {
		return llm.Reply{}, fmt.Errorf("reserving the cost of a summary: %w", err)
	}
	defer release()
	r.BeforeRetry = s.budget.reserveRetries(ctx, id, reserved)
	reply, err := s.cfg.Model.Call(ctx, r, nil)
	cost := reply.Usage
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		cost = failed.Usage
	}
	s.budget.settle(ctx, id, reserved.ID, cost)
	if err != nil {
		return llm.Reply{}, fmt.Errorf("calling a model: %w", err)
	}
	return reply, nil
}

// outlineLines is how many lines an outline has at most.
const outlineLines = 5

// Outline asks a model to sum a task up in a few lines of plain text: its goal, its
// steps and its outcome. Its cost counts in the budgets of the day, and not in
// those of the task. Errors that callers branch on: tasks.ErrNoTask, tasks.ErrBudget,
// tasks.ErrPaused.
func (x *Executor) Outline(ctx context.Context, id tasks.ID) ([]string, error) {
	select { // a task has one reservation for its outline
	case x.outlining <- struct{}{}:
		defer func() { <-x.outlining }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := x.Pause.Gate(); err != nil {
		return nil, err
	}
	v := tasks.NewView(x.Store, id)
	if err := v.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	a := planner.Action{ID: planner.DecisionID(llm.RoleAnswer, v.State.Seq, 0), Kind: planner.KindModel, Role: llm.RoleAnswer}
	input, _, err := prompting{x, v, a}.input(ctx)
	if err != nil {
		return nil, err
	}
	request, err := planner.OutlinePrompt(v.State, v.Journal(ctx), a, input)
	if err != nil {
		return nil, err
	}
	reply, err := x.summaries.call(ctx, id, v.Opening(), "outline", request)
	if err != nil {
		return nil, err
	}
	lines := []string{}
	for line := range strings.Lines(planner.VisibleText(reply.Text)) {
		line = listMark.ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" && len(lines) < outlineLines {
			lines = append(lines, clip.Marked(line, maxOutlineLine))
		}
	}
	if len(lines) == 0 {
		return nil, errNoSummary
	}
	return lines, nil
}

// listMark begins a line of a list: a sign, or a number.
var listMark = regexp.MustCompile(`^(?:[-*•]|\d+[.)])\s+`)

// maxOutlineLine is how long a line of an outline may be, in bytes.
const maxOutlineLine = 1000

var errNoSummary = errors.New("the reply is no summary")

// promptBytes returns the most bytes that a prompt of that role may hold; 0: no
// limit.
func promptBytes(rules *tasks.PromptRules, role string) int {
	if rules.PromptBytes == nil {
		return 0
	}
	return rules.PromptBytes(role)
}

// modelCalls counts the running model calls that people wait for.
type modelCalls struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // closed when the last one ends; nil while none is running
}

func (c *modelCalls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.ended == nil {
		c.ended = make(chan struct{})
	}
}

func (c *modelCalls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 {
		close(c.ended)
		c.ended = nil
	}
}

// waitIdle waits until no call is running, but at most for patience. Its error is
// the context's.
func (c *modelCalls) waitIdle(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		c.mu.Lock()
		ended := c.ended
		c.mu.Unlock()
		if ended == nil {
			return ctx.Err()
		}
		select {
		case <-ended:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
