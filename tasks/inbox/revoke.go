package inbox

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// taskGrantCode names what a decision granted for its task, short enough to be
// typed.
func taskGrantCode(id tasks.ID, seq int) string {
	return strings.ToLower(string(id[max(0, len(id)-4):])) + "-" + strconv.Itoa(seq)
}

// revokeGrant takes the grant of a code back. Grants of a chat are for admins,
// for the person who gave them, and for the person of a private chat.
func revokeGrant(ctx context.Context, in *Inbox, r *Request, code string) (Reply, error) {
	near, err := nearby(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	for _, t := range near {
		for _, g := range t.State.Granted {
			if !strings.EqualFold(taskGrantCode(t.Task, g.Seq), code) {
				continue
			}
			if !r.steers(t) {
				return in.refuse(r, "error.not_yours"), nil
			}
			return revokeTaskGrant(in, r, t, g.Seq), nil
		}
	}
	grants, err := tasks.ChatGrants(ctx, in.Store, r.Message.Chat, in.Now())
	if err != nil {
		return Reply{}, err
	}
	i := slices.IndexFunc(grants, func(g tasks.ChatGrant) bool { return strings.EqualFold(g.ID, code) })
	switch {
	case i < 0:
		return in.replyText(r, "error.no_grant", nil), nil
	case !r.Admin && !r.Message.Chat.Private && grants[i].By != r.Message.From.Key():
		return in.refuse(r, "error.admin_needed"), nil
	default:
		reply := in.replyLater(r, func(ctx context.Context) Notice { return revokeChatGrant(ctx, in, r, grants[i].ID) })
		for _, t := range near { // a task whose person allowed it always has it for itself as well
			for _, g := range t.State.Granted {
				if g.Grant == grants[i].Grant && t.Chat.Room() == r.Message.Chat.Room() {
					reply.add(r, t.Task, planner.Event{Type: planner.GrantRevoked, At: in.Now(), By: r.Message.From.Key(), Of: g.Seq})
				}
			}
		}
		return reply, nil
	}
}

func revokeTaskGrant(in *Inbox, r *Request, t LiveTask, seq int) Reply {
	var reply Reply
	reply.add(r, t.Task, planner.Event{Type: planner.GrantRevoked, At: in.Now(), By: r.Message.From.Key(), Of: seq})
	reply.Say = func(_ context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err != nil {
			return in.notice(r, "error.no_grant", nil)
		}
		return in.notice(r, "approvals.revoked", map[string]any{"Tool": grantedTools(t.State, seq)})
	}
	return reply
}

func revokeChatGrant(ctx context.Context, in *Inbox, r *Request, id string) Notice {
	m := r.Message
	g, err := removeGrant(ctx, in, m.Chat, id, m.From.Key())
	if err != nil {
		in.Log.ErrorContext(ctx, "a grant could not be taken back", "chat", m.Chat.Key(), "grant", id, "cause", err)
		return in.notice(r, "problem.internal", nil)
	}
	if g.ID == "" {
		return in.notice(r, "error.no_grant", nil)
	}
	in.audit(ctx, r, "grant.revoke", m.Chat.Room(), g.Tool)
	in.Log.InfoContext(ctx, "a grant was taken back", "chat", m.Chat.Key(), "tool", g.Tool, "by", m.From.Key())
	return in.notice(r, "approvals.revoked", map[string]any{"Tool": cards.InCode(g.Tool)})
}
