package slack_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

func TestPlannedTaskStreams(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{AgentView: true}}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, thinking())
	m := p.message(t, to, id)
	if m.Stream == nil || m.Stream.State != slackfake.StreamLive || m.Stream.Title != "Thinking…" || m.Stream.User != "U1" || m.Stream.Mode != "plan" || m.Thread != to.Thread {
		t.Fatalf("the board is %s; log:\n%s", seen(m), p.log)
	}
	if got := m.Buttons(); len(got) != 1 || got[0] != "Stop" {
		t.Errorf("the board has the buttons %q, want Stop", got)
	}
	p.edit(t, to, id, working(0))
	p.edit(t, to, id, working(1))
	var cards []string
	for _, card := range p.message(t, to, id).Stream.Tasks {
		cards = append(cards, card.Status+" "+card.Title)
	}
	if want := "complete Thinking…|complete Look it up · web · 0:01|in_progress Compare · web · 0:02"; strings.Join(cards, "|") != want {
		t.Errorf("got the cards %q, want %q", strings.Join(cards, "|"), want)
	}
	p.edit(t, to, id, folded())
	if m = p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "Done: 2 of 2") || strings.Contains(seen(m), "Look it up") || len(m.Buttons()) > 0 {
		t.Errorf("the folded board is %s", seen(m))
	}
	if slack.Live(p.s) != 0 {
		t.Errorf("%d streams are live, want 0", slack.Live(p.s))
	}
	last := p.message(t, to, p.post(t, to, answer("On **Friday**.")))
	if last.Thread != to.Thread || !strings.Contains(seen(last), "2 sub-tasks · 3 s") || len(last.Buttons()) != 1 || last.Stream != nil {
		t.Errorf("the answer is %s", seen(last))
	}
	p.until(t, "the session to be over", func() bool { return p.StatusOf("C1", to.Thread).Session == "active" })
}

func TestPlainAnswerStreams(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, thinking())
	text := "It was on **Friday**, in the morning.\n\n```go\nfmt.Println(1)\n```\n\n- one\n- two [link](https://a.example/x)\n\nThat is all there is to say.\n"
	streamed := 0
	for end := range len(text) {
		if end%15 != 14 {
			continue
		}
		p.edit(t, to, id, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: text[:end], Partial: true})
		m := p.message(t, to, id)
		if m.Stream == nil {
			t.Fatalf("after %q the stream is over: %s", text[:end], seen(m))
		}
		if strings.Contains(m.Stream.Text, "://") {
			t.Fatalf("after %q Slack may fetch a link: %s", text[:end], m.Stream.Text)
		}
		streamed = len(m.Stream.Text)
	}
	if streamed < len(text)/2 {
		t.Errorf("only %d of %d bytes were streamed", streamed, len(text))
	}
	p.edit(t, to, id, answer(text))
	m := p.message(t, to, id)
	for _, part := range []string{"**Friday**", "fmt.Println(1)", "(https://a.example/x)", "That is all", "2 sub-tasks · 3 s", "d:1", "1.answer.1"} {
		if !strings.Contains(seen(m), part) {
			t.Errorf("the answer lacks %q: %s", part, seen(m))
		}
	}
	if m.Stream != nil || strings.Contains(seen(m), "Thinking") || strings.Contains(seen(m), `"Stop"`) {
		t.Errorf("the answer still shows how it came about: %s", seen(m))
	}
}

// TestMarkupStreams: the words of a paragraph stream although it has markup, as soon as
// their markup is closed.
func TestMarkupStreams(t *testing.T) {
	t.Parallel()
	p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "append", time.Millisecond) }}).ready(t)
	text := "The **first** release with `go mod` was in [2018](https://a.example/x), and it was *not the* last one: many more came."
	to := asked(t, p)
	id := p.post(t, to, thinking())
	shown := ""
	for end := 1; end <= len(text); end++ {
		p.edit(t, to, id, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: text[:end], Partial: true})
		m := p.message(t, to, id)
		if m.Stream == nil || !strings.HasPrefix(m.Stream.Text, shown) || strings.Contains(m.Stream.Text, "://") || strings.Count(m.Stream.Text, "*")%2 != 0 || strings.Count(m.Stream.Text, "`")%2 != 0 {
			t.Fatalf("after %q the stream shows %s, before %q", text[:end], seen(m), shown)
		}
		shown = m.Stream.Text
	}
	if want := "was in 2018 (a.example), and it was *not the* last one: many more"; !strings.HasSuffix(shown, want) {
		t.Errorf("the stream shows %q, want it to end with %q", shown, want)
	}
	p.edit(t, to, id, answer(text))
	if m := p.message(t, to, id); !strings.Contains(seen(m), "(https://a.example/x)") {
		t.Errorf("the answer is %s", seen(m))
	}
}

