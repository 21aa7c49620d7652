package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
)

// TestSlackFaults: whatever a call meets, the answer comes, once, and nothing
// is left live.
func TestSlackFaults(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update", "chat.postMessage", "users.info", "agents.sessions.setStatus"} {
		for _, fault := range []slackfake.Fault{
			{Kind: slackfake.FaultBusy, RetryAfter: 1},
			{Kind: slackfake.FaultDropBefore},
			{Kind: slackfake.FaultDropAfter},
			{Kind: slackfake.FaultStatus},
			{Kind: slackfake.FaultStatusLate},
			{Kind: slackfake.FaultGarbage},
			{Kind: slackfake.FaultError, Error: "internal_error"},
			{Kind: slackfake.FaultDelay, Delay: time.Second},
		} {
			fault.Method = method
			t.Run(method+" "+fault.Kind, func(t *testing.T) {
				t.Parallel()
				late := llmfake.Brain{PerToken: 20 * time.Millisecond}
				o := newSlackEnv(t, slackOptions{options: options{think: late.Respond, wait: time.Minute}, access: `{slack: {teams: [T1]}, admins: ["slack:U1"]}`})
				o.opens()
				o.Break(fault)
				thread := o.asks(general, ben, "q1: desk alpha")
				o.offers(thread, "Details", "value of q1 desk alpha")
				o.Heal()
				plain := o.asks(general, ben, "q2: hello, what do you say to so many words?")
				o.answers(plain, "answers: q2: hello, what do you say to so many words?")
				o.until("all that was delivered", o.Settled)
				if n := o.count(thread, "value of q1 desk alpha", "1 sub-task ·"); n != 1 {
					t.Errorf("%d messages hold the answer, want one", n)
				}
				o.until("the end of each board", func() bool {
					return !slices.ContainsFunc(o.said(in(general)), func(m slackfake.Message) bool {
						return m.Stream != nil && m.Stream.State == slackfake.StreamLive || slices.Contains(m.Buttons(), "Stop")
					})
				})
			})
		}
	}
}

// TestSlackLimitInMidStream: Slack wants no more words for a while; the whole
// answer comes all the same, and legwork keeps to the wait that Slack asked
// for.
func TestSlackLimitInMidStream(t *testing.T) {
	t.Parallel()
	text := strings.TrimSpace(strings.Repeat("These are words that come one after the other. ", 8))
	for _, method := range []string{"chat.appendStream", "chat.stopStream", "chat.update"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{options: options{wait: time.Minute, think: func(llmfake.Request) llmfake.Response {
				response := llmfake.Say(text)
				response.PerToken = 30 * time.Millisecond
				return response
			}}})
			o.opens()
			o.Break(slackfake.Fault{Method: method, Kind: slackfake.FaultBusy, RetryAfter: 2})
			thread := o.asks(general, ben, "first: tell me")
			elsewhere := o.asks(board, ben, "later: hello")
			o.answers(elsewhere, "answers: later: hello")
			o.answers(thread, text)
			o.until("the end of the message where the answer grew", func() bool { return o.count(thread, "These are words") == 1 })
		})
	}
}

// TestSlackRefusedLooks: what Slack does not like is shown more plainly.
func TestSlackRefusedLooks(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_blocks", "msg_too_long", "msg_blocks_too_long"} {
		for times := 1; times <= 2; times++ {
			t.Run(fmt.Sprintf("%s %d", code, times), func(t *testing.T) {
				t.Parallel()
				boardIsThere := make(chan struct{})
				begin := sync.OnceFunc(func() { close(boardIsThere) })
				defer begin()
				o := newSlackEnv(t, slackOptions{options: options{think: func(llmfake.Request) llmfake.Response {
					<-boardIsThere
					return llmfake.Say("These are **strong** words.")
				}}})
				o.opens()
				thread := o.asks(general, ben, "first: go")
				o.offers(thread, "Stop")
				o.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultError, Error: code, Count: times})
				begin()
				answer := o.answers(thread, "words.")
				if shown := o.Shown(answer); !strings.Contains(shown, "These are strong words.") || strings.Contains(string(answer.Blocks), `"type":"markdown"`) {
					t.Errorf("Slack refused the answer %d times, and shows %q as %s", times, shown, answer.Blocks)
				}
			})
		}
	}
}

