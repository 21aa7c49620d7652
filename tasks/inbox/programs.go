package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// Programs have tokens in place of chats. The rules of the inbox hold for them as
// for people.

// ErrOverloaded means that a limit on tasks or messages is reached.
var ErrOverloaded = errors.New("too many open tasks")

// TaskRequest is a request of a program for a task. The caller has checked that the
// program may use everything that it names; the inbox checks the limits.
type TaskRequest struct {
	From     bot.Person // the program, or the person at the page
	Key      string     // dedupe key; empty: none
	Request  string     // see planner.Opening
	Goal     string
	Language string   // empty: the config's
	Only     []string // nil: all groups that are open to it
	Notify   *planner.Notify
	External bool
	Files    []bot.Attachment // whose contents are kept
	Hops     int              // see planner.Opening
}

// StartTask opens a task in a conversation of its own, so the task waits for no
// other. Errors: ErrFull, ErrOverloaded.
func StartTask(ctx context.Context, in *Inbox, o TaskRequest) (tasks.Receipt, error) {
	if before, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return before, err
	}
	id := in.ids.next(in.Now())
	chat := tasks.ProgramRoom(o.From)
	chat.Thread = string(id)
	admitted, err := admitTask(ctx, in, chat.Room(), o.External)
	if err != nil {
		return tasks.Receipt{}, err
	}
	var receipt tasks.Receipt
	defer func() { admitted(receipt.Opened) }()
	r := requestOfProgram(in, o, chat)
	opening, err := in.opening(ctx, r, o.Goal)
	if err != nil {
		return tasks.Receipt{}, err
	}
	opening.Notify, opening.External, opening.Files, opening.Hops = o.Notify, o.External, o.Files, o.Hops
	receipt, err = openTask(ctx, in, r, o, in.opensAs(id, o.Key, chat, opening))
	return receipt, err
}

// StartAgain opens a task with the question of an earlier task of a chat, in the
// same chat. The new task knows the chat's earlier conversation.
func StartAgain(ctx context.Context, in *Inbox, o TaskRequest, chat bot.Chat, before *planner.Opening) (tasks.Receipt, error) {
	if earlier, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return earlier, err
	}
	if _, err := in.Chats.Platform(chat); err != nil {
		return tasks.Receipt{}, fmt.Errorf("%w: %w", tasks.ErrRefused, err)
	}
	r := requestOfProgram(in, o, chat)
	var err error
	if r.Live, err = in.liveIn(ctx, chat.Key()); err != nil {
		return tasks.Receipt{}, err
	}
	reply, err := AskAgain(ctx, in, r, before, o.Key)
	if err != nil {
		return tasks.Receipt{}, err
	}
	return openTask(ctx, in, r, o, reply.Store[0])
}

// requestOfProgram makes the Request for a TaskRequest, as if a person had sent a
// message.
func requestOfProgram(in *Inbox, o TaskRequest, chat bot.Chat) *Request {
	rules := in.rules.Load()
	lang := o.Language
	if lang == "" {
		lang = rules.Language
	}
	return &Request{Message: bot.Message{Key: o.Key, Chat: chat, From: o.From, Text: o.Goal}, Rules: rules, Lang: lang, MayAsk: true, Batch: newBatch()}
}

// openTask stores the opening of a task.
func openTask(ctx context.Context, in *Inbox, r *Request, o TaskRequest, item tasks.Inbound) (tasks.Receipt, error) {
	opening := item.Open.Opening
	opening.Request = o.Request
	if o.Only != nil {
		opening.Only = o.Only
		opening.Groups = slices.DeleteFunc(opening.Groups, func(g string) bool { return !slices.Contains(o.Only, g) })
	}
	trace(ctx, []tasks.Inbound{item})
	return submit(ctx, in, r, item)
}

// earlierRequest finds the receipt of an earlier request with the same key. A
// repeated request takes no room, so it succeeds even when a limit is reached.
func earlierRequest(ctx context.Context, in *Inbox, key string) (r tasks.Receipt, again bool, err error) {
	if key == "" {
		return tasks.Receipt{}, false, nil
	}
	if r, again, err = in.Store.Known(ctx, key); err != nil {
		return tasks.Receipt{}, false, fmt.Errorf("looking for an earlier request: %w", err)
	}
	if again && r.Err == nil && r.Task != "" { // the process may have ended between storing and waking
		in.wake(ctx, r.Task)
	}
	return r, again, nil
}

