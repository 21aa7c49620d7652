package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
)

// Post implements bot.Platform. A text that was not split goes out in several
// messages; the id is the last one's, which has the buttons. A file comes
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
		t.works(to)
	}
	return id, nil
}

// post sends messages one after the other.
func (t *Telegram) post(ctx context.Context, to bot.Chat, d *bot.Draft, pages []page) (id string, err error) {
	for i := range pages {
		s := &shipment{method: "sendMessage", to: to, page: pages[i], urgency: d.Priority(true)}
		if i == 0 {
			s.replyTo = answered(d)
		}
		if i == len(pages)-1 {
			s.keyboard = keyboard(d.Buttons)
		}
		if id, err = t.send(ctx, s); err != nil {
			return "", err
		}
	}
	return id, nil
}

// answered is the message that a draft replies to; empty for none.
func answered(d *bot.Draft) string {
	if d.Part <= 1 && positive(d.ReplyTo) {
		return d.ReplyTo
	}
	return ""
}

// Edit implements bot.Platform. What does not fit one message goes on in new
// ones. A message that is gone, or too old to be changed, is sent anew: *MovedError.
func (t *Telegram) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	pages := render(&d)
	s := shipment{method: "editMessageText", to: to, message: id, page: pages[0], urgency: d.Priority(false)}
	if len(pages) == 1 {
		s.keyboard = keyboard(d.Buttons)
	}
	missing := !positive(id) // none of ours
	var err error
	if !missing {
		_, err = t.send(ctx, &s)
		r, ok := refused(err)
		missing = ok && r.missing()
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

// shipment is one message on its way.
type shipment struct {
	method  string
	to      bot.Chat
	message string // of an edit
	draft   int    // of a preview
	file    *bot.File
	page
	replyTo  string
	keyboard string
	urgency  bot.Priority

	bare, rootless bool // what had to be left out: markup, topic
	fixes          int  // how often something was left out
}

// maxFixes is more than can be wrong with one message.
const maxFixes = 6

func (s *shipment) params(chat string) tgbotapi.Params {
	p := tgbotapi.Params{"chat_id": chat}
	switch {
	case s.file != nil:
		p["disable_content_type_detection"] = "true" // it is to stay a document
	case s.bare:
		p["text"] = s.plain()
	default:
		p["text"] = s.html
		if s.html != "" {
			p["parse_mode"] = "HTML"
		}
	}
	p.AddNonEmpty("message_id", s.message)
	if s.draft != 0 {
		p["draft_id"] = strconv.Itoa(s.draft)
	} else if s.file == nil {
		p["link_preview_options"] = `{"is_disabled":true}`
	}
	if s.message == "" && !s.rootless {
		p.AddNonEmpty("message_thread_id", s.to.Thread)
	}
	if s.replyTo != "" {
		p["reply_parameters"] = `{"message_id":` + s.replyTo + `,"allow_sending_without_reply":true}`
	}
	p.AddNonEmpty("reply_markup", s.keyboard)
	return p
}

// send waits for its turn and sends, again without what Telegram refuses of it.
// A frame is given up with *bot.LaterError when its turn has not come.
func (t *Telegram) send(ctx context.Context, s *shipment) (id string, err error) {
	for {
		chat := t.places.current(s.to.ID)
		if t.places.isClosed(chat) {
			return "", fmt.Errorf("sending to chat %s, which refused the bot: %w", chat, bot.ErrGone)
		}
		r := bot.Request{Account: t.account, Chat: chat, Group: !s.to.Private, Method: s.method, Priority: s.urgency}
		if err := t.limiter.Wait(ctx, r); err != nil {
			return "", err
		}
		if id, err = t.carry(ctx, s, chat); err == nil {
			return id, nil
		}
		if err = t.mend(s, r, err); err != nil {
			return "", err
		}
		if s.done() {
			return s.message, nil
		}
	}
}

// carry makes the call that brings a shipment into a chat.
func (t *Telegram) carry(ctx context.Context, s *shipment, chat string) (id string, err error) {
	var sent struct {
		ID int64 `json:"message_id"`
	}
	switch {
	case s.file != nil:
		err = t.api.upload(ctx, s.method, s.params(chat), s.file, &sent)
	case s.draft != 0:
		err = t.api.call(ctx, draftTimeout, s.method, s.params(chat), nil)
	default:
		err = t.api.call(ctx, callTimeout, s.method, s.params(chat), &sent)
	}
	return number(sent.ID), err
}

// done reports that there was nothing to change.
func (s *shipment) done() bool { return s.method == "" }

// mend takes out of a shipment what was refused, so that it can be sent again.
// The error is nil then, and final otherwise.
func (t *Telegram) mend(s *shipment, r bot.Request, err error) error {
	if s.file != nil && declined(err) {
		return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
	}
	why, ok := refused(err)
	if !ok {
		return err
	}
	if why.rated() {
		t.limiter.Pause(bot.Request{Account: r.Account, Chat: r.Chat}, why.after)
		if !s.urgency.Waits() {
			return &bot.LaterError{After: why.after}
		}
		return nil
	}
	if s.fixes++; s.fixes > maxFixes {
		return err
	}
	switch {
	case why.same() && s.message != "":
		s.method = ""
	case why.moved != 0:
		t.places.move(r.Chat, why.moved)
	case why.badMarkup() && !s.bare && s.html != "":
		s.bare = true
	case why.emptyText() && s.html != nothing:
		s.html, s.bare = nothing, false
	case why.noThread() && s.to.Thread != "" && !s.rootless:
		s.rootless = true
	case why.noReply() && s.replyTo != "":
		s.replyTo = ""
	case why.gone():
		t.shut(r.Chat, why)
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	case why.unclear() && s.file != nil:
		return fmt.Errorf("%w: %w", bot.ErrNoFiles, err)
	case why.unclear() && s.draft == 0 && strip(s):
		t.log.Warn("telegram: a message is refused, its words are tried alone", "chat", r.Chat, "cause", err)
	default:
		return err
	}
	return nil
}

// strip leaves out what is not words; false when nothing is left to leave out.
func strip(s *shipment) bool {
	switch {
	case !s.bare && s.html != "":
		s.bare = true
	case s.keyboard != "":
		s.keyboard = ""
	default:
		return false
	}
	return true
}

// shut remembers a chat that will not have the bot. A closed topic does not
// close its group.
func (t *Telegram) shut(chat string, why refusal) {
	if !strings.Contains(why.text, "topic") {
		t.places.close(chat)
	}
}
