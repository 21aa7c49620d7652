package telegram

import (
	"context"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
)

const (
	typingGap     = 5 * time.Second // how long Telegram shows one action
	typingTimeout = 5 * time.Second
)

// works shows in a chat without drafts that the bot is at work. It never waits.
// It is called for tasks only: who is not listened to sees nothing.
//
//go:noinline // its copies of the chat would be on the stack of each Post that waits
func (t *Telegram) works(to bot.Chat) {
	if t.Streams(to) {
		return
	}
	select {
	case t.typing <- to:
	default: // many at once; it is a courtesy
	}
}

// showTyping sends what works asked for until ctx ends, at most once per
// typingGap and chat.
func (t *Telegram) showTyping(ctx context.Context) {
	last := map[string]time.Time{}
	for {
		var to bot.Chat
		select {
		case to = <-t.typing:
		case <-ctx.Done():
			return
		}
		key, now := to.Key(), t.now()
		if now.Sub(last[key]) < typingGap {
			continue
		}
		room(last)
		last[key] = now
		const method = "sendChatAction"
		id := t.places.current(to.ID)
		if t.limiter.Wait(ctx, bot.Request{Account: t.account, Chat: id, Group: !to.Private, Method: method, Priority: bot.PriorityFrame}) != nil {
			continue
		}
		params := tgbotapi.Params{"chat_id": id, "action": "typing"}
		params.AddNonEmpty("message_thread_id", to.Thread)
		if to.Thread == "" && t.places.forum(to.ID) {
			params.AddNonZero("message_thread_id", general)
		}
		if err := t.api.call(ctx, typingTimeout, method, params, nil); err != nil && ctx.Err() == nil {
			t.log.DebugContext(ctx, "telegram: typing is not shown", "chat", to.ID, "cause", err)
		}
	}
}
