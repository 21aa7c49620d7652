package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

// TestRevokedWhileConnected: deliveries go on, so that only calls show it.
func TestRevokedWhileConnected(t *testing.T) {
	t.Parallel()
	p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "denied", time.Hour) }}).ready(t) // no other call meanwhile
	to := bot.Chat{Platform: "slack", ID: "C1"}
	p.Revoke(slackfake.BotToken, "token_revoked")
	for range 2 {
		if _, err := p.s.Post(t.Context(), to, bot.Draft{Kind: bot.KindNotice, Text: "hello"}); err == nil {
			t.Error("a post with a revoked token is said to have gone out")
		}
	}
	if err := p.s.Ready(); err == nil || !strings.Contains(err.Error(), "install the app again") {
		t.Errorf("Ready() = %v, want what to do about the token", err)
	}
	p.Revoke(slackfake.BotToken, "")
	p.post(t, to, bot.Draft{Kind: bot.KindNotice, Text: "hello"})
	if err := p.s.Ready(); err != nil {
		t.Errorf("Ready() = %v after a call that went well", err)
	}
	p.stop()
	for _, news := range []string{"token refused", "slack: connected"} {
		if n := strings.Count(p.log.String(), news); n != 1 {
			t.Errorf("%q is logged %d times, want once: %s", news, n, p.log)
		}
	}
}

// TestRefreshes renews the connections a hundred times while people write: no
// message is lost, none comes twice.
func TestRefreshes(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{Second: 40 * time.Millisecond}, before: func(s *slack.Slack) { // 120 ms for an acknowledgement
		slack.Pause(s, "linger", 30*time.Millisecond)
	}}).ready(t)
	const refreshes, perRefresh = 100, 5
	for i := range refreshes {
		p.Refresh()
		for j := range perRefresh {
			p.Say("DU1", "U1", fmt.Sprintf("%d.%d", i, j), "")
		}
		p.until(t, "a new connection", func() bool { return connects(p) > i+1 })
	}
	got := p.next(t, refreshes*perRefresh)
	times := map[string]int{}
	for _, m := range p.got() {
		times[m.Text]++
	}
	for i := range refreshes {
		for j := range perRefresh {
			if text := fmt.Sprintf("%d.%d", i, j); times[text] == 0 {
				t.Errorf("message %s was lost", text)
			}
		}
	}
	if len(got) != refreshes*perRefresh {
		t.Errorf("got %d messages with different keys, want %d", len(got), refreshes*perRefresh)
	}
	p.until(t, "acknowledgements", p.Settled)
}

// connects is how many connections have been opened so far.
func connects(p *env) int {
	n := 0
	for _, e := range p.Entries() {
		if e.Event == slackfake.EventConnect {
			n++
		}
	}
	return n
}

// TestSuccessorFirst: at a refresh the next connection is open before the old
// one is closed.
func TestSuccessorFirst(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{Second: 100 * time.Millisecond}}).ready(t)
	p.Refresh()
	p.until(t, "a second connection", func() bool { return p.Connections() == 2 })
	p.until(t, "the end of the first", func() bool { return p.Connections() == 1 })
	for _, e := range p.Entries() {
		if e.Event == slackfake.EventClose {
			return
		}
		if e.Event == slackfake.EventConnect && e.Socket > 1 {
			p.Say("DU1", "U1", "after", "")
			p.next(t, 1)
			return
		}
	}
	t.Error("the log shows no second connection before the first one was closed")
}

