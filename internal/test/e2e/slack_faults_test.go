package e2e_test

import (
	"fmt"
	"slices"
	"strings"
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
				for _, m := range o.said(in(general)) {
					if m.Stream != nil && m.Stream.State == slackfake.StreamLive || slices.Contains(m.Buttons(), "Stop") {
						t.Errorf("a board was left as if the task worked: %q", o.Shown(m))
					}
				}
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
			if n := o.count(thread, "These are words"); n != 1 {
				t.Errorf("%d messages hold the answer, want one", n)
			}
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
				o := newSlackEnv(t, slackOptions{})
				o.opens()
				o.Break(slackfake.Fault{Method: "chat.update", Kind: slackfake.FaultError, Error: code, Count: times})
				thread := o.asks(general, ben, "first: **strong** words")
				answer := o.meets(thread, "the answer", func(m slackfake.Message) bool { return m.Stream == nil })
				if shown := o.Shown(answer); !strings.Contains(shown, "answers: first: strong words") || strings.Contains(string(answer.Blocks), `"type":"markdown"`) {
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
