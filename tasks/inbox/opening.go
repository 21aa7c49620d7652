package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/input"
	"legwork/tasks/policy"
	"legwork/tools"
)

// opening makes the opening of a new task of the message's author.
func (in *Inbox) opening(ctx context.Context, r *Request, goal string) (*planner.Opening, error) {
	m := r.Message
	timezone, err := in.Settings.Timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	model, err := in.Settings.Model(ctx, r)
	if err != nil {
		return nil, err
	}
	open, err := in.GroupsFor(ctx, r)
	if err != nil {
		return nil, err
	}
	groups := make([]string, 0, len(open)) // not nil: nil would mean all groups
	for _, g := range open {
		groups = append(groups, g.Name)
	}
	limits := r.Rules.Limits
	limits.ReviewTime = r.Rules.Approvals.Expire // a review expires as an approval does
	return &planner.Opening{
		Goal: goal, Chat: m.Chat, From: m.From, Message: m.ID, Earlier: m.Earlier, Files: m.Files,
		Language: r.Lang, Timezone: timezone, Limits: limits, Model: model, Groups: groups,
	}, nil
}

// OpeningDelivery is the delivery that opens a task under a dedupe key.
func (in *Inbox) OpeningDelivery(key string, chat bot.Chat, o *planner.Opening) tasks.Inbound {
	return in.opensAs(in.ids.next(in.Now()), key, chat, o)
}

// opensAs is OpeningDelivery for a task of a given id.
func (in *Inbox) opensAs(id tasks.ID, key string, chat bot.Chat, o *planner.Opening) tasks.Inbound {
	return tasks.Inbound{Key: key, Chat: chat, ID: id, Open: &planner.Event{Type: planner.Opened, At: in.Now(), By: o.From.Key(), Opening: o}}
}

// OpenQuestion opens a task, unless the message is a part of the question of a running
// task, or guidance for it, and the task still accepts it when it is stored. The time of the new task begins now,
// even if the message was delayed.
func OpenQuestion(ctx context.Context, in *Inbox, r *Request, goal string) (Reply, error) {
	m, goal := r.Message, input.WithUnread(in.Texts, r.Lang, r.Message, goal)
	o, err := in.opening(ctx, r, goal)
	if err != nil {
		return Reply{}, err
	}
	item := in.OpeningDelivery(m.Key, m.Chat, o)
	sent := m.At
	if sent.IsZero() {
		sent = item.Open.At
	}
	o.Until = partsUntil(m, sent)
	o.Wordless = goal != "" && goal == FilesGoal(in, r)
	wordless := o.Wordless || m.Text == "" || goal == input.WithoutWords(m)
	if wordless {
		o.Parts = []planner.Part{{Message: m.ID}} // the messages that it brings along say it
	}
	var to destination
	if !m.Standalone {
		to = r.destination(sent, item.Open.At)
	}
	if m.Overheard && to.task == "" && !r.MayAsk {
		return Reply{}, nil
	}
	if item.To = to.task; item.To != "" {
		if t, ok := r.Task(item.To); ok && t.sent(m.ReplyTo) {
			// The person replied to the task's own message: the board says nothing new.
			m.Earlier = slices.DeleteFunc(slices.Clone(m.Earlier), func(q bot.Quoted) bool { return q.Own })
		}
		item.Event = planner.Event{Type: planner.GuidanceAdded, At: item.Open.At, By: m.From.Key(), Text: goal, Message: m.ID, Earlier: m.Earlier, Files: m.Files}
		if o.Wordless {
			item.Event.Text = fileKinds(in, r)
		}
		if to.part > 0 {
			item.Event.Type, item.Event.Until = planner.Joined, o.Until
			if wordless {
				item.Event.Text = ""
			}
		}
		if m.Overheard && !r.MayAsk {
			item.ID, item.Open = "", nil
		}
	}
	part := to.part
	if item.To == "" {
		part = 1
	}
	r.Batch.add(m, askedTask{cmp.Or(item.To, item.ID), o.Until, part}, item.To == "")
	return Reply{Store: []tasks.Inbound{item}, Say: func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Opened {
			if n, ok := pausedNotice(ctx, in, r); ok {
				return n
			}
		}
		if to.part > 0 || to.silent {
			return Notice{}
		}
		return addedNotice(in, r, item.To, receipts[0])
	}}, nil
}

