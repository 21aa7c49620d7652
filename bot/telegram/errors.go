package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// reply is an answer of the Bot API (core.telegram.org/bots/api#making-requests).
type reply struct {
	OK          *bool           `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"` // in seconds
		MigratedTo int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// refusal is the error of an answer that is not ok.
func (r *reply) refusal() *apiError {
	e := &apiError{code: r.ErrorCode, text: r.Description, after: time.Duration(r.Parameters.RetryAfter) * time.Second, movedTo: r.Parameters.MigratedTo}
	if e.code == http.StatusTooManyRequests || e.after > 0 {
		e.code, e.after = http.StatusTooManyRequests, max(e.after, time.Second)
	}
	return e
}

// apiError is a call that the Bot API refused. The Bot API has few codes and
// does not document its descriptions; the texts below are those that it and the
// servers behind it were seen to send.
type apiError struct {
	code    int
	text    string
	after   time.Duration // with code 429: when to try again
	movedTo int64         // the id that the group has now
}

func (e *apiError) Error() string { return e.text }

// statusError is an answer that is none of the Bot API.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", int(s), http.StatusText(int(s)))
}

// asAPIError finds the refusal in an error; ok is false when there is none, as
// after a broken connection.
func asAPIError(err error) (e *apiError, ok bool) { return errors.AsType[*apiError](err) }

// says reports whether the description contains one of the texts, which are in
// lower case.
func (e *apiError) says(texts ...string) bool {
	description := strings.ToLower(e.text)
	for _, text := range texts {
		if strings.Contains(description, text) {
			return true
		}
	}
	return false
}

// rateLimited reports whether Telegram wants fewer calls for a while.
func (e *apiError) rateLimited() bool { return e.code == http.StatusTooManyRequests }

// badMarkup reports whether Telegram may accept the same text without markup.
func (e *apiError) badMarkup() bool {
	return e.code == http.StatusBadRequest &&
		e.says("can't parse entities", "can't parse message text", "message is too long", "message_too_long", "entities_too_long", "entity_bounds_invalid")
}

func (e *apiError) emptyText() bool {
	return e.code == http.StatusBadRequest && e.says("text is empty", "text must be non-empty", "message_empty")
}

// notModified reports whether the message already reads as it should.
func (e *apiError) notModified() bool {
	return e.says("message is not modified", "message_not_modified")
}

// missing reports whether the message to be changed is gone, or too old.
func (e *apiError) missing() bool {
	return e.says("message to edit not found", "message can't be edited", "message_id_invalid", "message identifier is not specified", "message_author_required", "message_edit_time_expired")
}

func (e *apiError) noThread() bool {
	return e.says("message thread not found", "topic_deleted", "topic_id_invalid")
}

func (e *apiError) noReply() bool {
	return e.says("message to be replied not found", "reply message not found", "replied message not found")
}

// gone reports whether the chat will accept no message of the bot.
func (e *apiError) gone() bool {
	return e.code == http.StatusForbidden || e.code == http.StatusBadRequest &&
		e.says("chat not found", "user not found", "peer_id_invalid", "user_is_blocked", "user is deactivated", "input_user_deactivated",
			"group chat was deactivated", "chat was deleted", "not enough rights", "have no rights to send", "need administrator rights",
			"chat_write_forbidden", "chat_restricted", "chat_send_plain_forbidden", "topic_closed", "bot was kicked", "bot is not a member")
}

// unclear reports whether Telegram refuses something about a message without
// saying what.
func (e *apiError) unclear() bool {
	return e.code == http.StatusBadRequest && !e.missing() && !e.noThread()
}

// badToken reports whether Telegram does not know the token.
func (e *apiError) badToken() bool {
	return e.code == http.StatusUnauthorized || e.code == http.StatusNotFound
}

// explain says what is wrong with the connection and what to do about it.
func explain(err error) error {
	e, ok := asAPIError(err)
	switch {
	case !ok:
		return fmt.Errorf("no connection to Telegram, trying again: %w", err)
	case e.badToken():
		return fmt.Errorf("the token is refused; set telegram.token to the one that @BotFather shows by /token (and telegram.api_url to the server that knows it): %w", err)
	case e.code == http.StatusConflict && e.says("webhook"):
		return fmt.Errorf("a webhook was set for this bot by another program; one of them must stop, or take telegram.mode webhook: %w", err)
	case e.code == http.StatusConflict:
		return fmt.Errorf("another program receives this bot's messages; stop it, or give legwork a bot of its own: %w", err)
	}
	return fmt.Errorf("refused by Telegram, trying again: %w", err)
}