// TestSlackLongAnswer: a long answer comes in parts, in order, and nothing of
// it is lost.
func TestSlackLongAnswer(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		var text strings.Builder
		for i := range 900 {
			fmt.Fprintf(&text, "%d. item number%d with **some** `words`\n", i+1, i)
			if i%100 == 99 {
				fmt.Fprintf(&text, "\n```go\nfmt.Println(%d)\n```\n\n", i)
			}
		}
		r.think = func(llmfake.Request) llmfake.Response {
			response := llmfake.Say(text.String())
			response.Token = 2000
			return response
		}
		o := newSlackEnv(t, r)
		o.opens()
		thread := o.asks(general, ben, "first: everything")
		o.answers(thread, "number899 ")
		o.passes()
		var all strings.Builder
		for _, m := range o.said(thread) {
			all.WriteString(o.Shown(m) + "\n")
		}
		at := 0
		for i := range 900 {
			word := fmt.Sprintf("number%d ", i)
			next := strings.Index(all.String()[at:], word)
			if next < 0 || strings.Count(all.String(), word) != 1 {
				t.Fatalf("%q is there %d times, or not in order", word, strings.Count(all.String(), word))
			}
			at += next
		}
		if n := len(o.said(thread)); n < 3 || n > 10 {
			t.Errorf("%d characters came in %d messages", text.Len(), n)
		}
	})
}

// TestSlackHarmless: a model's words mention no one, show no previews and no
// images.
func TestSlackHarmless(t *testing.T) {
	t.Parallel()
	text := "Hey <!channel>, <!here|here>, <!everyone> and <@U1>, @channel! <!subteam^S1> See https://evil.example/?q=secret " +
		"and ![picture](https://evil.example/p.png?q=secret) or [good.example](https://evil.example/).\n\nBye <https://x.example|good.example>."
	plan := `{"plan": [{"name": "desk", "description": "ask <!channel> and <@U1>"}, {"name": "safe", "description": "ask <!here>"}]}`
	for name, think := range map[string]func(llmfake.Request) llmfake.Response{
		"a plain answer": always(llmfake.Say(text)),
		"a planned task": steps{plan: always(llmfake.Call("plan", plan)), review: always(llmfake.Say(text)), answer: always(llmfake.Say(text))}.think,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{options: options{think: think}})
			o.opens()
			o.slash("/task", "first: <!channel> hello <@U1>", general, ben)
			o.answers(in(general), "Bye")
			o.Say(benDM, ben, "second: hello", "")
			o.answers(in(benDM), "Bye")
			o.passes()
			for _, m := range append(o.said(in(general)), o.said(in(benDM))...) {
				raw := m.Text + string(m.Blocks)
				if m.Stream != nil {
					raw += m.Stream.Text + m.Stream.Title + fmt.Sprint(m.Stream.Tasks)
				}
				for _, bad := range []string{"<!", "<@U1>", `\u003c!`, `\u003c@U1`, "![", `"image`} {
					if strings.Contains(raw, bad) {
						t.Errorf("a message holds %q: %s", bad, raw)
					}
				}
			}
			for _, method := range []string{"chat.postMessage", "chat.startStream", "response_url"} {
				for _, call := range o.Calls(method) {
					if call.Args["unfurl_links"] != false && call.Args["unfurl_links"] != "false" || call.Args["unfurl_media"] != false && call.Args["unfurl_media"] != "false" {
						t.Errorf("%s leaves previews on: %v", method, call.Args)
					}
				}
			}
		})
	}
}

// slackUnready waits until /readyz says that Slack is at fault, and why.
func (s *serving) slackUnready(why string) {
	s.t.Helper()
	s.becomes("not ready: "+why, patience, func(r readiness) bool {
		return r.Code == http.StatusServiceUnavailable && strings.Contains(r.Parts["slack"], why) && !strings.Contains(r.Parts["slack"], "127.0.0.1") && r.Parts["store"] == "ok"
	})
}

// connects is how many connections of Socket Mode were opened so far.
func (o *slackEnv) connects() int {
	n := 0
	for _, e := range o.Entries() {
		if e.Event == slackfake.EventConnect {
			n++
		}
	}
	return n
}

