package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// asking is an environment whose group desk has tools that ask people; shop has them
// too, as tools that may change things and are called without a question.
func asking(flags string) options {
	const asked = "ask_form, ask_url, ask_twice"
	return options{
		think: orders{}.think, serverArgs: ", -full" + flags, wait: patience, limit: patience, tools: ", " + asked,
		more: "  shop: {description: Sells things., servers: [desk], tools: [" + asked + "], approve: never, tool_timeout: 20s}\n",
	}
}

// told is what people said to the server, in order.
func (w *env) told() []string {
	w.t.Helper()
	var all []string
	for line := range strings.Lines(w.read("calls.jsonl")) {
		switch {
		case strings.Contains(line, `"event":"told"`):
			_, after, _ := strings.Cut(line, `"arguments":`)
			answer, _, _ := strings.Cut(after, `,"note":`) // the log's own
			all = append(all, answer)
		case strings.Contains(line, `"event":"violation"`):
			w.t.Errorf("the server accuses the client: %s", line)
		}
	}
	return all
}

// tells checks that the server was told exactly once, and all of that.
func (w *env) tells(words ...string) {
	w.t.Helper()
	told := w.told()
	if len(told) != 1 || !holdsAll(told[0], words) {
		w.t.Errorf("the server was told %q, want once %q", told, words)
	}
}

// fills answers the form of ask_form in a private chat; a wrong value is asked
// for again.
func (b *telegramEnv) fills(u telegramfake.User, from, to int) {
	b.t.Helper()
	chat := u.ID
	for i, field := range [][]string{{"Class", "Business"}, {"Window seat", "No"}, {"Bags", "=two", "=7", "=2"}, {"E-mail", "=none", "=bob@example.com"}, {"Note", "Leave out"}} {
		if i < from || i >= to {
			continue
		}
		for _, answer := range field[1:] {
			card := b.offers(chat, "Decline", "The server desk asks:", "Which seat would you like?", fmt.Sprintf("%s (%d of 5)", field[0], i+1))
			if text, written := strings.CutPrefix(answer, "="); written {
				b.Say(chat, u, text, telegramfake.ReplyTo(card.ID))
			} else {
				b.taps(u, chat, card.ID, answer)
			}
		}
	}
}

// TestForm: a server's form is filled in by buttons and words, field by field;
// what does not fit is asked for again, and what can be left out is left out.
func TestForm(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: asking(", -era, " + era), haste: 5})
			b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, "q1: desk ask_form {}")
			b.fills(b.bob, 0, 5)
			b.sees(chat, "[q1]", `"action":"accept"`)
			b.tells(`"class":"business"`, `"window":false`, `"bags":2`, `"email":"bob@example.com"`)
			if told := b.told(); strings.Contains(told[0], "note") {
				t.Errorf("a field that was left out was told: %s", told[0])
			}
			for _, key := range []string{"form.bad_integer", "form.bad_email"} {
				b.sees(chat, b.says(key, nil))
			}
			b.sees(chat, b.says("form.bad_large", map[string]any{"Text": "3"}))
			b.goesOn(b.bob)
		})
	}
}

// TestFormDeclined: a question of a server can be declined; the model reads what
// the server makes of it.
func TestFormDeclined(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: asking("")})
	b.opens()
	chat := b.group(b.Supergroup("Friends", b.bob, b.eve))
	b.Say(chat, b.bob, "/task q1: desk ask_form {}")
	card := b.offers(chat, "Decline", "Class (1 of 5)", "Only Bob or an admin can answer")
	if p := b.taps(b.eve, chat, card.ID, "Business"); p.Text != b.says("error.not_yours", nil) {
		t.Errorf("a stranger's choice: got %q, want that it is not theirs", p.Text)
	}
	b.taps(b.bob, chat, card.ID, "Business")
	card = b.offers(chat, "Decline", "Window seat (2 of 5)")
	b.taps(b.bob, chat, card.ID, "Decline")
	b.sees(chat, "[q1]", `"action":"decline"`)
	b.tells(`"action":"decline"`)
	if strings.Contains(b.told()[0], "business") {
		t.Errorf("a declined form was told in part: %s", b.told()[0])
	}
}

