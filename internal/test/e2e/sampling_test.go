package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

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
