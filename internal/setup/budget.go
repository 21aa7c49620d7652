package setup

import (
	"fmt"
	"strconv"
	"strings"
)

// usualBudget is what all together may use in a day when nobody says otherwise,
// in tokens.
const usualBudget = "2000000"

// budget is what all together may spend in a day: tokens, or US dollars at a
// price. All zero: no limit.
type budget struct {
	tokens        int64
	usd           float64
	input, output float64 // US dollars per million tokens
}

// askBudget asks for the daily budget. One in dollars needs to know what the
// model costs.
func (t *talk) askBudget(a *answers) error {
	for {
		answer, err := t.line("init.budget", nil, usualBudget)
		if err != nil {
			return err
		}
		if answer == skip {
			a.budget = budget{}
			return nil
		}
		if usd, ok := strings.CutPrefix(answer, "$"); ok {
			if a.budget.usd, ok = amount(usd, 1e6); ok {
				return t.askPrice(a)
			}
		} else if n, ok := amount(strings.NewReplacer(" ", "", ",", "", "_", "").Replace(answer), 1e15); ok && n >= 1 {
			a.budget = budget{tokens: int64(n)}
			return nil
		}
		t.note("init.no_budget", nil)
	}
}

func (t *talk) askPrice(a *answers) error {
	for {
		answer, err := t.line("init.price", nil, "")
		if err != nil {
			return err
		}
		if words := strings.Fields(answer); len(words) == 2 {
			input, ok := amount(words[0], 1e6)
			output, also := amount(words[1], 1e6)
			if ok && also {
				a.budget.input, a.budget.output = input, output
				return nil
			}
		}
		t.note("init.no_price", nil)
	}
}

// amount reads a number from 0 to most.
func amount(text string, most float64) (n float64, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	return n, err == nil && n >= 0 && n <= most // not NaN
}

// plain writes a number without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// price is the model's key of what it costs; empty where nobody has said.
func (b budget) price() string {
	if b.usd == 0 {
		return ""
	}
	return fmt.Sprintf("    price: {input: %s, output: %s}\n", plain(b.input), plain(b.output))
}

// line is the budget's key in the config; empty for no limit.
func (b budget) line() string {
	switch {
	case b.usd > 0:
		return "  day_usd: " + plain(b.usd)
	case b.tokens > 0:
		return fmt.Sprintf("  day_tokens: %d", b.tokens)
	}
	return ""
}
