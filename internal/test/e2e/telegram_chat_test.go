package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/tasks/inbox"
)

// talks is a model that answers slowly enough to be seen writing.
func talks() func(llmfake.Request) llmfake.Response {
	return llmfake.Brain{First: 300 * time.Millisecond, PerToken: 150 * time.Millisecond}.Respond
}

// words is a question whose answer takes a while.
const words = "q1: one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"

// TestTelegramPrivate: in a private chat the bot thinks at once, the answer
// grows as a draft, and comes as one message without edits.
func TestTelegramPrivate(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	b.Say(b.bob.ID, b.bob, words)
	b.once(b.bob.ID, "[q1] answers: "+words)
	var drafts []string
	for _, e := range b.Events(b.bob.ID) {
		switch {
		case e.Kind == telegramfake.EventDraft && len(drafts) == 0 && e.Message.Text != "":
			t.Errorf("the first draft reads %q, want that the bot thinks", e.Message.Text)
			fallthrough
		case e.Kind == telegramfake.EventDraft:
			drafts = append(drafts, strings.TrimSuffix(e.Message.Text, " ▌"))
		case e.Kind == telegramfake.EventEdit || e.Kind == telegramfake.EventDelete:
			t.Errorf("message %d was changed or deleted: %q", e.Message.ID, e.Message.Text)
		}
	}
	drafts = slices.DeleteFunc(drafts, func(d string) bool { return d == "" })
	for i, d := range drafts {
		if !strings.HasPrefix("[q1] answers: "+words, d) || i > 0 && len(d) <= len(drafts[i-1]) {
			t.Errorf("the drafts do not grow into the answer: %q", drafts)
		}
	}
	if len(drafts) < 2 {
		t.Errorf("the answer came in the drafts %q, want it to grow", drafts)
	}
	if c := b.Chat(b.bob.ID); len(c.Bots()) != 1 || len(c.Drafts) > 0 || c.Bots()[0].Silent {
		t.Errorf("in the end: got %d messages and the drafts %v, want one message that sounds and no draft", len(c.Bots()), c.Drafts)
	}
	b.goesOn(b.bob)
}

// TestTelegramGroup: a message to the bot gets a placeholder at once, and the answer
// takes its place as a message that notifies.
func TestTelegramGroup(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	say := func(text string) func(int64) int {
		return func(group int64) int { return b.Say(group, b.bob, text) }
	}
	asked := map[int64]int{} // by group
	for name, ask := range map[string]func(group int64) int{
		"a mention":            say("@legwork_bot " + words),
		"a mention at the end": say(words + " @legwork_bot"),
		"/task":                say("/task " + words),
		"/task@bot":            say("/task@legwork_bot " + words),
		"a reply": func(group int64) int {
			b.Say(group, b.bob, "/status@legwork_bot")
			told := b.sees(group, b.says("statusline.none", nil))
			return b.Say(group, b.bob, words, telegramfake.ReplyTo(told.ID))
		},
	} {
		group := b.group(b.Supergroup("Friends: "+name, b.bob, b.eve))
		asked[group] = ask(group)
	}
	for group, message := range asked {
		b.grows(group, message)
	}
}

// grows waits for the answer to words in a group, and checks that it is a message of
// its own which sounds, and that the silent one which came before is gone.
func (b *telegramEnv) grows(chat int64, asked int) telegramfake.Message {
	b.t.Helper()
	m := b.meets(chat, "the answer to message "+strconv.Itoa(asked), func(m telegramfake.Message) bool {
		return m.ReplyTo == asked && m.Text == "[q1] answers: "+words
	})
	var texts []string
	for _, e := range b.Events(chat) {
		if e.Message.Bot && e.Message.ReplyTo == asked && (e.Kind == telegramfake.EventMessage || e.Kind == telegramfake.EventEdit) {
			texts = append(texts, e.Message.Text)
			if own := e.Message.ID == m.ID; own == e.Message.Silent || own && e.Kind != telegramfake.EventMessage {
				b.t.Errorf("message %d was seen as %+v, want the answer as a new message that sounds, and all else silent", e.Message.ID, e)
			}
		}
	}
	b.until("that the answer is alone", func(v telegramfake.View) bool {
		n := 0
		for _, m := range v.Chat(chat).Bots() {
			if m.ReplyTo == asked {
				n++
			}
		}
		return n == 1
	})
	if want := b.says("status.planning", nil); len(texts) < 2 || texts[0] != want {
		b.t.Errorf("the message was seen as %q, want it to begin as %q", texts, want)
	}
	if m.Button("Stop") != "" {
		b.t.Errorf("the answer still has the button Stop")
	}
	return m
}

