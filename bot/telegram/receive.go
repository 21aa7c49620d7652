package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/internal/failpoint"
)

// handler is what Run hands messages to.
type handler func(context.Context, []bot.Message) error

// receiver brings updates in, by polls or a webhook, and hands on their messages. It is
// safe for concurrent use.
type receiver struct {
	cfg        Config
	api        *client
	account    string // the bot's id
	connection *connection
	chats      *chats
	overheard  *overheard
	albums     *albums
	knows      func(command string) bool // that it is one of the bot's, without the slash
	now        func() time.Time
	log        *slog.Logger

	handle atomic.Pointer[handler] // of deliveries; nil while run does not work
	lanes  bot.Lanes               // of deliveries, by chat
}

// run hands messages to handle until ctx ends.
func (in *receiver) run(ctx context.Context, handle handler) {
	if in.cfg.Mode == ModeWebhook {
		in.serveWebhook(ctx, handle)
	} else {
		in.poll(ctx, handle)
	}
}

// handleUpdates hands the messages of a batch on.
func (in *receiver) handleUpdates(ctx context.Context, b batch, handle handler) error {
	for _, err := range b.broken {
		in.log.WarnContext(ctx, "telegram: unreadable update skipped", "cause", err)
	}
	if len(b.updates) == 0 {
		return nil
	}
	me, err := in.connection.self(ctx)
	if err != nil {
		return err
	}
	r := reader{account: in.account, me: me, albums: in.albums, knows: in.knows, now: in.now}
	var messages []bot.Message
	var stored []message
	var undo []func()
	for _, u := range in.albums.join(b.updates) {
		in.chats.learn(u)
		if u.Member != nil {
			in.log.InfoContext(ctx, "telegram: membership changed", "chat", u.Member.Chat.ID, "status", u.Member.New.Status)
		}
		m, ok := r.read(u)
		switch {
		case !ok && in.cfg.Overhear:
			in.overheard.hear(r, u)
		case !ok:
		default:
			if u.Message != nil {
				in.albums.hear(*u.Message)
				stored = append(stored, *u.Message)
			}
			undo = append(undo, in.overheard.attach(&m))
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	failpoint.Hit("telegram.before.handle")
	if err := handle(ctx, messages); err != nil {
		for _, u := range slices.Backward(undo) {
			u()
		}
		return fmt.Errorf("handling messages: %w", err)
	}
	for _, m := range stored {
		in.albums.store(m)
	}
	failpoint.Hit("telegram.after.handle")
	return nil
}
