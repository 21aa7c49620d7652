package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

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

// poll asks for updates until ctx ends. The offset confirms updates to Telegram
// (core.telegram.org/bots/api#getupdates), so it moves only after handle has
// stored them.
func (in *receiver) poll(ctx context.Context, handle handler) {
	if !in.deleteWebhook(ctx) {
		return
	}
	in.connection.setReceiver(ctx, nil)
	var offset int64
	wait := pollTimeout
	pauses := newPauses()
	for ctx.Err() == nil {
		asked := time.Now()
		raw, err := in.updates(ctx, offset, wait)
		if err == nil {
			in.connection.setReceiver(ctx, nil)
			if len(raw) == 0 && wait > 0 && time.Since(asked) < shortPoll && retry.Sleep(ctx, shortPollPause) != nil {
				return
			}
			b := readBatch(raw, offset)
			if err = in.handleUpdates(ctx, b, handle); err == nil {
				same := b.next == offset && len(raw) > 0
				offset, wait = b.next, pollTimeout
				if !same {
					pauses.Reset()
				} else if pauses.Sleep(ctx) != nil { // a server that brings the same updates again and again
					return
				}
				continue
			}
			in.log.ErrorContext(ctx, "telegram: messages not stored, they will be fetched again", "count", len(raw), "cause", err)
		} else if ctx.Err() == nil {
			in.connection.setReceiver(ctx, explain(err))
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
func (in *receiver) deleteWebhook(ctx context.Context) bool {
	return in.api.retry(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, nil, in.connection.receiverFailed(ctx))
}

// updates is one poll.
func (in *receiver) updates(ctx context.Context, offset int64, wait time.Duration) (raw []json.RawMessage, err error) {
	p := tgbotapi.Params{"timeout": strconv.Itoa(int(wait.Seconds())), "allowed_updates": allowedUpdates}
	p.AddNonZero64("offset", offset)
	err = in.api.call(ctx, wait+pollGrace, "getUpdates", p, &raw)
	return raw, err
}
