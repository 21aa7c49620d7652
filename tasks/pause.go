package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Pause is the switch for everything: while it is set, legwork calls no model
// and no tool. Calls under way end, messages are taken, people decide. It is
// kept in the store, so that it holds over restarts. A nil Pause is never set.
// It is safe for concurrent use.
type Pause struct {
	store Store

	switching sync.Mutex // held while the store is written

	mu      sync.Mutex
	set     *Paused // nil: nothing is paused
	changed chan struct{}

	messageKeys []string // keys of the newest messages that switched it; guarded by switching
}

// maxMessageKeys is how many messages are known that switched a Pause: one that a
// platform delivers again must not undo a later one.
const maxMessageKeys = 32

// storedPause is how a Pause is stored.
type storedPause struct {
	Paused
	Off   bool     `json:"off,omitempty"`
	Words []string `json:"words,omitempty"`
}

// Paused tells who has set a Pause, and when.
type Paused struct {
	By   string    `json:"by"`   // the person's key, or "" for the command line
	Name string    `json:"name"` // what they are called
	At   time.Time `json:"at"`
}

// settingPaused is the Paused of legwork itself; a missing value means that
// nothing is paused.
const settingPaused = "paused"

// ErrPaused says that a call was not made because everything is paused. The
// caller makes it later when it is wanted.
var ErrPaused = errors.New("everything is paused")

// OpenPause reads whether a store's tasks are paused.
func OpenPause(ctx context.Context, store Store) (*Pause, error) {
	p := NewPause(store)
	text, err := store.Setting(ctx, OwnerLegwork, settingPaused)
	if err != nil {
		return nil, fmt.Errorf("reading whether everything is paused: %w", err)
	}
	if text == "" {
		return p, nil
	}
	var k storedPause
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return nil, fmt.Errorf("reading whether everything is paused: %w: %w", ErrDamaged, err)
	}
	if p.messageKeys = k.Words; !k.Off {
		p.set = &k.Paused
	}
	return p, nil
}

// NewPause makes a switch that is not set.
func NewPause(store Store) *Pause { return &Pause{store: store, changed: make(chan struct{})} }

// State tells whether everything is paused, and by whom.
func (p *Pause) State() (Paused, bool) {
	if p == nil {
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
	by, _, err := p.SetBy(ctx, "", by)
	return by, err
}

// SetBy is Set by the message of a key. It does nothing, and reports false, when
// the message did it before and everything was let go on since.
func (p *Pause) SetBy(ctx context.Context, key string, by Paused) (_ Paused, on bool, err error) {
	p.switching.Lock()
	defer p.switching.Unlock()
	before, was := p.State()
	switch {
	case p.handled(key):
		return before, was, nil
	case was && key == "":
		return before, true, nil
	case was:
		return before, true, p.save(ctx, key, storedPause{Paused: before})
	}
	p.apply(&by) // calls end to begin before it is stored, and the answer says that it is
	if err := p.save(ctx, key, storedPause{Paused: by}); err != nil {
		p.apply(nil)
		return by, false, fmt.Errorf("pausing: %w", err)
	}
	return by, true, nil
}

// Resume lets everything go on, and returns who had paused it; false when nothing
// was paused.
func (p *Pause) Resume(ctx context.Context) (Paused, bool, error) { return p.ResumeBy(ctx, "") }

// ResumeBy is Lift by the message of a key. It does nothing when the message did it
// before and everything was paused anew since.
func (p *Pause) ResumeBy(ctx context.Context, key string) (Paused, bool, error) {
	p.switching.Lock()
	defer p.switching.Unlock()
	before, on := p.State()
	switch {
	case p.handled(key), !on && key == "":
		return before, false, nil
	case !on:
		return before, false, p.save(ctx, key, storedPause{Off: true})
	}
	if err := p.save(ctx, key, storedPause{Off: true}); err != nil {
		return before, true, fmt.Errorf("resuming: %w", err)
	}
	p.apply(nil)
	return before, true, nil
}

func (p *Pause) handled(key string) bool { return key != "" && slices.Contains(p.messageKeys, key) }

// save stores how the Pause is, and that a message made it so, as one.
func (p *Pause) save(ctx context.Context, key string, k storedPause) error {
	words := slices.Clone(p.messageKeys)
	if key != "" {
		words = append(words, key)
	}
	k.Words = words[max(0, len(words)-maxMessageKeys):]
	text, err := json.Marshal(k)
	if err == nil {
		err = p.store.PutSetting(ctx, OwnerLegwork, settingPaused, string(text))
	}
	if err == nil {
		p.messageKeys = k.Words
	}
	return err
}

func (p *Pause) apply(to *Paused) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = to
	close(p.changed)
	p.changed = make(chan struct{})
}
