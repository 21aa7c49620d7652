package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/tasks"
)

const (
	feedbackRounds = 120
	maxFeedback    = 5 * time.Millisecond
	maxFeedbackP99 = 50 * time.Millisecond
	slackChannel   = "C1"
)

// measureFeedback sends messages, one after the other, and measures until the
// first request reaches the platform that people can see.
func measureFeedback(ctx context.Context, dir string) ([]figure, error) {
	h, err := newChatEnv(ctx, dir, func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: "done", First: 40 * time.Millisecond}
	})
	if err != nil {
		return nil, err
	}
	group := h.telegram.Supergroup("bench", h.person(1))
	places := []struct {
		name string
		ask  func() (time.Duration, error)
	}{
		{"Telegram, private", func() (time.Duration, error) { return h.firstInTelegram(ctx, 1, "How are you?") }},
		{"Telegram, a file with a question", func() (time.Duration, error) {
			return h.firstInTelegram(ctx, 1, "How many?", telegramfake.Attach("document", telegramfake.File{Name: "notes.csv", Content: []byte("city,people\nOslo,709037\n")}))
		}},
		{"Telegram, group", func() (time.Duration, error) {
			return h.firstInTelegram(ctx, group, "@legwork_bot How are you?")
		}},
		{"Slack, channel", func() (time.Duration, error) { return h.firstInSlack(ctx) }},
	}
	db, err := openBare(dir)
	if err != nil {
		return nil, err
	}
	took, commit := make([][]time.Duration, len(places)), []time.Duration(nil)
	for range feedbackRounds {
		for i, p := range places {
			d, err := p.ask()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			took[i] = append(took[i], d)
		}
		d, err := commitBare(db)
		if err != nil {
			return nil, err
		}
		commit = append(commit, d)
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	var figures []figure
	for i, p := range places {
		figures = append(figures,
			within("first visible feedback: "+p.name, median(took[i]), maxFeedback, short(median(commit))+" a bare commit"),
			within("the same, 99th percentile", percentile(took[i], 0.99), maxFeedbackP99, short(percentile(commit, 0.99))),
		)
	}
	return figures, h.close()
}

// firstInTelegram says something and measures until there is something to see;
// it returns when the answer is there and all is quiet.
func (h *chatEnv) firstInTelegram(ctx context.Context, chat int64, text string, opts ...telegramfake.Opt) (took time.Duration, err error) {
	said := time.Now()
	h.telegram.Say(chat, h.person(1), text, opts...)
	err = h.until(ctx, "the answer in Telegram", func(e telegramfake.Entry) bool {
		if e.Chat != chat || !visible(e.Method) {
			return false
		}
		if took == 0 {
			took = e.At.Sub(said)
		}
		return isAnswer(e, "done")
	})
	if err != nil {
		return 0, err
	}
	return took, tasks.Idle(ctx, h.store, bot.Chat{Platform: telegram.Name, ID: fmt.Sprint(chat)}.Key())
}

// firstInSlack is firstInTelegram in a channel of Slack, each time in a thread
// of its own.
func (h *chatEnv) firstInSlack(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	before := len(h.slack.Entries())
	said := time.Now()
	ts := h.slack.Say(slackChannel, "U1", "<@"+slackfake.BotUser+"> How are you?", "")
	err = h.slack.WaitFor(ctx, "the answer in Slack", func() bool {
		said := h.slack.Thread(slackChannel, ts)
		return len(said) > 0 && strings.Contains(h.slack.Shown(said[len(said)-1]), "done")
	})
	if err != nil {
		return 0, err
	}
	for _, e := range h.slack.Entries()[before:] {
		if e.Event == slackfake.EventCall && visible(e.Method) && e.Args["thread_ts"] == ts {
			took = e.At.Sub(said)
			break
		}
	}
	return took, tasks.Idle(ctx, h.store, bot.Chat{Platform: slack.Name, ID: slackChannel, Thread: ts}.Key())
}
