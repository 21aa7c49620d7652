package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Limits of the earlier results that a prompt lists.
const (
	earlierMaxResults  = 10        // results
	earlierListBytes   = 2 << 10   // bytes of the whole list
	earlierMaxTurns    = 20        // newest turns of the conversation that are searched
	earlierTurnBytes   = 128 << 10 // bytes of those turns
	earlierDescription = 100       // characters
	earlierCached      = 1024      // tasks in the cache
)

// earlierResult is the result of a sub-task of an earlier task that has ended.
type earlierResult struct {
	planner.Earlier
	task tasks.ID
	seq  int    // of the event that holds it
	from string // key of the person who asked
}

// earlierTasks reads what prompts list of earlier tasks. It caches it, since a task that
// has ended does not change.
type earlierTasks[T any] struct {
	store tasks.Store
	cache *lru.Cache[tasks.ID, []T]
	read  func(ctx context.Context, id tasks.ID, state planner.State) ([]T, error)
}

func newEarlierTasks[T any](store tasks.Store, read func(context.Context, tasks.ID, planner.State) ([]T, error)) earlierTasks[T] {
	cache, err := lru.New[tasks.ID, []T](earlierCached)
	if err != nil {
		panic("executor: " + err.Error()) // the size is not positive
	}
	return earlierTasks[T]{store, cache, read}
}

