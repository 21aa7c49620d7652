package inbox

import (
	"cmp"
	"context"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// opening is what a new task of the message's author begins with.
func (in *Inbox) opening(ctx context.Context, r *Request, goal string) (*planner.Opening, error) {
	m := r.Message
	timezone, err := in.timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	model, err := chosenModel(ctx, in, r)
	if err != nil {
		return nil, err
	}
	open, err := in.groupsFor(ctx, r)
	if err != nil {
		return nil, err
	}
	groups := make([]string, 0, len(open)) // not nil: none is open then
	for _, g := range open {
		groups = append(groups, g.Name)
	}
	limits := r.Rules.Limits
	limits.ReviewTime = r.Rules.Approvals.Expire // what holds for an approval
	return &planner.Opening{
		Goal: goal, Chat: m.Chat, From: m.From, Message: m.ID,
		Language: r.Lang, Timezone: timezone, Limits: limits, Model: model, Groups: groups,
	}, nil
}

// opens is the delivery that opens a task under a dedupe key.
func (in *Inbox) opens(key string, chat bot.Chat, o *planner.Opening) tasks.Inbound {
	return in.opensAs(in.ids.next(in.Now()), key, chat, o)
}

// opensAs is opens for a task of that id.
func (in *Inbox) opensAs(id tasks.ID, key string, chat bot.Chat, o *planner.Opening) tasks.Inbound {
	return tasks.Inbound{Key: key, Chat: chat, ID: id, Open: &planner.Event{Type: planner.Opened, At: in.Now(), By: o.From.Key(), Opening: o}}
}

// openQuestion opens a task, unless the message is guidance for a running one that
// still takes it when it is stored. A task's time begins now, however long its
// message was on the way.
func openQuestion(ctx context.Context, in *Inbox, r *Request, goal string) (Reply, error) {
	m := r.Message
	o, err := in.opening(ctx, r, goal)
	if err != nil {
		return Reply{}, err
	}
	item := in.opens(m.Key, m.Chat, o)
	sent := m.At
	if sent.IsZero() {
		sent = item.Open.At
	}
	continues := false
	if !m.Standalone {
		item.To, continues = r.guides(sent, item.Open.At)
	}
	if m.Overheard && item.To == "" && !r.MayAsk {
		return Reply{}, nil
	}
	if item.To != "" {
		item.Event = planner.Event{Type: planner.GuidanceAdded, At: item.Open.At, By: m.From.Key(), Text: goal, Message: m.ID}
		if m.Overheard && !r.MayAsk {
			item.ID, item.Open = "", nil
		}
	}
	r.Batch.add(m, cmp.Or(item.To, item.ID), item.To == "", sent)
	return Reply{Store: []tasks.Inbound{item}, Say: func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Opened {
			if n, ok := pausedNotice(ctx, in, r); ok {
				return n
			}
		}
		if continues {
			return Notice{}
		}
		return added(in, r, item.To, receipts[0])
	}}, nil
}
