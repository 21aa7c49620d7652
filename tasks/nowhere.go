package tasks

import (
	"context"

	"legwork/bot"
	"legwork/planner"
)

// Tasks that programs start have no chat: nothing of them is posted but, where
// the program named a chat for it (planner.Notify), their questions and their
// outcome.

// nowhere is the platform of chats that do not exist.
type nowhere struct{}

// Name implements bot.Platform.
func (nowhere) Name() string { return PlatformAPI }

// Limits implements bot.Platform.
func (nowhere) Limits() bot.Limits { return bot.Limits{} }

// Run implements bot.Platform.
func (nowhere) Run(ctx context.Context, _ func(context.Context, []bot.Message) error) error {
	<-ctx.Done()
	return nil
}

// Post implements bot.Platform.
func (nowhere) Post(context.Context, bot.Chat, bot.Draft) (string, error) { return PlatformAPI, nil }

// Edit implements bot.Platform.
func (nowhere) Edit(context.Context, bot.Chat, string, bot.Draft) error { return nil }

// place is where a task shows itself. quiet says that it shows its questions and
// its outcome alone.
func (x *Executor) place(id ID, o *planner.Opening) (platform bot.Platform, chat bot.Chat, quiet bool, err error) {
	if o.Chat.Platform != PlatformAPI {
		platform, err = x.Chats.Platform(o.Chat)
		return platform, o.Chat, false, err
	}
	if o.Notify != nil && o.Notify.Chat != nil {
		platform, err = x.Chats.Platform(*o.Notify.Chat)
		if err == nil {
			return platform, *o.Notify.Chat, true, nil
		}
		x.Log.Warn("a chat cannot be told of a task any more", "task", id, "chat", o.Notify.Chat.Key(), "cause", err)
	}
	return nowhere{}, o.Chat, true, nil
}

// unseen reports that the task is shown nowhere.
func (p *Presenter) unseen() bool {
	_, none := p.platform.(nowhere)
	return none
}

// showNowhere notes that the outcome is there for whoever asks for it.
func (p *Presenter) showNowhere(ctx context.Context, v *View) error {
	events := []planner.Event{{Type: planner.Shown, Slot: planner.SlotAnswer, Message: string(p.id), Last: true}}
	if v.State.Slot(planner.SlotAnswer).Name == "" {
		events = append([]planner.Event{{Type: planner.Began, Slot: planner.SlotAnswer}}, events...)
	}
	return p.append(ctx, events...)
}

// introduced is a text of a program's task in the chat that the program named:
// first it says which task it is.
func (p *Presenter) introduced(v *View, text string) string {
	o := v.Opening()
	if !p.quiet || o.Intro != "" || text == "" {
		return text
	}
	data := map[string]any{"Name": plainText(nameOf(o.From.Name, o.From.Key())), "Goal": plainText(title(o.Goal))}
	return p.x.Texts.Text(o.Language, "notify.intro", data) + "\n\n" + text
}
