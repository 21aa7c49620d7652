package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// spoken is a voice message: its words are "hello from the recording".
func spoken() telegramfake.Opt {
	return telegramfake.Attach("voice", telegramfake.File{Type: "audio/ogg", Seconds: 1, Content: llmfake.OGG(1)})
}

// hearing gives a config a model that puts recordings into words.
func (w *env) hearing() {
	w.t.Helper()
	w.configure(strings.Replace(w.config, "servers:\n", strings.TrimPrefix(fmt.Sprintf(ear, w.models.URL), "\n")+"\nservers:\n", 1))
}

// asksPerson is a question whose agent asks the person in its turn.
const asksPerson = `q1: desk ask_person {"question":"Which city?"}`

// TestAnswerByVoice: a voice message answers the question of a model, as a reply to it
// and in a private chat without one, and opens no task of its own.
func TestAnswerByVoice(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, more: hears}})
	b.hearing()
	b.opens()
	group := b.group(b.Supergroup("Friends", b.bob, b.eve))
	for _, c := range []struct {
		chat  int64
		start string
		reply bool
	}{{group, "/task@legwork_bot ", true}, {b.bob.ID, "", false}} {
		b.Say(c.chat, b.bob, c.start+asksPerson)
		card := b.meets(c.chat, "the question", func(m telegramfake.Message) bool { return strings.HasPrefix(m.Text, "Which city?") })
		if c.reply {
			b.Say(c.chat, b.bob, "", spoken(), telegramfake.ReplyTo(card.ID))
		} else {
			b.Say(c.chat, b.bob, "", spoken())
		}
		b.once(c.chat, "[q1] The tools said:", "hello from the recording")
		if b.count(c.chat, b.says("notice.added", nil)) > 0 {
			t.Errorf("in chat %d the answer became guidance", c.chat)
		}
	}
	b.goesOn(b.bob)
}

// TestAnswerWithFile: of a photo with a caption the caption is the answer, and the photo
// belongs to the task. A document without a caption is an answer, too.
func TestAnswerWithFile(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, more: sees}})
	b.opens()
	for _, c := range []struct {
		caption, media string
		file           telegramfake.File
		reply          bool
	}{
		{"Oslo", "photo", telegramfake.File{Type: "image/png", Content: llmfake.PNG(40, 30)}, true},
		{"", "document", telegramfake.File{Name: "city.txt", Content: []byte("The city is Bergen.")}, true},
		{"", "document", telegramfake.File{Name: "town.txt", Content: []byte("The town is Voss.")}, false},
	} {
		asked := b.Say(b.bob.ID, b.bob, asksPerson)
		card := b.meets(b.bob.ID, "the question", func(m telegramfake.Message) bool { return m.ID > asked && strings.Contains(m.Text, "Which city?") })
		how := []telegramfake.Opt{telegramfake.Attach(c.media, c.file)}
		if c.reply {
			how = append(how, telegramfake.ReplyTo(card.ID))
		}
		from := len(b.models.Requests())
		sent := b.Say(b.bob.ID, b.bob, c.caption, how...)
		b.meets(b.bob.ID, "the answer", func(m telegramfake.Message) bool { return m.ID > sent && strings.Contains(m.Text, "[q1]") })
		turn := b.models.Requests()[from]
		pictures := 0
		for _, m := range turn.Messages {
			pictures += len(m.Images)
		}
		if answer := "<guidance>\n" + c.caption + "\n</guidance>"; c.caption != "" && !strings.Contains(prompt(turn), answer) {
			t.Errorf("%s: the caption is not the answer: %s", c.media, prompt(turn))
		}
		if text := prompt(turn); !strings.Contains(text, `file="f1"`) || c.media == "document" && !strings.Contains(text, string(c.file.Content)) || c.media == "photo" && pictures != 1 {
			t.Errorf("%s: the agent got %d pictures and read %s", c.media, pictures, text)
		}
		if b.count(b.bob.ID, b.says("notice.added", nil)) > 0 {
			t.Error("the answer became guidance")
		}
	}
	b.goesOn(b.bob)
}

// TestGuidanceByVoice: a voice message while a plan works is guidance in the person's own
// words.
func TestGuidanceByVoice(t *testing.T) {
	t.Parallel()
	s := works("4000")
	s.more = hears
	b := newTelegramEnv(t, s)
	b.hearing()
	b.opens()
	b.Say(b.bob.ID, b.bob, "/task first: a question")
	board := b.working(b.bob.ID)
	b.Say(b.bob.ID, b.bob, "", spoken(), telegramfake.ReplyTo(board.ID))
	b.offers(b.bob.ID, "Ask separately", b.says("notice.added", nil))
	b.once(b.bob.ID, "at last")
	if !b.heard("voice message\nhello from the recording") {
		t.Error("the model did not read the spoken words as guidance")
	}
}

// TestFormByVoice: a voice message fills a field of a server's form once the person says
// that its words are for the server.
func TestFormByVoice(t *testing.T) {
	t.Parallel()
	o := asking("")
	o.more += hears
	b := newTelegramEnv(t, telegramOptions{options: o, haste: 5})
	b.hearing()
	b.opens()
	b.Say(b.bob.ID, b.bob, "q1: desk ask_form {}")
	b.fills(b.bob, 0, 4)
	card := b.offers(b.bob.ID, "Decline", "Note (5 of 5)")
	b.Say(b.bob.ID, b.bob, "", spoken(), telegramfake.ReplyTo(card.ID))
	ask := b.offers(b.bob.ID, b.says("button.for_server", nil), b.says("form.was_that", map[string]any{"Server": "desk"}))
	for p := (telegramfake.Press{Text: b.says("form.not_heard_yet", nil)}); p.Text == b.says("form.not_heard_yet", nil); {
		p = b.taps(b.bob, b.bob.ID, ask.ID, b.says("button.for_server", nil))
	}
	b.sees(b.bob.ID, "[q1]", `"action":"accept"`, `"note":"hello from the recording"`)
	b.goesOn(b.bob)
}

// TestSlackAnswerByVoice: a recording in the thread of a question answers it.
func TestSlackAnswerByVoice(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: orders{}.think, more: hears}})
	o.hearing()
	o.opens()
	ts := o.Say(general, ben, bots+asksPerson, "")
	o.sees(under(general, ts), "Which city?")
	o.SayFiles(general, ben, "", ts, slackfake.File{Name: "audio_message.ogg", Type: "audio/ogg", Subtype: "slack_audio", Content: llmfake.OGG(1)})
	o.sees(under(general, ts), "[q1] The tools said:", "hello from the recording")
	o.goesOn(ben)
}
