package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// command is one that people can write.
type command struct {
	name string
	run  func(ctx context.Context, in *Inbox, r *Request, rest string) (Reply, error)
}

// commands lists them in the order of the help. What each does is the text
// command.NAME.
func commands() []command {
	return []command{
		{"start", startCommand},
		{"task", taskCommand},
		{"plan", planCommand},
		{"stop", stopCommand},
		{"status", statusCommand},
		{"retry", retryCommand},
		{"new", newCommand},
		{"forget", forgetCommand},
		{"history", historyCommand},
		{"groups", groupsCommand},
		{"approvals", approvalsCommand},
		{"schedule", scheduleCommand},
		{"prompt", promptCommand},
		{"model", modelCommand},
		{"lang", langCommand},
		{"timezone", timezoneCommand},
		{"usage", usageCommand},
		{"settings", settingsCommand},
		{"pause", pauseCommand},
		{"resume", resumeCommand},
		{"help", helpCommand},
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

// commandHandler runs one, or names the nearest. It ends the asking for what a prompt
// needs.
func commandHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	name, rest, ok := splitCommand(r.Message.Text)
	if !ok {
		return Outcome{}, nil
	}
	return took(runCommand(ctx, in, r, name, rest))
}

func runCommand(ctx context.Context, in *Inbox, r *Request, name, rest string) (Reply, error) {
	left, err := leavePrompt(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	if left && name == "cancel" {
		return in.replyText(r, "prompts.over", nil), nil
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, in, r, rest)
		}
	}
	return in.replyText(r, "error.unknown_command", map[string]any{"Command": spellName(in, r.Message.Chat, clip.Bytes(name, maxCommand)), "Near": nearestCommand(name)}), nil
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

func startCommand(_ context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	return in.reply(r, withHelp(in, r, in.notice(r, "notice.start", nil))), nil
}

func helpCommand(_ context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	return in.reply(r, textNotice(helpText(in, r.Lang, r.Message.Chat))), nil
}

// taskCommand asks a question of its own, whatever is running.
func taskCommand(ctx context.Context, in *Inbox, r *Request, text string) (Reply, error) {
	switch {
	case text == "":
		return in.replyText(r, "error.empty_task", map[string]any{"Command": "/task"}), nil
	case len(text) > MaxGoal:
		return in.replyText(r, "error.goal_too_long", map[string]any{"Max": MaxGoal}), nil
	default:
		own := *r
		own.Message.Standalone, own.Message.Overheard = true, false // this always means the bot
		return openQuestion(ctx, in, &own, text)
	}
}

// planCommand asks a question whose first plan a person decides about.
func planCommand(ctx context.Context, in *Inbox, r *Request, text string) (Reply, error) {
	if text == "" {
		return in.replyText(r, "error.empty_task", map[string]any{"Command": "/plan"}), nil
	}
	reply, err := taskCommand(ctx, in, r, text)
	if err == nil && reply.Store[0].Open != nil {
		reply.Store[0].Open.Opening.Preview = true
	}
	return reply, err
}

// newCommand begins a new conversation.
func newCommand(_ context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	reply := in.replyText(r, "notice.new", nil)
	reply.Store[0].Cut = true
	return reply, nil
}

// stopCommand ends tasks.
func stopCommand(_ context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	var reply Reply
	for _, id := range r.stoppable() {
		reply.add(r, id, planner.Event{Type: planner.Stopped, At: in.Now(), By: r.Message.From.Key()})
	}
	if len(reply.Store) == 0 {
		return in.replyText(r, "error.nothing_running", nil), nil
	}
	reply.Say = func(_ context.Context, receipts []tasks.Receipt) Notice {
		for _, receipt := range receipts {
			if receipt.Err == nil {
				return stopping(in, r)
			}
		}
		return in.notice(r, "error.nothing_running", nil)
	}
	return reply, nil
}

// stopping is the notice that a task is being stopped. The author of the stop
// alone sees it: the outcome follows for all.
func stopping(in *Inbox, r *Request) Notice {
	s := in.notice(r, "notice.stopping", nil)
	s.Audience = ToAuthor
	return s
}

// stoppable lists the task to whose message a stop replies, otherwise every one
// that the person has running in the conversation, also those that the batch
// at hand opens.
func (r *Request) stoppable() []tasks.ID {
	var ids []tasks.ID
	for _, t := range r.Live {
		if t.State.Settled() {
			continue
		}
		if t.speaks(r.Message.ReplyTo) && r.steers(t) {
			return []tasks.ID{t.Task}
		}
		if t.From.Key() == r.Message.From.Key() || r.Admin && r.Message.InThread {
			ids = append(ids, t.Task)
		}
	}
	for _, t := range r.Batch.of(r.Message) {
		if !slices.Contains(ids, t.id) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// statusCommand tells what runs in the conversation.
func statusCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	var lines []string
	paused, err := pausedLine(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	if paused != "" {
		lines = append(lines, paused)
	}
	for _, t := range r.Live {
		first, err := in.Store.Event(ctx, t.Task, 1)
		if err != nil {
			return Reply{}, fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		lines = append(lines, in.Texts.Text(r.Lang, "statusline.task", map[string]any{
			"Goal":    cards.Title(first.Opening.Goal),
			"State":   cards.StatusText(in.Texts, r.Lang, t.State),
			"Elapsed": in.Now().Sub(t.State.Opened),
		}))
	}
	if len(lines) == 0 {
		return in.replyText(r, "statusline.none", nil), nil
	}
	return in.reply(r, textNotice(strings.Join(lines, "\n"))), nil
}
