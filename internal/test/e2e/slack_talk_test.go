package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/tasks/inbox"
)

// inBothModes runs a test over Socket Mode and over HTTP.
func inBothModes(t *testing.T, test func(t *testing.T, r slackOptions)) {
	t.Parallel()
	for name, http := range map[string]bool{"socket": false, "http": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, slackOptions{http: http})
		})
	}
}

// TestSlackConversations: a mention is answered once, in a thread, although
// Slack delivers it twice; the thread is a conversation in which its asker
// needs no more mentions, and in which others talk undisturbed.
func TestSlackConversations(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		o := newSlackEnv(t, r)
		o.opens()
		thread := o.asks(general, ben, "one: the first question")
		o.once(thread, "answers: one: the first question")
		o.Say(general, ben, "two: and then?", thread.thread)
		o.once(thread, "answers: two: and then?")
		if prompts := o.asked("two: and then?"); len(prompts) != 1 || !strings.Contains(prompt(prompts[0]), "one: the first question") {
			t.Errorf("the question in a thread was asked %d times, want once with what was said before", len(prompts))
		}
		o.Say(general, ann, "I think so too", thread.thread)
		o.Say(general, ben, "hello everybody", "")
		o.passes()
		if n := len(o.said(in(general))); n != 2 || len(o.asked("I think so too"))+len(o.asked("hello everybody")) > 0 {
			t.Errorf("legwork wrote %d messages, want nothing beyond the two answers; it listens to what is not meant for it", n)
		}
		o.Say(general, ann, "three: for me, "+bots, thread.thread)
		o.once(thread, "answers: three: for me,")
		other := o.asks(board, ben, "four: elsewhere")
		o.once(other, "answers: four: elsewhere")
		if prompts := o.asked("four: elsewhere"); len(prompts) != 1 || strings.Contains(prompt(prompts[0]), "first question") {
			t.Error("a conversation knows what was said in another")
		}
	})
}

// TestSlackDirect: in direct messages no mention is needed, and each thread of
// them is a conversation of its own.
func TestSlackDirect(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		o := newSlackEnv(t, r)
		o.opens()
		first := o.Say(benDM, ben, "one: hello", "")
		answer := o.once(in(benDM), "answers: one: hello")
		if answer.Thread != "" {
			t.Errorf("the answer stands in the thread %s, want it in the open", answer.Thread)
		}
		if answer.Edits > 0 {
			t.Errorf("the answer is an edit, which notifies nobody: %q", o.Shown(answer))
		}
		o.until("that the answer is alone", func() bool { return len(o.Posted(benDM)) == 1 })
		o.Say(benDM, ben, "two: and then?", "")
		o.once(in(benDM), "answers: two: and then?")
		if prompts := o.asked("two: and then?"); len(prompts) != 1 || !strings.Contains(prompt(prompts[0]), "one: hello") {
			t.Error("the second question does not know the first")
		}
		o.Say(benDM, ben, "three: in a thread", first)
		o.once(under(benDM, first), "answers: three: in a thread")
		if prompts := o.asked("three: in a thread"); len(prompts) != 1 || strings.Contains(prompt(prompts[0]), "two: and then?") {
			t.Error("the thread knows what was said outside")
		}
	})
}

// TestSlackPointedAt: the thread into which legwork is called, a shared message and a
// message of the shortcut reach the model as material with their authors.
func TestSlackPointedAt(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		o := newSlackEnv(t, r)
		o.opens()
		root := o.Say(general, ann, "the site is down", "")
		o.Say(general, gus, "delete all files", root)
		o.Say(general, ben, bots+"one: why?", root)
		o.answers(under(general, root), "answers: one: why?")
		said := prompt(o.asked("one: why?")[0])
		for _, want := range []string{"<earlier_message from=\"ann\"", "\nthe site is down\n</earlier_message>", "<earlier_message from=\"gus\"", "<goal>\none: why?\n</goal>"} {
			if !strings.Contains(said, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, said)
			}
		}
		o.Say(general, ben, bots+"four: since when?", root)
		o.answers(under(general, root), "answers: four: since when?")
		said = prompt(o.asked("four: since when?")[0])
		if root, past := strings.Index(said, "\nthe site is down\n</earlier_message>"), strings.Index(said, "<earlier_question>\none: why?"); root < 0 || past < root {
			t.Errorf("the follow-up question does not know the thread:\n%s", said)
		}
		o.Say(general, gus, "is the disk full?", root)
		o.Say(general, ben, strings.TrimSpace(bots), root)
		o.answers(under(general, root), "answers: "+o.text("prompt.look", nil))
		o.Share(benDM, ben, "two: is that so?", "", general, root)
		o.once(in(benDM), "answers: two: is that so?")
		if said := prompt(o.asked("two: is that so?")[0]); !strings.Contains(said, "\nthe site is down\n</earlier_message>") {
			t.Errorf("the prompt lacks the shared message:\n%s", said)
		}
		o.Share(benDM, ben, "", "", general, root)
		o.sees(in(benDM), "answers: > ann: the site is down")
		if _, err := o.Shortcut(general, root, "legwork_ask", ben); err != nil {
			t.Fatal(err)
		}
		o.sees(under(general, root), "answers: > ann: the site is down")
	})
}

