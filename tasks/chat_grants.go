package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
)

// Approvals are the configured rules for approvals and for questions of servers.
type Approvals struct {
	Expire  time.Duration // how long a question can be answered; 0: without end
	Grants  time.Duration // how long "Always in this chat" holds; 0: DefaultGrants
	Private bool          // ask in the private chat of the asker, if the platform can write there
}

// ExpiresAt returns when a question that is asked now expires; zero: never.
func (a Approvals) ExpiresAt(now time.Time) time.Time {
	if a.Expire <= 0 {
		return time.Time{}
	}
	return now.Add(a.Expire)
}

// DefaultGrants is how long a standing grant of a chat holds by default.
const DefaultGrants = 30 * 24 * time.Hour

// ChatGrant is a standing permission to call a tool in a chat and in its threads and
// topics. It ends when the tool's definition changes.
type ChatGrant struct {
	ID string `json:"id"`
	planner.Grant
	By        string    `json:"by"` // key of the admin
	Name      string    `json:"name,omitempty"`
	At        time.Time `json:"at"`
	Expires   time.Time `json:"expires"`
	RevokedBy string    `json:"revoked_by,omitempty"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Holds reports whether a grant is still valid.
func (g ChatGrant) Holds(now time.Time) bool {
	return g.RevokedAt.IsZero() && now.Before(g.Expires)
}

// SettingGrants is the setting with a chat's grants. It belongs to the chat around a
// thread. KeptGrants is how many expired and revoked grants it keeps, so that people
// can see what was allowed before.
const (
	SettingGrants = "grants"
	KeptGrants    = 100
)

// ChatGrants lists the valid grants of a chat.
func ChatGrants(ctx context.Context, store Store, chat bot.Chat, now time.Time) ([]ChatGrant, error) {
	all, err := ReadGrants(ctx, store, chat)
	return slices.DeleteFunc(all, func(g ChatGrant) bool { return !g.Holds(now) }), err
}

// ReadGrants reads all stored grants of a chat, also those that are no longer valid.
func ReadGrants(ctx context.Context, store Store, chat bot.Chat) ([]ChatGrant, error) {
	text, err := store.Setting(ctx, chat.Room(), SettingGrants)
	if err != nil {
		return nil, fmt.Errorf("reading the grants of %s: %w", chat.Room(), err)
	}
	if text == "" {
		return nil, nil
	}
	var list []ChatGrant
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("reading the grants of %s: %w: %w", chat.Room(), ErrDamaged, err)
	}
	return list, nil
}
