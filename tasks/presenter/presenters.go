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

// Presenters makes the presenters of tasks and stores the outcomes of their actions.
// It is safe for concurrent use.
type Presenters struct {
	Config
	rules atomic.Pointer[tasks.PromptRules]
	full  diskFullTasks
}

// Config is what Presenters work with. All fields but Pause, Clean and
// SignInWanted are needed.
type Config struct {
	Store tasks.Store
	Texts *i18n.Texts
	Chats tasks.Chats
	Log   *slog.Logger
	Now   func() time.Time
	Pause *tasks.Pause      // nil: never paused
	Rules tasks.PromptRules // initial rules; Use replaces them
	// Clean removes secrets of the config from the reasons of failures before they
	// are stored. Nil: they are stored as they are.
	Clean func(string) string
	Page  tasks.Page // that questions and boards link to; empty: none
	// SignInWanted, unless nil, is called when a task waits for the sign-in at a server
	// that everybody shares. It returns at once.
	SignInWanted func(ctx context.Context, server string)
}

// New makes the presenters.
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

// Open makes the presenter of a task with opening o, of which it uses Chat and
// Notify. The chat must belong to a connected platform or to a program.
func (ps *Presenters) Open(id tasks.ID, o *planner.Opening) (*Presenter, error) {
	platform, chat, withoutBoard, err := ps.place(id, o)
	if err != nil {
		return nil, err
	}
	return &Presenter{
		asker: asker{
			sender:       sender{ps: ps, id: id, chat: chat, platform: platform, unconfirmed: map[string]bool{}},
			withoutBoard: withoutBoard,
			ephemeral:    map[planner.ActionID]ephemeralQuestion{}, closed: map[string]bool{}, closeFailures: map[string]int{},
		},
		redraws:   redraws{signal: make(chan struct{}, 1), frames: make(chan struct{}, 1)},
		framesEnd: make(chan struct{}), drawing: make(chan struct{}, 1),
	}, nil
}

// place returns the chat in which a task is shown. withoutBoard means that the chat
// sees only the task's questions and its outcome.
func (ps *Presenters) place(id tasks.ID, o *planner.Opening) (platform bot.Platform, chat bot.Chat, withoutBoard bool, err error) {
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

// The wait between two tries to store an outcome on a full disk, first and at most.
const (
	firstDiskWait = 200 * time.Millisecond
	lastDiskWait  = 30 * time.Second
)

// diskFullTasks are the tasks whose chats know that the disk is full.
type diskFullTasks struct {
	mu  sync.Mutex
	ids map[tasks.ID]bool
}

// Append stores outcomes of a task's actions. While the disk is full, it keeps them
// in memory and tries again. Repeating the action instead would pay for it again,
// lose the outcome of a call, or show an answer twice. The chat gets one notice.
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
		ps.Log.ErrorContext(ctx, "disk full, outcome not stored", "task", id, "in", pause, "cause", err)
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

// notifyDiskFull tells the task's chat once that the disk is full.
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