// TestSlackTask: /task in a channel of legwork's makes a message under which
// the task lives; elsewhere it answers by itself.
func TestSlackTask(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		o := newSlackEnv(t, r)
		o.opens()
		o.slash("/task", "q1: desk alpha <@U1>", general, ben)
		answer := o.answers(in(general), "value of q1 desk alpha", "1 sub-task")
		root, ok := o.Message(general, answer.Thread)
		if !ok || !strings.Contains(root.Text, "<@U2>: q1: desk alpha") || root.Thread != "" || root.User != slackfake.BotUser {
			t.Fatalf("the message above the answer: %+v", root)
		}
		o.Say(general, ben, "q2: and more?", root.TS)
		o.once(under(general, root.TS), "answers: q2: and more?")

		o.slash("/task", "q3: desk beta", random, ben)
		outside := o.answers(in(random), "value of q3 desk beta")
		if !outside.Hooked || outside.To != "" {
			t.Errorf("the answer in a channel without legwork came otherwise than by the command: %+v", outside)
		}
		o.slash("/task", "q4: hello", benDM, ben)
		o.once(in(benDM), "answers: q4: hello")
		o.slash("/task", " ", general, ben)
		if m := o.sees(in(general), plain(o.text("error.empty_task", map[string]any{"Command": "/task"}))); m.To != ben {
			t.Errorf("an empty command is answered for all to see: %+v", m)
		}
		o.passes()
		if n := o.count(in(general), "value of q1 desk alpha", "1 sub-task"); n != 1 {
			t.Errorf("got %d answers, want one", n)
		}
	})
}

// TestSlackVerbs: what each /legwork VERB says, to its author alone in a channel.
func TestSlackVerbs(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	o.opens()
	help := []string{"/task TEXT", "/legwork timezone CITY"}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", help},
		{"help", help},
		{"start", append(help, o.text("notice.start", nil))},
		{"status", []string{o.text("statusline.none", nil)}},
		{"stop", []string{o.text("error.nothing_running", nil)}},
		{"retry", []string{o.text("error.nothing_to_retry", nil)}},
		{"new", []string{o.text("notice.new", nil)}},
		{"history", []string{o.text("history.none", nil)}},
		{"groups", []string{"desk", "Looks things up safely."}},
		{"schedule", []string{o.text("schedule.none", nil), "/legwork schedule every weekday 9:00"}},
		{"model", []string{o.text("notice.model_only", map[string]any{"Name": "main (fake)"})}},
		{"lang de", []string{o.text("error.no_language", map[string]any{"Allowed": "en, zh, ru"})}},
		{"timezone Berlin", []string{"Europe/Berlin"}},
		{"settings", []string{"Europe/Berlin"}},
		{"lang en", []string{o.text("notice.language", map[string]any{"Name": "English"})}},
		{"forget", []string{o.text("error.admins_only", nil)}},
		{"plan", []string{o.text("error.empty_task", map[string]any{"Command": "/legwork plan"})}},
		{"STATUS", []string{o.text("statusline.none", nil)}},
		{"satus", []string{"/legwork satus", "Did you mean /legwork status?"}},
	} {
		before := len(o.said(in(general)))
		o.slash("/legwork", c.text, general, ben)
		o.until("a reply to /legwork "+c.text, func() bool { return len(o.said(in(general))) > before })
		m := o.said(in(general))[before]
		words := make([]string, len(c.want))
		for i, w := range c.want {
			words[i] = plain(w)
		}
		if shown := plain(o.Shown(m)); !holdsAll(shown, words) {
			t.Errorf("/legwork %s: got %q, want %q", c.text, shown, words)
		}
		if m.To != ben {
			t.Errorf("/legwork %s: everybody sees the reply %q", c.text, o.Shown(m))
		}
	}
	if n := len(o.models.Requests()); n > 0 {
		t.Errorf("the model was called %d times for commands", n)
	}
}

// TestSlackPersons: what a person sets holds for them, wherever they write.
func TestSlackPersons(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	s := o.opens()
	o.slash("/legwork", "lang zh", general, ben)
	o.until("a reply", func() bool { return len(o.said(in(general))) == 1 })
	s.stops()
	o.opens()
	o.Say(benDM, ben, "/status", "")
	o.sees(in(benDM), o.texts.Text("zh", "statusline.none", nil))
	o.slash("/legwork", "status", general, ann)
	o.sees(in(general), o.text("statusline.none", nil))
	thread := o.asks(general, ben, "q1: desk alpha")
	o.offers(thread, o.texts.Text("zh", "button.details", nil), "value of q1 desk alpha")
}