// submit stores a program's delivery if it is within the limits, and wakes its
// task.
func submit(ctx context.Context, in *Inbox, r *Request, item tasks.Inbound) (tasks.Receipt, error) {
	store := []tasks.Inbound{item}
	excludePause(ctx, in, store)
	switch _, key, _ := firstOverLimit(in, r, store); key {
	case "":
	case "problem.disk_full":
		return tasks.Receipt{}, tasks.ErrFull
	case "error.guidance_full":
		return tasks.Receipt{}, fmt.Errorf("%w: the task has received %d messages, the maximum", ErrOverloaded, maxAdditions)
	case "error.queue_full":
		return tasks.Receipt{}, fmt.Errorf("%w: too many tasks of the conversation wait", ErrOverloaded)
	default:
		return tasks.Receipt{}, fmt.Errorf("%w: too many unfinished tasks", ErrOverloaded)
	}
	trace(ctx, store)
	receipts, err := in.Store.Open(ctx, store)
	if err != nil {
		return tasks.Receipt{}, fmt.Errorf("storing program request: %w", err)
	}
	if receipts[0].Err == nil && receipts[0].Task != "" { // also when two deliveries of it raced
		in.wake(ctx, receipts[0].Task)
	}
	return receipts[0], nil
}

// AddEvent adds an event to a running task, under a dedupe key unless the key is
// empty. When the task refuses the event, the error is in the receipt.
func AddEvent(ctx context.Context, in *Inbox, id tasks.ID, key string, e planner.Event) (tasks.Receipt, error) {
	if before, again, err := earlierRequest(ctx, in, key); again || err != nil {
		return before, err
	}
	s, err := in.Store.State(ctx, id)
	if err != nil {
		return tasks.Receipt{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	e.At = in.Now()
	r := &Request{Rules: in.rules.Load(), Batch: newBatch(), Live: []LiveTask{{tasks.Live{Task: id}, s}}}
	return submit(ctx, in, r, tasks.Inbound{Key: key, To: id, Event: e})
}

// ChangeTask appends the events that decide returns for the state of a task, and
// wakes the task. When decide returns no events, ChangeTask does nothing. It calls
// decide again if the task has changed since. Errors: ErrRefused, ErrNoTask, and
// the errors of decide.
func ChangeTask(ctx context.Context, in *Inbox, id tasks.ID, decide func(planner.State) ([]planner.Event, error)) error {
	for {
		excludePauseOf(ctx, in, id)
		s, err := in.Store.State(ctx, id)
		if err != nil {
			return fmt.Errorf("reading task %s: %w", id, err)
		}
		events, err := decide(s)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			events[i].At = in.Now()
		}
		err = in.Store.Append(ctx, id, s.Seq, 0, events...)
		if errors.Is(err, tasks.ErrConflict) {
			continue
		}
		if err == nil {
			in.wake(ctx, id)
		}
		return err
	}
}

// ProblemText is the text that tells people what ended a task early, in the task's
// language. It is empty when nothing did.
func ProblemText(ctx context.Context, in *Inbox, id tasks.ID, s planner.State, opening *planner.Opening) (string, error) {
	if s.Reason == "" || !s.Settled() {
		return "", nil
	}
	if s.Reason == planner.ReasonBudget {
		v := tasks.NewView(in.Store, id)
		if err := v.Refresh(ctx); err != nil {
			return "", fmt.Errorf("reading task %s: %w", id, err)
		}
		return cards.BudgetProblem(v, in.Texts), nil
	}
	var broken planner.Event
	if s.FailedSeq > 0 {
		var err error
		if broken, err = in.Store.Event(ctx, id, s.FailedSeq); err != nil {
			return "", fmt.Errorf("reading task %s: %w", id, err)
		}
	}
	return cards.Problem(in.Texts, opening.Language, id, s, broken.Problem), nil
}

// LanguageNamed returns the code of a language by any of its names, or the
// language of the config for an empty name. ok is false for an unknown name.
func LanguageNamed(in *Inbox, name string) (code string, ok bool) {
	if name == "" {
		return in.rules.Load().Language, true
	}
	code = i18n.Match(name)
	return code, code != ""
}

// OpenGroups lists the tool groups that a person can use in a chat.
func OpenGroups(ctx context.Context, in *Inbox, chat bot.Chat, person bot.Person) ([]tools.Group, error) {
	return in.GroupsFor(ctx, &Request{Message: bot.Message{Chat: chat, From: person}, Rules: in.rules.Load()})
}

// Today is the current day of the budgets: "2026-11-20".
func Today(in *Inbox) string { return in.rules.Load().Budget.Day(in.Wall()) }

// Limits for the live tasks of one program: maxProgramTasks for tasks that legwork
// works on, maxExternalTasks for tasks of external agents, which cost legwork no work.
const (
	maxProgramTasks  = 2_000
	maxExternalTasks = 10_000
	recountAfter     = time.Second // minimum time between two counts of a program at its limit
	quotaShares      = 8           // processes that together stay within the limits
)

// quotas limit the live tasks of programs. The store counts the tasks. After a
// count, a process opens only a share of the remaining tasks before it counts
// again. The other processes over the same store have the other shares, so the
// count becomes more exact near the limit.
type quotas struct {
	mu    sync.Mutex
	rooms map[string]*quota
}

func (q *quotas) of(room string) *quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rooms == nil {
		q.rooms = map[string]*quota{}
	}
	if q.rooms[room] == nil {
		q.rooms[room] = &quota{}
	}
	return q.rooms[room]
}

