package commands

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// taskGrantCode is the code for the grants of one decision of a task. It is short
// enough to type.
func taskGrantCode(id tasks.ID, seq int) string {
	return strings.ToLower(string(id[max(0, len(id)-4):])) + "-" + strconv.Itoa(seq)
}

// revokeGrant revokes the grant of a code. Admins, the person who made a grant of
// a chat, and the person of a private chat may revoke that grant.
func revokeGrant(ctx context.Context, in *inbox.Inbox, r *inbox.Request, code string) (inbox.Reply, error) {
	near, err := visibleTasks(ctx, in, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	for _, t := range near {
		for _, g := range t.State.Granted {
			if !strings.EqualFold(taskGrantCode(t.Task, g.Seq), code) {
				continue
			}
			if !r.Steers(t) {
				return in.Refuse(r, "error.not_yours"), nil
			}
			return revokeTaskGrant(in, r, t, g.Seq), nil
		}
	}
	grants, err := tasks.ChatGrants(ctx, in.Store, r.Message.Chat, in.Now())
	if err != nil {
		return inbox.Reply{}, err
	}
	i := slices.IndexFunc(grants, func(g tasks.ChatGrant) bool { return strings.EqualFold(g.ID, code) })
	switch {
	case i < 0:
		return in.ReplyText(r, "error.no_grant", nil), nil
	case !r.Admin && !r.Message.Chat.Private && grants[i].By != r.Message.From.Key():
		return in.Refuse(r, "error.admin_needed"), nil
	default:
		reply := in.ReplyLater(r, func(ctx context.Context) inbox.Notice { return revokeChatGrant(ctx, in, r, grants[i].ID) })
		for _, t := range near { // a task whose question led to this grant has the grant itself, too
			for _, g := range t.State.Granted {
				if g.Grant == grants[i].Grant && t.Chat.Room() == r.Message.Chat.Room() {
					reply.Add(r, t.Task, planner.Event{Type: planner.GrantRevoked, At: in.Now(), By: r.Message.From.Key(), Of: g.Seq})
				}
			}
		}
		return reply, nil
	}
}

func revokeTaskGrant(in *inbox.Inbox, r *inbox.Request, t inbox.LiveTask, seq int) inbox.Reply {
	var reply inbox.Reply
	reply.Add(r, t.Task, planner.Event{Type: planner.GrantRevoked, At: in.Now(), By: r.Message.From.Key(), Of: seq})
	reply.Say = func(_ context.Context, receipts []tasks.Receipt) inbox.Notice {
		if receipts[0].Err != nil {
			return in.Notice(r, "error.no_grant", nil)
		}
		return in.Notice(r, "approvals.revoked", map[string]any{"Tool": grantedTools(t.State, seq)})
	}
	return reply
}

func revokeChatGrant(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id string) inbox.Notice {
	m := r.Message
	g, err := inbox.RemoveGrant(ctx, in, m.Chat, id, m.From.Key())
	if err != nil {
		in.Log.ErrorContext(ctx, "grant not revoked", "chat", m.Chat.Key(), "grant", id, "cause", err)
		return in.Notice(r, "problem.internal", nil)
	}
	if g.ID == "" {
		return in.Notice(r, "error.no_grant", nil)
	}
	in.Audit(ctx, r, "grant.revoke", m.Chat.Room(), g.Tool)
	in.Log.InfoContext(ctx, "grant revoked", "chat", m.Chat.Key(), "tool", g.Tool, "by", m.From.Key())
	return in.Notice(r, "approvals.revoked", map[string]any{"Tool": cards.InCode(g.Tool)})
}
