package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/planner"
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

// pendingPrompt is a prompt whose missing arguments a person is asked for.
type pendingPrompt struct {
	Group     string                 `json:"group"`
	Name      string                 `json:"name"` // "server/prompt"
	Arguments map[string]string      `json:"arguments,omitempty"`
	Missing   []tools.PromptArgument `json:"missing,omitempty"`
	Message   string                 `json:"message,omitempty"`    // id of the message that asks
	AnswerKey string                 `json:"answer_key,omitempty"` // key of the message with the last argument
	At        time.Time              `json:"at"`
}

func storePendingPrompt(ctx context.Context, in *Inbox, r *Request, w pendingPrompt) error {
	in.promptsMu.Lock()
	defer in.promptsMu.Unlock()
	return in.Settings.Write(ctx, r.Message.Chat.Key(), tasks.SettingPrompt+r.Message.From.Key(), w)
}

// storePromptMessage stores the id of the message that asks for an argument, unless the
// person answered before the id was known.
func storePromptMessage(ctx context.Context, in *Inbox, r *Request, w pendingPrompt, id string) error {
	in.promptsMu.Lock()
	defer in.promptsMu.Unlock()
	owner, name := r.Message.Chat.Key(), tasks.SettingPrompt+r.Message.From.Key()
	var now pendingPrompt
	if err := in.Settings.Read(ctx, owner, name, &now); err != nil {
		return err
	}
	if now.Name != w.Name || !now.At.Equal(w.At) || len(now.Missing) != len(w.Missing) {
		return nil
	}
	now.Message = id
	return in.Settings.Write(ctx, owner, name, now)
}

// deletePendingPrompt deletes the pending prompt of a person. It reports whether there was
// one.
func deletePendingPrompt(ctx context.Context, in *Inbox, r *Request) (bool, error) {
	in.promptsMu.Lock()
	defer in.promptsMu.Unlock()
	owner, name := r.Message.Chat.Key(), tasks.SettingPrompt+r.Message.From.Key()
	text, err := in.Settings.Get(ctx, owner, name)
	if err != nil || text == "" {
		return false, err
	}
	return true, in.Settings.Put(ctx, owner, name, "")
}

// promptArgumentHandler takes a text as the argument of a pending prompt. The text
// replies to the question. In a private chat or a thread, the next text counts,
// too.
func promptArgumentHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if m.Text == "" || m.Standalone || m.Kind == bot.MessageEdit || strings.HasPrefix(m.Text, "/") || len(m.Text) > MaxGoal {
		return Outcome{}, nil
	}
	var w pendingPrompt
	if err := in.Settings.Read(ctx, m.Chat.Key(), tasks.SettingPrompt+m.From.Key(), &w); err != nil || w.Name == "" {
		return Outcome{}, err
	}
	again := w.AnswerKey == m.Key // an earlier delivery ended before it was stored
	switch {
	case again:
	case len(w.Missing) == 0 || in.Now().Sub(w.At) > plainReplyTime:
		return Outcome{}, nil
	case m.ReplyTo != "" && m.ReplyTo == w.Message:
	case m.ReplyTo != "" && !r.Ephemeral, !m.Chat.Private && !m.InThread:
		return Outcome{}, nil
	}
	if !again {
		if w.Arguments == nil {
			w.Arguments = map[string]string{}
		}
		w.Arguments[w.Missing[0].Name] = m.Text
		w.Missing, w.AnswerKey, w.At, w.Message = w.Missing[1:], m.Key, in.Now(), ""
		if err := storePendingPrompt(ctx, in, r, w); err != nil {
			return Outcome{}, err
		}
	}
	if len(w.Missing) > 0 {
		return took(in.Reply(r, askArgument(in, r, w)), nil)
	}
	item, err := promptTask(ctx, in, r, w)
	if err != nil {
		return Outcome{}, err
	}
	return took(Reply{Store: []tasks.Inbound{item}, Say: func(ctx context.Context, _ []tasks.Receipt) Notice {
		if _, err := deletePendingPrompt(ctx, in, r); err != nil {
			in.Log.WarnContext(ctx, "prompt arguments not deleted", "message", m.Key, "cause", err)
		}
		return Notice{}
	}}, nil)
}

// askArgument asks for the next argument of a prompt.
func askArgument(in *Inbox, r *Request, w pendingPrompt) Notice {
	a := w.Missing[0]
	s := in.Notice(r, "prompts.ask", map[string]any{
		"Name": "**" + cards.PlainText(cards.Line(bot.Visible(a.Name))) + "**", "Tool": cards.InCode(w.Name), "Text": cards.PlainText(cards.Line(bot.Visible(a.Description))),
	})
	how := "prompts.how"
	if r.Ephemeral {
		how = "prompts.how_here"
	}
	s.Text += "\n\n" + in.Texts.Text(r.Lang, how, nil)
	s.Text = in.SpellIn(r.Message.Chat, s.Text)
	s.Audience = ToChat
	if r.Ephemeral {
		s.Kind = bot.KindQuestion // the next line answers it
		return s
	}
	s.Sent = func(ctx context.Context, id string) {
		if err := storePromptMessage(ctx, in, r, w, id); err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "prompt question not stored", "message", r.Message.Key, "cause", err)
		}
	}
	return s
}

// promptTask is the delivery that opens the task of a prompt.
func promptTask(ctx context.Context, in *Inbox, r *Request, w pendingPrompt) (tasks.Inbound, error) {
	goal := "/prompt " + w.Name
	for _, name := range slices.Sorted(maps.Keys(w.Arguments)) {
		goal += fmt.Sprintf(" %s=%s", name, w.Arguments[name])
	}
	o, err := in.opening(ctx, r, clip.Bytes(goal, MaxGoal))
	if err != nil {
		return tasks.Inbound{}, err
	}
	o.Prompt = &planner.PromptRef{Group: w.Group, Name: w.Name, Arguments: w.Arguments}
	return in.OpeningDelivery(r.Message.Key, r.Message.Chat, o), nil
}
