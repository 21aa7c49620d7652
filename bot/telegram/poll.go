package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
)

// How the poll loop waits.
const (
	pollFor     = 50 * time.Second // an empty poll, the longest that Telegram keeps open
	pollGrace   = 15 * time.Second // how much later its answer may come
	retryCap    = 25 * time.Second // longest pause between tries; a random part comes on top
	conflictFor = 5 * time.Second  // shortest pause after another poller took over
	refusedFor  = time.Minute      // pause after the token was refused

	// A server that does not keep empty polls open is asked with pauses.
	hasty      = 50 * time.Millisecond
	hastyPause = 200 * time.Millisecond
)

// handler is what Run hands messages to.
type handler func(context.Context, []bot.Message) error

// poll asks for updates until ctx ends. The offset, and with it what Telegram
// forgets, moves only after handle has stored what came.
func (t *Telegram) poll(ctx context.Context, handle handler) {
	if !t.unhook(ctx) {
		return
	}
	t.receiving(ctx, nil)
	var offset int64
	wait := pollFor
	pause := newPause()
	for ctx.Err() == nil {
		asked := time.Now()
		raw, err := t.updates(ctx, offset, wait)
		if err == nil {
			t.receiving(ctx, nil)
			if len(raw) == 0 && wait > 0 && time.Since(asked) < hasty && !sleep(ctx, hastyPause) {
				return
			}
			b := readBatch(raw, offset)
			if err = t.take(ctx, b, handle); err == nil {
				same := b.next == offset && len(raw) > 0
				offset, wait = b.next, pollFor
				if !same {
					pause.Reset()
				} else if !sleep(ctx, pause.NextBackOff()) { // a server that brings the same for ever
					return
				}
				continue
			}
			t.log.ErrorContext(ctx, "telegram: messages were not taken and come again", "count", len(raw), "cause", err)
		} else if ctx.Err() == nil {
			t.receiving(ctx, explain(err))
		}
		var after time.Duration
		after, wait = pauseAfter(err, pause)
		if !sleep(ctx, after) {
			return
		}
	}
}

// unhook takes back a webhook, as nobody can poll beside one. Updates that wait
// are kept. It returns false when ctx ended before.
func (t *Telegram) unhook(ctx context.Context) bool {
	return t.insist(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, func(problem error) { t.receiving(ctx, problem) })
}

// updates is one poll.
func (t *Telegram) updates(ctx context.Context, offset int64, wait time.Duration) (raw []json.RawMessage, err error) {
	params := tgbotapi.Params{
		"timeout":         strconv.Itoa(int(wait.Seconds())),
		"allowed_updates": allowedUpdates,
	}
	params.AddNonZero64("offset", offset)
	err = t.api.call(ctx, wait+pollGrace, "getUpdates", params, &raw)
	return raw, err
}

// take hands the messages of a batch on.
func (t *Telegram) take(ctx context.Context, b batch, handle handler) error {
	for _, err := range b.broken {
		t.log.WarnContext(ctx, "telegram: an update cannot be read and is left out", "cause", err)
	}
	if len(b.updates) == 0 {
		return nil
	}
	me, err := t.state.self(ctx)
	if err != nil {
		return err
	}
	r := reader{account: t.account, me: me, knows: t.knows, now: t.now}
	var messages []bot.Message
	for _, u := range b.updates {
		t.places.learn(u)
		if u.Member != nil {
			t.log.InfoContext(ctx, "telegram: the bot's place in a chat changed", "chat", u.Member.Chat.ID, "status", u.Member.New.Status)
		}
		if m, ok := r.read(u); ok && !t.albums.repeats(u.Message) {
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	failpoint.Hit("telegram.before.handle")
	if err := handle(ctx, messages); err != nil {
		return fmt.Errorf("handling messages: %w", err)
	}
	failpoint.Hit("telegram.after.handle")
	return nil
}

// receiving notes and logs how receiving stands, once per change.
func (t *Telegram) receiving(ctx context.Context, problem error) {
	if !t.state.receiving(problem) {
		return
	}
	if problem != nil {
		t.log.WarnContext(ctx, "telegram: no messages arrive", "cause", problem)
		return
	}
	t.log.InfoContext(ctx, "telegram: messages arrive")
}

// newPause counts up the pauses between tries.
func newPause() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval, p.Multiplier, p.RandomizationFactor = 250*time.Millisecond, retryCap, 2, 0.2
	return p
}

// pauseAfter says how long to wait after an error, and how long the next poll
// may stay open: it shows at once that all is well again. Where another program
// polls too, waiting long is the way to leave it alone.
func pauseAfter(err error, pause *backoff.ExponentialBackOff) (after, wait time.Duration) {
	after, wait = pause.NextBackOff(), 0
	r, ok := refused(err)
	switch {
	case !ok:
	case r.badToken():
		after = refusedFor
	case r.rated():
		after = max(after, r.after)
	case r.code == http.StatusConflict:
		after, wait = max(after, conflictFor), pollFor
	}
	return after, wait
}

// insist calls a method until it succeeds. tell gets each error that is in the
// way. It returns false when ctx ended before.
func (t *Telegram) insist(ctx context.Context, method string, params tgbotapi.Params, tell func(error)) bool {
	pause := newPause()
	for {
		err := t.api.call(ctx, callTimeout, method, params, nil)
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		tell(explain(err))
		after, _ := pauseAfter(err, pause)
		if !sleep(ctx, after) {
			return false
		}
	}
}
