package slack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	tests := []struct {
		name, command, text, channel, want string
		root                               bool
	}{
		{name: "task", command: "/task", text: "find *it* <!channel> & <@U2>", channel: "C1", want: "/task find *it* @channel & @U2", root: true},
		{name: "task without text", command: "/task", channel: "C1", want: "/task"},
		{name: "verb", command: "/legwork", text: "lang de", channel: "C1", want: "/lang de"},
		{name: "no verb", command: "/legwork", channel: "C1", want: "/help"},
		{name: "verb task", command: "/legwork", text: "TASK do\nit", channel: "C1", want: "/task do\nit", root: true},
		{name: "plan", command: "/legwork", text: "plan do it", channel: "C1", want: "/plan do it", root: true},
		{name: "prompt", command: "/legwork", text: "prompt trips/plan city=Rome", channel: "C1", want: "/prompt trips/plan city=Rome", root: true},
		{name: "list of prompts", command: "/legwork", text: "prompt", channel: "C1", want: "/prompt"},
		{name: "direct", command: "/task", text: "do it", channel: "DU1", want: "/task do it"},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := p.Slash(test.command, test.text, test.channel, "U1"); err != nil {
				t.Fatal(err)
			}
			m := p.next(t, i+1)[i]
			if m.Text != test.want || m.Token == "" || !strings.HasPrefix(m.Key, "slack:command:") || m.From.Name != "ann" {
				t.Errorf("%s %s gave %+v, want the text %q", test.command, test.text, m, test.want)
			}
			if (m.Chat.Thread != "") != test.root || m.Chat.Private != (test.channel == "DU1") {
				t.Errorf("%s %s belongs to %+v", test.command, test.text, m.Chat)
			}
			if !test.root {
				return
			}
			above := p.message(t, m.Chat, m.Chat.Thread)
			if m.ID != m.Chat.Thread || !strings.HasPrefix(above.Text, "<@U1>: ") || strings.Contains(above.Text[4:], "<") {
				t.Errorf("the message above is %+v of %+v", above, m)
			}
		})
	}
}

