package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
)

// uploadTimeout is how long the largest file may take on a slow line.
const uploadTimeout = 2 * time.Minute

// Files implements bot.Filer. Whether a group forbids documents shows when one
// is sent.
func (t *Telegram) Files(bot.Chat) bool { return true }

// sendFile sends the file of a draft.
func (t *Telegram) sendFile(ctx context.Context, to bot.Chat, d *bot.Draft, f *bot.File) error {
	s := &shipment{method: "sendDocument", to: to, file: f, replyTo: answered(d), urgency: d.Priority(true)}
	if _, err := t.send(ctx, s); err != nil {
		return fmt.Errorf("sending the file %s: %w", f.BaseName(), err)
	}
	return nil
}

// declined reports that a chat takes no document, or Telegram not this one.
// Messages may be taken all the same.
func declined(err error) bool {
	if status, ok := errors.AsType[statusError](err); ok {
		return status == http.StatusRequestEntityTooLarge
	}
	r, ok := refused(err)
	return ok && (r.code == http.StatusRequestEntityTooLarge ||
		r.says("rights to send documents", "chat_send_docs_forbidden", "file must be non-empty", "file is too big"))
}

// upload is call for a method with a document. The library's own way loses the
// codes of errors, and a goroutine when the server answers early.
func (c *client) upload(ctx context.Context, method string, params tgbotapi.Params, f *bot.File, result any) error {
	ctx, done := c.measured(ctx, method)
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	r, err := c.form(ctx, method, params, f)
	if err != nil {
		done(err)
		return c.conclude(method, nil, err, nil)
	}
	failpoint.Hit("telegram.before." + method)
	reply, err := c.exchange(r)
	failpoint.Hit("telegram.after." + method)
	done(err)
	return c.conclude(method, reply, err, result)
}

// form is the request of a method with parameters and a document.
func (c *client) form(ctx context.Context, method string, params tgbotapi.Params, f *bot.File) (*http.Request, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := w.WriteField(name, params[name]); err != nil {
			return nil, err
		}
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("document", f.BaseName())},
		"Content-Type":        {f.MediaType()},
	})
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(f.Content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf(c.endpoint, c.token, method), &body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	return r, nil
}

// exchange sends a request; an answer that is not ok is a *tgbotapi.Error.
func (c *client) exchange(r *http.Request) (*tgbotapi.APIResponse, error) {
	resp, err := c.send(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var reply tgbotapi.APIResponse
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	if reply.Ok {
		return &reply, nil
	}
	failed := &tgbotapi.Error{Code: reply.ErrorCode, Message: reply.Description}
	if reply.Parameters != nil {
		failed.ResponseParameters = *reply.Parameters
	}
	return nil, failed
}
