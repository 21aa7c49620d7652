package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/planner"
)

// What programs ask for. They have tokens in place of chats, and the rules of
// the inbox hold for them as for people.

// PlatformAPI is the platform of the chats of tasks that programs start: each
// has one of its own, in the room of the program. PlatformAgent is that of the
// persons that outside agents are.
const (
	PlatformAPI   = "api"
	PlatformAgent = "agent"
)

// OfProgram reports that somebody is a program, or an agent from outside.
func OfProgram(p bot.Person) bool { return p.Platform == PlatformAPI || p.Platform == PlatformAgent }

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
func StartTask(ctx context.Context, in *Inbox, o Order) (Receipt, error) {
	if before, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return before, err
	}
	id := in.ids.next(in.Now())
	chat := bot.Chat{Platform: PlatformAPI, ID: o.From.ID, Thread: string(id), Private: true}
	admitted, err := admitTask(ctx, in, chat.Room(), o.External)
	if err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	defer func() { admitted(receipt.Opened) }()
	r := requestOfOrder(in, o, chat)
	opening, err := in.opening(ctx, r, o.Goal)
	if err != nil {
		return Receipt{}, err
	}
	opening.Notify, opening.External, opening.Hops = o.Notify, o.External, o.Hops
	receipt, err = openOrder(ctx, in, r, o, in.opensAs(id, o.Key, chat, opening))
	return receipt, err
}

// StartAgain opens a task anew with the question of an earlier one that was asked in
// a chat, and in that chat, so that what was said there before is known.
func StartAgain(ctx context.Context, in *Inbox, o Order, chat bot.Chat, before *planner.Opening) (Receipt, error) {
	if earlier, again, err := earlierRequest(ctx, in, o.Key); again || err != nil {
		return earlier, err
	}
	if _, err := in.Chats.Platform(chat); err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	r := requestOfOrder(in, o, chat)
	var err error
	if r.Live, err = in.liveIn(ctx, chat.Key()); err != nil {
		return Receipt{}, err
	}
	reply, err := askAgain(ctx, in, r, before, o.Key)
	if err != nil {
		return Receipt{}, err
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
func openOrder(ctx context.Context, in *Inbox, r *Request, o Order, item Inbound) (Receipt, error) {
	opening := item.Open.Opening
	opening.Request = o.Request
	if o.Only != nil {
		opening.Only = o.Only
		opening.Groups = slices.DeleteFunc(opening.Groups, func(g string) bool { return !slices.Contains(o.Only, g) })
	}
	trace(ctx, []Inbound{item})
	return submit(ctx, in, r, item)
}

// earlierRequest finds what became of an earlier request under a key, if there was one: who
// comes again takes no room, so that it is told also when there is none.
func earlierRequest(ctx context.Context, in *Inbox, key string) (r Receipt, again bool, err error) {
	if key == "" {
		return Receipt{}, false, nil
	}
	if r, again, err = in.Store.Known(ctx, key); err != nil {
		return Receipt{}, false, fmt.Errorf("looking for an earlier request: %w", err)
	}
	if again && r.Err == nil && r.Task != "" { // it may have been stored without anybody being told
		in.wake(ctx, r.Task)
	}
	return r, again, nil
}

// submit stores what a program wants to add, as far as there is room, and wakes
// the task.
func submit(ctx context.Context, in *Inbox, r *Request, item Inbound) (Receipt, error) {
	store := []Inbound{item}
	excludePause(ctx, in, store)
	switch _, key, _ := firstExcess(in, r, store); key {
	case "":
	case "problem.disk_full":
		return Receipt{}, ErrFull
	case "error.crowded_task":
		return Receipt{}, fmt.Errorf("%w: the task has heard %d messages, which is the most", ErrCrowded, maxAdditions)
	case "error.crowded":
		return Receipt{}, fmt.Errorf("%w: too many tasks of the conversation wait", ErrCrowded)
	default:
		return Receipt{}, fmt.Errorf("%w: too many tasks are not over", ErrCrowded)
	}
	trace(ctx, store)
	receipts, err := in.Store.Open(ctx, store)
	if err != nil {
		return Receipt{}, fmt.Errorf("storing what a program wants: %w", err)
	}
	if receipts[0].Err == nil && receipts[0].Task != "" { // one that came twice at once, too
		in.wake(ctx, receipts[0].Task)
	}
	return receipts[0], nil
}

// AddEvent adds an event to a running task, under a dedupe key unless that is empty.
// What the task does not take is the receipt's error.
func AddEvent(ctx context.Context, in *Inbox, id ID, key string, e planner.Event) (Receipt, error) {
	if before, again, err := earlierRequest(ctx, in, key); again || err != nil {
		return before, err
	}
	s, err := in.Store.State(ctx, id)
	if err != nil {
		return Receipt{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	e.At = in.Now()
	r := &Request{Rules: in.rules.Load(), Batch: newBatch(), Live: []LiveTask{{Live{Task: id}, s}}}
	return submit(ctx, in, r, Inbound{Key: key, To: id, Event: e})
}

// ChangeTask appends what decide makes of a task as it stands, and wakes the task;
// nothing when that is nothing. decide is called again when the task went on
// meanwhile. ErrRefused, ErrNoTask, and errors of decide.
func ChangeTask(ctx context.Context, in *Inbox, id ID, decide func(planner.State) ([]planner.Event, error)) error {
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
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err == nil {
			in.wake(ctx, id)
		}
		return err
	}
}
