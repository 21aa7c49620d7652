// Package inbox decides what messages mean. A message becomes a Request, an
// ordered list of handlers turns it into a Reply, and the inbox stores the reply
// and sends its notice.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

// Inbox decides who may talk to the bot and what a message means, and stores the
// result. It is safe for concurrent use.
type Inbox struct {
	Config
	rules         atomic.Pointer[Rules]
	Settings      *Settings
	accessList    accessRequestList
	claim         firstAdminClaim
	outbox        *outbox
	handlers      []Handler
	notified      *notifiedOnce
	quotas        quotas
	ids           ids
	grantsMu      sync.Mutex // guards the grants of chats, which are read, changed and stored as a whole
	ToolChangesMu sync.Mutex // guards the list of reported changes of tools
	promptsMu     sync.Mutex // guards the pending prompts, likewise
}

// Config holds the parts that an Inbox uses for its whole life. All fields are
// required except Wall, Tools, Commands, Presses, Pause, Zones, Schedules, Load, Page,
// Notes, Forgotten, Full, Shared, BudgetExtended, Metrics and Tracer.
type Config struct {
	Store tasks.Store
	Wake  func(ctx context.Context, id tasks.ID) error // the engine's
	Texts *i18n.Texts
	Chats tasks.Chats
	Log   *slog.Logger
	Now   func() time.Time // the clock for expiry times
	Wall  func() time.Time // the clock for days and schedules; nil: Now
	Tools tasks.Toolbox    // for /groups
	Links tasks.Page       // that questions and alerts link to; empty: none
	// Commands are the commands that people can write. Presses are the buttons
	// that belong to no task.
	Commands []Command
	Presses  []Press
	// Zones finds the IANA time zones for a name, such as the name of a city. When
	// it finds none, near is a known name with almost the same spelling. Nil: only
	// IANA names are understood.
	Zones func(name string) (zones []string, near string)
	// Pause is the switch that pauses all work. Nil: the inbox makes one of its
	// own.
	Pause *tasks.Pause
	// Schedules is the list of the store's schedules. Nil: the inbox makes a list
	// of its own.
	Schedules *tasks.ScheduleList
	// Load returns the number of tasks that the engine has in hand. Nil: zero.
	Load func() int
	// Page returns the address of the page, without its path; empty when there is none.
	// Nil: there is none.
	Page func() string
	// SignIns are the sign-ins of people at servers of tools. Nil: there are none.
	SignIns SignIns
	// Notes deletes the notes that tools keep about a chat and returns their
	// number. Nil: there are none.
	Notes func(ctx context.Context, chat bot.Chat) (int, error)
	// Forgotten, unless nil, is called after a conversation was deleted, so that
	// the store can erase its remaining bytes soon. It returns at once.
	Forgotten func()
	// Full reports that the disk has no room for new tasks; the remaining room is
	// reserved for running ones. Nil: there is always room.
	Full func() bool
	// Shared says that every program of legwork's user can write in a terminal chat.
	Shared bool
	// BudgetExtended, unless nil, is called after a person extended a budget. It
	// returns at once.
	BudgetExtended func()
	Rules          Rules // the initial rules; see Use
	// Metrics counts messages, and Tracer begins a trace for each. Both may be
	// nil.
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer
}

// New makes an inbox. The caller ends its use with Flush.
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

// Use replaces the rules. A message that is being handled keeps the old ones.
func (in *Inbox) Use(r Rules) { in.rules.Store(&r) }

// CurrentRules returns the rules in use. The caller must not change them.
func (in *Inbox) CurrentRules() *Rules { return in.rules.Load() }

// MaxGoal is the maximum length of a question in bytes.
const MaxGoal = 256 << 10