// GroupsFor lists the tool groups that the author of a message can use in its
// chat.
func (in *Inbox) GroupsFor(ctx context.Context, r *Request) ([]tools.Group, error) {
	if in.Tools == nil {
		return nil, nil
	}
	settings, err := tasks.SettingsOf(ctx, in.Store, r.Rules.ChatSettings, r.Message.Chat)
	if err != nil {
		return nil, err
	}
	return policy.OpenGroups(in.Tools.Groups(), settings.Groups, r.Message.Chat, r.Message.From), nil
}

// ScheduleOpening makes the opening of a schedule's task. admitted is false when
// the owner of the schedule may not use legwork in its chat any more.
func ScheduleOpening(ctx context.Context, in *Inbox, s tasks.Schedule) (o *planner.Opening, admitted bool, err error) {
	r := &Request{Rules: in.CurrentRules(), Message: bot.Message{Chat: s.Chat, From: s.From, Team: s.Team, External: s.External}}
	if admitted, r.Admin, err = in.admitOwner(ctx, r.Message, r.Rules.Access); err != nil || !admitted {
		return nil, false, err
	}
	if r.Lang, err = in.Settings.Language(ctx, s.From.Key(), s.Language); err != nil {
		return nil, true, err
	}
	if o, err = in.opening(ctx, r, s.Goal); err != nil {
		return nil, true, err
	}
	o.Timezone = s.Timezone
	return o, true, nil
}

// Errors of a run that a person wants now.
var (
	ErrRuns     = errors.New("the last task of the schedule still runs")
	ErrNoAccess = errors.New("the person of the schedule no longer has access in its chat")
)

// ScheduleRun makes the delivery that opens a schedule's task now, under a dedupe key,
// with the rights of the schedule's owner. ErrRuns, ErrNoAccess.
func ScheduleRun(ctx context.Context, in *Inbox, key string, s tasks.Schedule) (tasks.Inbound, error) {
	busy, err := in.Schedules.LastTaskRuns(ctx, s)
	if err != nil {
		return tasks.Inbound{}, err
	}
	if busy {
		return tasks.Inbound{}, ErrRuns
	}
	o, admitted, err := ScheduleOpening(ctx, in, s)
	if err != nil {
		return tasks.Inbound{}, err
	}
	if !admitted {
		return tasks.Inbound{}, ErrNoAccess
	}
	o.Intro = in.Texts.Text(o.Language, "schedule.intro_now", map[string]any{"Text": cards.ScheduleTimes(in.Texts, o.Language, s), "Goal": cards.PlainText(cards.Title(s.Goal))})
	return in.OpeningDelivery(key, s.Chat, o), nil
}

// StoreRun stores the task that a person started from a schedule.
func StoreRun(ctx context.Context, in *Inbox, id string, task tasks.ID) {
	in.Schedules.Lock()
	defer in.Schedules.Unlock()
	s, ok, err := in.Schedules.Find(ctx, id)
	if err == nil && ok {
		s.LastTask, s.Last = task, in.Wall()
		err = in.Schedules.Put(ctx, s)
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "schedule run not stored", "schedule", id, "cause", err)
	}
}

// RunSchedule opens a schedule's task now for a program, within the limits on tasks.
// The caller must not hold the lock of the schedules. ErrRuns, ErrNoAccess,
// tasks.ErrRefused, tasks.ErrFull, ErrOverloaded.
func RunSchedule(ctx context.Context, in *Inbox, s tasks.Schedule) (tasks.ID, error) {
	if _, err := in.Chats.Platform(s.Chat); err != nil {
		return "", fmt.Errorf("%w: %w", tasks.ErrRefused, err)
	}
	item, err := ScheduleRun(ctx, in, "schedule-run:"+string(in.ids.next(in.Now())), s)
	if err != nil {
		return "", err
	}
	r := &Request{Message: bot.Message{Chat: s.Chat, From: s.From}, Rules: in.rules.Load(), Batch: newBatch()}
	if r.Live, err = in.liveIn(ctx, s.Chat.Key()); err != nil {
		return "", err
	}
	receipt, err := submit(ctx, in, r, item)
	if err == nil && receipt.Opened {
		StoreRun(ctx, in, s.ID, receipt.Task)
	}
	return receipt.Task, errors.Join(err, receipt.Err)
}

