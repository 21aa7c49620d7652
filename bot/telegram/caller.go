package telegram

import (
	"context"

	"legwork/bot"
)

// caller makes calls about chats when the rate limiter lets them go. It obeys what
// Telegram says about further calls. It is safe for concurrent use.
type caller struct {
	limiter bot.RateLimiter
	account string // the bot's id
	chats   *chats
}

// request is a call as the rate limiter knows it. Its Chat is the id that the chat has
// now; it is empty for the zero chat.
func (c *caller) request(to bot.Chat, method string, p bot.Priority) bot.Request {
	r := bot.Request{Account: c.account, Method: method, Priority: p}
	if to.ID != "" {
		r.Chat, r.Group = c.chats.current(to.ID), !to.Private
	}
	return r
}

// call waits for the rate limiter and makes a call once. The error is that of the
// limiter or of do. After a refusal for too many calls, the next ones wait in that
// chat, or with that method where there is no chat. After a refusal because the group
// has another id, the next request has that id.
func (c *caller) call(ctx context.Context, r bot.Request, do func() error) error {
	if err := c.limiter.Wait(ctx, r); err != nil {
		return err
	}
	err := do()
	refused, ok := asRefusal(err)
	switch {
	case ok && refused.rateLimited():
		paused := bot.Request{Account: r.Account, Chat: r.Chat}
		if r.Chat == "" {
			paused.Method = r.Method
		}
		c.limiter.Pause(paused, refused.after)
	case ok && refused.movedTo != 0:
		c.chats.noteMoved(r.Chat, refused.movedTo)
	}
	return err
}
