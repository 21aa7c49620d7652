package telegram

import (
	"context"
	"fmt"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/bot/markdown"
)

// Post implements bot.Platform. A text that was not split goes out in several
// messages; the id is that of the last one, which has the buttons. A file comes
// before them, as a message of its own.
func (t *Telegram) Post(ctx context.Context, to bot.Chat, d bot.Draft) (id string, err error) {
	if d.IsFile() {
		if id, err = t.postFile(ctx, to, &d); err != nil {
			return "", fmt.Errorf("posting a file: %w", err)
		}
		return id, nil
	}
	if d.Kind != bot.KindNotice {
		t.streams.end(d.Task)
	}
	if d.Kind == bot.KindBoard && d.Partial && !t.Streams(to) {
		t.signs.showTaken(to, replyTarget(&d))
	}
	id, err = t.uploads.Send(to, &d, func(f *bot.File) (string, error) {
		return t.sendFile(ctx, to, &d, f, page{}, "")
	}, func() (string, error) {
		return t.post(ctx, to, &d, t.render(&d))
	})
	if err != nil {
		return "", fmt.Errorf("posting %s: %w", d.Kind, err)
	}
	t.afterShown(to, &d, true)
	return id, nil
}

// afterShown updates the signs beside a message that was sent or changed, in a chat
// without drafts. The last change of a board shows that the work is over.
func (t *Telegram) afterShown(to bot.Chat, d *bot.Draft, sent bool) {
	switch {
	case t.Streams(to):
	case d.Kind == bot.KindBoard && (sent || d.Partial):
		t.signs.startTyping(to)
	case d.Kind == bot.KindAnswer && !d.Partial:
		t.signs.endTaken(to, d.ReplyTo)
	}
}

// post sends messages one after the other.
func (t *Telegram) post(ctx context.Context, to bot.Chat, d *bot.Draft, pages []page) (id string, err error) {
	for i := range pages {
		o := &outgoing{method: "sendMessage", to: to, page: pages[i], priority: d.Priority(true), silent: d.Kind == bot.KindBoard}
		if i == 0 {
			o.replyTo = replyTarget(d)
		}
		o.keyboard = keyboardOf(d, pages, i)
		if i == 0 {
			o.asRich(t.richText(to, d), richKeyboardOf(d, pages))
		}
		if id, err = t.send(ctx, o); err != nil {
			return "", err
		}
		if o.rich != "" {
			break // it holds all pages
		}
	}
	return id, nil
}

// keyboardOf are the buttons of a page: those of the draft are below the last one.
func keyboardOf(d *bot.Draft, pages []page, i int) string {
	var buttons []bot.Button
	if i == len(pages)-1 {
		buttons = d.Buttons
	}
	return keyboard(copies(d, pages[i]), buttons)
}

// richKeyboardOf are the buttons of a rich message, which holds all pages.
func richKeyboardOf(d *bot.Draft, pages []page) string {
	var all page
	for _, p := range pages {
		all.html += p.html
	}
	return keyboard(copies(d, all), d.Buttons)
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
	pages := t.render(&d)
	o := outgoing{method: "editMessageText", to: to, message: id, page: pages[0], priority: d.Priority(false)}
	o.keyboard = keyboardOf(&d, pages, 0)
	o.asRich(t.richText(to, &d), richKeyboardOf(&d, pages))
	missing := !positive(id) // not an id of Telegram's
	var err error
	if !missing {
		_, err = t.send(ctx, &o)
		refused, ok := asRefusal(err)
		missing = ok && refused.missing()
	}
	if missing {
		if id, err = t.post(ctx, to, &d, pages); err == nil {
			t.afterShown(to, &d, false)
			return &bot.MovedError{ID: id}
		}
	} else if err == nil && len(pages) > 1 && o.rich == "" {
		_, err = t.post(ctx, to, &d, pages[1:])
	}
	if err != nil {
		return fmt.Errorf("editing %s: %w", d.Kind, err)
	}
	t.afterShown(to, &d, false)
	return nil
}

// Removes implements bot.Remover.
func (t *Telegram) Removes(bot.Chat) bool { return true }

// Remove implements bot.Remover. Telegram lets a bot delete its messages of the last
// 48 hours (core.telegram.org/bots/api#deletemessage).
func (t *Telegram) Remove(ctx context.Context, to bot.Chat, id string) error {
	const method = "deleteMessage"
	for {
		r := t.caller.request(to, method, bot.PriorityNormal)
		err := t.caller.call(ctx, r, func() error {
			return t.api.call(ctx, callTimeout, method, tgbotapi.Params{"chat_id": r.Chat, "message_id": id}, nil)
		})
		refused, ok := asRefusal(err)
		switch {
		case ok && (refused.rateLimited() || refused.movedTo != 0):
			continue
		case ok && (refused.gone() || refused.says("message to delete not found", "message_id_invalid")):
			return nil
		case err != nil:
			return fmt.Errorf("deleting a message: %w", err)
		}
		return nil
	}
}

