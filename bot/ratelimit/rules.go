package ratelimit

import (
	"slices"
	"time"

	"legwork/bot"
)

// Rule is one limit on the requests that match it. Each account is counted
// separately.
type Rule struct {
	Methods []string               // that it is for; none: all
	Match   func(bot.Request) bool // what else must be true; nil: nothing. It must depend on the request alone
	PerChat bool                   // each chat is counted separately; requests without a chat are not counted

	// Burst is how many requests may go at once; at least 1.
	Burst int
	// Every is the time after which one more request may go, up to Burst.
	Every time.Duration
	// Window, when set, takes the place of Every: at most Burst requests in any
	// span of that length.
	Window time.Duration

	// Reserve is how many of Burst frames leave for others.
	Reserve int
	// FramesOnly lets other requests than frames count without ever waiting.
	FramesOnly bool
}

func (r *Rule) matches(q bot.Request) bool {
	return (!r.PerChat || q.Chat != "") &&
		(len(r.Methods) == 0 || slices.Contains(r.Methods, q.Method)) &&
		(r.Match == nil || r.Match(q))
}

func (r *Rule) burst() int { return max(1, r.Burst) }

// reserve is what a frame must leave for other requests. One frame always fits.
func (r *Rule) reserve() int { return min(max(0, r.Reserve), r.burst()-1) }

// bucket is how much of a rule is used. The zero value is unused.
type bucket struct {
	emptyAt time.Duration   // Every: when nothing is used any more
	sent    []time.Duration // Within: when the latest requests went, at most Burst, oldest first
	waiting []*waiter       // for its turns
	inUse   int             // who will count here, for whatever they wait
}

// ready is when, from now on, one more request may go that leaves reserve,
// after ahead others.
func (b *bucket) ready(r *Rule, reserve, ahead int, now time.Duration) time.Duration {
	room := r.burst() - 1 - reserve
	if r.Window == 0 {
		return max(now, max(b.emptyAt, now)+time.Duration(ahead-room)*r.Every)
	}
	sent := b.sent[b.expired(r, now):]
	last := len(sent) + ahead - room - 1 // of those that must be past before
	if last < 0 {
		return now
	}
	// Those ahead go as the ones Burst before them become past.
	wait := r.Window
	for ; last >= r.burst(); last -= r.burst() {
		wait += r.Window
	}
	if last < len(sent) {
		return sent[last] + wait
	}
	return now + wait
}

// take counts a request.
func (b *bucket) take(r *Rule, now time.Duration) {
	if r.Window == 0 {
		b.emptyAt = min(max(b.emptyAt, now)+r.Every, now+time.Duration(r.burst())*r.Every)
		return
	}
	b.sent = slices.Delete(b.sent, 0, b.expired(r, now))
	if len(b.sent) == r.burst() { // of a rule that did not keep it
		b.sent = b.sent[1:]
	}
	b.sent = append(b.sent, now)
}

// expired is how many of sent no longer count.
func (b *bucket) expired(r *Rule, now time.Duration) int {
	n := 0
	for n < len(b.sent) && b.sent[n]+r.Window <= now {
		n++
	}
	return n
}

// idle reports whether the bucket can be dropped.
func (b *bucket) idle(r *Rule, now time.Duration) bool {
	return b.inUse == 0 && b.expired(r, now) == len(b.sent) && b.emptyAt <= now
}

// Telegram returns the rules of that platform: about one message a second in a
// chat, 20 a minute in a group, 30 a second in all (core.telegram.org/bots/faq,
// "My bot is hitting limits"). Telegram does not enforce them strictly. What it
// enforces arrives as retry_after and becomes a Pause; only a pause makes
// lasting messages of one chat wait for other chats.
func Telegram() []Rule {
	messages := func(group bool) func(bot.Request) bool {
		return func(r bot.Request) bool { return r.Group == group && countsAsMessage(r) }
	}
	drafts := []string{"sendMessageDraft", "sendRichMessageDraft"}
	edits := []string{"editMessageText"}
	return []Rule{
		{Match: messages(false), PerChat: true, Every: time.Second, Burst: 4, Reserve: 2},
		{Match: messages(true), PerChat: true, Every: time.Second, Burst: 4, Reserve: 2},
		{Match: messages(true), PerChat: true, Window: paddedMinute, Burst: 20, Reserve: 6},
		{Methods: drafts, PerChat: true, Every: time.Second, FramesOnly: true},
		{Methods: edits, Match: messages(false), PerChat: true, Every: 1500 * time.Millisecond, FramesOnly: true},
		{Methods: edits, Match: messages(true), PerChat: true, Every: 4 * time.Second, FramesOnly: true},
		{Match: countsAsMessage, Every: time.Second / 30, Burst: 30, FramesOnly: true},
	}
}

// countsAsMessage reports whether a request puts something into a chat; Telegram
// counts no others.
func countsAsMessage(r bot.Request) bool {
	switch r.Method {
	case "sendChatAction", "answerCallbackQuery", "deleteMessage", "setMessageReaction":
		return false
	}
	return true
}

// paddedMinute is a little longer than a minute, because requests may arrive
// closer to each other than they were sent.
const paddedMinute = 61 * time.Second

// Slack returns the rules of that platform: each method has a number of calls a
// minute in a workspace, its tier, and posts about one a second in a channel
// (docs.slack.dev/apis/web-api/rate-limits). Frames of one method are spread, so
// that they do not use up a minute's calls in its first seconds.
func Slack() []Rule {
	rules := []Rule{
		{Methods: []string{"chat.postMessage"}, PerChat: true, Window: 4200 * time.Millisecond, Burst: 4, Reserve: 1},
		{Methods: []string{"chat.update"}, Every: 1200 * time.Millisecond, Burst: 10, FramesOnly: true},
		{Methods: []string{"chat.appendStream"}, Every: 600 * time.Millisecond, Burst: 10, FramesOnly: true},
	}
	for _, m := range []struct {
		method         string
		calls, reserve int
	}{
		{"chat.postMessage", 300, 60},
		{"chat.postEphemeral", 100, 20},
		{"views.open", 100, 20},
		{"chat.delete", 50, 10},
		{"chat.update", 50, 17},
		{"chat.startStream", 20, 4},
		{"chat.appendStream", 100, 20},
		{"chat.stopStream", 20, 4},
		{"assistant.threads.setStatus", 600, 60},
		{"agents.sessions.setStatus", 50, 10},
		{"files.getUploadURLExternal", 100, 0},
		{"files.completeUploadExternal", 100, 0},
		{"conversations.open", 50, 0},
		{"conversations.history", 50, 0},
		{"conversations.replies", 50, 0},
		{"reactions.add", 50, 0},
		{"reactions.remove", 50, 0},
		{"users.info", 100, 50},
	} {
		rules = append(rules, Rule{Methods: []string{m.method}, Window: paddedMinute, Burst: m.calls, Reserve: m.reserve})
	}
	return rules
}
