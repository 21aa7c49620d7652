package ratelimit

import (
	"time"

	"legwork/bot"
)

// Telegram returns the rules of that platform: about one message a second in a chat, 20 a minute in a
// group, 30 a second in all. They are elastic; what the platform asks for by
// retry_after comes in by Hold, and only that makes lasting messages wait for
// other chats.
func Telegram() []Rule {
	messages := func(group bool) func(bot.Request) bool {
		return func(r bot.Request) bool { return r.Group == group && shows(r) }
	}
	drafts := []string{"sendMessageDraft", "sendRichMessageDraft"}
	edits := []string{"editMessageText", "editMessageReplyMarkup", "editMessageCaption"}
	return []Rule{
		{Match: messages(false), PerChat: true, Every: time.Second, Burst: 4, Reserve: 2},
		{Match: messages(true), PerChat: true, Every: time.Second, Burst: 4, Reserve: 2},
		{Match: messages(true), PerChat: true, Within: minute, Burst: 20, Reserve: 6},
		{Methods: drafts, PerChat: true, Every: time.Second, FramesOnly: true},
		{Methods: edits, Match: messages(false), PerChat: true, Every: 1500 * time.Millisecond, FramesOnly: true},
		{Methods: edits, Match: messages(true), PerChat: true, Every: 4 * time.Second, FramesOnly: true},
		{Match: shows, Every: time.Second / 30, Burst: 30, FramesOnly: true},
	}
}

// shows reports whether a request puts something into a chat: Telegram counts
// no others.
func shows(r bot.Request) bool {
	switch r.Method {
	case "sendChatAction", "answerCallbackQuery", "getChat", "getChatMember", "deleteMessage":
		return false
	}
	return true
}

// minute is a little longer than one, because requests that go out in time may
// arrive closer to each other.
const minute = 61 * time.Second

// Slack returns the rules of that platform: each method has a number of calls a minute in a workspace, and
// posts about one a second in a channel. Frames of one method are spread, so
// that they do not use up a minute's calls in its first seconds.
func Slack() []Rule {
	rules := []Rule{
		{Methods: []string{"chat.postMessage"}, PerChat: true, Within: 4200 * time.Millisecond, Burst: 4, Reserve: 1},
		{Methods: []string{"chat.update"}, Every: 1200 * time.Millisecond, Burst: 10, FramesOnly: true},
		{Methods: []string{"chat.appendStream"}, Every: 600 * time.Millisecond, Burst: 10, FramesOnly: true},
	}
	for _, m := range []struct {
		method         string
		calls, reserve int
	}{
		{"chat.postMessage", 300, 60},
		{"chat.postEphemeral", 100, 20},
		{"chat.update", 50, 17},
		{"chat.delete", 50, 0},
		{"chat.startStream", 20, 4},
		{"chat.appendStream", 100, 20},
		{"chat.stopStream", 20, 4},
		{"assistant.threads.setStatus", 600, 60},
		{"agents.sessions.setStatus", 50, 10},
		{"agents.sessions.rename", 50, 10},
		{"files.getUploadURLExternal", 100, 0},
		{"files.completeUploadExternal", 100, 0},
		{"conversations.open", 50, 0},
		{"conversations.info", 50, 0},
		{"conversations.history", 50, 0},
		{"conversations.replies", 50, 0},
		{"users.info", 100, 50},
		{"team.info", 50, 0},
		{"reactions.add", 50, 0},
		{"reactions.remove", 50, 0},
	} {
		rules = append(rules, Rule{Methods: []string{m.method}, Within: minute, Burst: m.calls, Reserve: m.reserve})
	}
	return rules
}