// TestSlackRefreshes: a hundred refreshes under load lose nothing and double
// nothing.
func TestSlackRefreshes(t *testing.T) {
	t.Parallel()
	const rooms, questions, refreshes = 30, 300, 100
	o := newSlackEnv(t, slackOptions{haste: 50, second: time.Second / 10, fake: slackfake.Options{ // a busy machine acknowledges within 300 ms
		World: manyChannels(rooms), Limits: map[string][]slackfake.Limit{},
	}})
	o.opens()
	for i := range questions {
		o.Say(fmt.Sprintf("C%d", 100+i%rooms), ben, fmt.Sprintf("%sq%d: hello", bots, i), "")
		if i%(questions/refreshes) == 0 {
			before := o.connects()
			o.Refresh()
			o.until("a fresh connection", func() bool { return o.connects() > before && o.Connections() < 8 })
		}
	}
	answered := func(i int) int {
		return o.count(in(fmt.Sprintf("C%d", 100+i%rooms)), fmt.Sprintf("answers: q%d: hello", i))
	}
	for i := range questions {
		o.answers(in(fmt.Sprintf("C%d", 100+i%rooms)), fmt.Sprintf("answers: q%d: hello", i))
	}
	o.passes()
	for i := range questions {
		if n := answered(i); n != 1 {
			t.Errorf("question %d was answered %d times, want once", i, n)
		}
	}
	lost := 0
	for _, d := range o.Deliveries() {
		if d.Lost && d.Kind == slackfake.KindEvent { // Slack tells no command twice
			lost++
		}
	}
	if n := len(o.models.Requests()); n != questions || lost > 0 || o.connects() <= refreshes {
		t.Errorf("%d calls of the model, %d lost deliveries, %d connections; want %d, none and more than %d", n, lost, o.connects(), questions, refreshes)
	}
}

// TestSlackDisconnects: whatever ends a connection, legwork says what is wrong
// and comes back by itself.
func TestSlackDisconnects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end func(o *slackEnv)
		why string // what /readyz says meanwhile; empty: it may be too short to see
	}{
		"cut off":              {func(o *slackEnv) { o.Disconnect("") }, ""},
		"refreshed":            {func(o *slackEnv) { o.Disconnect("refresh_requested") }, ""},
		"an unknown reason":    {func(o *slackEnv) { o.Disconnect("tea_time") }, ""},
		"too many connections": {func(o *slackEnv) { o.Disconnect("too_many_websockets") }, "ten connections of this app are open already"},
		"switched off":         {func(o *slackEnv) { o.Disconnect("link_disabled") }, "Socket Mode is off"},
		"deaf":                 {func(o *slackEnv) { o.Deafen(false) }, ""},
		"deaf but alive":       {func(o *slackEnv) { o.Deafen(true) }, ""},
		"refused for a while": {func(o *slackEnv) {
			o.Break(slackfake.Fault{Method: "apps.connections.open", Kind: slackfake.FaultStatus, Count: 3})
			o.Disconnect("")
		}, ""},
		"limited": {func(o *slackEnv) {
			o.Break(slackfake.Fault{Method: "apps.connections.open", Kind: slackfake.FaultBusy, RetryAfter: 1})
			o.Disconnect("")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{haste: 60})
			s := o.opens()
			o.goesOn(ben)
			before := o.connects()
			c.end(o)
			o.Say(annDM, ann, "one: can you hear me?", "")
			if c.why != "" {
				s.slackUnready(c.why)
			}
			o.until("a fresh connection", func() bool { return o.connects() > before })
			o.answers(in(annDM), "answers: one: can you hear me?")
			s.readyAgain(patience)
			o.goesOn(ben)
			o.until("all that was delivered", o.Settled)
			o.until("one answer to the question", func() bool { return o.count(in(annDM), "answers: one: can you hear me?") == 1 })
		})
	}
}

