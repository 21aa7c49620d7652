package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
)

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxDelivery  = 1 << 20         // bytes of one update
	waitForSelf  = 5 * time.Second // how long a delivery waits until the bot knows its name
	hookLook     = time.Minute     // between two looks at the webhook
)

// hook is what deliveries need while Run works.
type hook struct {
	mu     sync.Mutex
	handle handler                                                     // nil while Run does not work
	bound  func(context.Context) (context.Context, context.CancelFunc) // ends a context with that of Run as well
	busy   sync.WaitGroup                                              // deliveries that Run waits for
	lanes  bot.Lanes                                                   // by chat
}

// await has updates delivered until ctx ends. The webhook stays: what people
// write meanwhile waits at Telegram.
func (t *Telegram) await(ctx context.Context, handle handler) {
	t.hook.open(ctx, handle)
	defer t.hook.close()
	for t.setHook(ctx) && t.watchHook(ctx) {
		t.log.WarnContext(ctx, "telegram: another program changed the webhook, which is set again")
	}
}

// setHook tells Telegram where to deliver; false when ctx ended before.
func (t *Telegram) setHook(ctx context.Context) bool {
	params := tgbotapi.Params{
		"url":             t.cfg.Webhook.URL,
		"secret_token":    t.cfg.Webhook.Secret,
		"allowed_updates": allowedUpdates,
	}
	if !t.insist(ctx, "setWebhook", params, func(problem error) { t.receiving(ctx, problem) }) {
		return false
	}
	t.receiving(ctx, nil)
	return true
}

// watchHook asks now and then whether Telegram can deliver: it tells nobody
// else. It returns true when the webhook is another one, false when ctx ended.
func (t *Telegram) watchHook(ctx context.Context) (changed bool) {
	for sleep(ctx, hookLook) {
		var info struct {
			URL     string `json:"url"`
			Waiting int    `json:"pending_update_count"`
			Failed  int64  `json:"last_error_date"`
			Why     string `json:"last_error_message"`
		}
		err := t.api.call(ctx, callTimeout, "getWebhookInfo", nil, &info)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			t.receiving(ctx, explain(err))
		case info.URL != t.cfg.Webhook.URL:
			return true
		case info.Waiting > 0 && t.now().Sub(when(info.Failed)) < 2*hookLook:
			t.receiving(ctx, fmt.Errorf("telegram cannot deliver, see that telegram.webhook.url leads here: %s", info.Why))
		default:
			t.receiving(ctx, nil)
		}
	}
	return false
}

func (h *hook) open(ctx context.Context, handle handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handle = handle
	h.bound = func(of context.Context) (context.Context, context.CancelFunc) {
		of, cancel := context.WithCancel(of)
		stop := context.AfterFunc(ctx, cancel)
		return of, func() { stop(); cancel() }
	}
}

func (h *hook) close() {
	h.mu.Lock()
	h.handle = nil
	h.mu.Unlock()
	h.busy.Wait()
}

// enter lets a delivery in: handle is nil when nobody takes it. Otherwise leave
// must be called at its end.
func (h *hook) enter(ctx context.Context) (_ context.Context, handle handler, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handle == nil {
		return ctx, nil, nil
	}
	h.busy.Add(1)
	ctx, cancel := h.bound(ctx)
	return ctx, h.handle, func() { cancel(); h.busy.Done() }
}

// Handler takes Telegram's deliveries in mode webhook: 401 without the secret,
// 503 when a message was not stored and has to come again, 200 otherwise.
func (t *Telegram) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		if !t.genuine(r) {
			t.log.WarnContext(r.Context(), "telegram: a delivery without the secret was refused", "from", r.RemoteAddr)
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
			return
		}
		if status := t.deliver(w, r); status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
		}
	})
}

// genuine compares in constant time, whatever the lengths.
func (t *Telegram) genuine(r *http.Request) bool {
	if t.cfg.Mode != ModeWebhook || t.cfg.Webhook.Secret == "" {
		return false
	}
	got := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
	want := sha256.Sum256([]byte(t.cfg.Webhook.Secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// deliver takes one update and returns the status of the reply.
func (t *Telegram) deliver(w http.ResponseWriter, r *http.Request) int {
	ctx, handle, leave := t.hook.enter(r.Context())
	if handle == nil {
		return http.StatusServiceUnavailable
	}
	defer leave()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	u, err := readUpdate(body)
	if err != nil { // it would come again and again
		t.log.WarnContext(ctx, "telegram: an update cannot be read and is left out", "cause", err)
		return http.StatusOK
	}
	turn, done := t.hook.lanes.Join(u.chat())
	defer done()
	select {
	case <-turn:
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
	if err := t.accept(ctx, u, handle); err != nil {
		t.log.ErrorContext(ctx, "telegram: a message was not taken and comes again", "cause", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// accept hands on one update as soon as the bot knows its name.
func (t *Telegram) accept(ctx context.Context, u update, handle handler) error {
	known, cancel := context.WithTimeout(ctx, waitForSelf)
	defer cancel()
	if _, err := t.state.self(known); err != nil {
		return err
	}
	return t.take(ctx, batch{updates: []update{u}}, handle)
}

// chat is the id of the chat that an update is about; empty for none.
func (u update) chat() string {
	switch {
	case u.Message != nil:
		return number(u.Message.Chat.ID)
	case u.Edited != nil:
		return number(u.Edited.Chat.ID)
	case u.Callback != nil && u.Callback.Message != nil:
		return number(u.Callback.Message.Chat.ID)
	}
	return ""
}