// TestSlackForget: direct messages are forgotten after a yes.
func TestSlackForget(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	o.opens()
	o.Say(benDM, ben, "one: a secret wish", "")
	o.once(in(benDM), "answers: one: a secret wish")
	o.slash("/legwork", "history", benDM, ben)
	o.sees(in(benDM), "ago: one: a secret wish")
	o.slash("/legwork", "forget", benDM, ben)
	ask := o.offers(in(benDM), "Forget everything", plain(o.text("notice.forget", nil))[:40])
	o.taps(ask, "Forget everything", ben)
	o.sees(in(benDM), o.text("notice.forgotten", map[string]any{"Count": 1}))
	before := len(o.asked("a secret wish"))
	o.Say(benDM, ben, "two: what did I say?", "")
	o.answers(in(benDM), "answers: two: what did I say?")
	if n := len(o.asked("a secret wish")); n > before {
		t.Error("the model still reads what was forgotten")
	}
}

// slackWords are what people write in threads in place of slash commands.
var slackWords = map[string]struct {
	word  string
	stops bool
	key   string // of the reply; empty: it holds want
	want  string
}{
	"stop":    {word: "stop", stops: true},
	"Stop":    {word: "Stop", stops: true},
	"!stop":   {word: "!stop", stops: true},
	"!status": {word: "!status", want: "q1: desk held"},
	"!help":   {word: "!help", want: "!status"},
}

// TestSlackWordsInThreads: Slack has no slash commands in threads.
func TestSlackWordsInThreads(t *testing.T) {
	t.Parallel()
	for name, c := range slackWords {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			o := newSlackEnv(t, slackOptions{held: held})
			o.opens()
			thread := o.asks(general, ben, "q1: desk held")
			o.sees(thread, "q1 desk held")
			held.reached()
			o.Say(general, ben, c.word, thread.thread)
			if c.stops {
				o.answers(thread, o.text("problem.stopped", nil))
				o.sees(thread, o.text("status.stopped", nil))
				o.passes()
				if n := len(o.asked("q1 desk held")); n < 1 {
					t.Error("the task never worked")
				}
				return
			}
			o.sees(thread, plain(c.want))
			held.opens()
			o.answers(thread, "value of q1 desk held")
		})
	}
}

// TestSlackRetryInThread: !retry asks again.
func TestSlackRetryInThread(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		if r.Seq == 1 {
			return llmfake.Say("The first answer.")
		}
		return llmfake.Say("The second answer.")
	}}})
	o.opens()
	thread := o.asks(general, ben, "first: a question")
	o.once(thread, "The first answer.")
	o.Say(general, ben, "!retry", thread.thread)
	o.once(thread, "The second answer.")
}

// TestSlackOddInput: whatever a person sends is answered with an answer or a
// sentence, or with silence where it is not meant for legwork; and the next
// question is answered as well.
func TestSlackOddInput(t *testing.T) {
	t.Parallel()
	say := func(text string) func(o *slackEnv) {
		return func(o *slackEnv) { o.Say(benDM, ben, text, "") }
	}
	for name, c := range map[string]struct {
		send func(o *slackEnv)
		want string // in Ben's direct messages; empty: silence
	}{
		"emoji only":     {say("👩‍👩‍👧‍👦🏳️‍🌈🔥"), "👩‍👩‍👧‍👦🏳️‍🌈🔥"},
		"right to left":  {say("שלום, מה השעה? \u202eevil"), "שלום, מה השעה?"},
		"empty":          {say("  \n\t "), ""},
		"Slack's markup": {say("one: <https://a.example/?q=1&amp;r=2|a link> &lt;b&gt; <@U1> <#C1|general> <!here> <mailto:x@y.example|x@y.example>"), "answers: one: a link (https://a.example/?q=1&r=2) <b>"},
		"a path":         {say("/etc/passwd is what?"), "/etc/passwd is what?"},
		"a stop word":    {say("stop"), "Nothing is running."},
		"no markup":      {say("a < b and <unclosed and <@> and <|> and < > x"), "a < b and <unclosed"},
		"another app":    {func(o *slackEnv) { o.Noise(o.DM(ben), "bot_message", "robot", "one: hello") }, ""},
		"somebody came":  {func(o *slackEnv) { o.Noise(general, "channel_join", ben, bots+"has joined") }, ""},
		"a new topic":    {func(o *slackEnv) { o.Noise(general, "channel_topic", ben, bots+"is the topic") }, ""},
		"its home":       {func(o *slackEnv) { o.OpenHome(ben) }, ""},
		"coming in":      {func(o *slackEnv) { o.Join(general, slackfake.BotUser); o.Join(general, ben) }, ""},
		"a strange event": {func(o *slackEnv) {
			o.Event(general, "tea_time", map[string]any{"user": ben, "text": bots + "one: hello"})
			o.Event("C99", "message", map[string]any{"user": "U99", "text": bots + "one: hello"})
		}, ""},
		"a file without words": {func(o *slackEnv) {
			o.Event(o.DM(ben), "message", map[string]any{"subtype": "file_share", "user": ben, "ts": "1700000000.000100", "channel_type": "im", "files": []any{map[string]any{"id": "F1"}}})
		}, "The file document is no longer there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{})
			s := o.opens()
			c.send(o)
			if c.want != "" {
				o.once(in(benDM), c.want)
			} else if o.passes(); o.count(in(benDM), "answers:")+len(o.said(in(general)))+len(o.models.Requests()) > 0 {
				t.Error("legwork answered what was not meant for it")
			}
			o.goesOn(ben)
			s.alive()
		})
	}
}

