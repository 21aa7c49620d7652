package presenter

import (
	"context"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Tasks that programs start have no chat. legwork sends nothing for them, unless the
// program named a chat (planner.Notify): that chat gets their questions and their
// outcome.

// headless is the platform of tasks without a chat.
type headless struct{}

// Name implements bot.Platform.
func (headless) Name() string { return tasks.PlatformAPI }

// Limits implements bot.Platform.
func (headless) Limits() bot.Limits { return bot.Limits{} }

// Run implements bot.Platform.
func (headless) Run(ctx context.Context, _ func(context.Context, []bot.Message) error) error {
	<-ctx.Done()
	return nil
}

// Post implements bot.Platform.
func (headless) Post(context.Context, bot.Chat, bot.Draft) (string, error) {
	return tasks.PlatformAPI, nil
}

// Edit implements bot.Platform.
func (headless) Edit(context.Context, bot.Chat, string, bot.Draft) error { return nil }

// showHeadless records that the outcome can be read.
func (s *sender) showHeadless(ctx context.Context, v *tasks.View) error {
	events := []planner.Event{{Type: planner.Sent, Slot: planner.SlotAnswer, Message: string(s.id), Last: true}}
	if v.State.Slot(planner.SlotAnswer).Name == "" {
		events = append([]planner.Event{{Type: planner.SendStarted, Slot: planner.SlotAnswer}}, events...)
	}
	return s.append(ctx, events...)
}
