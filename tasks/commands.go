package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
)

// command routes a message that starts with a slash. A name may carry the
// bot's own: "/stop@legwork_bot".
func (in *Inbox) command(ctx context.Context, r *routed, m bot.Message, live []liveTask, fresh *recent) error {
	name, rest, _ := strings.Cut(strings.TrimPrefix(m.Text, "/"), " ")
	name, _, _ = strings.Cut(name, "@")
	switch strings.ToLower(name) {
	case "stop":
		in.stop(r, m, live, fresh)
	case "status":
		return in.status(ctx, r, m, live)
	case "new":
		in.say(r, m, "notice.new", nil)
		r.store[0].Cut = true
	case "lang":
		return in.lang(ctx, r, m, strings.TrimSpace(rest))
	case "help", "start":
		in.say(r, m, "help.terminal", nil)
	default:
		in.say(r, m, "error.unknown_command", map[string]any{"Command": "/" + name})
	}
	return nil
}

// stop ends tasks. Their events are stored one by one, since each may be over
// by then.
func (in *Inbox) stop(r *routed, m bot.Message, live []liveTask, fresh *recent) {
	for i, id := range in.stoppable(m, live, fresh) {
		key := m.Key // of the first, so that the command is known when it comes again
		if i > 0 {
			key = fmt.Sprintf("%s#%d", m.Key, i)
		}
		r.store = append(r.store, Inbound{
			Key: key, Chat: m.Chat, To: id,
			Event: planner.Event{Type: planner.Stopped, At: in.Now(), By: m.From.Key()},
		})
	}
	if len(r.store) == 0 {
		in.say(r, m, "error.nothing_running", nil)
		return
	}
	lang := r.lang
	r.reply = func(_ context.Context, receipts []Receipt) string {
		for _, receipt := range receipts {
			if receipt.Err == nil {
				return ""
			}
		}
		return in.Texts.Text(lang, "error.nothing_running", nil)
	}
}

// stoppable lists the task to whose message a stop replies, otherwise every one
// that the person has running in the conversation, also those that the batch
// at hand opens.
func (in *Inbox) stoppable(m bot.Message, live []liveTask, fresh *recent) []ID {
	var ids []ID
	for _, t := range live {
		if t.state.Settled() {
			continue
		}
		if t.speaks(m.ReplyTo) && in.steers(m, t) {
			return []ID{t.Task}
		}
		if t.From.Key() == m.From.Key() {
			ids = append(ids, t.Task)
		}
	}
	for _, t := range fresh.of(m) {
		if !slices.Contains(ids, t.id) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// status tells what runs in the conversation.
func (in *Inbox) status(ctx context.Context, r *routed, m bot.Message, live []liveTask) error {
	var lines []string
	for _, t := range live {
		first, err := in.Store.Event(ctx, t.Task, 1)
		if err != nil {
			return fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		lines = append(lines, in.Texts.Text(r.lang, "statusline.task", map[string]any{
			"Goal":    line(first.Opening.Goal),
			"State":   statusText(in.Texts, r.lang, t.state),
			"Elapsed": in.Now().Sub(t.state.Opened),
		}))
	}
	if len(lines) == 0 {
		in.say(r, m, "statusline.none", nil)
		return nil
	}
	text := strings.Join(lines, "\n")
	r.store = []Inbound{{Key: m.Key, Chat: m.Chat}}
	r.reply = func(context.Context, []Receipt) string { return text }
	return nil
}

// lang changes the person's language, or tells which there are.
func (in *Inbox) lang(ctx context.Context, r *routed, m bot.Message, code string) error {
	var allowed []string
	for _, l := range i18n.Languages() {
		allowed = append(allowed, l.Code)
		if !strings.EqualFold(l.Code, code) && !strings.EqualFold(l.Name, code) {
			continue
		}
		if err := in.Store.PutSetting(ctx, m.From.Key(), "language", l.Code); err != nil {
			return fmt.Errorf("storing language: %w", err)
		}
		r.lang = l.Code
		in.say(r, m, "notice.language", map[string]any{"Name": l.Name})
		return nil
	}
	in.say(r, m, "error.no_language", map[string]any{"Allowed": strings.Join(allowed, ", ")})
	return nil
}
