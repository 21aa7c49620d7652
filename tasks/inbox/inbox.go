// Package inbox decides what messages mean: a message becomes a Request, an ordered
// list of handlers makes a Reply of it, and the reply is stored and said.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// Inbox decides what messages mean, and from whom it takes them, and stores
// them. It is safe for concurrent use.
type Inbox struct {
	Config
	rules           atomic.Pointer[Rules]
	Settings        *Settings
	accessList      accessRequestsKept
	claim           firstAdminClaim
	outbox          *outbox
	handlers        []Handler
	notified        *notifiedOnce
	quotas          quotas
	ids             ids
	granting        sync.Mutex // guards the grants of chats, which are read, changed and stored as one
	ToolChangesLock sync.Mutex // guards the list of reported changes of tools
	prompting       sync.Mutex // and so what a prompt still lacks
}

// Config is what an Inbox works with as long as it lives. All fields but
// Wall, Tools, Commands, Zones, Pause, Schedules, Load, Notes and Forgotten are needed.
type Config struct {
	Store tasks.Store
	Wake  func(ctx context.Context, id tasks.ID) error // the engine's
	Texts *i18n.Texts
	Chats tasks.Chats
	Log   *slog.Logger
	Now   func() time.Time // by which things expire
	Wall  func() time.Time // by which days are counted and schedules fire; nil: Now
	Tools tasks.Toolbox    // for /groups
	// Commands are those that people can write, and Presses the buttons that belong
	// to no task.
	Commands []Command
	Presses  []Press
	// Zones finds the IANA time zones that a person may mean by a name, such as
	// that of a city; near is a known name that is spelt almost alike when there
	// are none. Nil: only IANA names are understood.
	Zones func(name string) (zones []string, near string)
	// Pause is the switch for everything; nil: a switch of its own.
	Pause *tasks.Pause
	// Schedules are those of the store; nil: a list that only this inbox uses.
	Schedules *tasks.ScheduleList
	// Load is how many tasks the engine has to look after. Nil: few.
	Load func() int
	// Notes deletes what tools keep of what was told in a chat, and returns how
	// many notes that were. Nil: there is nothing.
	Notes func(ctx context.Context, chat bot.Chat) (int, error)
	// Forgotten hears that a conversation was deleted: so that what is left of
	// its bytes goes soon. It returns at once. It may be nil.
	Forgotten func()
	// Full reports that the disk has no room for new work: the rest is kept
	// for work that has begun. Nil: it always has.
	Full func() bool
	// BudgetExtended, unless nil, is called after a person extended a budget. It
	// returns at once.
	BudgetExtended func()
	Rules          Rules // the first ones
	// Metrics count messages, and Tracer begins a trace with each; both may be nil.
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer
}

// New makes an inbox. Flush comes last.
func New(cfg Config) *Inbox {
	in := &Inbox{Config: cfg, Settings: newSettings(cfg.Store, cfg.Now), outbox: newOutbox(cfg.Log), notified: newNotifiedOnce()}
	if in.Wall == nil {
		in.Wall = in.Now
	}
	if in.Pause == nil {
		in.Pause = tasks.NewPause(cfg.Store)
	}
	if in.Schedules == nil {
		in.Schedules = tasks.NewScheduleList(cfg.Store)
	}
	in.handlers = handlers(in)
	in.Use(cfg.Rules)
	return in
}

// Use changes the rules. Messages that are being handled keep to those before.
func (in *Inbox) Use(r Rules) { in.rules.Store(&r) }

// CurrentRules returns the rules in use. They are not to be changed.
func (in *Inbox) CurrentRules() *Rules { return in.rules.Load() }

// Clean is a text as tasks take it from people and programs: without what no
// text holds, and without the space around it.
func Clean(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", ""))
}

// MaxGoal is how long a question may be, in bytes.
const MaxGoal = 256 << 10

// Handle stores a batch of messages in one transaction and wakes the tasks
// they concern. After an error the batch must be delivered again: the inbox
// recognises the messages that it has stored. Messages to people may go out
// later; see Flush.
func (in *Inbox) Handle(ctx context.Context, messages []bot.Message) error {
	moves := func(m bot.Message) bool { return m.Kind == bot.MessageMove }
	for len(messages) > 0 {
		n := slices.IndexFunc(messages, moves)
		if n < 0 {
			n = len(messages)
		}
		if err := in.take(ctx, messages[:n]); err != nil {
			return err
		}
		if messages = messages[n:]; len(messages) > 0 {
			if err := move(ctx, in, messages[0].Chat, messages[0].MovedTo); err != nil {
				return err
			}
			messages = messages[1:]
		}
	}
	return nil
}

// handled is a request and what comes of it.
type handled struct {
	request  *Request
	reply    Reply
	admitted bool // its author may talk to the bot here
}

// take handles messages that came from where they say.
func (in *Inbox) take(ctx context.Context, messages []bot.Message) (err error) {
	var spans arrivals
	defer func() { spans.end(err) }()
	list := make([]handled, 0, len(messages))
	var store []tasks.Inbound
	opened := newBatch()
	var traced context.Context
	for _, m := range messages {
		in.Metrics.Received(m.Chat.Platform, 1)
		traced = spans.begin(ctx, in.Tracer, m) //nolint:fatcontext // each begins anew with ctx
		h, err := in.handle(traced, m, opened)
		trace(traced, h.reply.Store)
		var fault *tasks.PanicError
		switch {
		case errors.As(err, &fault):
			h.reply = giveUp(ctx, in, h, "problem.internal", fault)
		case errors.Is(err, tasks.ErrDamaged) || errors.Is(err, tasks.ErrNoTask):
			h.reply = giveUp(ctx, in, h, "problem.damaged", err)
		case err != nil:
			return fmt.Errorf("handling message %q: %w", m.Key, err)
		}
		list = append(list, h)
		store = append(store, h.reply.Store...)
	}
	if len(messages) == 1 {
		ctx = traced // events and replies belong to one request
	}
	var receipts []tasks.Receipt
	if len(store) > 0 {
		var err error
		if receipts, err = in.Store.Open(ctx, store); err != nil {
			apologise(ctx, in, list, err)
			return notifiedError{fmt.Errorf("storing messages: %w", err)}
		}
	}
	for _, h := range list {
		own := receipts[:len(h.reply.Store)]
		receipts = receipts[len(h.reply.Store):]
		in.follow(about(ctx, h.request.Message), h, own)
	}
	return nil
}

