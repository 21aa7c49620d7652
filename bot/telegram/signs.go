package telegram

import (
	"context"
	"net/http"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
)

const (
	typingGap   = 5 * time.Second // how long Telegram shows one action (core.telegram.org/bots/api#sendchataction)
	signTimeout = 5 * time.Second

	// signWait is how long the removal of a reaction may wait for the rate limiter.
	signWait = 30 * time.Second
)

// takenEmoji is the reaction to a question that legwork works on. Telegram allows
// certain emojis only (core.telegram.org/bots/api#reactiontypeemoji).
const takenEmoji = `[{"type":"emoji","emoji":"👀"}]`

const reactionMethod = "setMessageReaction"

// sign shows people without a message that the bot is at work: "is typing", or a
// reaction to their message.
type sign struct {
	to      bot.Chat
	message string // that the reaction is to; empty: "is typing"
	taken   bool   // the reaction is set, not removed
}

// sendSign has a sign shown soon. It never waits.
func (t *Telegram) sendSign(s sign) {
	select {
	case t.signs <- s:
	default: // many at once; it is a courtesy
	}
}

// startTyping shows in a chat without drafts that the bot is at work. It is called for
// tasks only, so that people whom the bot does not answer see nothing.
func (t *Telegram) startTyping(to bot.Chat) {
	if !t.Streams(to) {
		t.sendSign(sign{to: to})
	}
}

// showTaken marks a question as taken, once, in a chat without drafts.
func (t *Telegram) showTaken(to bot.Chat, question string) {
	if t.Streams(to) || question == "" || t.chats.refused(reactionMethod, to.ID) {
		return
	}
	if seen, _ := t.chats.taken.ContainsOrAdd(to.ID+"/"+question, true); !seen {
		t.sendSign(sign{to, question, true})
	}
}

// endTaken removes the mark, also one of an earlier process.
func (t *Telegram) endTaken(to bot.Chat, question string) {
	if !t.Streams(to) && positive(question) && !t.chats.refused(reactionMethod, to.ID) {
		t.sendSign(sign{to, question, false})
	}
}

// runSigns shows signs until ctx ends, "is typing" at most once per typingGap and chat.
func (t *Telegram) runSigns(ctx context.Context) {
	typed := newCache[time.Time]()
	for {
		var s sign
		select {
		case s = <-t.signs:
		case <-ctx.Done():
			return
		}
		if s.message != "" {
			t.react(ctx, s)
			continue
		}
		key, now := s.to.Key(), t.now()
		if before, ok := typed.Get(key); ok && now.Sub(before) < typingGap {
			continue
		}
		typed.Add(key, now)
		t.showTyping(ctx, s.to)
	}
}

func (t *Telegram) showTyping(ctx context.Context, to bot.Chat) {
	const method = "sendChatAction"
	id := t.chats.current(to.ID)
	if t.limiter.Wait(ctx, bot.Request{Account: t.account, Chat: id, Group: !to.Private, Method: method, Priority: bot.PriorityFrame}) != nil {
		return
	}
	p := tgbotapi.Params{"chat_id": id, "action": "typing"}
	p.AddNonEmpty("message_thread_id", to.Thread)
	if to.Thread == "" && t.chats.forums.Contains(to.ID) {
		p.AddNonZero("message_thread_id", generalTopic)
	}
	if err := t.api.call(ctx, signTimeout, method, p, nil); err != nil && ctx.Err() == nil {
		t.log.DebugContext(ctx, "telegram: typing not shown", "chat", to.ID, "cause", err)
	}
}

// react sets or removes a reaction. A chat that refuses reactions is left alone for a
// while.
func (t *Telegram) react(ctx context.Context, s sign) {
	r := bot.Request{Account: t.account, Chat: t.chats.current(s.to.ID), Group: !s.to.Private, Method: reactionMethod, Priority: bot.PriorityFrame}
	p := tgbotapi.Params{"chat_id": r.Chat, "message_id": s.message, "reaction": takenEmoji}
	if !s.taken {
		r.Priority, p["reaction"] = bot.PriorityNormal, "[]"
	}
	wait, cancel := context.WithTimeout(ctx, signWait)
	defer cancel()
	if t.limiter.Wait(wait, r) != nil {
		return
	}
	err := t.api.call(ctx, signTimeout, reactionMethod, p, nil)
	refused, ok := asRefusal(err)
	switch {
	case err == nil || ctx.Err() != nil:
	case ok && refused.rateLimited():
		t.limiter.Pause(bot.Request{Account: r.Account, Chat: r.Chat}, refused.after)
	case ok && (refused.code == http.StatusNotFound || refused.says("reaction", "not enough rights")):
		t.chats.noteRefused(reactionMethod, s.to.ID)
		t.log.InfoContext(ctx, "telegram: reactions refused in this chat", "chat", s.to.ID, "for", refusedFor, "cause", err)
	default:
		t.log.DebugContext(ctx, "telegram: reaction not shown", "chat", s.to.ID, "cause", err)
	}
}
