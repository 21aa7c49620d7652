package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// What people answer to the forms of servers.

// fillPress answers a server's question by a button.
func fillPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) Reply {
	_, field := tasks.FormOf(e, about)
	d := planner.Decision{Approve: true}
	switch n, bad := strconv.Atoi(verb); {
	case verb == cards.VerbDecline:
		d = planner.Decision{Text: r.Message.Text}
	case verb == cards.VerbYes && field == nil:
	case verb == cards.VerbOmit && field != nil && cards.MayOmit(*field):
		d.Value = field.Default
	case bad == nil && field != nil && n >= 0 && n < len(cards.ChoicesOf(in.Texts, r.Lang, *field)):
		d.Value = cards.ChoicesOf(in.Texts, r.Lang, *field)[n].Value
	default:
		return in.replyText(r, "error.too_late", nil)
	}
	return decideCard(in, r, t, about, d)
}

// fill answers a field of a server's question by words. The author is told when
// they do not fit, and the field stays open. The words are no answer where there is
// no field and they do not reply to the question.
func fill(ctx context.Context, in *Inbox, r *Request, w words) (Outcome, error) {
	e, err := in.Store.Event(ctx, w.task.Task, w.action.Seq)
	if err != nil {
		return Outcome{}, fmt.Errorf("reading question: %w", err)
	}
	_, field := tasks.FormOf(e, w.action)
	if field == nil {
		if !w.reply {
			return Outcome{}, nil
		}
		return took(in.replyText(r, "form.press", nil), nil)
	}
	chosen := *field
	chosen.Choices = cards.ChoicesOf(in.Texts, r.Lang, chosen)
	zone, err := in.zoneOf(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	value, err := chosen.Read(r.Message.Text, zone)
	if err != nil {
		return took(in.replyText(r, "form.wrong", map[string]any{"Reason": valueProblem(in, r, err)}), nil)
	}
	return took(decideCard(in, r, w.task, w.action, planner.Decision{Approve: true, Value: value}), nil)
}

// valueProblem says why an answer does not fit its field.
func valueProblem(in *Inbox, r *Request, err error) string {
	why, limit := form.Other, ""
	if bad, ok := errors.AsType[*form.ValueError](err); ok {
		why, limit = bad.Key, cards.InCode(bad.Limit)
	}
	if why == form.DateTime {
		why = "time"
	}
	return in.Texts.Text(r.Lang, "form.bad_"+why, map[string]any{"Text": limit})
}
