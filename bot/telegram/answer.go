package telegram

import (
	"context"
	"fmt"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/bot/markdown"
)

const (
	maxToast   = 200 // characters of an answer to a press
	shortToast = 70  // more than that cannot be read while a toast passes
)

// Answer implements bot.Answerer: what a press is answered with passes at the
// screen's edge, or waits to be closed when it takes longer to read. A press
// that is too old to be answered is no error.
func (t *Telegram) Answer(ctx context.Context, m bot.Message, text string) error {
	const method = "answerCallbackQuery"
	if m.Token == "" {
		return nil
	}
	text = cut(strings.TrimSpace(markdown.Plain(text)), maxToast)
	params := tgbotapi.Params{"callback_query_id": m.Token}
	params.AddNonEmpty("text", text)
	params.AddBool("show_alert", units(text) > shortToast || strings.Contains(text, "\n"))
	request := bot.Request{Account: t.account, Method: method, Priority: bot.PriorityHigh}
	for {
		if err := t.limiter.Wait(ctx, request); err != nil {
			return err
		}
		err := t.api.call(ctx, callTimeout, method, params, nil)
		r, ok := refused(err)
		switch {
		case err == nil, ok && r.says("query is too old", "query id is invalid", "query_id_invalid"):
			return nil
		case ok && r.rated():
			t.limiter.Pause(bot.Request{Account: t.account, Method: method}, r.after)
			continue
		}
		return fmt.Errorf("answering a press: %w", err)
	}
}