// TestTelegramUnaddressed: a bot that reads all of a group answers only what is
// meant for it.
func TestTelegramUnaddressed(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{fake: telegramfake.Options{ReadsAll: true}})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.bob, b.eve))
	said := b.Say(group, b.eve, "how are you?")
	for _, text := range []string{"fine, thanks", "ask @other_bot", "/task@other_bot q1: hello", "mail me at bob@legwork_bot.example", "legwork_bot is a name"} {
		b.Say(group, b.bob, text, telegramfake.ReplyTo(said))
	}
	b.Edit(group, said, "how are you all?")
	b.silent(group)
	if n := len(b.models.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
	b.Say(group, b.bob, "q2: what is this? @legwork_bot", telegramfake.ReplyTo(said))
	b.once(group, "[q2] answers: q2: what is this?")
	if asked := fmt.Sprint(b.models.Requests()); !strings.Contains(asked, `<earlier_message from="Eve"`) || !strings.Contains(asked, "how are you all?") {
		t.Errorf("the model does not see the message that was replied to: %s", asked)
	}
}

// TestTelegramTopics: the answer comes where the question was asked, and topics
// are conversations of their own.
func TestTelegramTopics(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	b.opens()
	forum := b.group(b.Forum("Club", b.bob))
	news, plans := b.Topic(forum, "News"), b.Topic(forum, "Plans")
	own := b.Topic(b.bob.ID, "Mine")
	for _, c := range []struct {
		chat  int64
		topic int
		text  string
	}{
		{forum, news, "q1: @legwork_bot in the news"},
		{forum, 0, "/task q2: in General"},
		{forum, plans, "/task@legwork_bot q3: among the plans"},
		{b.bob.ID, own, "q4: in a topic of my own"},
	} {
		b.Say(c.chat, b.bob, c.text, telegramfake.InTopic(c.topic))
		_, id, _ := strings.Cut(c.text, "q")
		if m := b.once(c.chat, "[q"+id[:1]+"] answers"); m.Topic != c.topic {
			t.Errorf("%q in topic %d was answered in topic %d", c.text, c.topic, m.Topic)
		}
	}
	b.Say(forum, b.bob, "/history@legwork_bot", telegramfake.InTopic(news))
	if m := b.sees(forum, "in the news", "→"); strings.Contains(m.Text, "among the plans") || m.Topic != news {
		t.Errorf("the history of a topic came in topic %d: %q", m.Topic, m.Text)
	}
}

// longAnswer is some 30,000 characters of mixed Markdown, and the words of it
// that must arrive, in order.
func longAnswer() (text string, words []string) {
	var b strings.Builder
	word := func(n int) string {
		w := fmt.Sprintf("word%04d", n)
		words = append(words, w)
		return w
	}
	for n := 0; b.Len() < 30_000; n += 20 {
		fmt.Fprintf(&b, "## Chapter %s\n\n", word(n))
		fmt.Fprintf(&b, "Some **bold %s** and *italic %s* text with [a link %s](https://example.com/%d), `code %s` and an emoji 👩‍🚀 %s.\n\n", word(n+1), word(n+2), word(n+3), n, word(n+4), word(n+5))
		fmt.Fprintf(&b, "- a list %s\n  - nested %s\n    1. deeper %s\n- its end %s\n\n", word(n+6), word(n+7), word(n+8), word(n+9))
		fmt.Fprintf(&b, "> a quote %s\n> with <b>tags</b> & such %s\n\n", word(n+10), word(n+11))
		fmt.Fprintf(&b, "```go\nfunc %s() {\n", word(n+12))
		for range 6 {
			b.WriteString("\tfmt.Println(\"<&>\", 1 < 2)\n")
		}
		fmt.Fprintf(&b, "} // %s\n```\n\n", word(n+13))
		fmt.Fprintf(&b, "| name %s | value %s |\n|---|---|\n| x %s | y %s |\n\n", word(n+14), word(n+15), word(n+16), word(n+17))
		fmt.Fprintf(&b, "%s %s %s\n\n", word(n+18), strings.Repeat("lorem ipsum ", 20), word(n+19))
	}
	return b.String(), words
}

