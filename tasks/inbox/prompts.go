package inbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/input"
	"legwork/tools"
)

// promptTime is the maximum time that servers have to list their prompts.
const promptTime = 15 * time.Second

// foundPrompt is a prompt of a server, and the tool group that gives access to it.
type foundPrompt struct {
	group string
	tools.Prompt
}

// PromptCommand lists the prompts of the servers, or runs one. It asks the servers
// in the background because they may be slow.
func PromptCommand(_ context.Context, in *Inbox, r *Request, rest string) (Reply, error) {
	return in.Reply(r, Notice{Later: func(ctx context.Context) Notice {
		ctx, cancel := context.WithTimeout(ctx, promptTime)
		defer cancel()
		if rest == "" {
			return listPrompts(ctx, in, r)
		}
		return runPrompt(ctx, in, r, rest)
	}}), nil
}

// promptsFor asks the servers of all groups that are open to a message's author,
// at the same time. missed lists the groups that did not answer.
func promptsFor(ctx context.Context, in *Inbox, r *Request) (list []foundPrompt, missed []string) {
	groups, err := in.GroupsFor(ctx, r)
	if err != nil {
		in.Log.ErrorContext(ctx, "tool groups not read", "chat", r.Message.Chat.Key(), "cause", err)
	}
	found, failed := make([][]tools.Prompt, len(groups)), make([]error, len(groups))
	var asking sync.WaitGroup
	for i, g := range groups {
		asking.Go(func() {
			defer tasks.Catch(&failed[i])
			found[i], failed[i] = in.Tools.Prompts(ctx, g.Name)
		})
	}
	asking.Wait()
	for i, g := range groups {
		if failed[i] != nil {
			in.Log.WarnContext(ctx, "prompts not listed", "group", g.Name, "cause", failed[i])
			missed = append(missed, g.Name)
		}
		for _, p := range found[i] {
			if !slices.ContainsFunc(list, func(known foundPrompt) bool { return known.Name == p.Name }) {
				list = append(list, foundPrompt{g.Name, p})
			}
		}
	}
	return list, missed
}

func listPrompts(ctx context.Context, in *Inbox, r *Request) Notice {
	list, missed := promptsFor(ctx, in, r)
	var lines []string
	for _, p := range list {
		usage := p.Name
		for _, a := range p.Arguments {
			if a.Required {
				usage += " " + a.Name + "=…"
			} else {
				usage += " [" + a.Name + "=…]"
			}
		}
		about := cards.PlainText(cards.Line(bot.Visible(cmp.Or(p.Description, p.Title))))
		lines = append(lines, strings.TrimSuffix("- "+cards.InCode(usage)+": "+about, ": "))
	}
	var parts []string
	if len(lines) > 0 {
		parts = append(parts, in.Texts.Text(r.Lang, "prompts.intro", nil)+"\n\n"+strings.Join(lines, "\n"))
	}
	if len(missed) > 0 {
		parts = append(parts, in.Texts.Text(r.Lang, "prompts.missed", map[string]any{"Groups": strings.Join(missed, ", ")}))
	}
	if len(parts) == 0 {
		return in.Notice(r, "prompts.none", nil)
	}
	return TextNotice(in.SpellIn(r.Message.Chat, strings.Join(parts, "\n\n")))
}

// runPrompt opens the task of a prompt, or asks for its first missing argument.
func runPrompt(ctx context.Context, in *Inbox, r *Request, rest string) Notice {
	name, given := rest, ""
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		name, given = rest[:end], rest[end:]
	}
	list, missed := promptsFor(ctx, in, r)
	p, near := pickPrompt(list, name)
	if p == nil {
		s := in.Notice(r, "prompts.unknown", map[string]any{"Name": cards.InCode(clip.Bytes(name, maxCommand)), "Near": near})
		if len(missed) > 0 {
			s.Text += "\n\n" + in.Texts.Text(r.Lang, "prompts.missed", map[string]any{"Groups": strings.Join(missed, ", ")})
		}
		return s
	}
	w := pendingPrompt{Group: p.group, Name: p.Name, Arguments: input.ReadArguments(given, p.Arguments), At: in.Now()}
	for _, a := range p.Arguments {
		if _, ok := w.Arguments[a.Name]; !ok && a.Required {
			w.Missing = append(w.Missing, a)
		}
	}
	if len(w.Missing) > 0 {
		if err := storePendingPrompt(ctx, in, r, w); err != nil {
			return promptFailed(ctx, in, r, err)
		}
		return askArgument(in, r, w)
	}
	item, err := promptTask(ctx, in, r, w)
	if err != nil {
		return promptFailed(ctx, in, r, err)
	}
	item.Key += "#prompt" // the command itself is stored already
	trace(ctx, []tasks.Inbound{item})
	receipts, err := in.Store.Open(ctx, []tasks.Inbound{item})
	if err == nil {
		err = in.Wake(ctx, receipts[0].Task)
	}
	if err != nil {
		return promptFailed(ctx, in, r, err)
	}
	return Notice{}
}

func promptFailed(ctx context.Context, in *Inbox, r *Request, err error) Notice {
	in.Log.ErrorContext(ctx, "prompt not started", "message", r.Message.Key, "cause", err)
	if errors.Is(err, tasks.ErrFull) {
		return in.Notice(r, "problem.disk_full", nil)
	}
	return in.Notice(r, "problem.internal", nil)
}

// pickPrompt finds a prompt by its name. The server's part of the name may be
// missing if only one server has the prompt. near is a known prompt with a similar
// name.
func pickPrompt(list []foundPrompt, name string) (found *foundPrompt, near string) {
	full, short := map[string]string{}, 0
	for i, p := range list {
		_, own, _ := strings.Cut(p.Name, "/")
		switch {
		case strings.EqualFold(p.Name, name):
			return &list[i], ""
		case strings.EqualFold(own, name):
			found, short = &list[i], short+1
		}
		full[own], full[p.Name] = p.Name, p.Name
	}
	if short == 1 {
		return found, ""
	}
	if near := nearest.Typo(name, slices.Collect(maps.Keys(full))); near != "" {
		return nil, cards.InCode(full[near])
	}
	return nil, ""
}
