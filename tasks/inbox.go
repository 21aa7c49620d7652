package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"legwork/bot"
	"legwork/failpoint"
	"legwork/i18n"
	"legwork/planner"
)

// Inbox decides what messages mean and stores them.
type Inbox struct{ InboxConfig }

// InboxConfig is what an Inbox works with. All fields but Admins are needed.
type InboxConfig struct {
	Store    Store
	Wake     func(ctx context.Context, id ID) error // the engine's
	Texts    *i18n.Texts
	Chats    Chats
	Log      *slog.Logger
	Now      func() time.Time
	Limits   planner.Limits // of new tasks
	Language string         // of people who have chosen none
	Timezone string
	Admins   []string // keys of persons who may steer everybody's tasks
}

// NewInbox makes an inbox.
func NewInbox(cfg InboxConfig) *Inbox { return &Inbox{cfg} }

// MaxGoal is how long a question may be, in bytes.
const MaxGoal = 256 << 10

// burst is how long after a question a further message of the same person is
// taken for a part of it.
const burst = time.Second

// routed is a message whose meaning is known: what to store, and what to say
// when it is stored.
type routed struct {
	message bot.Message
	lang    string
	store   []Inbound
	reply   func(ctx context.Context, receipts []Receipt) string // text of the notice; empty for none
}

// Handle stores a batch of messages in one transaction and wakes the tasks
// they concern. After an error the batch must be delivered again: what was
// stored already will be recognised.
func (in *Inbox) Handle(ctx context.Context, messages []bot.Message) error {
	list := make([]routed, 0, len(messages))
	var batch []Inbound
	fresh := &recent{}
	for _, m := range messages {
		r, err := in.route(ctx, m, fresh)
		if err != nil {
			return fmt.Errorf("routing message %q: %w", m.Key, err)
		}
		list = append(list, r)
		batch = append(batch, r.store...)
	}
	if failpoint.Fault("intake-not-stored") {
		go in.Store.Open(context.WithoutCancel(ctx), batch) //nolint:errcheck // planted by a test: accepted before it is stored
		return nil
	}
	receipts, err := in.Store.Open(ctx, batch)
	if err != nil {
		in.apologise(ctx, list, err)
		return told{fmt.Errorf("storing messages: %w", err)}
	}
	for _, r := range list {
		own := receipts[:len(r.store)]
		receipts = receipts[len(r.store):]
		in.follow(ctx, r, own)
	}
	return nil
}

// follow wakes tasks and answers commands after their messages are stored.
func (in *Inbox) follow(ctx context.Context, r routed, receipts []Receipt) {
	again, lost := false, false
	for _, receipt := range receipts {
		again = again || receipt.Again
		if receipt.Err != nil && !errors.Is(receipt.Err, ErrRefused) {
			in.Log.ErrorContext(ctx, "a message could not be taken", "message", r.message.Key, "task", receipt.Task, "cause", receipt.Err)
			lost = lost || !errors.Is(receipt.Err, ErrNoTask)
		}
		if receipt.Task == "" || receipt.Err != nil {
			continue
		}
		// One that came again may have been stored without anybody being told.
		if err := in.Wake(ctx, receipt.Task); err != nil {
			in.Log.ErrorContext(ctx, "a task could not be woken", "task", receipt.Task, "cause", err)
		}
	}
	if lost {
		in.notice(ctx, r.message, in.Texts.Text(r.lang, "problem.internal", nil))
		return
	}
	if r.reply == nil || again {
		return
	}
	if text := r.reply(ctx, receipts); text != "" {
		in.notice(ctx, r.message, text)
	}
}

func (in *Inbox) notice(ctx context.Context, m bot.Message, text string) {
	p, err := in.Chats.Platform(m.Chat)
	if err == nil {
		_, err = p.Post(ctx, m.Chat, bot.Draft{Kind: bot.KindNotice, Text: text, ReplyTo: m.ID})
	}
	if err != nil && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "a notice could not be shown", "chat", m.Chat.Key(), "cause", err)
	}
}

// told is an error that is also bot.ErrTold.
type told struct{ error }

func (t told) Is(target error) bool { return target == bot.ErrTold }

func (t told) Unwrap() error { return t.error }

// apologise tells people that their messages could not be stored.
func (in *Inbox) apologise(ctx context.Context, list []routed, err error) {
	key := "problem.internal"
	if errors.Is(err, ErrFull) {
		key = "problem.disk_full"
	}
	in.Log.ErrorContext(ctx, "messages could not be stored", "count", len(list), "cause", err)
	for _, r := range list {
		in.notice(ctx, r.message, in.Texts.Text(r.lang, key, nil))
	}
}

