package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/bot/markdown"
)

// Post implements bot.Platform. A text that was not split goes out in several
// messages; the id is that of the last one, which has the buttons. A file comes
// before them, as a message of its own.
func (t *Telegram) Post(ctx context.Context, to bot.Chat, d bot.Draft) (id string, err error) {
	if d.Kind != bot.KindNotice {
		t.streams.end(d.Task)
	}
	id, err = t.uploads.Send(to, &d, func(f *bot.File) error {
		return t.sendFile(ctx, to, &d, f)
	}, func() (string, error) {
		return t.post(ctx, to, &d, render(&d))
	})
	if err != nil {
		return "", fmt.Errorf("posting %s: %w", d.Kind, err)
	}
	if d.Kind == bot.KindBoard {
		t.startTyping(to)
	}
	return id, nil
}

// post sends messages one after the other.
func (t *Telegram) post(ctx context.Context, to bot.Chat, d *bot.Draft, pages []page) (id string, err error) {
	for i := range pages {
		o := &outgoing{method: "sendMessage", to: to, page: pages[i], priority: d.Priority(true)}
		if i == 0 {
			o.replyTo = replyTarget(d)
		}
		if i == len(pages)-1 {
			o.keyboard = keyboard(d.Buttons)
		}
		if id, err = t.send(ctx, o); err != nil {
			return "", err
		}
	}
	return id, nil
}

// replyTarget is the message that a draft replies to; empty for none.
func replyTarget(d *bot.Draft) string {
	if d.Part <= 1 && positive(d.ReplyTo) {
		return d.ReplyTo
	}
	return ""
}

// Edit implements bot.Platform. Pages that do not fit the message are posted as
// new ones. A message that is gone, or too old to be changed, is sent anew:
// *MovedError.
func (t *Telegram) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	pages := render(&d)
	o := outgoing{method: "editMessageText", to: to, message: id, page: pages[0], priority: d.Priority(false)}
	if len(pages) == 1 {
		o.keyboard = keyboard(d.Buttons)
	}
	missing := !positive(id) // not an id of Telegram's
	var err error
	if !missing {
		_, err = t.send(ctx, &o)
		refused, ok := asRefusal(err)
		missing = ok && refused.missing()
	}
	if missing {
		if id, err = t.post(ctx, to, &d, pages); err == nil {
			return &bot.MovedError{ID: id}
		}
	} else if err == nil && len(pages) > 1 {
		_, err = t.post(ctx, to, &d, pages[1:])
	}
	if err != nil {
		return fmt.Errorf("editing %s: %w", d.Kind, err)
	}
	return nil
}

// outgoing is one message that is being sent.
type outgoing struct {
	method  string
	to      bot.Chat
	message string // of an edit
	draft   int    // of a preview
	file    *bot.File
	page
	replyTo  string
	keyboard string
	priority bot.Priority

	withoutMarkup, withoutTopic bool // repairs
	repairs                     int
	unchanged                   bool // an edit that changes nothing
}

// maxRepairs is more than can be wrong with one message.
const maxRepairs = 6

func (o *outgoing) params(chat string) tgbotapi.Params {
	p := tgbotapi.Params{"chat_id": chat}
	switch {
	case o.file != nil:
		p["disable_content_type_detection"] = "true" // keeps it a document
	case o.withoutMarkup:
		p["text"] = o.plain()
	default:
		p["text"] = o.html
		if o.html != "" {
			p["parse_mode"] = "HTML"
		}
	}
	p.AddNonEmpty("message_id", o.message)
	p.AddNonZero("draft_id", o.draft)
	if o.draft == 0 && o.file == nil {
		p["link_preview_options"] = `{"is_disabled":true}`
	}
	if o.message == "" && !o.withoutTopic {
		p.AddNonEmpty("message_thread_id", o.to.Thread)
	}
	if o.replyTo != "" {
		p["reply_parameters"] = `{"message_id":` + o.replyTo + `,"allow_sending_without_reply":true}`
	}
	p.AddNonEmpty("reply_markup", o.keyboard)
	return p
}

