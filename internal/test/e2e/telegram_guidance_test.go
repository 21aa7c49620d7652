package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// heard reports that a prompt held a text as guidance.
func (b *telegramEnv) heard(text string) bool {
	return slices.ContainsFunc(b.models.Requests(), func(r llmfake.Request) bool {
		return slices.Contains(r.AllTagged("guidance"), text)
	})
}

// TestTelegramGuidance: what the person writes while a plan runs is added to it,
// taken back by Undo, and a question of its own by Ask separately.
func TestTelegramGuidance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, key string // empty: none is pressed
		heard       bool
		apart       bool // it is answered as a question of its own
	}{
		"kept":             {"", "", true, false},
		"taken back":       {"Undo", "notice.undone", false, false},
		"asked separately": {"Ask separately", "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := works("4000")
			s.haste = 10
			b := newTelegramEnv(t, s)
			b.opens()
			for _, chat := range []int64{b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve)), b.bob.ID} {
				guidance := "later: " + name + " in " + chatID(chat)
				b.Say(chat, b.bob, "/task first: a question")
				board := b.working(chat)
				if chat == b.bob.ID {
					b.Say(chat, b.bob, guidance)
				} else {
					b.Say(chat, b.bob, guidance, telegramfake.ReplyTo(board.ID))
				}
				added := b.offers(chat, "Ask separately", b.says("notice.added", nil))
				if added.ReplyTo == 0 || added.Button("Undo") == "" {
					t.Errorf("the notice is %+v, want a reply with Undo", added)
				}
				if c.button != "" {
					p := b.taps(b.bob, chat, added.ID, c.button)
					if c.key != "" && p.Text != b.says(c.key, nil) {
						t.Errorf("the tap reads %q, want %q", p.Text, b.says(c.key, nil))
					}
					b.taps(b.bob, chat, added.ID, c.button)
				}
				if c.apart {
					b.once(chat, "answers: "+guidance)
				}
				b.once(chat, "at last")
				if got := b.heard(guidance); got != c.heard {
					t.Errorf("in chat %d the model read it as guidance: %v, want %v", chat, got, c.heard)
				}
			}
		})
	}
}

// TestTelegramPlanOfALongText: a plan that repeats a long text is shown in one
// message all the same.
func TestTelegramPlanOfALongText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("beta ", 10_000)
	b := newTelegramEnv(t, telegramOptions{haste: 10, options: options{think: steps{plan: func(llmfake.Request) llmfake.Response {
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find `+long+`"}]}`)
	}}.think}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "/plan q1: look at this: alpha")
	plan := b.offers(b.bob.ID, "Run", b.says("question.plan", nil), "1. desk: find beta")
	if got := len(plan.Text); got > 1200 || !strings.Contains(plan.Text, "…\n\nIt may take about") {
		t.Errorf("the plan takes %d bytes: %.80q, want a beginning", got, plan.Text)
	}
	b.taps(b.bob, b.bob.ID, plan.ID, "Cancel")
}

// TestTelegramPlanFirst: /plan shows the plan before anything is done, and does
// what is decided.
func TestTelegramPlanFirst(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 10, options: options{think: steps{plan: func(r llmfake.Request) llmfake.Response {
		if slices.Contains(r.AllTagged("guidance"), "take beta") {
			return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find beta"}]}`)
		}
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find alpha"}]}`)
	}}.think}})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve))
	for _, chat := range []int64{b.bob.ID, group} {
		b.Say(chat, b.bob, "/plan q1: run it")
		plan := b.offers(chat, "Run", b.says("question.plan", nil), "1. desk: find alpha")
		if plan.Button("Edit") == "" || plan.Button("Cancel") == "" || len(b.calls("lookup")) > 0 && chat == b.bob.ID {
			t.Errorf("the plan is shown as %+v after %d calls, want Run, Edit, Cancel and none", plan, len(b.calls("lookup")))
		}
		if chat == group {
			if p := b.taps(b.eve, chat, plan.ID, "Run"); p.Text != b.says("error.not_yours", nil) {
				t.Errorf("a stranger's tap: got %q", p.Text)
			}
		}
		b.taps(b.bob, chat, plan.ID, "Run")
		b.taps(b.bob, chat, plan.ID, plan.Button("Run"))
		b.once(chat, "value of find alpha")
		b.closed(chat, plan.ID, b.says("question.agreed", nil))

		b.Say(chat, b.bob, "/plan q2: change it")
		plan = b.offers(chat, "Edit", "1. desk: find alpha")
		b.taps(b.bob, chat, plan.ID, "Edit")
		how := b.sees(chat, b.says("notice.edit_plan", nil))
		b.Say(chat, b.bob, "/status@legwork_bot") // no person answers as fast as a test does
		b.sees(chat, "q2: change it · ")
		b.Say(chat, b.bob, "take beta", telegramfake.ReplyTo(how.ID))
		second := b.offers(chat, "Run", "1. desk: find beta")
		b.closed(chat, plan.ID, b.says("question.over", nil))
		b.taps(b.bob, chat, second.ID, "Run")
		b.once(chat, "value of find beta")

		b.Say(chat, b.bob, "/plan q3: cancel it")
		plan = b.offers(chat, "Cancel", "1. desk: find alpha")
		b.taps(b.bob, chat, plan.ID, "Cancel")
		b.closed(chat, plan.ID, b.says("question.denied", nil))
		over := b.once(chat, b.says("problem.stopped", nil))
		if strings.Contains(over.Text, "sub-task") || len(over.Buttons) > 0 {
			t.Errorf("nothing was done, and the outcome is %q with %v", over.Text, over.Buttons)
		}
	}
	if calls := b.calls("lookup"); len(calls) != 4 {
		t.Errorf("got %d calls, want two in each chat", len(calls))
	}
	b.goesOn(b.bob)
}

// closed waits until a question's message says how it ended and offers nothing.
func (b *telegramEnv) closed(chat int64, id int, how string) {
	b.t.Helper()
	b.meets(chat, "the closed question", func(m telegramfake.Message) bool {
		return m.ID == id && strings.HasSuffix(m.Text, how) && len(m.Buttons) == 0
	})
}
