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

// Pause is the switch that pauses everything. While it is set, legwork calls no
// model and no tool. Running calls end, legwork accepts messages, and people can
// decide. The store keeps the switch over restarts. A nil Pause is never set. It is
// safe for concurrent use.
type Pause struct {
	store Store

	switching sync.Mutex // held while the store is written

	mu      sync.Mutex
	set     *Paused // nil: not paused
	changed chan struct{}

	messageKeys []string // dedupe keys of the newest messages that changed it; guarded by switching
}

// maxMessageKeys is how many messages the Pause remembers that changed it. A message
// that a platform delivers again must not undo a later one.
const maxMessageKeys = 32

// storedPause is the stored form of a Pause.
type storedPause struct {
	Paused
	Off  bool     `json:"off,omitempty"`
	Keys []string `json:"words,omitempty"`
}

// Paused is who has set a Pause, and when.
type Paused struct {
	By   string    `json:"by"`   // the person's key, or "" for the command line
	Name string    `json:"name"` // display name
	At   time.Time `json:"at"`
}

// settingPaused is the setting of legwork with the storedPause; without a value
// nothing is paused.
const settingPaused = "paused"

// ErrPaused means that a call was not made because everything is paused. The caller
// makes it after the pause if it is still wanted.
var ErrPaused = errors.New("everything is paused")

// OpenPause reads the Pause of a store.
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
	if p.messageKeys = k.Keys; !k.Off {
		p.set = &k.Paused
	}
	return p, nil
}

// NewPause makes a Pause that is not set.
func NewPause(store Store) *Pause { return &Pause{store: store, changed: make(chan struct{})} }

// State returns whether everything is paused, and by whom.
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

// Gate returns ErrPaused while everything is paused, otherwise nil.
func (p *Pause) Gate() error {
	if _, on := p.State(); on {
		return ErrPaused
	}
	return nil
}

// Changed returns a channel that is closed at the next change. Call it before State
// to miss no change.
func (p *Pause) Changed() <-chan struct{} {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Wait waits until nothing is paused; its error is the context's.
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

// Set pauses everything and returns who has paused it, which may be somebody
// earlier. When it returns no error, the store has the change.
func (p *Pause) Set(ctx context.Context, by Paused) (Paused, error) {
	by, _, err := p.SetBy(ctx, "", by)
	return by, err
}

// SetBy is Set by the message with that dedupe key. It does nothing, and returns
// false, if the message did it before and somebody has resumed since.
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
	p.apply(&by) // no new call begins while the store writes, so that none begins after the answer
	if err := p.save(ctx, key, storedPause{Paused: by}); err != nil {
		p.apply(nil)
		return by, false, fmt.Errorf("pausing: %w", err)
	}
	return by, true, nil
}

// Resume ends the pause and returns who had set it; false when nothing was paused.
func (p *Pause) Resume(ctx context.Context) (Paused, bool, error) { return p.ResumeBy(ctx, "") }

// ResumeBy is Resume by the message with that dedupe key. It does nothing if the
// message did it before and somebody has paused since.
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

// save stores the state of the Pause together with the key of the message that made
// it.
func (p *Pause) save(ctx context.Context, key string, k storedPause) error {
	keys := slices.Clone(p.messageKeys)
	if key != "" {
		keys = append(keys, key)
	}
	k.Keys = keys[max(0, len(keys)-maxMessageKeys):]
	text, err := json.Marshal(k)
	if err == nil {
		err = p.store.PutSetting(ctx, OwnerLegwork, settingPaused, string(text))
	}
	if err == nil {
		p.messageKeys = k.Keys
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