// each calls do for the tasks before this one, the newest first, while do returns true.
// It reads only the history of the conversation since the last cut, so that nothing of
// another conversation is listed.
func (l *earlierTasks[T]) each(ctx context.Context, v *tasks.View, do func(t tasks.Turn, found []T) bool) error {
	turns, err := l.store.History(ctx, v.Opening().Chat.Key(), v.ID, earlierTurnBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	for _, t := range slices.Backward(turns[max(0, len(turns)-earlierMaxTurns):]) {
		found, err := l.of(ctx, t.Task)
		if err != nil {
			return err
		}
		if !do(t, found) {
			break
		}
	}
	return nil
}

// of returns what is in a task that has ended; nothing for a deleted or damaged task.
func (l *earlierTasks[T]) of(ctx context.Context, id tasks.ID) (list []T, err error) {
	if list, ok := l.cache.Get(id); ok {
		return list, nil
	}
	state, err := l.store.State(ctx, id)
	if err == nil && !state.Settled() {
		return nil, nil
	}
	if err == nil {
		list, err = l.read(ctx, id, state)
	}
	if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	l.cache.Add(id, list)
	return list, nil
}

// earlier reads the results of earlier tasks.
type earlier struct{ earlierTasks[earlierResult] }

func newEarlier(store tasks.Store) earlier {
	read := func(ctx context.Context, id tasks.ID, state planner.State) ([]earlierResult, error) {
		return resultsOf(ctx, store, id, state)
	}
	return earlier{newEarlierTasks(store, read)}
}

// list returns the results of the tasks before this one, the newest first.
func (l *earlier) list(ctx context.Context, v *tasks.View) (list []earlierResult, err error) {
	room := earlierListBytes
	err = l.each(ctx, v, func(_ tasks.Turn, found []earlierResult) bool {
		for _, r := range found {
			if room -= len(r.Reference) + len(r.Group) + len(r.Description) + 20; room < 0 || len(list) == earlierMaxResults {
				return false
			}
			list = append(list, r)
		}
		return true
	})
	return list, err
}

// resultsOf reads the results of a task.
func resultsOf(ctx context.Context, store tasks.Store, id tasks.ID, state planner.State) ([]earlierResult, error) {
	var failed error
	journal := func(seq int) planner.Event {
		e, err := store.Event(ctx, id, seq)
		if err != nil && failed == nil {
			failed = err
		}
		return e
	}
	first := journal(1)
	if failed != nil || first.Opening == nil {
		return nil, failed
	}
	var list []earlierResult
	for _, w := range state.Subtasks {
		inside := w.Parent != nil && state.Subtasks[w.Parent.Subtask].State == planner.SubDone
		if w.State != planner.SubDone || inside {
			continue
		}
		end, source := journal(w.EndSeq), journal(w.Source)
		if failed != nil {
			return nil, failed
		}
		if end.Reply == nil || source.Reply == nil {
			continue
		}
		list = append(list, earlierResult{
			Earlier: planner.Earlier{
				Reference: reference(id, w.ID), Group: w.Name, Bytes: len(end.Reply.Text),
				Description: clip.Line(planner.Description(w, func(int) planner.Event { return source }), earlierDescription),
				Labels:      planner.Labels{Outside: state.Tainted > 0 && w.EndSeq > state.Tainted, Private: state.Private},
			},
			task: id, seq: w.EndSeq, from: first.Opening.From.Key(),
		})
	}
	return list, nil
}

// reference returns the name by which models refer to the result of a sub-task. The
// end of a task's id is enough to tell apart the few tasks that a prompt lists.
func reference(id tasks.ID, subtask string) string {
	return string(id[max(0, len(id)-6):]) + "/" + subtask
}

// fetch copies earlier results into the event of a reply, for its read_result calls:
// the tasks may be deleted before the next prompt.
func (l *earlier) fetch(ctx context.Context, v *tasks.View, e planner.Event) error {
	if e.Reply == nil {
		return nil
	}
	var list []earlierResult
	left := v.State.Limits.Reads - v.State.Reads
	for i := range e.Reply.Calls {
		c := &e.Reply.Calls[i]
		if c.Read == nil || c.Read.Earlier == "" {
			continue
		}
		if left--; v.State.Limits.Reads > 0 && left < 0 {
			continue // the machine refuses this call
		}
		if list == nil {
			var err error
			if list, err = l.list(ctx, v); err != nil {
				return err
			}
		}
		if err := l.fetchOne(ctx, v, c, list); err != nil {
			return err
		}
	}
	return nil
}

// fetchOne resolves one call. For a missing result it sets a refusal that a model
// can act on.
func (l *earlier) fetchOne(ctx context.Context, v *tasks.View, c *planner.Call, list []earlierResult) error {
	i := slices.IndexFunc(list, func(r earlierResult) bool {
		return strings.EqualFold(r.Reference, strings.TrimSpace(c.Read.Earlier))
	})
	if i < 0 {
		c.Refusal = fmt.Sprintf("there is no earlier result %q to be read here", clip.Marked(c.Read.Earlier, 40))
		if len(list) > 0 {
			c.Refusal += "; the newest is " + list[0].Reference
		}
		c.Read = nil
		return nil
	}
	r := list[i]
	end, err := l.store.Event(ctx, r.task, r.seq)
	if tasks.Unreadable(err) || err == nil && end.Reply == nil {
		l.cache.Remove(r.task)
		c.Refusal, c.Read = fmt.Sprintf("the earlier result %s is no longer kept", r.Reference), nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading an earlier result: %w", err)
	}
	part, from := planner.Portion(end.Reply.Text, c.Read.Offset)
	if part == "" {
		c.Refusal, c.Read = fmt.Sprintf("the earlier result %s has %d bytes, and nothing at offset %d", r.Reference, len(end.Reply.Text), c.Read.Offset), nil
		return nil
	}
	opening := v.Opening()
	others := !opening.Chat.Private && r.from != opening.From.Key()
	c.Read = &planner.Read{Earlier: r.Reference, Offset: from, Text: part, Bytes: len(end.Reply.Text), Untrusted: r.Labels.Outside || others, Private: r.Labels.Private}
	return nil
}

// setThought stores the thought of a plan, or else the text that a model wrote beside
// its plan or its calls.
func setThought(e planner.Event, reply llm.Reply) {
	r := e.Reply
	if r == nil || !r.IsPlan && (len(r.Calls) == 0 || r.Text != "") {
		return
	}
	thought := ""
	if r.IsPlan {
		thought = planner.PlanThought(reply.Text)
		for _, c := range reply.ToolCalls {
			thought = cmp.Or(planner.PlanThought(c.Arguments), thought)
		}
	}
	r.Thought = cmp.Or(thought, planner.Thought(reply.Text, reply.Thinking))
}