// TestTelegramLongAnswer: a long answer comes in parts, in order, whole, with
// its code in code, the footer and the buttons under the last.
func TestTelegramLongAnswer(t *testing.T) {
	t.Parallel()
	text, words := longAnswer()
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{more: "files: {answer_messages: 0}\n", think: steps{
		plan: func(r llmfake.Request) llmfake.Response {
			if goal, _ := r.Tagged("goal"); goal == "plain" {
				return llmfake.Response{Text: text, Token: 500}
			}
			return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "a"}, {"name": "desk", "description": "b"}]}`)
		},
		review: always(llmfake.Response{Text: text, Token: 500}),
	}.think}})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.bob))
	for _, c := range []struct {
		chat        int64
		write, last string
	}{
		{b.bob.ID, "plain", "word"},
		{b.ann.ID, "/task planned", "2 sub-tasks ·"},
		{group, "/task plain", "word"},
		{group, "/task planned", "2 sub-tasks ·"},
	} {
		u := b.bob
		if c.chat == b.ann.ID {
			u = b.ann
		}
		asked := b.Say(c.chat, u, c.write)
		b.meets(c.chat, "the last part", func(m telegramfake.Message) bool {
			return m.ID > asked && strings.Contains(m.Text, words[len(words)-1]) && strings.Contains(m.Text, c.last)
		})
		b.passes()
		var all strings.Builder
		parts := 0
		for _, m := range b.Chat(c.chat).Bots() {
			if m.ID < asked || !strings.Contains(m.Text, "word") {
				continue
			}
			parts++
			all.WriteString(m.Text + "\n")
			if n := telegramfake.Length(m.Text); n > telegramfake.MaxText {
				t.Errorf("%s: a part has %d units", c.write, n)
			}
			if len(m.Entities) == 0 {
				t.Errorf("%s: a part has no formatting: %.200q", c.write, m.Text)
			}
		}
		at := 0
		for _, word := range words {
			i := strings.Index(all.String()[at:], word)
			if i < 0 {
				t.Fatalf("%s in chat %d: %s is not there or not in order, in %d parts", c.write, c.chat, word, parts)
			}
			at += i + len(word)
		}
		if parts < 8 || parts > 14 {
			t.Errorf("%s: got %d parts of %d characters", c.write, parts, len(text))
		}
	}
}

// TestTelegramRefusedMarkup: an answer whose markup is refused comes as plain
// text.
func TestTelegramRefusedMarkup(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: always(llmfake.Say("Some **bold** words and `1 < 2 & 3`."))}})
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultMarkup, Count: telegramfake.Forever})
	b.opens()
	group := b.group(b.Group("Friends", b.bob))
	b.Say(b.bob.ID, b.bob, "first: go")
	m := b.sees(b.bob.ID, "words and")
	if len(m.Entities) > 0 || m.Text != "Some bold words and 1 < 2 & 3." {
		t.Errorf("got %q with %v, want the plain text", m.Text, m.Entities)
	}
	b.Say(group, b.bob, "/task second: go")
	if m := b.sees(group, "words and"); m.Text != "Some bold words and 1 < 2 & 3." {
		t.Errorf("in a group: got %q, want the plain text", m.Text)
	}
}

// TestTelegramHarmlessAnswers: what a model writes cannot address people, draw
// previews, or show its plan.
func TestTelegramHarmlessAnswers(t *testing.T) {
	t.Parallel()
	hostile := "Look: ![cat](https://evil.example/cat.png) and [the bank](https://evil.example/login) at https://plain.example/x <a href=\"tg://user?id=2\">Bob</a> </b> & <script>"
	b := newTelegramEnv(t, telegramOptions{options: options{think: always(llmfake.Say(hostile))}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "first: go")
	m := b.sees(b.bob.ID, "Look:", "evil.example", "</b> & <script>")
	for _, e := range m.Entities {
		if strings.HasPrefix(e.URL, "tg:") || e.Type == "text_mention" {
			t.Errorf("the answer speaks to a person: %+v", e)
		}
	}
	if m.Preview {
		t.Errorf("the answer draws a preview")
	}
}

// TestTelegramOddInput: whatever a person sends is answered with an answer or a
// sentence, and the next question as well.
func TestTelegramOddInput(t *testing.T) {
	t.Parallel()
	rtl := "שלום, מה השעה? \u202eevil"
	for name, c := range map[string]struct {
		send func(b *telegramEnv)
		want []string
	}{
		"emoji only":      {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "👩‍👩‍👧‍👦🏳️‍🌈🔥") }, []string{"👩‍👩‍👧‍👦🏳️‍🌈🔥"}},
		"right to left":   {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, rtl) }, []string{"שלום, מה השעה?"}},
		"empty":           {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "  \n\t ") }, nil},
		"a photo":         {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "", telegramfake.Media("photo")) }, []string{"photo: what shall I do with it?"}},
		"a voice message": {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "", telegramfake.Media("voice")) }, []string{"voice message: what shall I do with it?"}},
		"a caption":       {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "q1: what is this?", telegramfake.Media("photo")) }, []string{"q1: what is this?"}},
		"markup":          {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "q1: <b>x</b> & _y_ [z](http://a.b) `c`") }, []string{"x & y z (a.b) c"}},
		"a path":          {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "/etc/passwd is what?") }, []string{"answers: /etc/passwd is what?"}},
		"a reply to somebody else": {func(b *telegramEnv) {
			own := b.Say(b.bob.ID, b.bob, "/new")
			b.sees(b.bob.ID, b.says("notice.new", nil))
			b.Say(b.bob.ID, b.bob, "q1: and this?", telegramfake.ReplyTo(own))
		}, []string{"[q1] answers"}},
		"malformed updates": {func(b *telegramEnv) {
			for _, raw := range []string{
				`{}`, `{"message": null}`, `{"message": 7}`, `{"message": {"chat": {"id": "x"}}}`, `{"message": {"message_id": 1, "chat": {"id": 2, "type": "private"}}}`,
				`{"message": {"message_id": 99, "from": {"id": 2, "first_name": "Bob"}, "chat": {"id": 2, "type": "private"}, "text": ["q"]}}`,
				`{"callback_query": {"id": "1", "from": {"id": 2}, "data": "s:x"}}`, `{"callback_query": {"id": 5}}`, `{"edited_message": {}}`,
				`{"poll_answer": {"poll_id": "1"}}`, `{"some_new_kind": {"a": [1, 2, {"b": null}]}}`, `{"message": {"date": 1e400}}`,
			} {
				b.Raw(raw)
			}
			b.Say(b.bob.ID, b.bob, "q1: hello")
		}, []string{"[q1] answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			s := b.opens()
			c.send(b)
			if c.want != nil {
				b.once(b.bob.ID, c.want...)
			}
			b.goesOn(b.bob)
			s.alive()
			if log := s.err.String(); strings.Contains(log, "panic") {
				t.Errorf("something panicked: %s", log)
			}
		})
	}
}

// TestTelegramHugeMessage: 100 KB arrive in the many messages that the app makes
// of them, within a second: they are one question, which is answered once.
func TestTelegramHugeMessage(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		said := r.AllTagged("guidance") // what exceeds the most parts of a question
		pieces := strings.Count(goal, "\n") + 1 + len(said)
		if pieces < 26 {
			return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}} // until there is more
		}
		return llmfake.Say(fmt.Sprintf("%.9s was asked in %d pieces, the last is %.20s", goal, pieces, said[len(said)-1]))
	}}})
	part := strings.Repeat("lorem ", 4096/6)
	b.Say(b.bob.ID, b.bob, "q1: "+part[:4000])
	for range 24 {
		b.Say(b.bob.ID, b.bob, part)
	}
	b.Say(b.bob.ID, b.bob, "the end")
	b.opens() // a busy machine must not take a second between two of them
	b.sees(b.bob.ID, "q1: lorem was asked in 26 pieces, the last is the end")
	b.passes()
	b.once(b.bob.ID, "was asked in")
	if n := b.count(b.bob.ID, b.says("notice.added", nil)); n > 0 {
		b.t.Errorf("%d messages say that a part of the question was added, want none", n)
	}
}

// TestTelegramTooLong: an update that no Telegram would send is refused with the
// limit.
func TestTelegramTooLong(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20})
	b.opens()
	b.Say(b.bob.ID, b.bob, "q1: "+strings.Repeat("long ", inbox.MaxGoal/5+1))
	b.once(b.bob.ID, b.says("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}))
	b.Say(b.bob.ID, b.bob, "q2: "+strings.Repeat("long ", 100_000/5))
	b.sees(b.bob.ID, "[q2] answers", "long")
	b.goesOn(b.bob)
}

// TestTelegramTwoAtOnce: a message within a second of a question is a part of
// it, and answered with it, once.
func TestTelegramTwoAtOnce(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	group := b.group(b.Group("Friends", b.bob, b.ann))
	b.Say(b.bob.ID, b.bob, "q1: what is the capital?")
	b.Say(b.bob.ID, b.bob, "of France, I mean")
	b.Say(group, b.bob, "/task q2: one by Bob")
	b.Say(group, b.ann, "/task q3: one by Ann")
	b.sees(b.bob.ID, "[q1] answers", "of France, I mean")
	b.once(group, "[q2] answers: q2: one by Bob")
	b.once(group, "[q3] answers: q3: one by Ann")
	b.passes()
	b.once(b.bob.ID, "[q1] answers")
	if n := b.count(b.bob.ID, b.says("notice.added", nil)); n > 0 {
		b.t.Errorf("%d messages say that a part of the question was added, want none", n)
	}
}

// TestTelegramEdited: an edited question is answered as it reads now; the edit of
// one that was answered asks again; a deleted one does no harm.
func TestTelegramEdited(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	asked := b.Say(b.bob.ID, b.bob, "q1: what is the capital of Frence?")
	b.until("that it thinks", func(v telegramfake.View) bool { return len(v.Chat(b.bob.ID).Drafts) > 0 })
	b.Edit(b.bob.ID, asked, "q1: what is the capital of France?")
	b.sees(b.bob.ID, "[q1] answers", "capital of France?")
	b.passes()
	if n := len(b.Chat(b.bob.ID).Bots()); n != 1 {
		t.Errorf("got %d messages, want the one answer", n)
	}
	b.Edit(b.bob.ID, asked, "q2: what is the capital of Spain?")
	b.once(b.bob.ID, "[q2] answers", "capital of Spain?")
	b.Edit(b.bob.ID, asked, "q2: what is the capital of Spain?") // nothing new
	b.passes()
	b.once(b.bob.ID, "[q2] answers")

	group := b.group(b.Supergroup("Friends", b.bob))
	gone := b.Say(group, b.bob, "/task q3: a question that is deleted")
	b.offers(group, "Stop")
	b.Delete(group, gone)
	b.once(group, "[q3] answers")
	placeholder := b.Say(group, b.bob, "/task q4: one whose placeholder is deleted")
	board := b.meets(group, "the placeholder", func(m telegramfake.Message) bool { return m.ReplyTo == placeholder && m.Button("Stop") != "" })
	b.Delete(group, board.ID)
	b.once(group, "[q4] answers")
	b.goesOn(b.bob)
}

// TestTelegramEditedWhileWordsStream: a question that is edited while its answer is
// being written gets one answer, to the new text.
func TestTelegramEditedWhileWordsStream(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for _, where := range []string{"private", "group"} {
		t.Run(where, func(t *testing.T) {
			b := newTelegramEnv(t, telegramOptions{options: options{think: func(q llmfake.Request) llmfake.Response {
				r := llmfake.Brain{PerToken: 10 * time.Millisecond}.Respond(q)
				if strings.Contains(r.Text, "one two three") && !strings.Contains(r.Text, "capital") {
					r.Hold = hold
				}
				return r
			}}})
			b.opens()
			chat := b.bob.ID
			if where == "group" {
				chat = b.group(b.Supergroup("Friends", b.bob))
			}
			asked := b.Say(chat, b.bob, "/task "+words)
			b.until("the first words", func(v telegramfake.View) bool {
				return slices.ContainsFunc(v.Events(chat), func(e telegramfake.Event) bool {
					return strings.Contains(e.Message.Text, "[q1] answers") && e.Message.Bot
				})
			})
			b.Edit(chat, asked, "/task q1: what is the capital of France?")
			b.sees(chat, "[q1] answers", "capital of France?")
			b.passes()
			if all := b.Chat(chat).Bots(); len(all) != 1 {
				t.Errorf("got %+v, want the one answer", all)
			}
		})
	}
}

// TestTelegramRedelivered: what Telegram delivers twice is handled once.
func TestTelegramRedelivered(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{fake: telegramfake.Options{Again: 1}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	b.Say(b.bob.ID, b.bob, "/new")
	b.sees(b.bob.ID, b.says("notice.new", nil))
	b.Redeliver(10)
	b.goesOn(b.bob)
	b.Redeliver(10)
	b.passes()
	b.once(b.bob.ID, "[q1] answers")
	b.once(b.bob.ID, b.says("notice.new", nil))
}

// TestTelegramButtonsLater: buttons pressed late, after a restart, by another
// person, or made up end with a sentence, and do nothing.
func TestTelegramButtonsLater(t *testing.T) {
	t.Parallel()
	s := works("60000")
	s.haste = 10
	b := newTelegramEnv(t, s)
	p := b.opens()
	group := b.group(b.Supergroup("Friends", b.bob, b.eve, b.ann))
	b.Say(group, b.bob, "/task first: a question")
	board := b.working(group)
	p.stops()
	p = b.opens()
	if press := b.taps(b.eve, group, board.ID, board.Button("Stop")); press.Text != b.says("error.not_yours", nil) {
		t.Errorf("a stranger's tap: got %q", press.Text)
	}
	if press := b.taps(b.bob, group, board.ID, board.Button("Stop")); press.Text != b.says("notice.stopping", nil) {
		t.Errorf("a tap after the restart: got %q", press.Text)
	}
	answer := b.offers(group, "Details", "value of quick")
	p.stops()
	b.opens()
	b.taps(b.bob, group, answer.ID, "Details")
	b.sees(group, "1. quick", b.says("state.done", nil))
	for name, data := range map[string]string{
		"a task that is over":        board.Button("Stop"),
		"a task that does not exist": "s:01HZZZZZZZZZZZZZZZZZZZZZZZ",
		"nothing at all":             ":::",
		"a strange byte":             "\u202e\x01",
		"a question that is over":    "a:" + strings.TrimPrefix(board.Button("Stop"), "s:") + ":1.1.1:0",
		"an admin's verb":            "g:a:telegram:3",
	} {
		if press := b.taps(b.bob, group, board.ID, data); press.Text != b.says("error.too_late", nil) && press.Text != b.says("error.not_yours", nil) {
			t.Errorf("%s: got %q, want a sentence", name, press.Text)
		}
	}
	b.Say(b.eve.ID, b.eve, "q1: am I in?")
	b.sees(b.eve.ID, b.says("error.not_allowed", nil))
	b.goesOn(b.bob)
}