func TestDeaf(t *testing.T) {
	t.Parallel()
	for _, pings := range []bool{false, true} {
		t.Run(fmt.Sprintf("pongs %v", pings), func(t *testing.T) {
			p := start(t, set{fake: slackfake.Options{Second: 100 * time.Millisecond}, before: func(s *slack.Slack) {
				slack.Pause(s, "ping", 20*time.Millisecond)
				slack.Pause(s, "deaf", 100*time.Millisecond)
				slack.Pause(s, "quiet", 300*time.Millisecond)
			}}).ready(t)
			opened := connects(p)
			p.Deafen(pings)
			p.Say("DU1", "U1", "anybody there?", "")
			p.until(t, "another connection", func() bool { return connects(p) > opened })
			if got := p.next(t, 1); got[0].Text != "anybody there?" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestNoHello: a connection that answers pings and nothing else does not stand in
// the way of the next.
func TestNoHello(t *testing.T) {
	t.Parallel()
	f := slackfake.New(t, slackfake.Options{})
	f.Shy(1)
	s, err := slack.New(config(f), slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	slack.Shorten(s, 20)
	slack.Pause(s, "ping", 10*time.Millisecond)
	slack.Pause(s, "greet", 200*time.Millisecond)
	p := &env{Server: f, s: s, log: &bytes.Buffer{}, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx, p.take) }()
	defer func() { cancel(); <-done }()
	p.ready(t)
}

func TestDownForLong(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Down()
	p.until(t, "Ready to tell", func() bool { return p.s.Ready() != nil })
	p.Say("DU1", "U1", "while it was down", "")
	tries := len(p.Entries())
	p.until(t, "more tries", func() bool { return len(p.Entries()) > tries+3 })
	p.Heal()
	p.ready(t)
	if got := p.next(t, 1); got[0].Text != "while it was down" {
		t.Errorf("got %+v", got)
	}
}

// TestTokens: Ready says what is wrong and what to do, and no token is in it.
func TestTokens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, says string
		change     func(*slack.Config)
		revoke     string
		code       string
	}{
		{name: "unknown bot token", change: func(c *slack.Config) { c.BotToken = "xoxb-9-9-other" }, says: "bot_token"},
		{name: "unknown app token", change: func(c *slack.Config) { c.AppToken = "xapp-9-9-other" }, says: "app_token"},
		{name: "revoked", revoke: slackfake.BotToken, code: "token_revoked", says: "install the app again"},
		{name: "removed", revoke: slackfake.BotToken, code: "account_inactive", says: "install the app again"},
		{name: "app token revoked", revoke: slackfake.AppToken, code: "token_revoked", says: "install the app again"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := slackfake.New(t, slackfake.Options{Limits: map[string][]slackfake.Limit{}})
			if test.revoke != "" {
				f.Revoke(test.revoke, test.code)
			}
			cfg := config(f)
			if test.change != nil {
				test.change(&cfg)
			}
			s, err := slack.New(cfg, slack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			slack.Pause(s, "denied", 10*time.Millisecond)
			p := &env{Server: f, s: s, changed: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = s.Run(ctx, p.take) }()
			defer func() { cancel(); <-done }()
			p.until(t, "Ready to say "+test.says, func() bool {
				err := s.Ready()
				return err != nil && strings.Contains(err.Error(), test.says)
			})
			_, tried := slack.Try(t.Context(), cfg)
			for _, err := range []error{s.Ready(), tried} {
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "-other") || strings.Contains(err.Error(), "fakebot") || strings.Contains(err.Error(), "fakeapp") {
					t.Errorf("got %v, want %q and no token", err, test.says)
				}
			}
			if test.revoke != "" {
				f.Revoke(test.revoke, "")
				p.ready(t)
			}
		})
	}
}

// TestRevokedWhileIdle: Ready reports a revoked bot token as soon as Slack
// does, and when it is good again, without any other call.
func TestRevokedWhileIdle(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(*env){
		"tokens_revoked": func(p *env) {
			p.Event("", "tokens_revoked", map[string]any{"tokens": map[string]any{"bot": []string{"UBOT"}}})
		},
		"app_uninstalled": func(p *env) { p.Event("", "app_uninstalled", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, set{}).ready(t)
			p.Revoke(slackfake.BotToken, "token_revoked")
			notice(p)
			p.until(t, "Ready to tell", func() bool {
				err := p.s.Ready()
				return err != nil && strings.Contains(err.Error(), "install the app again")
			})
			p.Revoke(slackfake.BotToken, "")
			p.ready(t)
		})
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	f := slackfake.New(t, slackfake.Options{})
	who, err := slack.Try(t.Context(), config(f))
	if err != nil || !strings.HasPrefix(who, "@legwork in ") {
		t.Errorf("got %q, %v", who, err)
	}
	if strings.Contains(who, "without") {
		t.Errorf("an app with all permissions is %q", who)
	}
	f.GrantReading(false)
	if who, err = slack.Try(t.Context(), config(f)); err != nil || !strings.Contains(who, ", without files:read: ") || !strings.Contains(who, "legwork slack manifest") {
		t.Errorf("an app of an earlier manifest is %q, %v, want what it lacks and what to do", who, err)
	}
	f.Down()
	if _, err := slack.Try(t.Context(), config(f)); err == nil || strings.Contains(err.Error(), slackfake.BotToken) {
		t.Errorf("while it is down: %v", err)
	}
}

// TestLinkDisabled: Socket Mode is off; it is said, and not tried in a loop.
func TestLinkDisabled(t *testing.T) {
	t.Parallel()
	p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "denied", time.Hour) }}).ready(t)
	p.Disconnect("link_disabled")
	p.until(t, "Ready to tell", func() bool { return p.s.Ready() != nil && strings.Contains(p.s.Ready().Error(), "Socket Mode is off") })
	if n := len(p.Calls("apps.connections.open")); n != 1 {
		t.Errorf("%d connections were opened, want 1", n)
	}
}
