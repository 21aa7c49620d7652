package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// priced is an environment whose model takes 1,000 tokens and 100 tokens of reply for
// each call, which cost $0.101, under budgets.
func priced(budget string) options {
	brain := llmfake.Brain{}
	return options{
		think: func(r llmfake.Request) llmfake.Response {
			response := brain.Respond(r)
			response.Usage = &llmfake.Usage{Input: 1000, Output: 100}
			return response
		},
		model: ", max_output_tokens: 500, price: {input: 100, output: 10}",
		more:  "budget: " + budget + "\n",
	}
}

// honest is an environment whose model takes what its prompts and replies hold, at $100
// and $10 for a million tokens, under budgets.
func honest(budget string) options {
	return options{
		model: ", max_output_tokens: 500, price: {input: 100, output: 10}",
		more:  "budget: " + budget + "\n",
	}
}

// charged is what the model reported in all, in dollars and in tokens.
func (w *env) charged() (usd float64, tokens int) {
	for range w.models.Requests() {
		usd, tokens = usd+0.101, tokens+1100
	}
	return usd, tokens
}

// threeParts are seven calls and more.
const threeParts = "q1: desk alpha; desk beta; desk gamma | desk delta"

// TestBudgetExtend: a task that reaches its budget shows a card; the asker
// cannot extend it, an admin can with a tap, once, and the answer comes.
func TestBudgetExtend(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: priced("{task_usd: 0.9, user_day_usd: 0, chat_day_usd: 0, day_usd: 0}")})
	s := b.opens()
	chat := b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve))
	b.Say(chat, b.bob, "/task "+threeParts)
	plan := b.offers(chat, "Run", "desk alpha", "It may take about")
	b.taps(b.bob, chat, plan.ID, "Run")
	card := b.offers(chat, "Extend by $0.45", "The next step would exceed this task's budget.", "of $0.90 are spent or reserved", "For Bob")
	if press := b.taps(b.bob, chat, card.ID, "Extend by $0.45"); press.Text != b.says("error.admin_needed", nil) {
		t.Errorf("the asker's press was answered %q", press.Text)
	}
	if press := b.taps(b.eve, chat, card.ID, "Extend by $0.45"); strings.Contains(press.Text, "Extended") {
		t.Errorf("somebody's press was answered %q", press.Text)
	}
	b.passes() // it is stored that the card was sent
	s.kill()
	b.opens()
	b.taps(b.ann, chat, card.ID, "Extend by $0.45")
	b.meets(chat, "the closed card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, "Extended by $0.45 by Ann")
	})
	b.extended(chat, "$0.45") // as often as it takes
	usd, tokens := b.charged()
	if usd > 3 {
		t.Errorf("the model was paid $%.2f for %d tokens", usd, tokens)
	}
	b.Say(b.ann.ID, b.ann, "/usage")
	b.sees(b.ann.ID, "Everybody", fmt.Sprintf("$%.2f", usd), "telegram:2")
}

// extended lets Ann extend further cards until the answer is there.
func (b *telegramEnv) extended(chat int64, amount string) {
	b.t.Helper()
	tapped := map[int]bool{}
	for {
		var card telegramfake.Message
		b.until("the answer or another card", func(v telegramfake.View) bool {
			for _, m := range v.Chat(chat).Bots() {
				if strings.Contains(m.Text, "[q1]") {
					card = m
					return true
				}
				if m.Button("Extend by "+amount) != "" && !tapped[m.ID] {
					card = m
					return true
				}
			}
			return false
		})
		if strings.Contains(card.Text, "[q1]") {
			return
		}
		tapped[card.ID] = true
		b.taps(b.ann, chat, card.ID, "Extend by "+amount)
	}
}

// TestBudgetDecline: declined, what was found is told, within the budget.
func TestBudgetDecline(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: priced("{task_usd: 0.9, user_day_usd: 0, chat_day_usd: 0, day_usd: 0}")})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, threeParts)
	plan := b.offers(chat, "Run", "desk alpha")
	b.taps(b.bob, chat, plan.ID, "Run")
	card := b.offers(chat, "Answer with results so far", "The next step would exceed this task's budget")
	b.taps(b.bob, chat, card.ID, "Answer with results so far")
	b.meets(chat, "the closed card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, "asked for an answer from the results so far")
	})
	b.until("an answer or a sentence", func(v telegramfake.View) bool {
		for _, m := range v.Chat(chat).Bots() {
			if strings.Contains(m.Text, "[q1]") || strings.Contains(m.Text, "The next step would exceed this task's budget (") {
				return true
			}
		}
		return false
	})
	if usd, _ := b.charged(); usd > 0.9 {
		t.Errorf("the model was paid $%.3f of $0.90", usd)
	}
}

// TestBudgetDeclineAnswered: declined, a model writes the answer from what was
// found, with what was kept back for it.
func TestBudgetDeclineAnswered(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"0.53", "0.66"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: honest("{task_usd: " + limit + ", user_day_usd: 0, chat_day_usd: 0, day_usd: 0}")})
			b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, threeParts)
			plan := b.offers(chat, "Run", "desk alpha")
			b.taps(b.bob, chat, plan.ID, "Run")
			card := b.offers(chat, "Answer with results so far", "The next step would exceed this task's budget")
			b.taps(b.bob, chat, card.ID, "Answer with results so far")
			answer := b.meets(chat, "an answer or a sentence", func(m telegramfake.Message) bool {
				return strings.Contains(m.Text, "[q1]") || strings.Contains(m.Text, "⚠️")
			})
			if !strings.HasPrefix(answer.Text, "[q1]") || !strings.Contains(answer.Text, "value of q1 desk") {
				t.Errorf("it was answered\n%s\nwant what a model wrote from what was found", answer.Text)
			}
		})
	}
}

// TestBudgetOfTheDay: when the day's budget is used up, a plain question gets one
// sentence and calls no model, and the admins are told.
func TestBudgetOfTheDay(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: priced("{day_tokens: 4000, user_day_usd: 0, chat_day_usd: 0, day_usd: 0}")})
	b.opens()
	const refused = "The next step would exceed today's budget for everybody ("
	answered := 0
	for i := range 5 {
		b.Say(b.bob.ID, b.bob, fmt.Sprintf("q%d: hello", i))
		m := b.meets(b.bob.ID, "an answer", func(m telegramfake.Message) bool {
			return strings.Contains(m.Text, fmt.Sprintf("[q%d]", i)) || strings.Contains(m.Text, refused)
		})
		if strings.Contains(m.Text, refused) {
			break
		}
		answered++
	}
	b.once(b.bob.ID, refused, "budget.day_tokens")
	if _, tokens := b.charged(); tokens > 4000 || answered < 1 {
		t.Errorf("%d questions were answered with %d of 4,000 tokens", answered, tokens)
	}
	b.Say(b.ann.ID, b.ann, "/usage")
	b.sees(b.ann.ID, "Everybody", fmt.Sprintf("%.1fk tokens", float64(answered)*1.1))
	b.sees(b.ann.ID, "The next step would exceed today's budget") // the admins were told
}
