package inbox

import (
	"cmp"
	"context"
	"slices"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// ChangeGrants changes the grants of a chat. change returns false when there is
// nothing to store.
func ChangeGrants(ctx context.Context, in *Inbox, chat bot.Chat, change func([]tasks.ChatGrant) ([]tasks.ChatGrant, bool)) error {
	in.grantsMu.Lock()
	defer in.grantsMu.Unlock()
	list, err := tasks.ReadGrants(ctx, in.Store, chat)
	if err != nil {
		return err
	}
	list, changed := change(list)
	if !changed {
		return nil
	}
	now, over := in.Now(), 0
	for _, g := range list {
		if !g.Holds(now) {
			over++
		}
	}
	list = slices.DeleteFunc(list, func(g tasks.ChatGrant) bool { // the list is ordered by age, oldest first
		drop := !g.Holds(now) && over > tasks.KeptGrants
		if drop {
			over--
		}
		return drop
	})
	if len(list) == 0 {
		return in.Settings.Put(ctx, chat.Room(), tasks.SettingGrants, "")
	}
	return in.Settings.Write(ctx, chat.Room(), tasks.SettingGrants, list)
}

// addGrants stores grants, which let tasks of a chat call tools from now on. A
// grant that exists already gets a new expiry time.
func addGrants(ctx context.Context, in *Inbox, chat bot.Chat, by bot.Person, grants []planner.Grant) error {
	now := in.Now()
	expires := now.Add(cmp.Or(in.rules.Load().Approvals.Grants, tasks.DefaultGrants))
	return ChangeGrants(ctx, in, chat, func(list []tasks.ChatGrant) ([]tasks.ChatGrant, bool) {
		for _, g := range grants {
			list = slices.DeleteFunc(list, func(old tasks.ChatGrant) bool {
				return old.Holds(now) && old.Grant == g
			})
			list = append(list, tasks.ChatGrant{ID: newGrantID(), Grant: g, By: by.Key(), Name: by.Name, At: now, Expires: expires})
		}
		return list, len(grants) > 0
	})
}

// RemoveGrant revokes the valid grant of an id and returns it. It returns the zero
// grant when no valid grant has that id.
func RemoveGrant(ctx context.Context, in *Inbox, chat bot.Chat, id, by string) (tasks.ChatGrant, error) {
	var found tasks.ChatGrant
	err := ChangeGrants(ctx, in, chat, func(list []tasks.ChatGrant) ([]tasks.ChatGrant, bool) {
		now := in.Now()
		for i := range list {
			if g := &list[i]; g.ID == id && g.Holds(now) {
				g.RevokedBy, g.RevokedAt = by, now
				found = *g
			}
		}
		return list, found.ID != ""
	})
	return found, err
}

// newGrantID makes an id that is short enough to type.
func newGrantID() string { return newCode()[:5] }
