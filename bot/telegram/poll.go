package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
)

// How the poll loop waits.
const (
	pollTimeout = 50 * time.Second // of an empty poll; the longest that Telegram keeps one open
	pollGrace   = 15 * time.Second // how much later its answer may come

	// A server that does not keep empty polls open is asked with pauses.
	shortPoll      = 50 * time.Millisecond
	shortPollPause = 200 * time.Millisecond
)

// handler is what Run hands messages to.
type handler func(context.Context, []bot.Message) error

// poll asks for updates until ctx ends. The offset confirms updates to Telegram
// (core.telegram.org/bots/api#getupdates), so it moves only after handle has
// stored them.
func (t *Telegram) poll(ctx context.Context, handle handler) {
	if !t.deleteWebhook(ctx) {
		return
	}
	t.connection.setReceiver(ctx, nil)
	var offset int64
	wait := pollTimeout
	pauses := newPauses()
	for ctx.Err() == nil {
		asked := time.Now()
		raw, err := t.updates(ctx, offset, wait)
		if err == nil {
			t.connection.setReceiver(ctx, nil)
			if len(raw) == 0 && wait > 0 && time.Since(asked) < shortPoll && retry.Sleep(ctx, shortPollPause) != nil {
				return
			}
			b := readBatch(raw, offset)
			if err = t.handleUpdates(ctx, b, handle); err == nil {
				same := b.next == offset && len(raw) > 0
				offset, wait = b.next, pollTimeout
				if !same {
					pauses.Reset()
				} else if pauses.Sleep(ctx) != nil { // a server that brings the same updates again and again
					return
				}
				continue
			}
			t.log.ErrorContext(ctx, "telegram: messages not stored, they will be fetched again", "count", len(raw), "cause", err)
		} else if ctx.Err() == nil {
			t.connection.setReceiver(ctx, explain(err))
		}
		// The next poll returns at once and so shows that all is well again. Where
		// another program polls too, long polls leave it alone.
		wait = 0
		if isConflict(err) {
			wait = pollTimeout
		}
		if retry.Sleep(ctx, pauseAfter(err, pauses)) != nil {
			return
		}
	}
}

// deleteWebhook removes a webhook, because Telegram refuses polls while there is
// one. Updates that wait are kept. It returns false when ctx ended before.
func (t *Telegram) deleteWebhook(ctx context.Context) bool {
	return t.api.retry(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, nil, t.connection.receiverFailed(ctx))
}

// updates is one poll.
func (t *Telegram) updates(ctx context.Context, offset int64, wait time.Duration) (raw []json.RawMessage, err error) {
	p := tgbotapi.Params{"timeout": strconv.Itoa(int(wait.Seconds())), "allowed_updates": allowedUpdates}
	p.AddNonZero64("offset", offset)
	err = t.api.call(ctx, wait+pollGrace, "getUpdates", p, &raw)
	return raw, err
}

// handleUpdates hands the messages of a batch on.
func (t *Telegram) handleUpdates(ctx context.Context, b batch, handle handler) error {
	for _, err := range b.broken {
		t.log.WarnContext(ctx, "telegram: unreadable update skipped", "cause", err)
	}
	if len(b.updates) == 0 {
		return nil
	}
	me, err := t.connection.self(ctx)
	if err != nil {
		return err
	}
	r := reader{account: t.account, me: me, knows: t.knows, now: t.now}
	var messages []bot.Message
	var undo []func()
	for _, u := range b.updates {
		t.chats.learn(u)
		if u.Member != nil {
			t.log.InfoContext(ctx, "telegram: membership changed", "chat", u.Member.Chat.ID, "status", u.Member.New.Status)
		}
		m, ok := r.read(u)
		switch {
		case !ok && t.cfg.Overhear:
			t.overheard.hear(r, u)
		case !ok:
		case !t.chats.repeats(u.Message):
			undo = append(undo, t.overheard.attach(&m))
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
	failpoint.Hit("telegram.after.handle")
	return nil
}
