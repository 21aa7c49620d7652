package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"legwork/failpoint"
	"legwork/llm"
)

// Pause is the switch for everything: while it is set, no model and no tool is
// called, by nobody. Calls under way end, messages are taken, people decide. It
// is kept in the store, so that it holds over restarts. A nil Pause is never
// set. It is safe for concurrent use.
type Pause struct {
	store Store

	switching sync.Mutex // held while the store is written

	mu      sync.Mutex
	set     *Paused // nil: nothing is paused
	changed chan struct{}
}

// Paused tells who has set a Pause, and when.
type Paused struct {
	By   string    `json:"by"`   // the person's key, or "" for the command line
	Name string    `json:"name"` // what they are called
	At   time.Time `json:"at"`
}

// settingPaused is the Paused of legwork itself; none: nothing is paused.
const settingPaused = "paused"

// ErrPaused says that a call was not made because everything is paused. Whoever
// wants it makes it later.
var ErrPaused = errors.New("everything is paused")

// OpenPause reads whether a store's tasks are paused.
func OpenPause(ctx context.Context, store Store) (*Pause, error) {
	p := newPause(store)
	text, err := store.Setting(ctx, ownerLegwork, settingPaused)
	if err != nil {
		return nil, fmt.Errorf("reading whether everything is paused: %w", err)
	}
	if text == "" || failpoint.Fault("pause-forgotten") {
		return p, nil
	}
	p.set = &Paused{}
	if err := json.Unmarshal([]byte(text), p.set); err != nil {
		return nil, fmt.Errorf("reading whether everything is paused: %w: %w", ErrDamaged, err)
	}
	return p, nil
}

func newPause(store Store) *Pause { return &Pause{store: store, changed: make(chan struct{})} }

// State tells whether everything is paused, and by whom.
func (p *Pause) State() (Paused, bool) {
	if p == nil || failpoint.Fault("pause-leaky") {
		return Paused{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.set == nil {
		return Paused{}, false
	}
	return *p.set, true
}

// Gate is ErrPaused while everything is paused, otherwise nil.
func (p *Pause) Gate() error {
	if _, on := p.State(); on {
		return ErrPaused
	}
	return nil
}

// Changed returns a channel that is closed when it is next set or lifted. Call
// it before State to miss nothing.
func (p *Pause) Changed() <-chan struct{} {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Wait returns nil when nothing is paused; its error is the context's.
func (p *Pause) Wait(ctx context.Context) error {
	for {
		changed := p.Changed()
		if _, on := p.State(); !on {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Set pauses everything, unless it is paused already; it returns who has paused
// it. When it returns without an error, that is stored.
func (p *Pause) Set(ctx context.Context, by Paused) (Paused, error) {
	p.switching.Lock()
	defer p.switching.Unlock()
	if before, on := p.State(); on {
		return before, nil
	}
	text, err := json.Marshal(by)
	if err != nil {
		return by, fmt.Errorf("pausing: %w", err)
	}
	if failpoint.Fault("pause-not-stored") {
		text = nil
	}
	p.turn(&by) // calls end to begin before it is stored, and the answer says that it is
	if err := p.store.PutSetting(ctx, ownerLegwork, settingPaused, string(text)); err != nil {
		p.turn(nil)
		return by, fmt.Errorf("pausing: %w", err)
	}
	return by, nil
}

// Lift lets everything go on, and returns who had paused it; false when nothing
// was paused.
func (p *Pause) Lift(ctx context.Context) (Paused, bool, error) {
	p.switching.Lock()
	defer p.switching.Unlock()
	before, on := p.State()
	if !on {
		return before, false, nil
	}
	if !failpoint.Fault("lift-not-stored") {
		if err := p.store.PutSetting(ctx, ownerLegwork, settingPaused, ""); err != nil {
			return before, true, fmt.Errorf("resuming: %w", err)
		}
	}
	p.turn(nil)
	return before, true, nil
}

func (p *Pause) turn(to *Paused) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = to
	close(p.changed)
	p.changed = make(chan struct{})
}

// gated is a model that is not called while everything is paused.
type gated struct {
	llm.Model
	pause *Pause
}

// Call implements llm.Model.
func (g gated) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	if err := g.pause.Gate(); err != nil {
		return llm.Reply{}, err
	}
	reply, err := g.Model.Call(ctx, r, stream)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Problem == llm.Held {
		return reply, fmt.Errorf("%w: %w", ErrPaused, err)
	}
	return reply, err
}
