package telegramfake

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// botAPI are the methods that the bot calls.
type botAPI struct{ *activity }

// method is one method of the service: what it does, with the lock held, and
// the parameters that it knows.
type method struct {
	name  string
	do    func(*botAPI, *call) (any, *refusal)
	known string
	rated rated
}

func (m method) hasChat() bool { return slices.Contains(strings.Fields(m.known), "chat_id") }

// chatOf is 0 for methods without a chat, whatever was given.
func (m method) chatOf(id int64) int64 {
	if !m.hasChat() {
		return 0
	}
	return id
}

// call is one request on its way.
type call struct {
	method method
	params params
	files  map[string]File // by the name of their parameter
	chat   *chat           // of methods with a chat_id
	entry  Entry
}

// methods are the methods by their names in lower case: the service does not
// mind the case.
func methods() map[string]method {
	const send = "business_connection_id chat_id message_thread_id direct_messages_topic_id text parse_mode entities link_preview_options disable_notification protect_content allow_paid_broadcast message_effect_id suggested_post_parameters reply_parameters reply_markup" +
		" reply_to_message_id allow_sending_without_reply disable_web_page_preview" // still taken from older clients
	const sendFile = "business_connection_id chat_id message_thread_id direct_messages_topic_id caption parse_mode caption_entities disable_notification protect_content allow_paid_broadcast message_effect_id suggested_post_parameters reply_parameters reply_markup" +
		" reply_to_message_id allow_sending_without_reply"
	byName := map[string]method{}
	for _, m := range []method{
		{"getMe", (*botAPI).getMe, "", unrated},
		{"sendMessage", (*botAPI).sendMessage, send, sends},
		{"sendRichMessage", (*botAPI).sendRichMessage, "business_connection_id chat_id message_thread_id direct_messages_topic_id rich_message disable_notification protect_content allow_paid_broadcast message_effect_id suggested_post_parameters reply_parameters reply_markup", sends},
		{"sendRichMessageDraft", (*botAPI).sendRichMessageDraft, "chat_id message_thread_id draft_id rich_message", previews},
		{"sendDocument", sendMedia("document", "documents", nil), sendFile + " document thumbnail disable_content_type_detection", sends},
		{"sendPhoto", sendMedia("photo", "photos", checkPhoto), sendFile + " photo show_caption_above_media has_spoiler", sends},
		{"sendVoice", sendMedia("voice", "voice notes", checkVoice), sendFile + " voice duration", sends},
		{"sendAudio", sendMedia("audio", "audios", checkAudio), sendFile + " audio duration performer title thumbnail", sends},
		{"getFile", (*botAPI).getFile, "file_id", unrated},
		{"editMessageText", (*botAPI).editMessageText, "business_connection_id chat_id message_id inline_message_id text rich_message parse_mode entities link_preview_options reply_markup disable_web_page_preview", sends},
		{"editMessageReplyMarkup", (*botAPI).editMessageReplyMarkup, "business_connection_id chat_id message_id inline_message_id reply_markup", sends},
		{"deleteMessage", (*botAPI).deleteMessage, "chat_id message_id", unrated},
		{"sendMessageDraft", (*botAPI).sendMessageDraft, "chat_id message_thread_id draft_id text parse_mode entities", previews},
		{"sendChatAction", (*botAPI).sendChatAction, "business_connection_id chat_id message_thread_id action", unrated},
		{"setMessageReaction", (*botAPI).setMessageReaction, "chat_id message_id reaction is_big", unrated},
		{"answerCallbackQuery", (*botAPI).answerCallbackQuery, "callback_query_id text show_alert url cache_time", unrated},
		{"setMyCommands", (*botAPI).setMyCommands, "commands scope language_code", unrated},
		{"deleteMyCommands", (*botAPI).deleteMyCommands, "scope language_code", unrated},
		{"getMyCommands", (*botAPI).getMyCommands, "scope language_code", unrated},
		{"setMyDescription", (*botAPI).setMyDescription, "description language_code", unrated},
		{"setMyShortDescription", (*botAPI).setMyShortDescription, "short_description language_code", unrated},
		{"getChat", (*botAPI).getChat, "chat_id", unrated},
		{"getChatMember", (*botAPI).getChatMember, "chat_id user_id", unrated},
		{"leaveChat", (*botAPI).leaveChat, "chat_id", unrated},
		{"setWebhook", (*botAPI).setWebhook, "url certificate ip_address max_connections allowed_updates drop_pending_updates secret_token", unrated},
		{"deleteWebhook", (*botAPI).deleteWebhook, "drop_pending_updates", unrated},
		{"getWebhookInfo", (*botAPI).getWebhookInfo, "", unrated},
		{"getUpdates", nil, "offset limit timeout allowed_updates", unrated}, // waits, so it is no function under the lock
	} {
		byName[strings.ToLower(m.name)] = m
	}
	return byName
}

