package presenter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
)

// Presenters makes the presenters of tasks and stores what comes of their actions.
// It is safe for concurrent use.
type Presenters struct {
	Config
	rules atomic.Pointer[tasks.PromptRules]
	full  diskFullTasks
}

// Config is what Presenters work with. All fields but Pause and Clean are
// needed.
type Config struct {
	Store tasks.Store
	Texts *i18n.Texts
	Chats tasks.Chats
	Log   *slog.Logger
	Now   func() time.Time
	Pause *tasks.Pause      // the switch for everything; nil: never set
	Rules tasks.PromptRules // the first ones; Use changes them
	// Clean keeps secrets of the config out of what is stored of failures. Nil: they
	// are stored as they are.
	Clean func(string) string
}

// New makes them.
func New(cfg Config) *Presenters {
	ps := &Presenters{Config: cfg}
	if ps.Clean == nil {
		ps.Clean = func(text string) string { return text }
	}
	ps.Use(cfg.Rules)
	return ps
}

// Use changes the rules, from the next message on.
func (ps *Presenters) Use(rules tasks.PromptRules) { ps.rules.Store(&rules) }

// Open makes the presenter of a task that o opened, of which Chat and Notify
// count. Its chat must be one of a platform that is connected, or a program's.
func (ps *Presenters) Open(id tasks.ID, o *planner.Opening) (*Presenter, error) {
	platform, chat, quiet, err := ps.place(id, o)
	if err != nil {
		return nil, err
	}
	return &Presenter{
		sender:       sender{ps: ps, id: id, chat: chat, platform: platform, unconfirmed: map[string]bool{}},
		redraws:      redraws{signal: make(chan struct{}, 1), frames: make(chan struct{}, 1)},
		withoutBoard: quiet, framesEnd: make(chan struct{}), drawing: make(chan struct{}, 1),
		ephemeral: map[planner.ActionID]ephemeralQuestion{}, closed: map[string]bool{}, closeFailures: map[string]int{},
	}, nil
}

// place is where a task shows itself. quiet says that it shows its questions and
// its outcome alone.
func (ps *Presenters) place(id tasks.ID, o *planner.Opening) (platform bot.Platform, chat bot.Chat, quiet bool, err error) {
	if o.Chat.Platform != tasks.PlatformAPI {
		platform, err = ps.Chats.Platform(o.Chat)
		return platform, o.Chat, false, err
	}
	if o.Notify != nil && o.Notify.Chat != nil {
		platform, err = ps.Chats.Platform(*o.Notify.Chat)
		if err == nil {
			return platform, *o.Notify.Chat, true, nil
		}
		ps.Log.Warn("chat of a program's task not connected", "task", id, "chat", o.Notify.Chat.Key(), "cause", err)
	}
	return headless{}, o.Chat, true, nil
}

// Between the tries to store an outcome on a full disk.
const (
	firstDiskWait = 200 * time.Millisecond
	lastDiskWait  = 30 * time.Second
)

// diskFullTasks are the tasks whose chats were told that the disk is full.
type diskFullTasks struct {
	mu  sync.Mutex
	ids map[tasks.ID]bool
}

// Append stores outcomes of a task's actions. While the disk is full they wait in
// memory: doing the action again would pay for it again, make a call of unknown
// outcome, or show an answer twice. The chat is told once.
func (ps *Presenters) Append(ctx context.Context, id tasks.ID, e ...planner.Event) error {
	for i := range e {
		if p := e[i].Problem; p != nil && e[i].Type == planner.CallFailed {
			p.Reason = ps.Clean(p.Reason)
		}
	}
	err := tasks.AppendEvents(ctx, ps.Store, ps.Now, id, e...)
	if !errors.Is(err, tasks.ErrFull) {
		return err
	}
	for pauses := retry.New(firstDiskWait, lastDiskWait, 0); errors.Is(err, tasks.ErrFull); {
		pause := pauses.Next()
		ps.Log.ErrorContext(ctx, "outcome waits for room on the disk", "task", id, "in", pause, "cause", err)
		ps.notifyDiskFull(ctx, id)
		if stopped := retry.Sleep(ctx, pause); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
		err = tasks.AppendEvents(ctx, ps.Store, ps.Now, id, e...)
	}
	ps.full.mu.Lock()
	delete(ps.full.ids, id)
	ps.full.mu.Unlock()
	return err
}

// notifyDiskFull says in the task's chat that the disk is full, unless it was said.
func (ps *Presenters) notifyDiskFull(ctx context.Context, id tasks.ID) {
	ps.full.mu.Lock()
	notified := ps.full.ids[id]
	if ps.full.ids == nil {
		ps.full.ids = map[tasks.ID]bool{}
	}
	ps.full.ids[id] = true
	ps.full.mu.Unlock()
	if notified {
		return
	}
	opened, err := ps.Store.Event(ctx, id, 1)
	if err != nil || opened.Opening == nil {
		ps.Log.ErrorContext(ctx, "full disk not reported to the chat", "task", id, "cause", err)
		return
	}
	if p, err := ps.Open(id, opened.Opening); err == nil {
		p.Notice(ctx, opened.Opening.Language, "problem.disk_full")
	}
}
