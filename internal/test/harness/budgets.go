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

// bound gives some runs low budgets, which their planned questions may reach.
func (s *session) bound() {
	how := hash(fmt.Sprintf("%d budget", s.order.Seed))
	if how%4 > 0 || s.order.Front == API {
		return
	}
	b := Budget{Asker: how/8%4 > 0}
	if how/4%2 == 0 {
		b.Tokens = 8000 + how/32%3*2000
	} else {
		b.Micros = 9000 + how/32%3*2000
	}
	planned := map[string]int{} // by conversation
	for _, in := range s.record.Inputs {
		if in.Kind == Planned {
			planned[in.Chat]++
			b.Asker = b.Asker || s.lasting() && planned[in.Chat] > 1
		}
	}
	s.record.Budget = b
	for _, in := range s.record.Inputs {
		if in.Kind == Planned {
			alone := !s.lasting() || planned[in.Chat] == 1 // what ends without an answer names no question there
			id := fmt.Sprintf("a%d", len(s.record.Inputs)+1)
			s.record.Inputs = append(s.record.Inputs, Input{
				Kind: Afford, ID: id, Chat: in.Chat, From: in.From, Gate: in.ID, Key: in.ID + " cost of seed " + strconv.FormatInt(s.order.Seed, 10),
				Extends: !alone || (b.Asker || !s.lasting()) && hash(id+in.Text)%4 > 0,
			})
		}
	}
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

// costs reports whether something asks about the cost of a question, or it has
// its answer.
func (c *chats) costs(in Input) bool {
	return c.answered(in.Gate) || slices.ContainsFunc(c.list(), func(p Post) bool { return costCard(p, in) })
}

func (c *chats) owes(in Input) bool {
	return slices.ContainsFunc(c.list(), func(p Post) bool { return costCard(p, in) && isCard(p.Buttons) })
}

// costCard reports whether a message asks about the cost of an input's question.
func costCard(p Post, in Input) bool {
	return p.Chat == in.Chat && p.Card != "" && ofCost(p.Asked) && names(p.Card, in.Gate)
}

// afford presses under each question about the cost of a task, once in each life
// or twice, by habit; when it is decided, some press another button. It reports
// whether the task is over.
func (c *chats) afford(in Input, push func(p Post, label, by string)) (done bool) {
	for _, p := range c.list() {
		if !costCard(p, in) {
			continue
		}
		label, other := answerAbout(in, p.Asked)
		key, habit := in.ID+" "+p.ID, habitOf(in.Key)
		open := isCard(p.Buttons)
		if late := "late " + key; !open && habit == wavering && !c.pressed[late] {
			c.pressed[late] = true
			push(p, other, in.From)
		}
		if !open || c.pressed[key] {
			continue
		}
		c.pressed[key] = true
		if !c.s.record.Budget.Asker && other != label {
			push(p, other, in.From) // only an admin can
		}
		if somebody := c.meddler(in); habit == meddled && somebody != "" {
			push(p, other, somebody)
		}
		c.s.pushes(p.Card, label, in.From)
		push(p, label, in.From)
		if habit == twice {
			push(p, label, in.From)
		}
	}
	return c.answered(in.Gate)
}

// forgetPresses lets an input be done again.
func (c *chats) forgetPresses(in Input) {
	for key := range c.pressed {
		if strings.HasPrefix(key, in.ID+" ") {
			delete(c.pressed, key)
		}
	}
}

// afford is the same at the terminal.
func (f *terminalFront) afford(in Input) (done bool) {
	for _, e := range f.costs[in.ID] {
		label, other := answerAbout(in, labels(e.Buttons))
		list := []string{label}
		switch habitOf(in.Key) {
		case twice:
			list = append(list, label)
		case wavering:
			list = append(list, other)
		case once, meddled: // nobody else is there
		}
		f.s.pushes(e.Text, label, in.From)
		for _, label := range list {
			for _, b := range e.Buttons {
				if b.Label == label {
					f.presses++
					f.p.press(fmt.Sprintf("%s-%d", in.ID, f.presses), in.Chat, b.Data)
				}
			}
		}
	}
	f.costs[in.ID] = nil
	return f.answered(in)
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