// ServeHTTP speaks the Bot API under /botTOKEN/METHOD, and the fake's own
// language under /fake/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	if rest, ours := strings.CutPrefix(r.URL.Path, "/fake/"); ours {
		s.control(w, r, rest)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/file/bot") {
		s.serveFile(w, r)
		return
	}
	token, name, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !strings.HasPrefix(r.URL.Path, "/bot") || !found || !strings.Contains(token, ":") {
		reply(w, nil, &refusal{Code: http.StatusNotFound, Text: "Not Found"})
		return
	}
	p, files, why := readParams(r, s.o.MaxFile)
	c := &call{params: p, files: files, entry: Entry{At: time.Now(), Method: name, Params: p, File: logged(files)}}
	fault, cut := s.meet(r.Context(), c)
	if cut {
		panic(http.ErrAbortHandler)
	}
	var result any
	if why == nil {
		why = fault.refusal()
	}
	if why == nil {
		result, why = s.perform(r.Context(), token, c)
	}
	s.conclude(c, fault, why)
	fault.answer(r.Context(), w, result, why)
}

// perform does what was asked, but for faults.
func (s *botAPI) perform(ctx context.Context, token string, c *call) (any, *refusal) {
	s.mu.Lock()
	if token != s.o.Token {
		s.mu.Unlock()
		return nil, &refusal{Code: http.StatusUnauthorized, Text: "Unauthorized"}
	}
	if strings.EqualFold(c.entry.Method, "getUpdates") {
		s.known(c)
		why := s.limit(c)
		s.mu.Unlock()
		if why != nil {
			return nil, why
		}
		return s.getUpdates(ctx, c)
	}
	defer s.mu.Unlock()
	return s.execute(c)
}

// execute is called with the lock held, also for what a webhook replies with.
func (s *botAPI) execute(c *call) (any, *refusal) {
	if !s.known(c) {
		return nil, &refusal{Code: http.StatusNotFound, Text: "Not Found: method not found"}
	}
	if c.method.hasChat() {
		if why := s.findChat(c); why != nil {
			return nil, why
		}
	}
	if why := s.limit(c); why != nil {
		return nil, why
	}
	result, why := c.method.do(s, c)
	if why == nil {
		c.entry.Done = true
		s.change()
	}
	return result, why
}

// known finds the method, and notes parameters that it does not have.
func (s *botAPI) known(c *call) bool {
	m, ok := s.methods[strings.ToLower(c.entry.Method)]
	if !ok || s.o.NoRich && strings.HasPrefix(m.name, "sendRich") {
		return false
	}
	c.method = m
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		if !slices.Contains(strings.Fields(c.method.known), name) {
			s.violate("%s has no parameter %q", c.method.name, name)
		}
	}
	return true
}

// findChat looks up chat_id and whether the bot may speak there.
func (s *botAPI) findChat(c *call) *refusal {
	text := c.params["chat_id"]
	if text == "" {
		return bad("chat_id is empty")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return bad("chat not found")
	}
	c.entry.Chat = id
	found, ok := s.chats[id]
	if !ok {
		if _, known := s.users[id]; known && id != s.Bot.ID {
			return s.refuseChat(c, forbidden("bot can't initiate conversation with a user"))
		}
		return bad("chat not found")
	}
	c.chat = found
	if why := found.refusal(); why != nil {
		return s.refuseChat(c, why)
	}
	return nil
}

// patience is how often a chat may refuse the bot before it should know.
const patience = 3

func (s *botAPI) refuseChat(c *call, why *refusal) *refusal {
	if c.chat == nil {
		return why
	}
	if c.chat.refused++; c.chat.refused > patience {
		s.violate("%s to chat %d, which refused %d times before: %s", c.method.name, c.chat.id, c.chat.refused-1, why.Text)
	}
	return why
}

func (s *state) conclude(c *call, fault *Fault, why *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &c.entry
	e.Outcome = OutcomeOK
	if why != nil {
		e.Outcome, e.Code, e.Error = OutcomeRefused, why.Code, why.Text
	}
	if why == gone {
		e.Outcome, e.Code, e.Error = OutcomeGone, 0, ""
	}
	if fault != nil {
		e.Fault = fault.Kind
		if fault.Kind != FaultDelay && fault.Kind != FaultDelayAfter {
			e.Outcome = OutcomeFault
		}
	}
	s.write(*e)
}

func reply(w http.ResponseWriter, result any, why *refusal) {
	status, body := encode(result, why)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (s *botAPI) getMe(*call) (any, *refusal) {
	me := s.Bot.json()
	maps.Copy(me, map[string]any{"can_join_groups": true, "can_read_all_group_messages": s.o.ReadsAll, "supports_inline_queries": false})
	return me, nil
}

// botID is the number that a token begins with.
func botID(token string) int64 {
	digits, _, _ := strings.Cut(token, ":")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("the token must begin with the bot's id and a colon: %v", err))
	}
	return id
}
