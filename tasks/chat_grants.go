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

// Approvals are what the config says about calls that a person must allow, and
// about questions of servers.
type Approvals struct {
	Expire  time.Duration // how long a question can be answered; 0: for ever
	Grants  time.Duration // how long "Always in this chat" holds; 0: DefaultGrants
	Private bool          // ask in the private chat of who asked, where the platform can write there
}

// ExpiresAt is when a question that is asked now expires; zero: never.
func (a Approvals) ExpiresAt(now time.Time) time.Time {
	if a.Expire <= 0 {
		return time.Time{}
	}
	return now.Add(a.Expire)
}

// DefaultGrants is how long a standing grant of a chat holds unless the config
// says otherwise.
const DefaultGrants = 30 * 24 * time.Hour

// ChatGrant is a standing permission to call a tool in a chat, in its threads
// and topics too, as long as the tool's definition stays the same.
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

// Holds reports that a grant lets calls be made.
func (g ChatGrant) Holds(now time.Time) bool {
	return g.RevokedAt.IsZero() && now.Before(g.Expires)
}

// SettingGrants is the list of a chat's grants; it belongs to the chat around a
// thread. keptGrants is how many that are over are kept in it, for who wants to
// know what was allowed and when it was taken back.
const (
	SettingGrants = "grants"
	KeptGrants    = 100
)

// ChatGrants lists the grants that hold in a chat.
func ChatGrants(ctx context.Context, store Store, chat bot.Chat, now time.Time) ([]ChatGrant, error) {
	all, err := ReadGrants(ctx, store, chat)
	return slices.DeleteFunc(all, func(g ChatGrant) bool { return !g.Holds(now) }), err
}

// ReadGrants reads all that were given in a chat, as they are stored.
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
