package record

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Presses about costs.
const (
	LabelRun      = "Run"
	labelConclude = "Answer with results so far"
	labelExtend   = "Extend by "
)

// SpentText begins the sentence of a task that a budget ended before anything
// was found.
const SpentText = "The next step would exceed this task's budget ("

// Budget is what each task of a run may cost.
type Budget struct {
	Tokens int
	Micros int  // millionths of a dollar
	Asker  bool // the asker may extend it; else only admins
}

// Config is the budget as the config says it.
func (b Budget) Config() string {
	if b == (Budget{}) {
		return ""
	}
	who := "admins"
	if b.Asker {
		who = "asker"
	}
	return fmt.Sprintf("budget: {task_tokens: %d, task_usd: %g, user_day_usd: 0, chat_day_usd: 0, day_usd: 0, extend: %s}\n", b.Tokens, float64(b.Micros)/1e6, who)
}

// ButtonsOfCost reports whether buttons ask about the cost of a task: to run a plan, or
// to extend a budget.
func ButtonsOfCost(buttons []string) bool {
	return slices.Contains(buttons, LabelRun) || slices.Contains(buttons, labelConclude)
}

// Labels are those of buttons.
func Labels(buttons []Button) []string {
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

// AsksCost reports whether an event asks about the cost of an input's question.
func AsksCost(e Event, in Input) bool {
	return e.Chat == in.Chat && ButtonsOfCost(Labels(e.Buttons)) && names(e.Text, in.Gate)
}

// AnswerAbout are the buttons that a person presses under a question about costs:
// plans are run.
func AnswerAbout(in Input, buttons []string) (label, other string) {
	if slices.Contains(buttons, LabelRun) {
		return LabelRun, LabelRun
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

// CostCard reports whether a message asks about the cost of an input's question.
func CostCard(p Post, in Input) bool {
	return p.Chat == in.Chat && p.Card != "" && ButtonsOfCost(p.Asked) && names(p.Card, in.Gate)
}

var amounts = regexp.MustCompile(`^Extend by (\$?)([0-9.,]+)(k?)`)

// Extension is by how much a button extends a budget.
func Extension(label string) int {
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
