package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/planner"
)

// command is one that people can write.
type command struct {
	name string
	run  func(in *Inbox, ctx context.Context, r *routed, rest string) error
}

// commands lists them in the order of the help. What each does is the text
// command.NAME.
func commands() []command {
	return []command{
		{"start", (*Inbox).start},
		{"task", (*Inbox).task},
		{"plan", (*Inbox).preview},
		{"stop", (*Inbox).stop},
		{"status", (*Inbox).status},
		{"retry", (*Inbox).retry},
		{"new", (*Inbox).anew},
		{"forget", (*Inbox).forget},
		{"history", (*Inbox).history},
		{"groups", (*Inbox).groups},
		{"approvals", (*Inbox).approvals},
		{"schedule", (*Inbox).schedule},
		{"prompt", (*Inbox).prompt},
		{"model", (*Inbox).model},
		{"lang", (*Inbox).lang},
		{"timezone", (*Inbox).zone},
		{"usage", (*Inbox).usage},
		{"settings", (*Inbox).preferences},
		{"pause", (*Inbox).halt},
		{"resume", (*Inbox).proceed},
		{"help", (*Inbox).showHelp},
	}
}

// CommandNames lists the commands that people can write, in the order of the
// help. What the command NAME does is the text command.NAME.
func CommandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// splitCommand takes a text that begins with a slash apart. A name may carry
// the bot's own: "/stop@legwork_bot". What looks like a path is no command.
func splitCommand(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, rest = text, ""
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		name, rest = text[:end], strings.TrimSpace(text[end:])
	}
	name, _, _ = strings.Cut(name, "@")
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) || strings.IndexFunc(name, odd) >= 0 {
		return "", "", false
	}
	return strings.ToLower(name), rest, true
}

// command runs one, or names the nearest. It ends the asking for what a prompt
// needs.
func (in *Inbox) command(ctx context.Context, r *routed, name, rest string) error {
	left, err := in.leavePrompt(ctx, r)
	if err != nil {
		return err
	}
	if left && name == "cancel" {
		in.say(r, "prompts.over", nil)
		return nil
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(in, ctx, r, rest)
		}
	}
	in.say(r, "error.unknown_command", map[string]any{"Command": in.spellName(r.message.Chat, clip.Bytes(name, maxCommand)), "Near": nearestCommand(name)})
	return nil
}

// maxCommand is how much of an unknown command is repeated, in bytes.
const maxCommand = 40

// nearestCommand is the command that name is a misspelling of, with its slash;
// empty when it is none.
func nearestCommand(name string) string {
	var known []string
	for _, c := range commands() {
		known = append(known, c.name)
	}
	if near := nearest.Typo(name, known); near != "" {
		return "/" + near
	}
	return ""
}

func (in *Inbox) start(_ context.Context, r *routed, _ string) error {
	in.say(r, "notice.start", nil)
	in.extend(r, in.help(r.lang, r.message.Chat))
	return nil
}

func (in *Inbox) showHelp(_ context.Context, r *routed, _ string) error {
	in.reply(r, said{text: in.help(r.lang, r.message.Chat)})
	return nil
}

// task asks a question of its own, whatever is running.
func (in *Inbox) task(ctx context.Context, r *routed, text string) error {
	switch {
	case text == "":
		in.say(r, "error.empty_task", map[string]any{"Command": "/task"})
	case len(text) > MaxGoal:
		in.say(r, "error.goal_too_long", map[string]any{"Max": MaxGoal})
	default:
		r.message.Standalone, r.message.Overheard = true, false // whoever writes this means the bot
		return in.question(ctx, r, text)
	}
	return nil
}

// preview asks a question whose first plan a person decides about.
func (in *Inbox) preview(ctx context.Context, r *routed, text string) error {
	if text == "" {
		in.say(r, "error.empty_task", map[string]any{"Command": "/plan"})
		return nil
	}
	if err := in.task(ctx, r, text); err != nil || r.store[0].Open == nil {
		return err
	}
	r.store[0].Open.Opening.Preview = true
	return nil
}

// anew begins a new conversation.
func (in *Inbox) anew(_ context.Context, r *routed, _ string) error {
	in.say(r, "notice.new", nil)
	r.store[0].Cut = true
	return nil
}

