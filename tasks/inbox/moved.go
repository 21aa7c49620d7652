package inbox

import (
	"context"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// move takes account of a group that has another id now: what it holds goes
// along, and so does what the config says of it until that is changed.
func (in *Inbox) move(ctx context.Context, from bot.Chat, to bot.Chat) error {
	if err := in.Store.Move(ctx, from.Key(), to); err != nil {
		return fmt.Errorf("moving %s: %w", from.Key(), err)
	}
	was, err := in.setting(ctx, to.Key(), tasks.SettingWas)
	if err != nil || was == from.ID {
		return err
	}
	if err := in.put(ctx, to.Key(), tasks.SettingWas, from.ID); err != nil {
		return err
	}
	in.Log.InfoContext(ctx, "a group has another id now", "was", from.Key(), "is", to.Key())
	access := in.rules.Load().Access.Platforms[from.Platform]
	if !slices.Contains(access.Chats, from.ID) {
		return nil
	}
	in.TellAdmins(ctx, "admin.chat_moved", map[string]any{"Was": from.Key(), "Chat": to.Key()})
	return nil
}

// admitsMoved decides as admits does for a group that the config lists by the
// id that it had before.
func admitsMoved(ctx context.Context, in *Inbox, a policy.Access, g accessDecision, m bot.Message) (bool, error) {
	if m.Chat.Private {
		return false, nil
	}
	was, err := in.setting(ctx, policy.ChatKey(m.Chat), tasks.SettingWas)
	if err != nil || was == "" {
		return false, err
	}
	m.Chat.ID = was
	return a.Admits(g.Allowed, g.Chats, m), nil
}
