package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
	"legwork/i18n"
	"legwork/tasks"
)

// How many settings are kept in memory, and for how long another process's
// change of them may stay unseen.
const (
	settingsKept  = 4096
	settingsTrust = time.Minute
)

// Settings are the settings of the store. It keeps the values that it read of late in
// memory, since most messages need several, and they rarely change.
type Settings struct {
	store   tasks.Store
	now     func() time.Time
	kept    *lru.Cache[[2]string, setting]
	changes atomic.Uint64
}

type setting struct {
	value string
	until time.Time
}

func newSettings(store tasks.Store, now func() time.Time) *Settings {
	kept, err := lru.New[[2]string, setting](settingsKept)
	if err != nil {
		panic("inbox: " + err.Error()) // the size is not positive
	}
	return &Settings{store: store, now: now, kept: kept}
}

// Get reads a setting; "" when there is none.
func (s *Settings) Get(ctx context.Context, owner, name string) (string, error) {
	key, now := [2]string{owner, name}, s.now()
	if found, ok := s.kept.Get(key); ok && now.Before(found.until) {
		return found.value, nil
	}
	changes := s.changes.Load()
	value, err := s.store.Setting(ctx, owner, name)
	if err != nil {
		return "", fmt.Errorf("reading settings: %w", err)
	}
	s.kept.Add(key, setting{value, now.Add(settingsTrust)})
	if s.changes.Load() != changes { // perhaps of this one
		s.kept.Remove(key)
	}
	return value, nil
}

// Put stores a setting.
func (s *Settings) Put(ctx context.Context, owner, name, value string) error {
	defer func() {
		s.changes.Add(1)
		s.kept.Remove([2]string{owner, name})
	}()
	if err := s.store.PutSetting(ctx, owner, name, value); err != nil {
		return fmt.Errorf("storing settings: %w", err)
	}
	return nil
}

// Forget reads all settings anew from now on: some were deleted.
func (s *Settings) Forget() {
	s.changes.Add(1)
	s.kept.Purge()
}

// Read reads a setting that is JSON; v stays as it is when there is none.
func (s *Settings) Read(ctx context.Context, owner, name string, v any) error {
	text, err := s.Get(ctx, owner, name)
	if err != nil || text == "" {
		return err
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("reading setting %q of %s: %w: %w", name, owner, tasks.ErrDamaged, err)
	}
	return nil
}

// Write stores a setting as JSON.
func (s *Settings) Write(ctx context.Context, owner, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding setting %q of %s: %w", name, owner, err)
	}
	return s.Put(ctx, owner, name, string(text))
}

// hint is the language that the platform says a message's author speaks, or the
// default.
func hint(in *Inbox, m bot.Message) string {
	if hint := i18n.Match(m.Language); m.Language != "" && hint != "" {
		return hint
	}
	return in.rules.Load().Language
}

// Language is what a person has chosen, or else.
func (in *Inbox) Language(ctx context.Context, person, other string) (string, error) {
	chosen, err := in.Settings.Get(ctx, person, tasks.SettingLanguage)
	if err != nil || chosen == "" {
		return other, err
	}
	return chosen, nil
}

// rememberLanguage remembers the language of an admin who has chosen none:
// notices to admins follow no message of theirs.
func rememberLanguage(ctx context.Context, in *Inbox, r *Request) error {
	person := r.Message.From.Key()
	known, err := in.Settings.Get(ctx, person, tasks.SettingPlatformLanguage)
	if err != nil || r.Message.Language == "" || known == r.Lang {
		return err
	}
	return in.Settings.Put(ctx, person, tasks.SettingPlatformLanguage, r.Lang)
}

// Timezone is what a person has chosen, or the default.
func (in *Inbox) Timezone(ctx context.Context, r *Request) (string, error) {
	chosen, err := in.Settings.Get(ctx, r.Message.From.Key(), tasks.SettingTimezone)
	if err != nil || chosen == "" {
		return r.Rules.Timezone, err
	}
	return chosen, nil
}

// ZoneOf is timezone as a place in time; UTC where it is none.
func (in *Inbox) ZoneOf(ctx context.Context, r *Request) (*time.Location, error) {
	name, err := in.Timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, nil //nolint:nilerr // as dates are shown
	}
	return zone, nil
}

// ChosenModel is what the person has chosen, as long as it is configured; empty
// for the usual one.
func ChosenModel(ctx context.Context, in *Inbox, r *Request) (string, error) {
	chosen, err := in.Settings.Get(ctx, r.Message.From.Key(), tasks.SettingModel)
	if err != nil || !slices.Contains(r.Rules.Models, chosen) {
		return "", err
	}
	return chosen, nil
}

// Audit enters into the audit log what somebody changed that is no event of a
// task. The action stays done when the entry cannot be written; the log
// reports it.
func (in *Inbox) Audit(ctx context.Context, r *Request, action, target, detail string) {
	e := tasks.AuditEntry{Who: r.Message.From.Key(), Action: action, Target: target, Detail: detail}
	if r.Admin {
		e.Role = "admin"
	}
	if err := in.Store.Record(ctx, e); err != nil {
		in.Log.ErrorContext(ctx, "the audit log cannot be written", "action", action, "who", e.Who, "target", target, "cause", err)
	}
}