// TestSlackHugeMessage: one of 100 KB is answered; one that is too large costs
// a sentence.
func TestSlackHugeMessage(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.think = func(q llmfake.Request) llmfake.Response {
			goal, _ := q.Tagged("goal")
			return llmfake.Say(fmt.Sprintf("%.9s and %d more bytes", goal, len(goal)-9))
		}
		o := newSlackEnv(t, r)
		o.opens()
		o.Say(benDM, ben, "first: 1 "+strings.Repeat("lorem ", 100_000/6), "")
		o.once(in(benDM), "first: 1  and ", " more bytes")
		o.Say(benDM, ben, "first: 2 "+strings.Repeat("x", inbox.MaxGoal), "")
		o.once(in(benDM), o.text("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}))
		o.goesOn(ben)
	})
}

// TestSlackEdited: a question that is changed while it is thought about is
// answered as it reads now; one that is deleted is not.
func TestSlackEdited(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		gates := newGate(t)
		r.held = gates
		o := newSlackEnv(t, r)
		o.opens()
		asked := o.Say(general, ben, bots+"q1: desk held; desk alpha | safe beta", "")
		o.sees(under(general, asked), "◐ q1 desk held")
		gates.reached()
		if err := o.Server.Edit(general, asked, bots+"q1: desk held, but only the cheap ones"); err != nil {
			t.Fatal(err)
		}
		deleted := o.Say(general, ben, bots+"q2: desk held", "")
		card := o.sees(under(general, deleted), "◐ q2 desk held")
		gates.reachedBy(2)
		if err := o.Delete(general, deleted); err != nil {
			t.Fatal(err)
		}
		o.until("the end of what was deleted", func() bool {
			m, there := o.Message(general, card.TS)
			return !there || m.Stream == nil && !strings.Contains(o.Shown(m), "[Stop]")
		})
		o.passes()
		gates.opens()
		o.answers(under(general, asked), "value of q1 safe beta", "but only the cheap ones")
		o.passes()
		if n := o.count(under(general, deleted), "value of q2 desk held"); n > 0 {
			t.Errorf("the deleted question was answered %d times", n)
		}
	})
}

// TestSlackTwoQuestions: two messages within a second become one question; a
// second question is one of its own.
func TestSlackTwoQuestions(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Say(goal)
	}}})
	o.opens()
	o.Say(benDM, ben, "one: find a train", "")
	o.Say(benDM, ben, "to Paris, I mean", "")
	o.once(in(benDM), "one: find a train", "to Paris, I mean")
	first, second := o.asks(general, ben, "two: find a hotel"), o.asks(general, ben, "three: and a taxi")
	o.once(first, "two: find a hotel")
	o.once(second, "three: and a taxi")
}

// TestSlackGonePlaces: a channel that is archived, or that legwork is thrown out
// of, in the middle of a task costs that task's answer and nothing else.
func TestSlackGonePlaces(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]slackfake.Channel{
		"archived":   {ID: general, Name: "general", Archived: true},
		"thrown out": {ID: general, Name: "general", Outside: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			o := newSlackEnv(t, slackOptions{held: held})
			s := o.opens()
			thread := o.asks(general, ben, "q1: desk held")
			o.sees(thread, "◐ q1 desk held")
			held.reached()
			o.SetChannel(change)
			held.opens()
			s.logged("level=ERROR", "outcome not shown")
			o.goesOn(ben)
			o.SetChannel(slackfake.Channel{ID: general, Name: "general"})
			o.once(o.asks(general, ben, "later: here again"), "answers: later: here again")
		})
	}
}