// ids makes the ids of new tasks. Each id is greater than the one before, so lists
// show tasks of the same millisecond in the order of their making. The zero value
// is ready to use.
type ids struct {
	mu   sync.Mutex
	last time.Time
}

// maxIDLead is the maximum lead of ids over the clock. A greater lead means that the
// clock was set back; new ids follow the clock again.
const maxIDLead = 10 * time.Second

// next makes the id of a task that starts at the time now.
func (i *ids) next(now time.Time) tasks.ID {
	i.mu.Lock()
	defer i.mu.Unlock()
	now = now.Truncate(time.Millisecond)
	if least := i.last.Add(time.Millisecond); now.Before(least) && least.Sub(now) < maxIDLead {
		now = least
	}
	i.last = now
	return tasks.NewID(now)
}

// Sizes for the commands about a conversation's past.
const (
	HistoryBytes  = 512 << 10
	ShownTurns    = 10
	searchedTurns = 50 // turns of a conversation that are searched at most
)

// EachEarlierTurn calls look for the turns of the conversation, newest first,
// until look returns false.
func EachEarlierTurn(ctx context.Context, in *Inbox, r *Request, look func(tasks.Turn, *planner.Opening) bool) error {
	return in.eachEarlierTask(ctx, r.Message.Chat.Key(), func(t tasks.Turn) (bool, error) {
		o, err := openingOf(ctx, in, t.Task)
		return err == nil && (o == nil || look(t, o)), err
	})
}

// eachEarlierTask calls look for the turns of a conversation, newest first, until look
// returns false.
func (in *Inbox) eachEarlierTask(ctx context.Context, conversation string, look func(tasks.Turn) (bool, error)) error {
	turns, err := in.Store.History(ctx, conversation, "", HistoryBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	for _, t := range slices.Backward(turns[max(0, len(turns)-searchedTurns):]) {
		if on, err := look(t); err != nil || !on {
			return err
		}
	}
	return nil
}

// AskAgain opens a task with the question of an earlier task, under a dedupe key.
func AskAgain(ctx context.Context, in *Inbox, r *Request, before *planner.Opening, key string) (Reply, error) {
	o, err := in.opening(ctx, r, before.Goal)
	if err != nil {
		return Reply{}, err
	}
	o.Message, o.Parts, o.Preview, o.Prompt, o.Earlier = before.Message, before.Parts, before.Preview, before.Prompt, before.Earlier
	o.Files, o.Wordless = before.Files, before.Wordless
	return Reply{Store: []tasks.Inbound{in.OpeningDelivery(key, r.Message.Chat, o)}}, nil
}

// labelQuoted gives the messages of the bot that m brings along the labels of the tasks
// that sent them. Of a message whose task cannot be found, nothing is known.
func (in *Inbox) labelQuoted(ctx context.Context, m bot.Message) ([]bot.Quoted, error) {
	list := slices.Clone(m.Earlier)
	for i := range list {
		q := &list[i]
		if !q.Bot {
			continue
		}
		labels, err := labelsOfSent(ctx, in, m.Chat, q.ID)
		if err != nil {
			return nil, err
		}
		q.Outside, q.Private = labels.Outside, labels.Private
	}
	return list, nil
}

// labelsOfSent returns the labels of the task that sent a message in a chat. It looks at
// the newest turns of the conversation, and of the chat around its thread or topic.
func labelsOfSent(ctx context.Context, in *Inbox, chat bot.Chat, message string) (planner.Labels, error) {
	if message == "" { // of another chat
		return planner.Unlabelled(), nil
	}
	around := chat
	around.Thread = ""
	labels, found := planner.Unlabelled(), false
	for _, conversation := range slices.Compact([]string{chat.Key(), around.Key()}) {
		err := in.eachEarlierTask(ctx, conversation, func(t tasks.Turn) (bool, error) {
			s, ok, err := stateOf(ctx, in, t.Task)
			if ok && hasMessage(s, message) {
				labels, found = s.Labels(), true
			}
			return !found, err
		})
		if err != nil {
			return planner.Labels{}, err
		}
		if found {
			break
		}
	}
	return labels, nil
}
