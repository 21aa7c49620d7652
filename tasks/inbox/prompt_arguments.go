package inbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

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
