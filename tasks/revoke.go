package tasks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"legwork/planner"
)

// taskGrantCode names what a decision granted for its task, short enough to be
// typed.
func taskGrantCode(id ID, seq int) string {
	return strings.ToLower(string(id[max(0, len(id)-4):])) + "-" + strconv.Itoa(seq)
}

// revokes takes the grant of a code back. Those of a chat are for admins, for
// whoever gave them, and for the person of a private chat.
func (in *Inbox) revokes(ctx context.Context, r *routed, code string) error {
	near, err := in.nearby(ctx, r)
	if err != nil {
		return err
	}
	for _, t := range near {
		for _, g := range t.state.Granted {
			if !strings.EqualFold(taskGrantCode(t.Task, g.Seq), code) {
				continue
			}
			if !r.steers(t) {
				in.refuse(r, "error.not_yours")
				return nil
			}
			in.revokesTask(r, t, g.Seq)
			return nil
		}
	}
	grants, err := chatGrants(ctx, in.Store, r.message.Chat, in.Now())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(grants, func(g ChatGrant) bool { return strings.EqualFold(g.ID, code) })
	switch {
	case i < 0:
		in.say(r, "error.no_grant", nil)
	case !r.admin && !r.message.Chat.Private && grants[i].By != r.message.From.Key():
		in.refuse(r, "error.admin_needed")
	default:
		in.replyLater(r, func(ctx context.Context) said { return in.revokesChat(ctx, r, grants[i].ID) })
		for _, t := range near { // a task whose person allowed it always has it for itself as well
			for _, g := range t.state.Granted {
				if g.Grant == grants[i].Grant && t.Chat.Room() == r.message.Chat.Room() {
					r.add(t.Task, planner.Event{Type: planner.Revoked, At: in.Now(), By: r.message.From.Key(), Of: g.Seq})
				}
			}
		}
	}
	return nil
}

func (in *Inbox) revokesTask(r *routed, t liveTask, seq int) {
	r.add(t.Task, planner.Event{Type: planner.Revoked, At: in.Now(), By: r.message.From.Key(), Of: seq})
	r.reply = func(_ context.Context, receipts []Receipt) said {
		if receipts[0].Err != nil {
			return in.sentence(*r, "error.no_grant", nil)
		}
		return in.sentence(*r, "approvals.revoked", map[string]any{"Tool": grantedTools(t.state, seq)})
	}
}

func (in *Inbox) revokesChat(ctx context.Context, r *routed, id string) said {
	m := r.message
	g, err := in.revoke(ctx, m.Chat, id, m.From.Key())
	if err != nil {
		in.Log.ErrorContext(ctx, "a grant could not be taken back", "chat", m.Chat.Key(), "grant", id, "cause", err)
		return in.sentence(*r, "problem.internal", nil)
	}
	if g.ID == "" {
		return in.sentence(*r, "error.no_grant", nil)
	}
	in.audit(ctx, r, "grant.revoke", m.Chat.Room(), g.Tool)
	in.Log.InfoContext(ctx, "a grant was taken back", "chat", m.Chat.Key(), "tool", g.Tool, "by", m.From.Key())
	return in.sentence(*r, "approvals.revoked", map[string]any{"Tool": inCode(g.Tool)})
}
