// Package commands holds the slash commands of people, and the buttons that these
// commands show. Each command is a function over an inbox.
package commands

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tasks/input"
)

// All lists the commands in the order of the help text. The text command.NAME
// describes each.
func All() []inbox.Command {
	return []inbox.Command{
		{Name: "start", Run: startCommand},
		{Name: "task", Run: taskCommand},
		{Name: "plan", Run: planCommand},
		{Name: "stop", Run: stopCommand},
		{Name: "status", Run: statusCommand},
		{Name: "retry", Run: retryCommand},
		{Name: "new", Run: newCommand},
		{Name: "forget", Run: forgetCommand},
		{Name: "history", Run: historyCommand},
		{Name: "groups", Run: groupsCommand},
		{Name: "approvals", Run: approvalsCommand},
		{Name: "schedule", Run: scheduleCommand},
		{Name: "prompt", Run: inbox.PromptCommand},
		{Name: "model", Run: modelCommand},
		{Name: "lang", Run: langCommand},
		{Name: "timezone", Run: timezoneCommand},
		{Name: "usage", Run: usageCommand},
		{Name: "settings", Run: settingsCommand},
		{Name: "console", Run: consoleCommand},
		{Name: "connections", Run: connectionsCommand},
		{Name: "connect", Run: connectCommand},
		{Name: "pause", Run: pauseCommand},
		{Name: "resume", Run: resumeCommand},
		{Name: "help", Run: helpCommand},
	}
}

// Names lists the names of all commands.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Presses lists the buttons that commands show.
func Presses() []inbox.Press {
	return []inbox.Press{
		{Prefix: pressCommand, Run: pressedCommand},
		{Prefix: pressLanguage, Run: langCommand},
		{Prefix: pressZone, Run: timezoneCommand},
		{Prefix: pressModel, Run: pressedModel},
		{Prefix: pressForget, Run: forgetPress},
		{Prefix: pressRevoke, Run: revokeGrant},
		{Prefix: pressSchedule, Run: pressedSchedule},
		{Prefix: cards.PressConnect, Run: connectCommand},
		{Prefix: pressDisconnect, Run: disconnectPress},
		{Prefix: pressPeople, Run: peopleCommand},
		{Prefix: pressEndAll, Run: endAllPress},
		{Prefix: pressAccept, Run: decideChangeBy(pressAccept)},
		{Prefix: pressLeave, Run: decideChangeBy(pressLeave)},
		{Prefix: pressShow, Run: decideChangeBy(pressShow)},
	}
}

func startCommand(_ context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	return in.Reply(r, inbox.WithHelp(in, r, in.Notice(r, "notice.start", nil))), nil
}

func helpCommand(_ context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	return in.Reply(r, inbox.TextNotice(inbox.HelpText(in, r.Lang, r.Message.Chat))), nil
}

// taskCommand opens a task of its own, even while other tasks run.
func taskCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, text string) (inbox.Reply, error) {
	text = cmp.Or(text, input.WithoutWords(r.Message), inbox.FilesGoal(in, r))
	switch {
	case text == "":
		return in.ReplyText(r, "error.empty_task", map[string]any{"Command": "/task"}), nil
	case len(text) > inbox.MaxGoal:
		return in.ReplyText(r, "error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}), nil
	default:
		own := *r
		own.Message.Standalone, own.Message.Overheard = true, false // the command always addresses the bot
		return inbox.OpenQuestion(ctx, in, &own, text)
	}
}

// planCommand opens a task whose first plan a person approves before it runs.
func planCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, text string) (inbox.Reply, error) {
	if text = cmp.Or(text, input.WithoutWords(r.Message), inbox.FilesGoal(in, r)); text == "" {
		return in.ReplyText(r, "error.empty_task", map[string]any{"Command": "/plan"}), nil
	}
	reply, err := taskCommand(ctx, in, r, text)
	if err == nil && reply.Store[0].Open != nil {
		reply.Store[0].Open.Opening.Preview = true
	}
	return reply, err
}

// newCommand starts a new conversation: later tasks do not see the earlier
// messages.
func newCommand(_ context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	reply := in.ReplyText(r, "notice.new", nil)
	reply.Store[0].Cut = true
	return reply, nil
}

// stopCommand stops the tasks that Stoppable lists.
func stopCommand(_ context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	var reply inbox.Reply
	for _, id := range r.Stoppable() {
		reply.Add(r, id, planner.Event{Type: planner.Stopped, At: in.Now(), By: r.Message.From.Key()})
	}
	if len(reply.Store) == 0 {
		return in.ReplyText(r, "error.nothing_running", nil), nil
	}
	reply.Say = func(_ context.Context, receipts []tasks.Receipt) inbox.Notice {
		for _, receipt := range receipts {
			if receipt.Err == nil {
				return inbox.StoppingNotice(in, r)
			}
		}
		return in.Notice(r, "error.nothing_running", nil)
	}
	return reply, nil
}

// statusCommand lists the running tasks of the conversation.
func statusCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	var lines []string
	paused, err := pausedLine(ctx, in, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	if paused != "" {
		lines = append(lines, paused)
	}
	for _, t := range r.Live {
		o, err := tasks.OpeningOf(ctx, in.Store, t.Task)
		if err != nil {
			return inbox.Reply{}, fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		lines = append(lines, in.Texts.Text(r.Lang, "statusline.task", map[string]any{
			"Goal":    cards.Title(o.Goal),
			"State":   cards.StatusText(in.Texts, r.Lang, t.State, t.Ahead),
			"Elapsed": in.Now().Sub(t.State.Opened),
		}))
	}
	if len(lines) == 0 {
		return in.ReplyText(r, "statusline.none", nil), nil
	}
	return in.Reply(r, inbox.TextNotice(strings.Join(lines, "\n"))), nil
}
