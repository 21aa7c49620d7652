package tasks

import (
	"cmp"
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

// holds reports that a grant lets calls be made.
func (g ChatGrant) holds(now time.Time) bool {
	return g.RevokedAt.IsZero() && now.Before(g.Expires)
}

// settingGrants is the list of a chat's grants; it belongs to the chat around a
// thread. keptGrants is how many that are over are kept in it, for who wants to
// know what was allowed and when it was taken back.
const (
	settingGrants = "grants"
	keptGrants    = 100
)

// chatGrants lists the grants that hold in a chat.
func chatGrants(ctx context.Context, store Store, chat bot.Chat, now time.Time) ([]ChatGrant, error) {
	all, err := readGrants(ctx, store, chat)
	return slices.DeleteFunc(all, func(g ChatGrant) bool { return !g.holds(now) }), err
}

// readGrants reads all that were given in a chat, as they are stored.
func readGrants(ctx context.Context, store Store, chat bot.Chat) ([]ChatGrant, error) {
	text, err := store.Setting(ctx, chat.Room(), settingGrants)
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

// changeGrants changes what was given in a chat; change returns false when
// there is nothing to store.
func changeGrants(ctx context.Context, in *Inbox, chat bot.Chat, change func([]ChatGrant) ([]ChatGrant, bool)) error {
	in.granting.Lock()
	defer in.granting.Unlock()
	list, err := readGrants(ctx, in.Store, chat)
	if err != nil {
		return err
	}
	list, changed := change(list)
	if !changed {
		return nil
	}
	now, over := in.Now(), 0
	for _, g := range list {
		if !g.holds(now) {
			over++
		}
	}
	list = slices.DeleteFunc(list, func(g ChatGrant) bool { // the oldest come first
		drop := !g.holds(now) && over > keptGrants
		if drop {
			over--
		}
		return drop
	})
	if len(list) == 0 {
		return in.put(ctx, chat.Room(), settingGrants, "")
	}
	return in.write(ctx, chat.Room(), settingGrants, list)
}

// addGrants lets tools be called in a chat from now on, by a decision that is
// stored. What is granted already gets a new time.
func addGrants(ctx context.Context, in *Inbox, chat bot.Chat, by bot.Person, grants []planner.Grant) error {
	now := in.Now()
	expires := now.Add(cmp.Or(in.rules.Load().Approvals.Grants, DefaultGrants))
	return changeGrants(ctx, in, chat, func(list []ChatGrant) ([]ChatGrant, bool) {
		for _, g := range grants {
			list = slices.DeleteFunc(list, func(old ChatGrant) bool {
				return old.holds(now) && old.Grant == g
			})
			list = append(list, ChatGrant{ID: newGrantID(), Grant: g, By: by.Key(), Name: by.Name, At: now, Expires: expires})
		}
		return list, len(grants) > 0
	})
}

// removeGrant takes the grant of that id back; the zero one when none of that id
// holds.
func removeGrant(ctx context.Context, in *Inbox, chat bot.Chat, id, by string) (ChatGrant, error) {
	var found ChatGrant
	err := changeGrants(ctx, in, chat, func(list []ChatGrant) ([]ChatGrant, bool) {
		now := in.Now()
		for i := range list {
			if g := &list[i]; g.ID == id && g.holds(now) {
				g.RevokedBy, g.RevokedAt = by, now
				found = *g
			}
		}
		return list, found.ID != ""
	})
	return found, err
}

// newGrantID makes an id short enough to be typed.
func newGrantID() string { return newCode()[:5] }