func TestCommandElsewhere(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.Slash("/task", "find it", "C2", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	if m.Chat.Thread != "" || !strings.HasPrefix(m.ID, "http") {
		t.Fatalf("got %+v, want no thread and a response URL", m)
	}
	board := bot.Draft{Kind: bot.KindBoard, ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Thinking…"}, Buttons: stop, Fixed: "The answer will follow."}
	id := p.post(t, m.Chat, board)
	for range 10 {
		board.Board = &bot.Board{Status: "Working", Items: []bot.Item{{ID: "1/a", Title: "look", State: "working"}}}
		p.edit(t, m.Chat, id, board)
	}
	half := bot.Draft{Kind: bot.KindAnswer, ReplyTo: m.ID, Text: "It is **he", Partial: true}
	if got := p.post(t, m.Chat, half); got != m.ID { // a frame that could not be changed into the whole
		t.Errorf("a frame got the id %q, want %q", got, m.ID)
	}
	for range 6 { // more parts than a response URL takes: the rest goes to Ann
		p.post(t, m.Chat, bot.Draft{Kind: bot.KindAnswer, ReplyTo: m.ID, Text: "It is **here**."})
	}
	var public, own int
	for _, shown := range p.Posted("C2") {
		if shown.To == "" {
			public++
		} else {
			own++
			if text := seen(shown); !strings.Contains(text, board.Fixed) || strings.Contains(text, "Thinking") || strings.Contains(text, "Stop") {
				t.Errorf("a message that cannot be changed says %s", text)
			}
		}
	}
	if direct := len(p.Posted(p.DM("U1"))); own != 1 || public != 4 || direct != 2 {
		t.Errorf("got %d for Ann alone, %d for all, %d direct; want 1, 4, 2", own, public, direct)
	}
}

func TestPresses(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	root := p.Say("C1", "U1", "<@UBOT> go", "")
	to := p.next(t, 1)[0].Chat
	id := p.post(t, to, bot.Draft{Kind: bot.KindQuestion, Text: "Really?", Buttons: []bot.Button{{Label: "Yes", Data: "a:1:0"}, {Label: "No", Data: "a:1:1"}}})
	if _, err := p.Press("C1", id, "No", "U2"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 2)[1]
	if m.Kind != bot.MessagePress || m.Data != "a:1:1" || m.From.ID != "U2" || m.Chat != channel(root) || m.ReplyTo != id || m.Token == "" || m.Text != "" {
		t.Errorf("a press gave %+v", m)
	}
	if err := p.s.Answer(t.Context(), m, ""); err != nil {
		t.Errorf("ending a press: %v", err)
	}
	if err := p.s.Answer(t.Context(), m, "Not **yours**."); err != nil {
		t.Errorf("answering a press: %v", err)
	}
	all := p.Posted("C1")
	if last := all[len(all)-1]; last.To != "U2" || !strings.Contains(last.Text, "yours") {
		t.Errorf("the answer to a press is %+v", last)
	}
}

// TestCommandOfAStranger: nothing is posted on behalf of somebody who may not
// ask, while the command itself is handed on.
func TestCommandOfAStranger(t *testing.T) {
	t.Parallel()
	p := start(t, set{options: slack.Options{Admit: func(_ context.Context, m bot.Message) bool { return !m.External }}}).ready(t)
	if _, err := p.Slash("/task", "find it", "C1", "U3"); err != nil {
		t.Fatal(err)
	}
	if m := p.next(t, 1)[0]; m.Text != "/task find it" || !m.External || m.Chat.Thread != "" || len(p.Posted("C1")) > 0 {
		t.Errorf("got %+v, and posted %+v", m, p.Posted("C1"))
	}
}

// TestUnknownPerson: a person who cannot be looked up counts as external; one
// error that may pass makes no one external.
func TestUnknownPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault slackfake.Fault
		name  string
	}{
		"hidden":      {slackfake.Fault{Kind: slackfake.FaultError, Error: "user_not_visible"}, ""},
		"unavailable": {slackfake.Fault{Kind: slackfake.FaultStatus}, "ann"},
		"cut off":     {slackfake.Fault{Kind: slackfake.FaultDropBefore}, "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, set{}).ready(t)
			c.fault.Method = "users.info"
			p.Break(c.fault)
			p.Say("DU1", "U1", "hi", "")
			if m := p.next(t, 1)[0]; m.External != (c.name == "") || m.From.Name != c.name {
				t.Errorf("got %+v, want it to be by %q", m, c.name)
			}
		})
	}
}

// TestKnownPerson: a person who was looked up once stays known while Slack
// does not answer, and lookups of others take only the turns that are left
// over.
func TestKnownPerson(t *testing.T) {
	t.Parallel()
	var later atomic.Bool
	asked := &turns{}
	p := start(t, set{options: slack.Options{RateLimiter: asked, Now: func() time.Time {
		if later.Load() {
			return time.Now().Add(2 * time.Hour)
		}
		return time.Now()
	}}}).ready(t)
	p.Say("DU1", "U1", "hi", "")
	p.next(t, 1)
	later.Store(true)
	p.Break(slackfake.Fault{Method: "users.info", Kind: slackfake.FaultStatus, Count: -1})
	p.Say("DU1", "U1", "hi again", "")
	if m := p.next(t, 2)[1]; m.External || m.From.Name != "ann" {
		t.Errorf("got %+v, want what was known of her", m)
	}
	p.Heal()
	p.Say("C1", "U2", "only talk", p.Say("C1", "U3", "a thread", ""))
	p.next(t, 3)
	if got := asked.of("users.info"); got[len(got)-1] != bot.PriorityFrame || got[0] != bot.PriorityHigh {
		t.Errorf("people were looked up with the urgencies %v, want the last as one that can be left out", got)
	}
}