// Erase implements bot.Eraser: in private chats a bot can delete what the person wrote, for
// 48 hours (core.telegram.org/bots/api#deletemessage).
func (t *Telegram) Erase(ctx context.Context, in bot.Chat, id string) error {
	return t.Remove(ctx, in, id)
}

// outgoing is one message that is being sent.
type outgoing struct {
	method  string
	to      bot.Chat
	message string // of an edit
	draft   int    // of a preview
	file    *bot.File
	field   string     // the parameter that holds the file
	looks   []fileLook // further ways to show it
	page
	replyTo  string
	keyboard string
	priority bot.Priority
	silent   bool // it makes no sound: the answer will

	rich, richKeyboard string // its Markdown and buttons as a rich message; empty: it is none
	plainMethod        string // in place of method when it is none

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
		if o.field == "document" {
			p["disable_content_type_detection"] = "true" // keeps it one
		}
		if o.html != "" {
			o.addText(p, "caption")
		}
	case o.rich != "":
		p["rich_message"] = richMessage(o.rich)
	default:
		o.addText(p, "text")
	}
	p.AddNonEmpty("message_id", o.message)
	p.AddNonZero("draft_id", o.draft)
	if o.draft == 0 && o.file == nil && o.rich == "" {
		p["link_preview_options"] = `{"is_disabled":true}`
	}
	if o.message == "" && !o.withoutTopic {
		p.AddNonEmpty("message_thread_id", o.to.Thread)
	}
	if o.replyTo != "" {
		p["reply_parameters"] = `{"message_id":` + o.replyTo + `,"allow_sending_without_reply":true}`
	}
	if o.rich != "" {
		p.AddNonEmpty("reply_markup", o.richKeyboard)
	} else {
		p.AddNonEmpty("reply_markup", o.keyboard)
	}
	p.AddBool("disable_notification", o.silent)
	return p
}

// addText adds the text under the name that a method wants.
func (o *outgoing) addText(p tgbotapi.Params, name string) {
	if o.withoutMarkup {
		p[name] = o.plain()
		return
	}
	if p[name] = o.html; o.html != "" {
		p["parse_mode"] = "HTML"
	}
}

// send waits for the rate limiter and sends a message, again without the part
// that Telegram refuses. A frame that may not go now fails with *bot.LaterError.
func (t *Telegram) send(ctx context.Context, o *outgoing) (id string, err error) {
	for {
		r := t.caller.request(o.to, o.method, o.priority)
		if t.chats.isClosed(r.Chat) {
			return "", fmt.Errorf("sending to chat %s, which refused the bot: %w", r.Chat, bot.ErrGone)
		}
		if err = t.caller.call(ctx, r, func() (err error) {
			id, err = t.deliver(ctx, o, r.Chat)
			return err
		}); err == nil {
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
		err = t.api.upload(ctx, o.method, o.params(chat), o.field, o.file, &sent)
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
		if tooLarge(err) {
			return fmt.Errorf("%w: %w: %w", bot.ErrNoFiles, bot.ErrTooLarge, err)
		}
		return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
	}
	refused, ok := asRefusal(err)
	if !ok {
		return err
	}
	if refused.rateLimited() {
		if !o.priority.Waits() {
			return &bot.LaterError{After: refused.after}
		}
		return nil
	}
	if o.repairs++; o.repairs > maxRepairs {
		return err
	}
	switch {
	case o.refusesRich(refused):
		o.asHTML()
		if t.chats.noteRefused(richMethod, o.to.ID) {
			t.log.Warn("telegram: rich message refused, sending HTML in this chat", "chat", r.Chat, "for", refusedFor, "cause", err)
		}
	case refused.notModified() && o.message != "":
		o.unchanged = true
	case refused.movedTo != 0:
		// the next request has the new id
	case refused.badMarkup() && !o.withoutMarkup && o.html != "":
		o.withoutMarkup = true
	case refused.emptyText() && o.file == nil && o.html != emptyText:
		o.html, o.withoutMarkup = emptyText, false
	case refused.noThread() && o.to.Thread != "" && !o.withoutTopic:
		o.withoutTopic = true
	case refused.noReply() && o.replyTo != "":
		o.replyTo = ""
	case refused.gone():
		if !refused.says("topic") { // a closed topic does not close its group
			t.chats.noteClosed(r.Chat)
		}
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	case refused.unclear() && o.file != nil && o.nextLook():
		t.log.Info("telegram: file shown as a document", "chat", r.Chat, "cause", err)
	case o.file != nil && refused.code >= 400 && refused.code < 500 && !refused.badToken():
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
		err := t.caller.call(ctx, t.caller.request(bot.Chat{}, method, bot.PriorityHigh), func() error {
			return t.api.call(ctx, callTimeout, method, p, nil)
		})
		refused, ok := asRefusal(err)
		switch {
		case err == nil, ok && refused.says("query is too old", "query id is invalid", "query_id_invalid"):
			return nil
		case ok && refused.rateLimited():
			continue
		}
		return fmt.Errorf("answering a press: %w", err)
	}
}
