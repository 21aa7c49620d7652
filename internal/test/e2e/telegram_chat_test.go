package e2e_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
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

// TestTelegramGroup: a message to the bot gets a placeholder at once, which
// becomes the answer.
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

// grows waits for the answer to words in a group, and checks that the asking
// message got one message, which began as something else.
func (b *telegramEnv) grows(chat int64, asked int) telegramfake.Message {
	b.t.Helper()
	m := b.meets(chat, "the answer to message "+strconv.Itoa(asked), func(m telegramfake.Message) bool {
		return m.ReplyTo == asked && m.Text == "[q1] answers: "+words
	})
	var texts []string
	for _, e := range b.Events(chat) {
		if e.Message.Bot && e.Message.ReplyTo == asked && (e.Kind == telegramfake.EventMessage || e.Kind == telegramfake.EventEdit) {
			texts = append(texts, e.Message.Text)
			if e.Message.ID != m.ID {
				b.t.Errorf("message %d answers too: %q", e.Message.ID, e.Message.Text)
			}
		}
	}
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
	b.once(group, "answers: > how are you all?", "q2: what is this?")
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