// turns writes down what is asked of a limiter.
type turns struct {
	mu  sync.Mutex
	all []bot.Request
}

func (r *turns) Wait(_ context.Context, q bot.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, q)
	return nil
}

func (*turns) Pause(bot.Request, time.Duration) {}

func (r *turns) of(method string) (levels []bot.Priority) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.all {
		if q.Method == method {
			levels = append(levels, q.Priority)
		}
	}
	return levels
}

// TestAnswers: where a response URL does not work, an ephemeral message does.
func TestAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.Slash("/legwork", "help", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	for n := range 7 { // a response URL takes five
		if err := p.s.Answer(t.Context(), m, fmt.Sprintf("answer %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	m.Token = "here"
	if err := p.s.Answer(t.Context(), m, "answer 7"); err != nil {
		t.Fatal(err)
	}
	all := p.Posted("C1")
	for i, shown := range all {
		if shown.To != "U1" || !strings.Contains(shown.Text, fmt.Sprint("answer ", i)) || shown.Hooked != (i < 5) {
			t.Errorf("answer %d is %s", i, seen(shown))
		}
	}
	if len(all) != 8 {
		t.Errorf("%d answers were shown, want 8", len(all))
	}
	m.Chat.ID = "C2"
	if err := p.s.Answer(t.Context(), m, "a message that legwork ignores"); !errors.Is(err, bot.ErrGone) {
		t.Errorf("Answer where the bot is no member: %v, want ErrGone", err)
	}
}

// TestForeignAddress: only Slack's own response URLs are called, whatever a
// delivery says.
func TestForeignAddress(t *testing.T) {
	t.Parallel()
	var called atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer inside.Close()
	p := start(t, set{}).ready(t)
	own, err := url.Parse(p.cfg.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{inside.URL + "/metadata", "http://hooks.slack.com/commands/1", "https://hooks.slack.com.evil.example/1", "https://" + own.Host + "/hook/1", "http://a@" + own.Host + "/hook/1", "http://[::1", ""} {
		for n, raw := range []string{
			`{"type":"slash_commands","envelope_id":"%%s","payload":{"command":"/legwork","text":"help","user_id":"U1","channel_id":"C1","team_id":"T1","trigger_id":"%[1]s","response_url":%[2]q}}`,
			`{"type":"slash_commands","envelope_id":"%%s","payload":{"command":"/task","text":"find it","user_id":"U1","channel_id":"C2","team_id":"T1","trigger_id":"%[1]s2","response_url":%[2]q}}`,
			`{"type":"interactive","envelope_id":"%%s","payload":{"type":"block_actions","trigger_id":"%[1]s","response_url":%[2]q,"user":{"id":"U1"},"channel":{"id":"C1"},"message":{"ts":"1.2"},"actions":[{"action_id":"legwork.0","value":"x"}]}}`,
		} {
			before := len(p.got())
			if _, err := p.Raw(fmt.Sprintf(raw, fmt.Sprint("t", before), address)); err != nil {
				t.Fatal(err)
			}
			p.until(t, "the delivery", func() bool { return len(p.got()) > before })
			m := p.got()[before]
			if m.Token != "here" || strings.Contains(m.ID, "/") {
				t.Errorf("delivery %d with %q is answered at %q, its message is %q", n, address, m.Token, m.ID)
			}
			if m.Chat.ID == "C1" {
				if err := p.s.Answer(t.Context(), m, "so"); err != nil {
					t.Errorf("answering delivery %d with %q: %v", n, address, err)
				}
			}
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("another server was called %d times", n)
	}
}

// TestSecretAddress: a response URL is as good as a token, and in no error.
func TestSecretAddress(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.Slash("/task", "find it", "C2", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	p.Break(slackfake.Fault{Method: "response_url", Kind: slackfake.FaultDropBefore})
	_, err := p.s.Post(t.Context(), m.Chat, bot.Draft{Kind: bot.KindAnswer, ReplyTo: m.ID, Text: "It is here."})
	if err == nil || strings.Contains(err.Error(), "/hook/") || errors.Is(err, bot.ErrGone) {
		t.Errorf("got %v, want an error without the address that may pass", err)
	}
}

// TestSpell: the form that works in each place.
func TestSpell(t *testing.T) {
	t.Parallel()
	s, err := slack.New(slack.Config{BotToken: "xoxb-1", AppToken: "xapp-1", Commands: slack.Commands{Main: "/lw", Task: "/do"}}, slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	channel, direct := bot.Chat{Platform: "slack", ID: "C1"}, bot.Chat{Platform: "slack", ID: "D1", Private: true}
	thread := channel
	thread.Thread = "1.2"
	for _, test := range []struct {
		in         bot.Chat
		name, want string
	}{
		{channel, "stop", "/lw stop"},
		{channel, "task", "/do"},
		{direct, "plan", "/lw plan"},
		{direct, "start", "claim"},
		{thread, "stop", "!stop"},
		{thread, "task", "!task"},
	} {
		if got := s.Spell(test.in, test.name); got != test.want {
			t.Errorf("Spell(%+v, %q) = %q, want %q", test.in, test.name, got, test.want)
		}
	}
}

// TestAnswerWithButtons: an answer with a button is seen by the author of a command
// alone, also where the app is not a member.
func TestAnswerWithButtons(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.Slash("/task", "find it", "C2", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	d := bot.Draft{Kind: bot.KindNotice, Text: "No.", Buttons: []bot.Button{{Label: "Ask", Data: "g:ask"}}}
	if err := p.s.AnswerWith(t.Context(), m, d); err != nil {
		t.Fatal(err)
	}
	shown := p.Posted("C2")[0]
	if shown.To != "U1" || len(shown.Buttons()) != 1 {
		t.Fatalf("the answer is %+v", shown)
	}
	if _, err := p.Press("C2", shown.TS, "Ask", "U1"); err != nil {
		t.Fatal(err)
	}
	if got := p.next(t, 2)[1]; got.Data != "g:ask" || got.Chat.Private || got.Token == "" {
		t.Errorf("the press gave %+v", got)
	}
}

// TestShortcut: "Ask legwork about this" is a question about a message, in its thread;
// where the app is not a member, the answer goes through the response URL.
func TestShortcut(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Say("DU1", "U1", "I am known", "")
	p.next(t, 1)
	root := p.Say("C1", "U2", "The site is <https://x.org|down>.", "")
	elsewhere := p.Say("C2", "U2", "Here, too.", "")
	if _, err := p.Shortcut("C1", root, "legwork_ask", "U1"); err != nil {
		t.Fatal(err)
	}
	got := p.next(t, 2)[1]
	if got.Text != "" || got.Chat != channel(root) || got.From.Name != "ann" || !got.Standalone || got.Token == "" || quotes(got.Earlier) != "ben: The site is down (https://x.org)." {
		t.Errorf("the shortcut gave %+v", got)
	}
	if _, err := p.Shortcut("C2", elsewhere, "legwork_ask", "U1"); err != nil {
		t.Fatal(err)
	}
	got = p.next(t, 3)[2]
	if got.Chat != (bot.Chat{Platform: "slack", ID: "C2"}) || !strings.HasPrefix(got.ID, "http") || len(got.Earlier) != 1 {
		t.Errorf("elsewhere the shortcut gave %+v", got)
	}
	p.post(t, got.Chat, bot.Draft{Kind: bot.KindAnswer, Text: "Yes.", ReplyTo: got.ID})
	if _, err := p.Shortcut("C1", root, "another_app", "U1"); err != nil {
		t.Fatal(err)
	}
	p.until(t, "acknowledgements", p.Settled)
	if n := len(p.got()); n != 3 {
		t.Errorf("a shortcut with another callback id gave %+v", p.got()[3:])
	}
}
