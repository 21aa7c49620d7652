package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// refusal is a call that the Bot API refused. The Bot API has few codes and
// does not document its descriptions; the texts below are those that it and the
// servers behind it were seen to send.
type refusal struct {
	code    int
	text    string        // in lower case
	after   time.Duration // with code 429: when to try again
	movedTo int64         // the id that the group has now
}

// asRefusal finds the refusal in an error; ok is false when there is none, as
// after a broken connection.
func asRefusal(err error) (r refusal, ok bool) {
	e, ok := errors.AsType[*tgbotapi.Error](err)
	if !ok {
		return refusal{}, false
	}
	r = refusal{code: e.Code, text: strings.ToLower(e.Message), after: time.Duration(e.RetryAfter) * time.Second, movedTo: e.MigrateToChatID}
	if r.code == http.StatusTooManyRequests || r.after > 0 {
		r.code, r.after = http.StatusTooManyRequests, max(r.after, time.Second)
	}
	return r, true
}

// statusError is an answer that is none of the Bot API.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", int(s), http.StatusText(int(s)))
}

// says reports whether the description contains one of the texts, which are in
// lower case.
func (r refusal) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(r.text, text) })
}

// rateLimited reports whether Telegram wants fewer calls for a while.
func (r refusal) rateLimited() bool { return r.code == http.StatusTooManyRequests }

// badMarkup reports whether Telegram may accept the same text without markup.
func (r refusal) badMarkup() bool {
	return r.code == http.StatusBadRequest &&
		r.says("can't parse entities", "can't parse message text", "message is too long", "message_too_long", "entities_too_long", "entity_bounds_invalid")
}

func (r refusal) emptyText() bool {
	return r.code == http.StatusBadRequest && r.says("text is empty", "text must be non-empty", "message_empty")
}

// notModified reports whether the message already reads as it should.
func (r refusal) notModified() bool {
	return r.says("message is not modified", "message_not_modified")
}

// missing reports whether the message to be changed is gone, or too old.
func (r refusal) missing() bool {
	return r.says("message to edit not found", "message can't be edited", "message_id_invalid", "message identifier is not specified", "message_author_required", "message_edit_time_expired")
}

func (r refusal) noThread() bool {
	return r.says("message thread not found", "topic_deleted", "topic_id_invalid")
}

func (r refusal) noReply() bool {
	return r.says("message to be replied not found", "reply message not found", "replied message not found")
}

// gone reports whether the chat will accept no message of the bot.
func (r refusal) gone() bool {
	return r.code == http.StatusForbidden || r.code == http.StatusBadRequest &&
		r.says("chat not found", "user not found", "peer_id_invalid", "user_is_blocked", "user is deactivated", "input_user_deactivated",
			"group chat was deactivated", "chat was deleted", "not enough rights", "have no rights to send", "need administrator rights",
			"chat_write_forbidden", "chat_restricted", "chat_send_plain_forbidden", "topic_closed", "bot was kicked", "bot is not a member")
}

// unclear reports whether Telegram refuses something about a message without
// saying what.
func (r refusal) unclear() bool {
	return r.code == http.StatusBadRequest && !r.missing() && !r.noThread()
}

// badToken reports whether Telegram does not know the token.
func (r refusal) badToken() bool {
	return r.code == http.StatusUnauthorized || r.code == http.StatusNotFound
}

// explain says what is wrong with the connection and what to do about it.
func explain(err error) error {
	r, ok := asRefusal(err)
	switch {
	case !ok:
		return fmt.Errorf("no connection to Telegram, trying again: %w", err)
	case r.badToken():
		return fmt.Errorf("the token is refused; set telegram.token to the one that @BotFather shows by /token (and telegram.api_url to the server that knows it): %w", err)
	case r.code == http.StatusConflict && r.says("webhook"):
		return fmt.Errorf("a webhook was set for this bot by another program; one of them must stop, or take telegram.mode webhook: %w", err)
	case r.code == http.StatusConflict:
		return fmt.Errorf("another program receives this bot's messages; stop it, or give legwork a bot of its own: %w", err)
	}
	return fmt.Errorf("refused by Telegram, trying again: %w", err)
}