// quota is the quota of one room, for tasks that legwork works on and for external
// ones.
type quota struct {
	mu      sync.Mutex
	counted time.Time
	kinds   [2]taskCount
}

// taskCount counts the tasks of one kind. It never falls below the last count of the
// store.
type taskCount struct {
	live    int // counted in the store, plus those admitted since
	opening int // of live: admitted, but perhaps not stored yet
	share   int // tasks that may be admitted before the next count
}

// admitTask reserves room for a task that a program is about to open. The caller
// must call done after it stored the task, or did not. The error is ErrOverloaded
// when there is no room.
func admitTask(ctx context.Context, in *Inbox, room string, external bool) (done func(opened bool), err error) {
	q, kind, most := in.quotas.of(room), 0, maxProgramTasks
	if external {
		kind, most = 1, maxExternalTasks
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.kinds[kind]
	if now := in.Now(); t.share == 0 && (t.live < most || now.Sub(q.counted) >= recountAfter) {
		if err := countTasks(ctx, in, room, q); err != nil {
			return nil, err
		}
		q.counted = now
	}
	if t.live >= most {
		return nil, fmt.Errorf("%w: this token has %d unfinished tasks", ErrOverloaded, t.live)
	}
	t.live++
	t.opening++
	t.share--
	return func(opened bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.opening--
		if !opened {
			t.live--
		}
	}, nil
}

// countTasks counts the live tasks of a room.
func countTasks(ctx context.Context, in *Inbox, room string, q *quota) error {
	var live [2]int
	ask := tasks.TaskQuery{Statuses: LiveStatuses(), Rooms: []string{room}, Limit: maxProgramTasks}
	for more := true; more && live[0]+live[1] < maxProgramTasks+maxExternalTasks; {
		rows, further, err := in.Store.Tasks(ctx, ask)
		if err != nil {
			return fmt.Errorf("counting tasks: %w", err)
		}
		for _, row := range rows {
			ask.Before = row.Task
			if row.External {
				live[1]++
			} else {
				live[0]++
			}
		}
		more = further && len(rows) > 0
	}
	for kind, most := range []int{maxProgramTasks, maxExternalTasks} {
		t := &q.kinds[kind]
		t.live = live[kind] + t.opening
		t.share = (max(0, most-t.live) + quotaShares - 1) / quotaShares
	}
	return nil
}

// LiveStatuses lists the statuses of tasks that have not ended.
func LiveStatuses() []string {
	return []string{"queued", "planning", "working", "waiting", "answering"}
}