// send waits for the rate limiter and sends a message, again without the part
// that Telegram refuses. A frame that may not go now fails with *bot.LaterError.
func (t *Telegram) send(ctx context.Context, o *outgoing) (id string, err error) {
	for {
		chat := t.chats.current(o.to.ID)
		if t.chats.isClosed(chat) {
			return "", fmt.Errorf("sending to chat %s, which refused the bot: %w", chat, bot.ErrGone)
		}
		r := bot.Request{Account: t.account, Chat: chat, Group: !o.to.Private, Method: o.method, Priority: o.priority}
		if err := t.limiter.Wait(ctx, r); err != nil {
			return "", err
		}
		if id, err = t.deliver(ctx, o, chat); err == nil {
			return id, nil
		}
		if err = t.repair(o, r, err); err != nil {
			return "", err
		}
		if o.unchanged {
			return o.message, nil
		}
	}
}

// deliver makes the call that brings a message into a chat.
func (t *Telegram) deliver(ctx context.Context, o *outgoing, chat string) (id string, err error) {
	var sent struct {
		ID int64 `json:"message_id"`
	}
	switch {
	case o.file != nil:
		err = t.api.upload(ctx, o.method, o.params(chat), o.file, &sent)
	case o.draft != 0:
		err = t.api.call(ctx, draftTimeout, o.method, o.params(chat), nil)
	default:
		err = t.api.call(ctx, callTimeout, o.method, o.params(chat), &sent)
	}
	return number(sent.ID), err
}

// repair removes from a message what Telegram refused, so that it can be sent
// again: the error is nil then, and final otherwise.
func (t *Telegram) repair(o *outgoing, r bot.Request, err error) error {
	if o.file != nil && refusesFile(err) {
		return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
	}
	refused, ok := asRefusal(err)
	if !ok {
		return err
	}
	if refused.rateLimited() {
		t.limiter.Pause(bot.Request{Account: r.Account, Chat: r.Chat}, refused.after)
		if !o.priority.Waits() {
			return &bot.LaterError{After: refused.after}
		}
		return nil
	}
	if o.repairs++; o.repairs > maxRepairs {
		return err
	}
	switch {
	case refused.notModified() && o.message != "":
		o.unchanged = true
	case refused.movedTo != 0:
		t.chats.moved.Add(r.Chat, number(refused.movedTo))
	case refused.badMarkup() && !o.withoutMarkup && o.html != "":
		o.withoutMarkup = true
	case refused.emptyText() && o.html != emptyText:
		o.html, o.withoutMarkup = emptyText, false
	case refused.noThread() && o.to.Thread != "" && !o.withoutTopic:
		o.withoutTopic = true
	case refused.noReply() && o.replyTo != "":
		o.replyTo = ""
	case refused.gone():
		if !refused.says("topic") { // a closed topic does not close its group
			t.chats.closed.Add(r.Chat, t.now())
		}
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	case refused.unclear() && o.file != nil:
		return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
	case refused.unclear() && o.draft == 0 && o.simplify():
		t.log.Warn("telegram: message refused, sending a simpler one", "chat", r.Chat, "cause", err)
	default:
		return err
	}
	return nil
}

// simplify removes markup, then buttons; false when nothing but words is left.
func (o *outgoing) simplify() bool {
	switch {
	case !o.withoutMarkup && o.html != "":
		o.withoutMarkup = true
	case o.keyboard != "":
		o.keyboard = ""
	default:
		return false
	}
	return true
}

// Files implements bot.Filer. Only sending a file shows whether a group forbids
// documents.
func (t *Telegram) Files(bot.Chat) bool { return true }