// giveUp is the reply to a message that cannot be handled: it needs a record
// that is damaged or was deleted just now, or brings a fault to light.
// Delivering it again would not help, and would hold up every other message.
func giveUp(ctx context.Context, in *Inbox, h handled, key string, err error) Reply {
	in.Log.ErrorContext(ctx, "message not handled", "message", h.request.Message.Key, "cause", err)
	if !h.admitted {
		return Reply{}
	}
	return in.ReplyText(h.request, key, nil)
}

// follow wakes tasks and answers messages after they are stored.
func (in *Inbox) follow(ctx context.Context, h handled, receipts []tasks.Receipt) {
	lost := false
	for _, receipt := range receipts {
		if receipt.Err != nil && !errors.Is(receipt.Err, tasks.ErrRefused) {
			in.Log.ErrorContext(ctx, "message not taken by its task", "message", h.request.Message.Key, "task", receipt.Task, "cause", receipt.Err)
			lost = lost || !errors.Is(receipt.Err, tasks.ErrNoTask)
		}
		if receipt.Task == "" || receipt.Err != nil {
			continue
		}
		// One that came again may have been stored without the engine being told.
		in.wake(ctx, receipt.Task)
	}
	var n Notice
	switch again := len(receipts) > 0 && receipts[0].Again; {
	case lost:
		n = in.Notice(h.request, "problem.internal", nil)
	case h.reply.Say != nil && !again:
		n = in.say(ctx, h, receipts)
	}
	in.Send(ctx, h.request.Message, n)
}

// say is what the bot says to a message that is stored.
func (in *Inbox) say(ctx context.Context, h handled, receipts []tasks.Receipt) (n Notice) {
	var err error
	defer func() {
		if err != nil {
			in.Log.ErrorContext(ctx, "message not answered", "message", h.request.Message.Key, "cause", err)
			n = in.Notice(h.request, "problem.internal", nil)
		}
	}()
	defer tasks.Catch(&err)
	return h.reply.Say(ctx, receipts)
}

// wake tells the engine of a task. An error is logged: the task is stored, and the
// engine finds it after a restart.
func (in *Inbox) wake(ctx context.Context, id tasks.ID) {
	if err := in.Wake(ctx, id); err != nil {
		in.Log.ErrorContext(ctx, "task not woken", "task", id, "cause", err)
	}
}

// notifiedError is an error that people have read about: it is also
// bot.ErrNotified.
type notifiedError struct{ error }

func (e notifiedError) Is(target error) bool { return target == bot.ErrNotified }

func (e notifiedError) Unwrap() error { return e.error }

// apologise tells people that their messages could not be stored, once for each
// message however often it is delivered.
func apologise(ctx context.Context, in *Inbox, list []handled, err error) {
	key := "problem.internal"
	if errors.Is(err, tasks.ErrFull) {
		key = "problem.disk_full"
	}
	in.Log.ErrorContext(ctx, "messages not stored", "count", len(list), "cause", err)
	for _, h := range list {
		m := h.request.Message
		if len(h.reply.Store) > 0 && in.notified.first("apology "+m.Key, ever, in.Now()) && in.notified.first(key+" "+m.Chat.Key(), noticeGap, in.Now()) {
			in.Send(ctx, m, in.Notice(h.request, key, nil))
		}
	}
}

// Rules are what may change while an Inbox works.
type Rules struct {
	Limits   planner.Limits // of new tasks
	Language string         // of people who have chosen none
	Timezone string
	Access   policy.Access
	Models   []string // configured names that /model offers
	// ChatSettings are those of PromptRules: they say which groups a chat has.
	ChatSettings map[string]tasks.ChatSettings
	Approvals    tasks.Approvals
	Budget       tasks.BudgetRules // those of PromptRules
}

// arrivals are the spans of the messages of a batch: each begins a trace of its
// own, which the task that comes of it goes on with.
type arrivals []*telemetry.Span

// begin notes a message.
func (a *arrivals) begin(ctx context.Context, t *telemetry.Tracer, m bot.Message) context.Context {
	ctx, span := t.Begin(about(ctx, m), telemetry.Consumer, "message", "")
	span.Text(telemetry.PlatformKey, m.Chat.Platform)
	span.Bool(telemetry.ChatPrivate, m.Chat.Private)
	*a = append(*a, span)
	return ctx
}

// about has the lines of the log say which chat they are about.
func about(ctx context.Context, m bot.Message) context.Context {
	return telemetry.About(ctx, telemetry.Subject{Chat: m.Chat.Key()})
}

func (a *arrivals) end(err error) {
	for _, span := range *a {
		span.End(err)
	}
}

// trace gives the tasks that are to be opened the trace of what asked for them.
func trace(ctx context.Context, items []tasks.Inbound) {
	at := telemetry.Traceparent(ctx)
	for i := range items {
		if open := items[i].Open; open != nil && at != "" {
			open.Opening.Trace = at
		}
	}
}