// Handle stores a batch of messages in one transaction and wakes their tasks.
// After an error the caller delivers the batch again; the inbox recognises the
// messages that it has stored. Notices may be sent later; Flush waits for them.
func (in *Inbox) Handle(ctx context.Context, messages []bot.Message) error {
	moves := func(m bot.Message) bool { return m.Kind == bot.MessageMove }
	for len(messages) > 0 {
		n := slices.IndexFunc(messages, moves)
		if n < 0 {
			n = len(messages)
		}
		if err := in.handleBatch(ctx, messages[:n]); err != nil {
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

// handled is a request with its reply.
type handled struct {
	request  *Request
	reply    Reply
	admitted bool // its author may talk to the bot here
}

// handleBatch handles a batch without messages about moved groups.
func (in *Inbox) handleBatch(ctx context.Context, messages []bot.Message) (err error) {
	var spans messageSpans
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
			h.reply = failedReply(ctx, in, h, "problem.internal", fault)
		case tasks.Unreadable(err):
			h.reply = failedReply(ctx, in, h, "problem.damaged", err)
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
			notifyNotStored(ctx, in, list, err)
			return notifiedError{fmt.Errorf("storing messages: %w", err)}
		}
	}
	for _, h := range list {
		own := receipts[:len(h.reply.Store)]
		receipts = receipts[len(h.reply.Store):]
		in.afterStore(withChat(ctx, h.request.Message), h, own)
	}
	return nil
}

// failedReply is the reply to a message that cannot be handled: a record that it needs
// is damaged or was just deleted, or the handler panicked. Another delivery would
// not help, and it would block all other messages.
func failedReply(ctx context.Context, in *Inbox, h handled, key string, err error) Reply {
	in.Log.ErrorContext(ctx, "message not handled", "message", h.request.Message.Key, "cause", err)
	if !h.admitted {
		return Reply{}
	}
	return in.ReplyText(h.request, key, nil)
}

// afterStore wakes the tasks of a stored message and sends its notice.
func (in *Inbox) afterStore(ctx context.Context, h handled, receipts []tasks.Receipt) {
	lost := false
	for _, receipt := range receipts {
		if receipt.Err != nil && !errors.Is(receipt.Err, tasks.ErrRefused) {
			in.Log.ErrorContext(ctx, "message refused by task", "message", h.request.Message.Key, "task", receipt.Task, "cause", receipt.Err)
			lost = lost || !errors.Is(receipt.Err, tasks.ErrNoTask)
		}
		if receipt.Task == "" || receipt.Err != nil {
			continue
		}
		// After a repeated delivery too: the process may have ended between
		// storing and waking.
		in.wake(ctx, receipt.Task)
	}
	var n Notice
	switch again := len(receipts) > 0 && receipts[0].Again; {
	case lost:
		n = in.Notice(h.request, "problem.internal", nil)
	case h.reply.Say != nil && !again:
		n = in.makeNotice(ctx, h, receipts)
	case again && h.request.Message.Token != "" && h.request.Message.Kind == bot.MessageText: // a command, whose author waits for an answer
		n = in.Notice(h.request, "notice.received_already", nil)
		n.Audience = ToAuthor
	}
	in.Send(ctx, h.request.Message, n)
}

// makeNotice makes the notice for a stored message. A panic becomes a notice of an
// internal problem.
func (in *Inbox) makeNotice(ctx context.Context, h handled, receipts []tasks.Receipt) (n Notice) {
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

// wake wakes a task in the engine. An error is only logged: the task is stored,
// and the engine finds it after a restart.
func (in *Inbox) wake(ctx context.Context, id tasks.ID) {
	if err := in.Wake(ctx, id); err != nil {
		in.Log.ErrorContext(ctx, "task not woken", "task", id, "cause", err)
	}
}

// notifiedError is an error about which people were notified already. It is also
// bot.ErrNotified.
type notifiedError struct{ error }

func (e notifiedError) Is(target error) bool { return target == bot.ErrNotified }

func (e notifiedError) Unwrap() error { return e.error }

// notifyNotStored notifies people that their messages could not be stored, once for each
// message, however often it is delivered.
func notifyNotStored(ctx context.Context, in *Inbox, list []handled, err error) {
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

// Rules are the settings that may change while an Inbox runs.
type Rules struct {
	Limits   planner.Limits // of new tasks
	Language string         // for people who have chosen none
	Timezone string
	Access   policy.Access
	Models   []string // configured names that /model offers
	// ModelIDs are what the endpoints call the models, by configured name.
	ModelIDs map[string]string
	Usual    string // configured name of the model that answers people who chose none
	// ChatSettings are those of PromptRules. They decide which tool groups a chat
	// has.
	ChatSettings map[string]tasks.ChatSettings
	Approvals    tasks.Approvals
	Budget       tasks.BudgetRules // those of PromptRules
	Files        tasks.FileLimits  // those of PromptRules
}

// messageSpans are the spans of the messages of a batch. Each message begins a trace,
// which the task continues that it opens.
type messageSpans []*telemetry.Span

// begin starts the span of a message.
func (a *messageSpans) begin(ctx context.Context, t *telemetry.Tracer, m bot.Message) context.Context {
	ctx, span := t.Begin(withChat(ctx, m), telemetry.Consumer, "message", "")
	span.Text(telemetry.PlatformKey, m.Chat.Platform)
	span.Bool(telemetry.ChatPrivate, m.Chat.Private)
	*a = append(*a, span)
	return ctx
}

// withChat adds the chat of a message to the log records of a context.
func withChat(ctx context.Context, m bot.Message) context.Context {
	return telemetry.About(ctx, telemetry.Subject{Chat: m.Chat.Key()})
}

func (a *messageSpans) end(err error) {
	for _, span := range *a {
		span.End(err)
	}
}

// trace gives the context's trace to the tasks that deliveries open.
func trace(ctx context.Context, items []tasks.Inbound) {
	at := telemetry.Traceparent(ctx)
	for i := range items {
		if open := items[i].Open; open != nil && at != "" {
			open.Opening.Trace = at
		}
	}
}