// stop ends tasks.
func (in *Inbox) stop(_ context.Context, r *routed, _ string) error {
	m := r.message
	for _, id := range r.stoppable() {
		r.add(id, planner.Event{Type: planner.Stopped, At: in.Now(), By: m.From.Key()})
	}
	if len(r.store) == 0 {
		in.say(r, "error.nothing_running", nil)
		return nil
	}
	r.reply = func(_ context.Context, receipts []Receipt) said {
		for _, receipt := range receipts {
			if receipt.Err == nil {
				return in.stopping(*r)
			}
		}
		return in.sentence(*r, "error.nothing_running", nil)
	}
	return nil
}

// stopping is said where the author of a stop alone sees it: the outcome
// follows for all.
func (in *Inbox) stopping(r routed) said {
	s := in.sentence(r, "notice.stopping", nil)
	s.aside = true
	return s
}

// stoppable lists the task to whose message a stop replies, otherwise every one
// that the person has running in the conversation, also those that the batch
// at hand opens.
func (r *routed) stoppable() []ID {
	var ids []ID
	for _, t := range r.live {
		if t.state.Settled() {
			continue
		}
		if t.speaks(r.message.ReplyTo) && r.steers(t) {
			return []ID{t.Task}
		}
		if t.From.Key() == r.message.From.Key() || r.admin && r.message.InThread {
			ids = append(ids, t.Task)
		}
	}
	for _, t := range r.fresh.of(r.message) {
		if !slices.Contains(ids, t.id) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// status tells what runs in the conversation.
func (in *Inbox) status(ctx context.Context, r *routed, _ string) error {
	var lines []string
	paused, err := in.pausedLine(ctx, r)
	if err != nil {
		return err
	}
	if paused != "" {
		lines = append(lines, paused)
	}
	for _, t := range r.live {
		first, err := in.Store.Event(ctx, t.Task, 1)
		if err != nil {
			return fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		lines = append(lines, in.Texts.Text(r.lang, "statusline.task", map[string]any{
			"Goal":    title(first.Opening.Goal),
			"State":   statusText(in.Texts, r.lang, t.state),
			"Elapsed": in.Now().Sub(t.state.Opened),
		}))
	}
	if len(lines) == 0 {
		in.say(r, "statusline.none", nil)
		return nil
	}
	in.reply(r, said{text: strings.Join(lines, "\n")})
	return nil
}

// opening is what a new task of the message's author begins with.
func (in *Inbox) opening(ctx context.Context, r *routed, goal string) (*planner.Opening, error) {
	m := r.message
	timezone, err := in.timezone(ctx, r)
	if err != nil {
		return nil, err
	}
	model, err := in.chosenModel(ctx, r)
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
	limits := r.rules.Limits
	limits.ReviewTime = r.rules.Approvals.Expire // what holds for an approval
	return &planner.Opening{
		Goal: goal, Chat: m.Chat, From: m.From, Message: m.ID,
		Language: r.lang, Timezone: timezone, Limits: limits, Model: model, Groups: groups,
	}, nil
}

// opens is the delivery that opens a task under a dedupe key.
func (in *Inbox) opens(key string, chat bot.Chat, o *planner.Opening) Inbound {
	return in.opensAs(in.ids.next(in.Now()), key, chat, o)
}

// opensAs is opens for a task of that id.
func (in *Inbox) opensAs(id ID, key string, chat bot.Chat, o *planner.Opening) Inbound {
	return Inbound{Key: key, Chat: chat, ID: id, Open: &planner.Event{Type: planner.Opened, At: in.Now(), By: o.From.Key(), Opening: o}}
}

// question opens a task, unless the message is guidance for a running one that
// still takes it when it is stored. A task's time begins now, however long its
// message was on the way.
func (in *Inbox) question(ctx context.Context, r *routed, goal string) error {
	m := r.message
	o, err := in.opening(ctx, r, goal)
	if err != nil {
		return err
	}
	item := in.opens(m.Key, m.Chat, o)
	sent := m.At
	if sent.IsZero() {
		sent = item.Open.At
	}
	if !m.Standalone {
		item.To = r.guided(sent, item.Open.At)
	}
	if m.Overheard && item.To == "" && !r.asker {
		return nil
	}
	if item.To != "" {
		item.Event = planner.Event{Type: planner.Said, At: item.Open.At, By: m.From.Key(), Text: goal, Message: m.ID}
		if m.Overheard && !r.asker {
			item.ID, item.Open = "", nil
		}
	}
	r.fresh.add(m, cmp.Or(item.To, item.ID), item.To == "", sent)
	r.store = []Inbound{item}
	r.reply = func(ctx context.Context, receipts []Receipt) said {
		if receipts[0].Opened {
			if s, ok := in.standstill(ctx, *r); ok {
				return s
			}
		}
		return in.added(*r, item.To, receipts[0])
	}
	return nil
}