// TestSlackDown: unfinished answers, and messages that people write shortly
// before Slack is back, are finished and answered then, once.
func TestSlackDown(t *testing.T) {
	t.Parallel()
	held := newGate(t)
	o := newSlackEnv(t, slackOptions{haste: 30, held: held})
	s := o.opens()
	thread := o.asks(general, ben, "q1: desk held")
	o.sees(thread, "q1 desk held")
	held.reached()
	o.Down()
	held.opens()
	s.slackUnready("apps.connections.open")
	tries := len(o.Calls("apps.connections.open"))
	o.until("some tries", func() bool { return len(o.Calls("apps.connections.open")) > tries+5 })
	o.Say(annDM, ann, "one: are you there?", "")
	o.Heal()
	o.answers(in(annDM), "answers: one: are you there?")
	o.answers(thread, "value of q1 desk held")
	s.readyAgain(patience)
	o.goesOn(ben)
	if n, m := o.count(thread, "value of q1 desk held"), o.count(in(annDM), "answers: one:"); n != 1 || m != 1 {
		t.Errorf("the questions were answered %d and %d times, want once", n, m)
	}
	if n := len(o.Calls("")); n > 400 {
		t.Errorf("%d calls, want pauses between tries", n)
	}
}

// TestSlackRevoked: a token that is refused makes legwork say so; a valid one
// again lets it go on by itself.
func TestSlackRevoked(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"token_revoked", "account_inactive", "invalid_auth"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{haste: 60})
			s := o.opens()
			o.goesOn(ben)
			o.Revoke(slackSecrets[1], code)
			s.slackUnready(code)
			s.logged("level=WARN", code)
			o.Revoke(slackSecrets[1], "")
			s.readyAgain(patience)
			o.goesOn(ben)
		})
	}
	t.Run("from the start", func(t *testing.T) {
		t.Parallel()
		o := newSlackEnv(t, slackOptions{haste: 60})
		o.Revoke(slackSecrets[0], "account_inactive")
		s := o.serve(slackSecrets...)
		s.slackUnready("install the app again")
		o.Revoke(slackSecrets[0], "")
		s.readyAgain(patience)
		o.goesOn(ben)
	})
	t.Run("of the bot in mid-task", func(t *testing.T) {
		t.Parallel()
		held := newGate(t)
		o := newSlackEnv(t, slackOptions{haste: 60, held: held})
		o.opens()
		thread := o.asks(general, ben, "q1: desk held")
		o.sees(thread, "q1 desk held")
		held.reached()
		o.Revoke(slackSecrets[0], "token_revoked")
		held.opens()
		before := len(o.Calls("chat.postMessage"))
		o.until("some tries", func() bool { return len(o.Calls("chat.postMessage")) > before+2 })
		o.Revoke(slackSecrets[0], "")
		o.once(thread, "value of q1 desk held")
	})
}

// TestSlackUnknown: an unknown delivery is acknowledged and harms nothing.
func TestSlackUnknown(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	s := o.opens()
	var acked []string
	for _, text := range []string{
		`{"type":"tea","envelope_id":"%s","payload":{}}`,
		`{"type":"events_api","envelope_id":"%s","payload":{"type":"event_callback","event_id":"E1","event":{"type":"tea_time","channel":"C1"}}}`,
		`{"type":"events_api","envelope_id":"%s","payload":{"type":"event_callback","event":{"type":"message","channel":7}}}`,
		`{"type":"events_api","envelope_id":"%s","payload":null}`,
		`{"type":"events_api","envelope_id":"%s","payload":"text"}`,
		`{"type":"events_api","envelope_id":"%s","payload":{"event":[]}}`,
		`{"type":"slash_commands","envelope_id":"%s","payload":{"command":"/task"}}`,
		`{"type":"interactive","envelope_id":"%s","payload":{"type":"view_submission"}}`,
		`{"type":"interactive","envelope_id":"%s","payload":{"type":"block_actions","actions":[{"action_id":"other","value":"x"}]}}`,
		`{"type":"interactive","envelope_id":"%s","payload":{"type":"block_actions","user":{"id":"U2"},"channel":{"id":"C1"},"actions":[{"action_id":"legwork.0","value":"s:nonsense"}]}}`,
		`{"type":"events_api","envelope_id":"%s","payload":{broken`,
	} {
		id, err := o.Raw(text)
		if err != nil {
			t.Fatal(err)
		}
		acked = append(acked, id)
	}
	for _, text := range []string{`no JSON`, `[]`, `{}`, `null`, `{"type":"events_api"}`, "\"" + strings.Repeat("x", 100_000) + "\""} {
		if _, err := o.Raw(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range acked {
		o.until("the acknowledgement of "+id, func() bool { return o.Acked(id) })
	}
	o.goesOn(ben)
	s.alive()
	if o.connects() != 1 {
		t.Errorf("legwork connected %d times, want once", o.connects())
	}
}
