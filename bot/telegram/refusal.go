package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// refusal is what Telegram said instead of doing what was asked.
type refusal struct {
	code  int
	text  string        // in lower case
	after time.Duration // of 429: when to try again
	moved int64         // the id that the group has now
}

// refused returns the refusal in an error; ok is false when the error is of
// another kind, such as a broken connection.
func refused(err error) (r refusal, ok bool) {
	e, ok := errors.AsType[*tgbotapi.Error](err)
	if !ok {
		return refusal{}, false
	}
	r = refusal{code: e.Code, text: strings.ToLower(e.Message), moved: e.MigrateToChatID}
	r.after = time.Duration(e.RetryAfter) * time.Second
	if r.code == http.StatusTooManyRequests || r.after > 0 {
		r.code, r.after = http.StatusTooManyRequests, max(r.after, time.Second)
	}
	return r, true
}

func (r refusal) says(texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(r.text, text) {
			return true
		}
	}
	return false
}

// rated reports that Telegram wants to be left alone for a while.
func (r refusal) rated() bool { return r.code == http.StatusTooManyRequests }

// badMarkup reports that the same text may be taken without its markup.
func (r refusal) badMarkup() bool {
	return r.code == http.StatusBadRequest &&
		r.says("can't parse entities", "can't parse message text", "message is too long", "message_too_long", "entities_too_long", "entity_bounds_invalid")
}

func (r refusal) emptyText() bool {
	return r.code == http.StatusBadRequest && r.says("text is empty", "text must be non-empty", "message_empty")
}

// same reports that the message already reads as it should.
func (r refusal) same() bool { return r.says("message is not modified", "message_not_modified") }

// missing reports that there is no message to be changed, or that it can no
// longer be.
func (r refusal) missing() bool {
	return r.says("message to edit not found", "message can't be edited", "message_id_invalid", "message identifier is not specified", "message_author_required", "message_edit_time_expired")
}

func (r refusal) noThread() bool {
	return r.says("message thread not found", "topic_deleted", "topic_id_invalid")
}

func (r refusal) noReply() bool {
	return r.says("message to be replied not found", "reply message not found", "replied message not found")
}

// gone reports that the chat takes no message of the bot, however often it is
// tried.
func (r refusal) gone() bool {
	return r.code == http.StatusForbidden || r.code == http.StatusBadRequest &&
		r.says("chat not found", "user not found", "peer_id_invalid", "user_is_blocked", "user is deactivated", "input_user_deactivated",
			"group chat was deactivated", "chat was deleted", "not enough rights", "have no rights to send", "need administrator rights",
			"chat_write_forbidden", "chat_restricted", "chat_send_plain_forbidden", "topic_closed", "bot was kicked", "bot is not a member")
}

// unclear reports that something about a message is not taken, and nobody knows
// what.
func (r refusal) unclear() bool {
	return r.code == http.StatusBadRequest && !r.missing() && !r.noThread()
}

// badToken reports that Telegram does not know the token.
func (r refusal) badToken() bool {
	return r.code == http.StatusUnauthorized || r.code == http.StatusNotFound
}

// explain says what is wrong with the connection and what to do about it.
func explain(err error) error {
	r, ok := refused(err)
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
