package harness

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What is pressed about costs.
const (
	labelRun      = "Run"
	labelConclude = "Answer with what there is"
	labelExtend   = "Extend by "
)

// spentText begins the sentence of a task that a budget ended before anything
// was found.
const spentText = "The budget of this task has no room for the next step ("

// Budget is what each task of a run may cost.
type Budget struct {
	Tokens int
	Micros int  // millionths of a dollar
	Asker  bool // who asked may extend it, else admins alone
}

// config is the budget as the config says it.
func (b Budget) config() string {
	if b == (Budget{}) {
		return ""
	}
	who := "admins"
	if b.Asker {
		who = "asker"
	}
	return fmt.Sprintf("budget: {task_tokens: %d, task_usd: %g, user_day_usd: 0, chat_day_usd: 0, day_usd: 0, extend: %s}\n", b.Tokens, float64(b.Micros)/1e6, who)
}

// ofCost reports whether buttons ask about the cost of a task: to run a plan, or
// to extend a budget.
func ofCost(buttons []string) bool {
	return slices.Contains(buttons, labelRun) || slices.Contains(buttons, labelConclude)
}

// labels are those of buttons.
func labels(buttons []Button) []string {
	list := make([]string, 0, len(buttons))
	for _, b := range buttons {
		list = append(list, b.Label)
	}
	return list
}

// names reports whether a text is about a question: its goal or one of its
// sub-tasks stands there, as Markdown or plainly.
func names(text, id string) bool {
	words := strings.FieldsFunc(strings.ReplaceAll(text, `\`, ""), func(r rune) bool { return r == ' ' || r == '\n' })
	return slices.Contains(words, id) || slices.Contains(words, id+":")
}

// asksCost reports whether an event asks about the cost of an input's question.
func asksCost(e Event, in Input) bool {
	return e.Chat == in.Chat && ofCost(labels(e.Buttons)) && names(e.Text, in.Gate)
}

// answerAbout are the buttons that a person presses under a question about costs:
// plans are run.
func answerAbout(in Input, buttons []string) (label, other string) {
	if slices.Contains(buttons, labelRun) {
		return labelRun, labelRun
	}
	label, other = labelConclude, labelConclude
	if i := slices.IndexFunc(buttons, func(label string) bool { return strings.HasPrefix(label, labelExtend) }); i >= 0 {
		other = buttons[i]
	}
	if in.Extends {
		label, other = other, label
	}
	return label, other
}

// costCard reports whether a message asks about the cost of an input's question.
func costCard(p Post, in Input) bool {
	return p.Chat == in.Chat && p.Card != "" && ofCost(p.Asked) && names(p.Card, in.Gate)
}

var amounts = regexp.MustCompile(`^Extend by (\$?)([0-9.,]+)(k?)`)

// extension is by how much a button extends a budget.
func extension(label string) int {
	m := amounts.FindStringSubmatch(label)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	switch {
	case err != nil:
		return 0
	case m[1] != "":
		return int(n*1e6 + 0.5)
	case m[3] != "":
		return int(n*1e3 + 0.5)
	}
	return int(n + 0.5)
}
