package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/internal/retry"
)

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxDelivery  = 1 << 20         // bytes of one update
	identityWait = 5 * time.Second // how long a delivery waits until the bot knows its name
	webhookCheck = time.Minute     // between two checks of the webhook
)

// serveWebhook has updates delivered until ctx ends. The webhook stays: what people
// write meanwhile waits at Telegram.
func (in *receiver) serveWebhook(ctx context.Context, handle handler) {
	in.handle.Store(&handle)
	defer in.handle.Store(nil)
	for in.setWebhook(ctx) && in.watchWebhook(ctx) {
		in.log.WarnContext(ctx, "telegram: webhook changed by another program, setting it again")
	}
}

// setWebhook tells Telegram where to deliver; false when ctx ended before.
func (in *receiver) setWebhook(ctx context.Context) bool {
	p := tgbotapi.Params{"url": in.cfg.Webhook.URL, "secret_token": in.cfg.Webhook.Secret, "allowed_updates": allowedUpdates}
	if !in.api.retry(ctx, "setWebhook", p, nil, in.connection.receiverFailed(ctx)) {
		return false
	}
	in.connection.setReceiver(ctx, nil)
	return true
}

// watchWebhook asks every minute whether Telegram can deliver. Nothing else
// shows it. It returns true when the webhook is another one, false when ctx ended.
func (in *receiver) watchWebhook(ctx context.Context) (changed bool) {
	for retry.Sleep(ctx, webhookCheck) == nil {
		var info struct {
			URL     string `json:"url"`
			Waiting int    `json:"pending_update_count"`
			Failed  int64  `json:"last_error_date"`
			Why     string `json:"last_error_message"`
		}
		err := in.api.call(ctx, callTimeout, "getWebhookInfo", nil, &info)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			in.connection.setReceiver(ctx, explain(err))
		case info.URL != in.cfg.Webhook.URL:
			return true
		case info.Waiting > 0 && in.now().Sub(when(info.Failed)) < 2*webhookCheck:
			in.connection.setReceiver(ctx, fmt.Errorf("telegram cannot deliver, see that telegram.webhook.url leads here: %s", info.Why))
		default:
			in.connection.setReceiver(ctx, nil)
		}
	}
	return false
}

// serveDelivery answers 401 without the secret, 503 when a message was not stored and has
// to come again, 200 otherwise.
func (in *receiver) serveDelivery(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	if !in.authenticated(r) {
		in.log.WarnContext(r.Context(), "telegram: delivery without the secret refused", "from", r.RemoteAddr)
		http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		return
	}
	if status := in.handleDelivery(w, r); status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
	}
}

// authenticated compares the secret in constant time, whatever the lengths.
func (in *receiver) authenticated(r *http.Request) bool {
	if in.cfg.Mode != ModeWebhook || in.cfg.Webhook.Secret == "" {
		return false
	}
	got := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
	want := sha256.Sum256([]byte(in.cfg.Webhook.Secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// handleDelivery takes one update and returns the status of the reply.
func (in *receiver) handleDelivery(w http.ResponseWriter, r *http.Request) int {
	ctx, handle := r.Context(), in.handle.Load()
	if handle == nil {
		return http.StatusServiceUnavailable
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	u, err := readUpdate(body)
	if err != nil { // it would come again and again
		in.log.WarnContext(ctx, "telegram: unreadable update skipped", "cause", err)
		return http.StatusOK
	}
	turn, done := in.lanes.Join(u.chat())
	defer done()
	select {
	case <-turn:
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
	if err := in.handleUpdate(ctx, u, *handle); err != nil {
		in.log.ErrorContext(ctx, "telegram: message not stored, it will be delivered again", "cause", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// handleUpdate hands on one update as soon as the bot knows its name.
func (in *receiver) handleUpdate(ctx context.Context, u update, handle handler) error {
	known, cancel := context.WithTimeout(ctx, identityWait)
	defer cancel()
	if _, err := in.connection.self(known); err != nil {
		return err
	}
	return in.handleUpdates(ctx, batch{updates: []update{u}}, handle)
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