func TestRetracted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		next bot.Draft
		want string
	}{
		{"another text", answer("Something else altogether."), "Something else"},
		{"a plan after all", working(0), "Look it up"},
		{"it failed", bot.Draft{Kind: bot.KindAnswer, Text: "It did not work.", Failed: true}, "⚠️ It did not work."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := start(t, set{}).ready(t)
			to := asked(t, p)
			id := p.post(t, to, thinking())
			p.edit(t, to, id, bot.Draft{Kind: bot.KindAnswer, Text: "The first words are these and ", Partial: true})
			if m := p.message(t, to, id); !strings.Contains(m.Stream.Text, "first words") {
				t.Fatalf("not streamed: %s", seen(m))
			}
			p.edit(t, to, id, test.next)
			if m := p.message(t, to, id); strings.Contains(seen(m), "first words") || !strings.Contains(seen(m), test.want) {
				t.Errorf("got %s, want %q alone", seen(m), test.want)
			}
		})
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "rotate", 200*time.Millisecond) }}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, working(0))
	p.until(t, "the end of the stream", func() bool { return p.message(t, to, id).Stream.State == slackfake.StreamDone })
	p.edit(t, to, id, working(1))
	if m := p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "✅ Look it up") {
		t.Errorf("after the rotation: %s", seen(m))
	}
	p.edit(t, to, id, folded())
	if calls := p.Calls("chat.startStream"); len(calls) != 1 {
		t.Errorf("%d streams were started, want 1", len(calls))
	}
}

func TestDeadStream(t *testing.T) {
	t.Parallel()
	for _, last := range []bot.Draft{working(1), answer("Late, but **here**.")} {
		p := start(t, set{fake: slackfake.Options{Second: time.Millisecond}, before: func(s *slack.Slack) { slack.Pause(s, "rotate", time.Hour) }}).ready(t)
		to := asked(t, p)
		id := p.post(t, to, thinking())
		<-time.After(310 * time.Millisecond) // five of the fake's minutes
		p.edit(t, to, id, last)
		if m := p.message(t, to, id); m.Stream != nil || slack.Live(p.s) != 0 {
			t.Errorf("after the stream died: %s, %d live", seen(m), slack.Live(p.s))
		}
	}
}

func TestOthersStream(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, thinking())
	again, err := slack.New(p.cfg, slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Edit(t.Context(), to, id, answer("After the restart.")); err != nil {
		t.Fatal(err)
	}
	if m := p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "After the restart.") {
		t.Errorf("got %s", seen(m))
	}
	fresh, err := again.Post(t.Context(), to, thinking()) // it is not known who asked
	if err != nil || p.message(t, to, fresh).Stream != nil {
		t.Errorf("a board of an unknown asker: %v", err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	streams, gaps := 0, 0
	for range 12 {
		to := asked(t, p)
		id := p.post(t, to, working(0))
		if p.message(t, to, id).Stream != nil {
			streams++
		}
		var later *bot.LaterError
		if errors.As(p.s.Edit(t.Context(), to, id, working(1)), &later) {
			gaps++
		}
	}
	if streams != 10 || gaps != 12 {
		t.Errorf("%d streams and %d frames told to wait, want 10 and 12", streams, gaps)
	}
}

func TestStopButton(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{AgentView: true}}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, working(0))
	p.until(t, "the session", func() bool { return p.StatusOf("C1", to.Thread).Session == "processing" })
	if err := p.Stop("C1", to.Thread, "U2"); err != nil {
		t.Fatal(err)
	}
	p.until(t, "the stop", func() bool { all := p.got(); return all[len(all)-1].Text == "/stop" })
	all := p.got()
	if m := all[len(all)-1]; m.From.ID != "U2" || m.Chat != to || !m.InThread {
		t.Errorf("Stop gave %+v", m)
	}
	p.edit(t, to, id, folded())
	if m := p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "Done: 2 of 2") {
		t.Errorf("after Stop: %s", seen(m))
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{AgentView: true}}).ready(t)
	to := asked(t, p)
	p.post(t, to, thinking())
	p.post(t, to, bot.Draft{Kind: bot.KindQuestion, Text: "Really?", Buttons: stop})
	p.until(t, "suspended", func() bool { return p.StatusOf("C1", to.Thread).Session == "suspended" })
	waits := thinking()
	waits.Board.Waiting = true
	calls := len(p.Calls("agents.sessions.setStatus"))
	p.post(t, to, waits)
	p.post(t, to, answer("Yes."))
	p.until(t, "active", func() bool { return p.StatusOf("C1", to.Thread).Session == "active" })
	if n := len(p.Calls("agents.sessions.setStatus")) - calls; n != 1 {
		t.Errorf("while a person was awaited, the status changed %d times before the answer", n-1)
	}

	none := start(t, set{}).ready(t)
	for range 3 {
		none.post(t, asked(t, none), thinking())
	}
	none.until(t, "the refusal", func() bool { return len(none.Calls("agents.sessions.setStatus")) > 0 })
	none.post(t, asked(t, none), answer("Yes."))
	none.stop()
	if n := len(none.Calls("agents.sessions.setStatus")); n != 1 {
		t.Errorf("a workspace without sessions was asked %d times, want 1", n)
	}
}

