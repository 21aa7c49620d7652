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
// messages; the id is the last one's, which has the buttons.
func (t *Telegram) Post(ctx context.Context, to bot.Chat, d bot.Draft) (id string, err error) {
	if d.Kind != bot.KindNotice {
		t.streams.end(d.Task)
	}
	if id, err = t.post(ctx, to, &d, render(&d)); err != nil {
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
		s := &shipment{method: "sendMessage", to: to, page: pages[i], urgency: d.Urgency(true)}
		if i == 0 && d.Part <= 1 && positive(d.ReplyTo) {
			s.replyTo = d.ReplyTo
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

// Edit implements bot.Platform. What does not fit one message goes on in new
// ones. A message that is gone, or too old to be changed, is sent anew: *MovedError.
func (t *Telegram) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	pages := render(&d)
	s := shipment{method: "editMessageText", to: to, message: id, page: pages[0], urgency: d.Urgency(false)}
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
	page
	replyTo  string
	keyboard string
	urgency  bot.Urgency

	bare, rootless bool // what had to be left out: markup, topic
	fixes          int  // how often something was left out
}

// maxFixes is more than can be wrong with one message.
const maxFixes = 6

func (s *shipment) params(chat string) tgbotapi.Params {
	p := tgbotapi.Params{"chat_id": chat, "text": s.html}
	if s.bare {
		p["text"] = s.plain()
	} else if s.html != "" {
		p["parse_mode"] = "HTML"
	}
	p.AddNonEmpty("message_id", s.message)
	if s.draft != 0 {
		p["draft_id"] = strconv.Itoa(s.draft)
	} else {
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
	timeout := callTimeout
	if s.draft != 0 {
		timeout = draftTimeout
	}
	for {
		chat := t.places.current(s.to.ID)
		if t.places.isClosed(chat) {
			return "", fmt.Errorf("sending to chat %s, which refused the bot: %w", chat, bot.ErrGone)
		}
		r := bot.Request{Account: t.account, Chat: chat, Group: !s.to.Private, Method: s.method, Urgency: s.urgency}
		if err := t.pacer.Turn(ctx, r); err != nil {
			return "", err
		}
		var sent struct {
			ID int64 `json:"message_id"`
		}
		var result any = &sent
		if s.draft != 0 {
			result = nil
		}
		if err = t.api.call(ctx, timeout, s.method, s.params(chat), result); err == nil {
			return number(sent.ID), nil
		}
		if err = t.mend(s, r, err); err != nil {
			return "", err
		}
		if s.done() {
			return s.message, nil
		}
	}
}

// done reports that there was nothing to change.
func (s *shipment) done() bool { return s.method == "" }

// mend takes out of a shipment what was refused, so that it can be sent again.
// The error is nil then, and final otherwise.
func (t *Telegram) mend(s *shipment, r bot.Request, err error) error {
	why, ok := refused(err)
	if !ok {
		return err
	}
	if why.rated() {
		t.pacer.Hold(bot.Request{Account: r.Account, Chat: r.Chat}, why.after)
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
