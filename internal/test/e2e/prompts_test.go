package e2e_test

import (
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// prompting is an environment whose group desk has prompts.
func prompting() options { return options{serverArgs: ", -full", wait: patience, limit: patience} }

// TestPrompts: /prompt lists what servers offer, asks for what is missing, over a
// restart, and starts a task with what the server writes.
func TestPrompts(t *testing.T) {
	t.Parallel()
	p := prompting()
	p.more = "  broken: {description: Is down., servers: [gone], tool_timeout: 1s}\n"
	b := newTelegramEnv(t, telegramOptions{options: p})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  gone: {command: no-such-program}\n", 1))
	s := b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "/prompt")
	b.sees(chat, "desk/summarize text=… [style=…]: Summarizes a text.", "desk/greet: Greets.", b.says("prompts.missed", map[string]any{"Groups": "broken"}))

	b.Say(chat, b.bob, "/prompt greet")
	b.sees(chat, "answers: ")
	if len(b.asked("Say hello.")) == 0 {
		t.Error("the model was not given what the server wrote")
	}
	b.Say(chat, b.bob, "/prompt desk/summarize style=short")
	b.sees(chat, "text, for the prompt desk/summarize: What to summarize.")
	s.kill()
	b.opens()
	b.Say(chat, b.bob, "a story about bread")
	b.until("the prompt", func(telegramfake.View) bool { return len(b.asked("Summarize: a story about bread Style: short")) > 0 })
	b.passes()
	b.Say(chat, b.bob, "/prompt sumarize")
	b.sees(chat, "There is no prompt sumarize here. Did you mean desk/summarize?")
	b.Say(chat, b.bob, "/prompt summarize")
	b.Say(chat, b.bob, "/help") // ends it
	b.goesOn(b.bob)
	if len(b.asked("Summarize: later")) > 0 {
		t.Error("a question was taken for the argument of a prompt that was left off")
	}
}

// TestPromptsElsewhere: the same in a Slack thread and in the terminal.
func TestPromptsElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("Slack", func(t *testing.T) {
		t.Parallel()
		o := newSlackEnv(t, slackOptions{options: prompting()})
		o.opens()
		o.slash("/legwork", "prompt", benDM, ben)
		o.sees(in(benDM), "desk/summarize text=…", "desk/greet")
		o.slash("/legwork", "prompt summarize", benDM, ben)
		o.sees(in(benDM), "for the prompt `desk/summarize`")
		o.Say(benDM, ben, "a story about bread", "")
		o.until("the prompt", func() bool { return len(o.asked("Summarize: a story about bread")) > 0 })
		o.sees(in(benDM), "answers: Summarize: a story about bread") // earlier messages reach it
		o.goesOn(ben)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, prompting())
		s := w.sit("chat")
		s.sees("Type a question.")
		s.types("/prompt\r")
		s.sees("desk/summarize text=… [style=…]", "desk/greet")
		s.types("/prompt summarize\r")
		s.sees("for the prompt desk/summarize")
		s.types("a story about bread\r")
		s.sees("answers: ")
		if len(w.asked("Summarize: a story about bread")) == 0 {
			t.Error("the model was not given what the server wrote")
		}
	})
}

// TestPromptServerDown: a prompt whose server went away after the list costs a
// sentence.
func TestPromptServerDown(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: prompting()})
	url, stop := b.stoppable("-http", "127.0.0.1:0", "-full")
	b.serves(url, "")
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "/prompt summarize")
	b.sees(chat, "text, for the prompt desk/summarize")
	stop()
	b.Say(chat, b.bob, "a story about bread")
	b.sees(chat, b.says("problem.prompt", nil))
	b.goesOn(b.bob)
}