// TestRefusedStream: where Slack refuses a stream, legwork edits messages for ten
// minutes, in that channel alone.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	var later atomic.Bool
	p := start(t, set{options: slack.Options{Now: func() time.Time {
		if later.Load() {
			return time.Now().Add(11 * time.Minute)
		}
		return time.Now()
	}}}).ready(t)
	streams := func(to bot.Chat) bool { return p.message(t, to, p.post(t, to, thinking())).Stream != nil }
	to := asked(t, p)
	p.Say("C5", "U1", "<@UBOT> elsewhere", "")
	elsewhere := p.next(t, 2)[1].Chat
	p.Break(slackfake.Fault{Method: "chat.startStream", Kind: slackfake.FaultError, Error: "channel_type_not_supported"})
	for range 2 {
		if streams(to) {
			t.Error("the board streams where Slack has refused a stream")
		}
	}
	if !streams(elsewhere) {
		t.Error("the refusal in one channel turned the streams of another one off")
	}
	later.Store(true)
	if !streams(to) {
		t.Error("no stream is tried eleven minutes after the refusal")
	}
}

// TestRefusedFrame: when Slack takes no more frames of a stream, legwork goes on by
// edits.
func TestRefusedFrame(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, thinking())
	p.Break(slackfake.Fault{Method: "chat.appendStream", Kind: slackfake.FaultError, Error: "channel_type_not_supported"})
	p.edit(t, to, id, working(0))
	if m := p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "Compare") {
		t.Errorf("the board is %s", seen(m))
	}
	if m := p.message(t, to, p.post(t, to, thinking())); m.Stream != nil {
		t.Error("another board streams in the same channel")
	}
}

// TestTyping: in a thread of direct messages Slack shows what the bot is doing,
// once a minute at most.
func TestTyping(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	root := p.Say(p.DM("U1"), "U1", "hello", "")
	p.next(t, 1)
	p.Say(p.DM("U1"), "U1", "and more", root)
	to := p.next(t, 2)[1].Chat
	id := p.post(t, to, thinking())
	p.edit(t, to, id, working(0))
	p.until(t, "the status", func() bool { return len(p.Calls("assistant.threads.setStatus")) > 0 })
	p.stop()
	if calls := p.Calls("assistant.threads.setStatus"); len(calls) != 1 || calls[0].Args["status"] != "Thinking…" || calls[0].Args["thread_ts"] != root {
		t.Errorf("got %+v, want one call with the board's status", calls)
	}
}

// TestTypingEndsWithTheAnswer: a status that had to wait is not set after the answer,
// which would not remove it.
func TestTypingEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{AgentView: true}}).ready(t)
	root := p.Say(p.DM("U1"), "U1", "hello", "")
	p.next(t, 1)
	p.Say(p.DM("U1"), "U1", "and more", root)
	to := p.next(t, 2)[1].Chat
	p.Break(slackfake.Fault{Method: "agents.sessions.setStatus", Kind: slackfake.FaultDelay, Delay: 3 * time.Second, Count: 1})
	p.post(t, to, thinking())
	p.post(t, to, answer("Yes."))
	p.until(t, "active", func() bool { return p.StatusOf(to.ID, to.Thread).Session == "active" })
	if text := p.StatusOf(to.ID, to.Thread).Text; text != "" {
		t.Errorf("after the answer the thread shows %q", text)
	}
}

// TestSlackStopsTwice: the refusal of a frame and the event about it are the
// same press of Stop, and have the same key.
func TestSlackStopsTwice(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{AgentView: true}}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, working(0))
	p.Break(slackfake.Fault{Method: "chat.appendStream", Kind: slackfake.FaultError, Error: "stopped_by_user"})
	p.edit(t, to, id, working(1))
	stops := func() (all []bot.Message) {
		for _, m := range p.got() {
			if m.Text == "/stop" {
				all = append(all, m)
			}
		}
		return all
	}
	p.until(t, "the stop", func() bool { return len(stops()) == 1 })
	p.Event("C1", "agent_session_stopped", map[string]any{"thread_ts": to.Thread, "user": "U1", "event_ts": "1700000000.000100", "streaming_message_ts": []string{id}})
	p.until(t, "the event", func() bool { return len(stops()) == 2 })
	if all := stops(); all[0].Key != all[1].Key || all[0].Chat != all[1].Chat || all[0].From != all[1].From {
		t.Errorf("got %+v, want the same press twice", all)
	}
}

// TestRemoveStream: the bot deletes a message that streams, also when an earlier
// process began the stream.
func TestRemoveStream(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	again, err := slack.New(p.cfg, slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*slack.Slack{"its own": p.s, "of an earlier process": again} {
		to := asked(t, p)
		id := p.post(t, to, thinking())
		if m := p.message(t, to, id); m.Stream == nil {
			t.Fatalf("%s: no stream: %s", name, seen(m))
		}
		for range 2 {
			if err := s.Remove(t.Context(), to, id); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if m, ok := p.Message(to.ID, id); ok && !m.Deleted {
			t.Errorf("%s: the message is still there: %s", name, seen(m))
		}
	}
}
