package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// What programs ask for. They have tokens in place of chats, and the rules of
// the inbox hold for them as for people.

// ErrCrowded says that there is no room for something now.
var ErrCrowded = errors.New("there is too much to do")

// Order is a task that a program wants. The inbox looks at what there is room
// for; what the program may name is known already.
type Order struct {
	From     bot.Person // the program
	Key      string     // dedupe key; empty: none
	Request  string     // see planner.Opening
	Goal     string
	Language string   // empty: the config's
	Only     []string // nil: all groups that are open to it
	Notify   *planner.Notify
	External bool
	Hops     int // see planner.Opening
}

// StartTask opens a task. It is in a conversation of its own, so that it waits for
// no other. ErrFull, ErrCrowded.
func StartTask(ctx context.Context, in *Inbox, o Order) (tasks.Receipt, error) {
	if before, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return before, err
	}
	id := in.ids.next(in.Now())
	chat := bot.Chat{Platform: tasks.PlatformAPI, ID: o.From.ID, Thread: string(id), Private: true}
	admitted, err := admitTask(ctx, in, chat.Room(), o.External)
	if err != nil {
		return tasks.Receipt{}, err
	}
	var receipt tasks.Receipt
	defer func() { admitted(receipt.Opened) }()
	r := requestOfOrder(in, o, chat)
	opening, err := in.opening(ctx, r, o.Goal)
	if err != nil {
		return tasks.Receipt{}, err
	}
	opening.Notify, opening.External, opening.Hops = o.Notify, o.External, o.Hops
	receipt, err = openOrder(ctx, in, r, o, in.opensAs(id, o.Key, chat, opening))
	return receipt, err
}

// StartAgain opens a task anew with the question of an earlier one that was asked in
// a chat, and in that chat, so that what was said there before is known.
func StartAgain(ctx context.Context, in *Inbox, o Order, chat bot.Chat, before *planner.Opening) (tasks.Receipt, error) {
	if earlier, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return earlier, err
	}
	if _, err := in.Chats.Platform(chat); err != nil {
		return tasks.Receipt{}, fmt.Errorf("%w: %w", tasks.ErrRefused, err)
	}
	r := requestOfOrder(in, o, chat)
	var err error
	if r.Live, err = in.liveIn(ctx, chat.Key()); err != nil {
		return tasks.Receipt{}, err
	}
	reply, err := AskAgain(ctx, in, r, before, o.Key)
	if err != nil {
		return tasks.Receipt{}, err
	}
	return openOrder(ctx, in, r, o, reply.Store[0])
}

// requestOfOrder is a program's wish in the place of a person's message.
func requestOfOrder(in *Inbox, o Order, chat bot.Chat) *Request {
	rules := in.rules.Load()
	lang := o.Language
	if lang == "" {
		lang = rules.Language
	}
	return &Request{Message: bot.Message{Key: o.Key, Chat: chat, From: o.From, Text: o.Goal}, Rules: rules, Lang: lang, MayAsk: true, Batch: newBatch()}
}

// openOrder stores the opening of a task.
func openOrder(ctx context.Context, in *Inbox, r *Request, o Order, item tasks.Inbound) (tasks.Receipt, error) {
	opening := item.Open.Opening
	opening.Request = o.Request
	if o.Only != nil {
		opening.Only = o.Only
		opening.Groups = slices.DeleteFunc(opening.Groups, func(g string) bool { return !slices.Contains(o.Only, g) })
	}
	trace(ctx, []tasks.Inbound{item})
	return submit(ctx, in, r, item)
}

// earlierRequest finds the outcome of an earlier request under a key, if there
// was one: a repeated request takes no room, so that it is answered also when
// there is none.
func earlierRequest(ctx context.Context, in *Inbox, key string) (r tasks.Receipt, again bool, err error) {
	if key == "" {
		return tasks.Receipt{}, false, nil
	}
	if r, again, err = in.Store.Known(ctx, key); err != nil {
		return tasks.Receipt{}, false, fmt.Errorf("looking for an earlier request: %w", err)
	}
	if again && r.Err == nil && r.Task != "" { // it may have been stored without anybody being told
		in.wake(ctx, r.Task)
	}
	return r, again, nil
}

// submit stores what a program wants to add, as far as there is room, and wakes
// the task.
func submit(ctx context.Context, in *Inbox, r *Request, item tasks.Inbound) (tasks.Receipt, error) {
	store := []tasks.Inbound{item}
	excludePause(ctx, in, store)
	switch _, key, _ := firstExcess(in, r, store); key {
	case "":
	case "problem.disk_full":
		return tasks.Receipt{}, tasks.ErrFull
	case "error.crowded_task":
		return tasks.Receipt{}, fmt.Errorf("%w: the task has heard %d messages, which is the most", ErrCrowded, maxAdditions)
	case "error.crowded":
		return tasks.Receipt{}, fmt.Errorf("%w: too many tasks of the conversation wait", ErrCrowded)
	default:
		return tasks.Receipt{}, fmt.Errorf("%w: too many tasks are not over", ErrCrowded)
	}
	trace(ctx, store)
	receipts, err := in.Store.Open(ctx, store)
	if err != nil {
		return tasks.Receipt{}, fmt.Errorf("storing what a program wants: %w", err)
	}
	if receipts[0].Err == nil && receipts[0].Task != "" { // one that came twice at once, too
		in.wake(ctx, receipts[0].Task)
	}
	return receipts[0], nil
}

// AddEvent adds an event to a running task, under a dedupe key unless that is empty.
// What the task does not take is the receipt's error.
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

// ChangeTask appends what decide makes of a task as it stands, and wakes the task;
// nothing when that is nothing. decide is called again when the task went on
// meanwhile. ErrRefused, ErrNoTask, and errors of decide.
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

// ProblemText is the sentence that people read of what cut a task short; empty for
// none. It is in the task's language.
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

// LanguageNamed is a language's code by whatever names it ("de" is none); that of the
// config for an empty name.
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

// Today is the day whose budgets count now: "2026-11-20".
func Today(in *Inbox) string { return in.rules.Load().Budget.Day(in.Wall()) }