func (t *Telegram) sendFile(ctx context.Context, to bot.Chat, d *bot.Draft, f *bot.File) error {
	o := &outgoing{method: "sendDocument", to: to, file: f, replyTo: replyTarget(d), priority: d.Priority(true)}
	if _, err := t.send(ctx, o); err != nil {
		return fmt.Errorf("sending the file %s: %w", f.BaseName(), err)
	}
	return nil
}

// refusesFile reports whether a chat accepts no documents, or not this one. It
// may still accept messages.
func refusesFile(err error) bool {
	if status, ok := errors.AsType[statusError](err); ok {
		return status == http.StatusRequestEntityTooLarge
	}
	refused, ok := asRefusal(err)
	return ok && (refused.code == http.StatusRequestEntityTooLarge ||
		refused.says("rights to send documents", "chat_send_docs_forbidden", "file must be non-empty", "file is too big"))
}

const (
	maxToast   = 200 // characters (core.telegram.org/bots/api#answercallbackquery)
	shortToast = 70  // a longer text cannot be read while a toast is shown
)

// Answer implements bot.Answerer: a short text passes at the screen's edge as a
// toast, a longer one waits until the person closes it. A press that is too old
// to be answered is no error.
func (t *Telegram) Answer(ctx context.Context, m bot.Message, text string) error {
	const method = "answerCallbackQuery"
	if m.Token == "" {
		return nil
	}
	text = cut(strings.TrimSpace(markdown.Plain(text)), maxToast)
	p := tgbotapi.Params{"callback_query_id": m.Token}
	p.AddNonEmpty("text", text)
	p.AddBool("show_alert", units(text) > shortToast || strings.Contains(text, "\n"))
	for {
		if err := t.limiter.Wait(ctx, bot.Request{Account: t.account, Method: method, Priority: bot.PriorityHigh}); err != nil {
			return err
		}
		err := t.api.call(ctx, callTimeout, method, p, nil)
		refused, ok := asRefusal(err)
		switch {
		case err == nil, ok && refused.says("query is too old", "query id is invalid", "query_id_invalid"):
			return nil
		case ok && refused.rateLimited():
			t.limiter.Pause(bot.Request{Account: t.account, Method: method}, refused.after)
			continue
		}
		return fmt.Errorf("answering a press: %w", err)
	}
}

const (
	typingGap     = 5 * time.Second // how long Telegram shows one action (core.telegram.org/bots/api#sendchataction)
	typingTimeout = 5 * time.Second
)

// startTyping shows in a chat without drafts that the bot is at work. It never
// waits. It is called for tasks only, so that people whom the bot does not
// answer see nothing.
func (t *Telegram) startTyping(to bot.Chat) {
	if t.Streams(to) {
		return
	}
	select {
	case t.typing <- to:
	default: // many at once; it is a courtesy
	}
}

// runTyping sends the actions that startTyping asked for until ctx ends, at most
// one per typingGap and chat.
func (t *Telegram) runTyping(ctx context.Context) {
	last := newCache[time.Time]()
	for {
		var to bot.Chat
		select {
		case to = <-t.typing:
		case <-ctx.Done():
			return
		}
		key, now := to.Key(), t.now()
		if before, ok := last.Get(key); ok && now.Sub(before) < typingGap {
			continue
		}
		last.Add(key, now)
		const method = "sendChatAction"
		id := t.chats.current(to.ID)
		if t.limiter.Wait(ctx, bot.Request{Account: t.account, Chat: id, Group: !to.Private, Method: method, Priority: bot.PriorityFrame}) != nil {
			continue
		}
		p := tgbotapi.Params{"chat_id": id, "action": "typing"}
		p.AddNonEmpty("message_thread_id", to.Thread)
		if to.Thread == "" && t.chats.forums.Contains(to.ID) {
			p.AddNonZero("message_thread_id", generalTopic)
		}
		if err := t.api.call(ctx, typingTimeout, method, p, nil); err != nil && ctx.Err() == nil {
			t.log.DebugContext(ctx, "telegram: typing not shown", "chat", to.ID, "cause", err)
		}
	}
}
