package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

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
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: steps{
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
