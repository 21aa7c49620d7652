package inbox

import (
	"context"
	"encoding/json"
	"fmt"
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

// settings keeps what was read of the store's settings of late: most messages
// need several that hardly ever change.
type settings struct {
	kept    *lru.Cache[[2]string, setting]
	changes atomic.Uint64
}

type setting struct {
	value string
	until time.Time
}

func newSettings() *settings {
	kept, err := lru.New[[2]string, setting](settingsKept)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &settings{kept: kept}
}

// setting reads one; "" when there is none.
func (in *Inbox) setting(ctx context.Context, owner, name string) (string, error) {
	key, now := [2]string{owner, name}, in.Now()
	if s, ok := in.settings.kept.Get(key); ok && now.Before(s.until) {
		return s.value, nil
	}
	changes := in.settings.changes.Load()
	value, err := in.Store.Setting(ctx, owner, name)
	if err != nil {
		return "", fmt.Errorf("reading settings: %w", err)
	}
	in.settings.kept.Add(key, setting{value, now.Add(settingsTrust)})
	if in.settings.changes.Load() != changes { // perhaps of this one
		in.settings.kept.Remove(key)
	}
	return value, nil
}

// put stores one.
func (in *Inbox) put(ctx context.Context, owner, name, value string) error {
	defer func() {
		in.settings.changes.Add(1)
		in.settings.kept.Remove([2]string{owner, name})
	}()
	if err := in.Store.PutSetting(ctx, owner, name, value); err != nil {
		return fmt.Errorf("storing settings: %w", err)
	}
	return nil
}

// forget reads all anew from now on: some were deleted.
func (s *settings) forget() {
	s.changes.Add(1)
	s.kept.Purge()
}

// read reads a setting that is JSON; v stays as it is when there is none.
func (in *Inbox) read(ctx context.Context, owner, name string, v any) error {
	text, err := in.setting(ctx, owner, name)
	if err != nil || text == "" {
		return err
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("reading setting %q of %s: %w: %w", name, owner, tasks.ErrDamaged, err)
	}
	return nil
}

// write stores a setting as JSON.
func (in *Inbox) write(ctx context.Context, owner, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding setting %q of %s: %w", name, owner, err)
	}
	return in.put(ctx, owner, name, string(text))
}

// hint is the language that the platform says a message's author speaks, or the
// default.
func (in *Inbox) hint(m bot.Message) string {
	if hint := i18n.Match(m.Language); m.Language != "" && hint != "" {
		return hint
	}
	return in.rules.Load().Language
}

// language is what a person has chosen, or else.
func (in *Inbox) language(ctx context.Context, person, other string) (string, error) {
	chosen, err := in.setting(ctx, person, tasks.SettingLanguage)
	if err != nil || chosen == "" {
		return other, err
	}
	return chosen, nil
}

// rememberLanguage remembers the language of an admin who has chosen none:
// notices to admins follow no message of theirs.
func (in *Inbox) rememberLanguage(ctx context.Context, r *Request) error {
	person := r.Message.From.Key()
	known, err := in.setting(ctx, person, tasks.SettingSpoken)
	if err != nil || r.Message.Language == "" || known == r.Lang {
		return err
	}
	return in.put(ctx, person, tasks.SettingSpoken, r.Lang)
}

// timezone is what a person has chosen, or the default.
func (in *Inbox) timezone(ctx context.Context, r *Request) (string, error) {
	chosen, err := in.setting(ctx, r.Message.From.Key(), tasks.SettingTimezone)
	if err != nil || chosen == "" {
		return r.Rules.Timezone, err
	}
	return chosen, nil
}

// zoneOf is timezone as a place in time; UTC where it is none.
func (in *Inbox) zoneOf(ctx context.Context, r *Request) (*time.Location, error) {
	name, err := in.timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, nil //nolint:nilerr // as dates are shown
	}
	return zone, nil
}