// route finds the meaning of one message: a press or an answer to a question,
// a command, guidance, or a new task.
func (in *Inbox) route(ctx context.Context, m bot.Message, fresh *recent) (routed, error) {
	r := routed{message: m}
	var err error
	if r.lang, err = in.language(ctx, m); err != nil {
		return r, err
	}
	m.Text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(m.Text, "\ufffd"), "\x00", ""))
	live, err := in.live(ctx, m.Chat.Key())
	if err != nil {
		return r, err
	}
	if done, err := in.decision(ctx, &r, m, live); done || err != nil {
		return r, err
	}
	if strings.HasPrefix(m.Text, "/") && len(m.Text) > 1 && m.Text[1] != '/' && m.Text[1] != ' ' {
		return r, in.command(ctx, &r, m, live, fresh)
	}
	switch {
	case m.Text == "":
		in.say(&r, m, "error.empty_goal", nil)
	case len(m.Text) > MaxGoal:
		in.say(&r, m, "error.goal_too_long", map[string]any{"Max": MaxGoal})
	default:
		return r, in.question(ctx, &r, m, live, fresh)
	}
	return r, nil
}

// say only answers with a sentence; the message's key is kept, so that a
// redelivery does not repeat it.
func (in *Inbox) say(r *routed, m bot.Message, key string, data any) {
	text := in.Texts.Text(r.lang, key, data)
	r.store = []Inbound{{Key: m.Key, Chat: m.Chat}}
	r.reply = func(context.Context, []Receipt) string { return text }
}

// question opens a task, unless the message is guidance for a running one that
// still takes it when it is stored.
func (in *Inbox) question(ctx context.Context, r *routed, m bot.Message, live []liveTask, fresh *recent) error {
	timezone, err := in.Store.Setting(ctx, m.From.Key(), "timezone")
	if err != nil {
		return err
	}
	if timezone == "" {
		timezone = in.Timezone
	}
	now := in.Now()
	sent := m.At
	if sent.IsZero() {
		sent = now
	}
	// A task's time begins now, however long its message was on the way.
	item := Inbound{Key: m.Key, Chat: m.Chat, ID: NewID(now), Open: &planner.Event{
		Type: planner.Opened, At: now, By: m.From.Key(), Opening: &planner.Opening{
			Goal: m.Text, Chat: m.Chat, From: m.From, Message: m.ID,
			Language: r.lang, Timezone: timezone, Limits: in.Limits,
		},
	}}
	if !m.Apart {
		item.To = in.guided(m, sent, now, live, fresh)
	}
	if item.To != "" {
		item.Event = planner.Event{Type: planner.Said, At: now, By: m.From.Key(), Text: m.Text, Message: m.ID}
	}
	fresh.tasks = append(fresh.tasks, opened{id: cmp.Or(item.To, item.ID), from: m.From.Key(), chat: m.Chat.Key(), at: sent})
	r.store = []Inbound{item}
	lang := r.lang
	r.reply = func(_ context.Context, receipts []Receipt) string {
		if item.To != "" && !receipts[0].Opened && receipts[0].Err == nil {
			return in.Texts.Text(lang, "notice.added", nil)
		}
		return ""
	}
	return nil
}

// liveTask is a live task with its state.
type liveTask struct {
	Live
	state planner.State
}

// live lists the live tasks of a conversation, oldest first. A damaged one is
// left out.
func (in *Inbox) live(ctx context.Context, conversation string) ([]liveTask, error) {
	list, err := in.Store.Live(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	out := make([]liveTask, 0, len(list))
	for _, l := range list {
		s, err := in.Store.State(ctx, l.Task)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNoTask) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", l.Task, err)
		}
		out = append(out, liveTask{l, s})
	}
	return out, nil
}

// language is the person's, or the platform's hint, or the default.
func (in *Inbox) language(ctx context.Context, m bot.Message) (string, error) {
	chosen, err := in.Store.Setting(ctx, m.From.Key(), "language")
	if err != nil {
		return in.Language, fmt.Errorf("reading settings: %w", err)
	}
	if chosen != "" {
		return chosen, nil
	}
	if hint := i18n.Match(m.Language); m.Language != "" && hint != "" {
		return hint, nil
	}
	return in.Language, nil
}