// TestFormRestarted: a form that is half filled in when the process is killed is
// filled in after a restart. A server of today gets the answer; one of before is
// called again where that changes nothing, and otherwise the model reads how the
// call ended.
func TestFormRestarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		era, group string
		calls      int
		told       bool
	}{
		"modern, writing": {"modern", "shop", 2, true},
		"legacy, reading": {"legacy", "desk", 2, true},
		"legacy, writing": {"legacy", "shop", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: asking(", -era, " + c.era), haste: 5})
			s := b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, "q1: "+c.group+" ask_form {}")
			b.fills(b.bob, 0, 2)
			b.offers(chat, "Decline", "Bags (3 of 5)")
			b.passes()
			s.kill()
			b.opens()
			if c.told {
				b.fills(b.bob, 2, 5)
				b.sees(chat, "[q1]", `"action":"accept"`)
				b.tells(`"class":"business"`, `"window":false`, `"bags":2`, `"email":"bob@example.com"`)
			} else {
				b.sees(chat, "[q1]", "legwork was restarted before the answer could reach it", "may have taken effect in part")
			}
			if n := len(b.calls("ask_form")); n != c.calls {
				t.Errorf("got %d calls, want %d", n, c.calls)
			}
			for _, m := range b.Chat(chat).Bots() {
				if m.Button("Decline") != "" {
					t.Errorf("a question was left open: %q", m.Text)
				}
			}
			b.goesOn(b.bob)
		})
	}
}

// TestFormTwice: a server that asks again about the answer is answered again.
func TestFormTwice(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: asking(", -era, " + era), haste: 5})
			b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, "q1: desk ask_twice {}")
			b.fills(b.bob, 0, 5)
			sure := b.offers(chat, "Decline", "Shall I book it?", "Really?")
			b.taps(b.bob, chat, sure.ID, "Yes")
			b.sees(chat, "[q1]", `"sure":true`)
			if told := b.told(); len(told) != 2 || !strings.Contains(told[1], `"sure":true`) {
				t.Errorf("the server was told %q, want the seat and then that it is meant", told)
			}
		})
	}
}

// TestAddress: an address is shown in full with its host, and only the person
// opens it.
func TestAddress(t *testing.T) {
	t.Parallel()
	url, visits := counting(t, "127.0.0.1:0", "welcome")
	url += "/login?next=%2Fpay&id=7#top"
	for _, era := range []string{"modern", "legacy"} {
		t.Run("Telegram "+era, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: asking(fmt.Sprintf(", -era, %s, -login, %q", era, url))})
			b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, "q1: desk ask_url {}")
			card := b.offers(chat, "I have done it", "The server desk asks:", "Please sign in to the shop.", url, "on the host 127.0.0.1.")
			if card.Preview {
				t.Error("Telegram shows a preview of the address, for which it fetches the page")
			}
			b.taps(b.bob, chat, card.ID, "I have done it")
			b.sees(chat, "[q1]", `"action":"accept"`)
			b.tells(`"action":"accept"`)
			b.Say(chat, b.bob, "q2: desk ask_url {}")
			again := b.meets(chat, "another question", func(m telegramfake.Message) bool { return m.ID > card.ID && m.Button("Decline") != "" })
			b.taps(b.bob, chat, again.ID, "Decline")
			b.sees(chat, "[q2]", `"action":"decline"`)
		})
	}
	t.Run("Slack", func(t *testing.T) {
		t.Parallel()
		o := newSlackEnv(t, slackOptions{options: asking(fmt.Sprintf(", -login, %q", url))})
		o.opens()
		thread := o.asks(general, ben, "q1: desk ask_url {}")
		card := o.offers(thread, "I have done it", "Please sign in to the shop.", url, "127.0.0.1")
		o.taps(card, "I have done it", ben)
		o.answers(thread, "[q1]", `"action":"accept"`)
		o.tells(`"action":"accept"`)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, asking(fmt.Sprintf(", -login, %q", url)))
		s := w.sit("chat")
		s.types("q1: desk ask_url {}\r")
		s.sees("Please sign in to the shop.", url, "on the host 127.0.0.1.", "1 I have done it", "2 Decline")
		s.types("2")
		s.sees("[q1]", `"action":"decline"`)
		w.tells(`"action":"decline"`)
	})
	t.Cleanup(func() {
		if n := visits.Load(); n != 0 {
			t.Errorf("the address was turned to %d times, want never", n)
		}
	})
}

