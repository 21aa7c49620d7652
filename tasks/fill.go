package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"legwork/internal/form"
	"legwork/planner"
)

// What people answer to the forms of servers.

// fillPress answers a server's question by a button.
func (in *Inbox) fillPress(r *routed, t liveTask, about planner.ActionID, verb string, e planner.Event) {
	_, field := formOf(e, about)
	d := planner.Decision{Approve: true}
	switch n, bad := strconv.Atoi(verb); {
	case verb == verbDecline:
		d = planner.Decision{Text: r.message.Text}
	case verb == verbYes && field == nil:
	case verb == verbOmit && field != nil && mayOmit(*field):
		d.Value = field.Default
	case bad == nil && field != nil && n >= 0 && n < len(choicesOf(in.Texts, r.lang, *field)):
		d.Value = choicesOf(in.Texts, r.lang, *field)[n].Value
	default:
		in.say(r, "error.too_late", nil)
		return
	}
	in.settle(r, t, about, d)
}

// fill answers a field of a server's question by words. What does not fit is
// said, and the field stays open. It reports false when the words are no answer:
// where there is no field, and they do not reply to the question.
func (in *Inbox) fill(ctx context.Context, r *routed, w words) (bool, error) {
	e, err := in.Store.Event(ctx, w.task.Task, w.action.Seq)
	if err != nil {
		return true, fmt.Errorf("reading question: %w", err)
	}
	_, field := formOf(e, w.action)
	if field == nil {
		if w.reply {
			in.say(r, "form.press", nil)
		}
		return w.reply, nil
	}
	chosen := *field
	chosen.Choices = choicesOf(in.Texts, r.lang, chosen)
	zone, err := in.zoneOf(ctx, r)
	if err != nil {
		return true, err
	}
	value, err := chosen.Read(r.message.Text, zone)
	if err != nil {
		in.say(r, "form.wrong", map[string]any{"Reason": in.misfit(r, err)})
		return true, nil
	}
	in.settle(r, w.task, w.action, planner.Decision{Approve: true, Value: value})
	return true, nil
}

// misfit says why an answer does not fit its field.
func (in *Inbox) misfit(r *routed, err error) string {
	why, limit := form.Other, ""
	if bad, ok := errors.AsType[*form.ValueError](err); ok {
		why, limit = bad.Key, inCode(bad.Limit)
	}
	if why == form.DateTime {
		why = "time"
	}
	return in.Texts.Text(r.lang, "form.bad_"+why, map[string]any{"Text": limit})
}
