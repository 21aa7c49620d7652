package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/ratelimit"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

const telegramToken = "1000:AAbench-token-of-the-telegram-bot-x"

// chatEnv is a rig whose people are in a fake Telegram and a fake Slack, without
// the rates of either and without pacing.
type chatEnv struct {
	*engineEnv
	telegram *telegramfake.Server
	slack    *slackfake.Server

	people map[int64]telegramfake.User
	seen   int // entries of Telegram's log that were looked at
}

// newChatEnv starts everything and returns when messages arrive. Close it.
func newChatEnv(ctx context.Context, dir string, respond func(llmfake.Request) llmfake.Response) (*chatEnv, error) {
	h := &chatEnv{people: map[int64]telegramfake.User{}}
	var err error
	if h.telegram, h.slack, err = startFakes(0); err != nil {
		return nil, err
	}
	t, err := telegram.New(telegram.Config{Token: telegramToken, APIURL: h.telegram.URL}, telegram.Options{RateLimiter: ratelimit.New()})
	if err != nil {
		return nil, err
	}
	s, err := slack.New(slack.Config{BotToken: slackfake.BotToken, AppToken: slackfake.AppToken, APIURL: h.slack.APIURL}, slack.Options{RateLimiter: ratelimit.New()})
	if err != nil {
		return nil, err
	}
	fake := llmfake.Options{Respond: respond, Log: filepath.Join(dir, "model.jsonl")}
	if h.engineEnv, err = assemble(groups(), dir, fake, 0, 64, telemetryOf{}, t, s); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	engine := h.cancel
	h.cancel = func() { cancel(); engine() }
	for _, p := range []bot.Platform{t, s} {
		h.work.Go(func() { _ = p.Run(running, h.inbox.Handle) }) // ends without an error when its context does
	}
	return h, ready(ctx, t.Ready, s.Ready)
}

// startFakes starts both fakes without rates. Telegram closes connections that
// were not used for idle; 0: it does not.
func startFakes(idle time.Duration) (*telegramfake.Server, *slackfake.Server, error) {
	t, err := telegramfake.Start(telegramfake.Options{Token: telegramToken, NoLimits: true, Idle: idle})
	if err != nil {
		return nil, nil, err
	}
	s, err := slackfake.Start(slackfake.Options{AgentView: true, Quiet: true, Limits: map[string][]slackfake.Limit{}})
	if err != nil {
		return nil, nil, errors.Join(err, t.Close())
	}
	return t, s, nil
}

// ready waits until all parts are. Nothing tells when, so they are asked again
// and again.
func ready(ctx context.Context, parts ...func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		var problems []error
		for _, part := range parts {
			problems = append(problems, part())
		}
		err := errors.Join(problems...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the platforms: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// close ends everything and tells what the fakes complained of.
func (h *chatEnv) close() error {
	return errors.Join(h.engineEnv.close(), closeFakes(h.telegram, h.slack))
}

func closeFakes(t *telegramfake.Server, s *slackfake.Server) error {
	err := errors.Join(t.Close(), s.Close())
	for _, v := range append(t.Violations(), s.Violations()...) {
		err = errors.Join(err, fmt.Errorf("a platform would object: %s", v))
	}
	return err
}

// person is somebody in Telegram.
func (h *chatEnv) person(id int64) telegramfake.User {
	u, known := h.people[id]
	if !known {
		u = h.telegram.User(id, fmt.Sprint("P", id), "en")
		h.people[id] = u
	}
	return u
}

// until hands each new request that Telegram took to see, until that returns
// true.
func (h *chatEnv) until(ctx context.Context, what string, see func(telegramfake.Entry) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := h.telegram.WaitFor(ctx, func(v telegramfake.View) bool {
		for log := v.Log(); h.seen < len(log); {
			e := log[h.seen]
			h.seen++
			if e.Done && see(e) {
				return true
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// visible reports that a request shows something to people.
func visible(method string) bool {
	switch method {
	case "sendMessage", "sendMessageDraft", "editMessageText", "chat.startStream", "chat.postMessage":
		return true
	}
	return false
}

// isAnswer reports that a request brings an outcome, which holds words.
func isAnswer(e telegramfake.Entry, words string) bool {
	return (e.Method == "sendMessage" || e.Method == "editMessageText") && strings.Contains(e.Params["text"], words)
}