// TestFormInSlack: the same by Slack's buttons and words in the thread.
func TestFormInSlack(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.options = asking("")
		o := newSlackEnv(t, r)
		s := o.opens()
		thread := o.asks(general, ben, "q1: desk ask_form {}")
		o.taps(o.offers(thread, "Business", "**Class** (1 of 5)"), "Business", ben)
		o.taps(o.offers(thread, "No", "**Window seat** (2 of 5)"), "No", ben)
		o.offers(thread, "Decline", "**Bags** (3 of 5)")
		s.kill()
		o.opens()
		asked := map[string]bool{}
		says := func(words string) {
			t.Helper()
			o.Say(general, ben, words, thread.thread)
			card := o.meets(thread, "another question whether that was for the server", func(m slackfake.Message) bool {
				return !asked[m.TS] && strings.Contains(m.Text+o.Shown(m), "Was that for the server") && slices.Contains(m.Buttons(), "Yes")
			})
			asked[card.TS] = true
			o.taps(card, "Yes", ben)
		}
		says("7")
		o.meets(thread, "that it is too much", func(m slackfake.Message) bool {
			return strings.Contains(o.Shown(m), o.text("form.bad_large", map[string]any{"Text": "`3`"}))
		})
		says("2")
		o.offers(thread, "Decline", "**E-mail** (4 of 5)")
		says("ben@example.com")
		o.taps(o.offers(thread, "Leave out", "**Note** (5 of 5)"), "Leave out", ben)
		o.answers(thread, "[q1]", `"action":"accept"`)
		o.tells(`"class":"business"`, `"window":false`, `"bags":2`, `"email":"ben@example.com"`)
	})
}

// TestFormInTerminal: the same by number keys and lines.
func TestFormInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, asking(""))
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("q1: desk ask_form {}\r")
	for _, step := range [][]string{
		{"2", "Which seat would you like?", "Class (1 of 5)", "2 Business"},
		{"2", "Window seat (2 of 5)", "2 No"},
		{"7\r", "Bags (3 of 5)"},
		{"2\r", "too large"},
		{"root@example.com\r", "E-mail (4 of 5)"},
		{"-\r", "Note (5 of 5)", "- Leave out", "-- Decline"},
	} {
		s.sees(step[1:]...)
		s.types(step[0])
	}
	s.sees("[q1]", `"action":"accept"`)
	w.tells(`"class":"business"`, `"window":false`, `"bags":2`, `"email":"root@example.com"`)
	s.types("\x04")
	s.leaves()
	p := w.start("chat", "q2: desk ask_form {}")
	p.end()
	if got := p.out.String(); !strings.Contains(got, `"action":"decline"`) {
		t.Errorf("without a person the answer is %q, want that the form was declined", got)
	}
}

// TestSampling: a server may ask for the model only where the config says so, and
// then a person sees what it wants to ask before it costs anything; it is told
// the folders that are listed, and no others.
func TestSampling(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			poem := func(r llmfake.Request) llmfake.Response {
				if _, working := r.Tagged("task"); !working && strings.Contains(prompt(r), "A poem about bread.") {
					return llmfake.Say("Bread, bread, bread.")
				}
				return orders{}.think(r)
			}
			b := newTelegramEnv(t, telegramOptions{haste: 5, options: options{think: poem, serverArgs: ", -full, -era, " + era, tools: ", sample, roots", wait: patience, limit: patience}})
			closed := b.config
			s := b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, "q1: desk sample {} and roots {}")
			b.sees(chat, "[q1]", "has no model to offer", "has no folders to offer")
			s.stops()

			b.configure(toolServerLine.ReplaceAllStringFunc(closed, func(line string) string {
				return strings.TrimSuffix(line, "}") + fmt.Sprintf(", sampling: true, roots: [%q]}", b.dir)
			}))
			b.opens()
			b.Say(chat, b.bob, "q2: desk sample {}")
			card := b.offers(chat, "Decline", "wants to ask the language model this, at your cost:", "A poem about bread.")
			if strings.Contains(card.Text, "`") {
				t.Errorf("the card shows backticks: %q", card.Text)
			}
			if len(b.asked("You are a poet.")) > 0 {
				t.Error("the model was asked before anybody agreed")
			}
			b.taps(b.bob, chat, card.ID, "Yes, go on")
			b.sees(chat, "[q2]", "Bread, bread, bread.")
			b.Say(chat, b.bob, "q3: desk roots {}")
			b.sees(chat, "[q3]", "file://"+b.dir)
			b.Say(chat, b.bob, "q4: desk sample {}")
			again := b.meets(chat, "another question", func(m telegramfake.Message) bool { return m.ID > card.ID && m.Button("Decline") != "" })
			b.taps(b.bob, chat, again.ID, "Decline")
			b.sees(chat, "[q4]")
			if n := len(b.asked("You are a poet.")); n != 1 {
				t.Errorf("the model was asked %d times for the server, want once", n)
			}
		})
	}
}
