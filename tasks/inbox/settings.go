package inbox

import (
	"cmp"
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
	"legwork/tasks/cards"
)

// maxCachedSettings is the number of settings in the cache. settingsMaxAge is the time
// after which a cached value is read again, since another process may have changed
// it.
const (
	maxCachedSettings = 4096
	settingsMaxAge    = time.Minute
)

// Settings reads and writes the settings of the store. It caches the values that
// were read lately, since most messages need several of them and they rarely
// change.
type Settings struct {
	store   tasks.Store
	now     func() time.Time
	cache   *lru.Cache[[2]string, setting]
	changes atomic.Uint64
}

type setting struct {
	value string
	until time.Time
}

func newSettings(store tasks.Store, now func() time.Time) *Settings {
	kept, err := lru.New[[2]string, setting](maxCachedSettings)
	if err != nil {
		panic("inbox: " + err.Error()) // the size is not positive
	}
	return &Settings{store: store, now: now, cache: kept}
}

// Get reads a setting; "" when there is none.
func (s *Settings) Get(ctx context.Context, owner, name string) (string, error) {
	key, now := [2]string{owner, name}, s.now()
	if found, ok := s.cache.Get(key); ok && now.Before(found.until) {
		return found.value, nil
	}
	changes := s.changes.Load()
	value, err := s.store.Setting(ctx, owner, name)
	if err != nil {
		return "", fmt.Errorf("reading settings: %w", err)
	}
	s.cache.Add(key, setting{value, now.Add(settingsMaxAge)})
	if s.changes.Load() != changes { // a change during the read, perhaps of this setting
		s.cache.Remove(key)
	}
	return value, nil
}

// Put stores a setting.
func (s *Settings) Put(ctx context.Context, owner, name, value string) error {
	defer func() {
		s.changes.Add(1)
		s.cache.Remove([2]string{owner, name})
	}()
	if err := s.store.PutSetting(ctx, owner, name, value); err != nil {
		return fmt.Errorf("storing settings: %w", err)
	}
	return nil
}

// Clear empties the cache, after settings were deleted.
func (s *Settings) Clear() {
	s.changes.Add(1)
	s.cache.Purge()
}

// Read reads a setting that is JSON. It leaves v unchanged when there is none.
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

// platformLanguage is the language that the platform reports for a message's author, or the
// default language.
func platformLanguage(in *Inbox, m bot.Message) string {
	if hint := i18n.Match(m.Language); m.Language != "" && hint != "" {
		return hint
	}
	return in.rules.Load().Language
}

// Language is the language that a person has chosen, or other when they have
// chosen none.
func (s *Settings) Language(ctx context.Context, person, other string) (string, error) {
	chosen, err := s.Get(ctx, person, tasks.SettingLanguage)
	if err != nil || chosen == "" {
		return other, err
	}
	return chosen, nil
}

// rememberLanguage stores the language of an admin who has chosen none. Notices to
// admins answer no message, so they need it.
func (s *Settings) rememberLanguage(ctx context.Context, r *Request) error {
	person := r.Message.From.Key()
	known, err := s.Get(ctx, person, tasks.SettingPlatformLanguage)
	if err != nil || r.Message.Language == "" || known == r.Lang {
		return err
	}
	return s.Put(ctx, person, tasks.SettingPlatformLanguage, r.Lang)
}

// Timezone is the time zone that the author of a message has chosen, or the default one.
func (s *Settings) Timezone(ctx context.Context, r *Request) (string, error) {
	chosen, err := s.Get(ctx, r.Message.From.Key(), tasks.SettingTimezone)
	if err != nil || chosen == "" {
		return r.Rules.Timezone, err
	}
	return chosen, nil
}

// Zone is Timezone as a location. It is UTC if the name is unknown.
func (s *Settings) Zone(ctx context.Context, r *Request) (*time.Location, error) {
	name, err := s.Timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, nil //nolint:nilerr // dates are shown in UTC then
	}
	return zone, nil
}

// Model is the model that the author of a message has chosen, if it is still configured. It
// is empty for the default model.
func (s *Settings) Model(ctx context.Context, r *Request) (string, error) {
	chosen, err := s.Get(ctx, r.Message.From.Key(), tasks.SettingModel)
	if err != nil || !slices.Contains(r.Rules.Models, chosen) {
		return "", err
	}
	return chosen, nil
}

// ModelName names the model that answers a person: the one that they chose, or else
// the usual one of the chat.
func ModelName(ctx context.Context, in *Inbox, r *Request, chosen string) (string, error) {
	chat, err := tasks.SettingsOf(ctx, in.Store, r.Rules.ChatSettings, r.Message.Chat)
	name := cmp.Or(chosen, chat.Model, r.Rules.Usual)
	if id := r.Rules.ModelIDs[name]; id != "" && id != name {
		name += " (" + cards.PlainText(id) + ")"
	}
	return name, err
}

// Audit writes a change that is no event of a task to the audit log. If the entry
// cannot be written, the change remains in force and the error is logged.
func (in *Inbox) Audit(ctx context.Context, r *Request, action, target, detail string) {
	e := tasks.AuditEntry{Who: r.Message.From.Key(), Action: action, Target: target, Detail: detail}
	if r.Admin {
		e.Role = "admin"
	}
	if err := in.Store.Record(ctx, e); err != nil {
		in.Log.ErrorContext(ctx, "audit entry not written", "action", action, "who", e.Who, "target", target, "cause", err)
	}
}
