package harness

import (
	"slices"
	"strings"

	"legwork/internal/test/harness/record"
)

// setPeople notes who is in which room.
func (c *chats) setPeople(rooms []room) {
	c.people = map[string][]string{}
	for _, r := range rooms {
		c.people[r.name] = r.people
	}
}

// asks reports whether a decision can be made: something asks for it, or it is
// too late.
func (c *chats) asks(in record.Input) bool {
	open, closed := c.cards(in)
	return len(open) > 0 || closed || c.answered(in.Gate)
}

// cards are the messages that ask for a decision and can still be pressed;
// closed says that one cannot.
func (c *chats) cards(in record.Input) (open []record.Post, closed bool) {
	for _, p := range c.list() {
		switch {
		case p.Chat != in.Chat || !record.IsAbout(p, in):
		case record.IsCard(p.Buttons):
			open = append(open, p)
		default:
			closed = true
		}
	}
	return open, closed
}

// decide presses under a message that asks, in each life once or twice, as the
// person's habit is. push presses one button. It reports whether the decision
// was taken.
func (c *chats) decide(in record.Input, push func(p record.Post, label, by string)) (done bool) {
	open, closed := c.cards(in)
	press := func(p record.Post, label, by string) {
		c.s.recordPress(in.Key, label, by)
		push(p, label, by)
	}
	if closed || c.answered(in.Gate) {
		c.decideLate(in, press)
		return true
	}
	habit := habitOf(in.Key)
	if len(open) == 0 || c.pressed[in.ID] && (habit != twice || c.pressed["again "+in.ID]) {
		return false
	}
	p, again := open[record.Hash(in.ID)%len(open)], c.pressed[in.ID]
	c.pressed[in.ID], c.pressed["again "+in.ID] = true, again
	if somebody := c.somebodyElse(in); habit == meddled && somebody != "" {
		press(p, record.Other(in.Key), somebody)
	}
	press(p, record.Choice(in.Key), in.From)
	return false
}

// decideLate presses another button when all is decided.
func (c *chats) decideLate(in record.Input, press func(p record.Post, label, by string)) {
	if habitOf(in.Key) != wavering || c.pressed["late "+in.ID] {
		return
	}
	c.pressed["late "+in.ID] = true
	for _, p := range c.list() {
		if p.Chat == in.Chat && record.IsAbout(p, in) {
			press(p, record.Other(in.Key), in.From)
			return
		}
	}
}

// somebodyElse is another person in the room of a decision; empty
// for none.
func (c *chats) somebodyElse(in record.Input) string {
	people := c.people[in.Chat]
	if i := slices.IndexFunc(people, func(who string) bool { return who != in.From }); i >= 0 {
		return people[i]
	}
	return ""
}

// habit is how a person presses, chosen by the hash of the subject.
type habit int

const (
	once     habit = iota
	twice          // and again while nothing seems to have happened
	wavering       // and another button after it, which is too late
	meddled        // after another person, who has no right to, pressed another one
)

func habitOf(key string) habit { return habit(record.Hash(key+" habit") % 4) }

// slow reports that a person decides only when nothing else happens.
func slow(key string) bool { return record.Hash(key+" pace")%3 == 0 }

// costs reports whether something asks about the cost of a question, or it has
// its answer.
func (c *chats) costs(in record.Input) bool {
	return c.answered(in.Gate) || slices.ContainsFunc(c.list(), func(p record.Post) bool { return record.CostCard(p, in) })
}

func (c *chats) costPending(in record.Input) bool {
	return slices.ContainsFunc(c.list(), func(p record.Post) bool { return record.CostCard(p, in) && record.IsCard(p.Buttons) })
}

// decideCost presses under each question about the cost of a task, once in each life
// or twice, by habit; when it is decided, some press another button. It reports
// whether the task is over.
func (c *chats) decideCost(in record.Input, push func(p record.Post, label, by string)) (done bool) {
	for _, p := range c.list() {
		if !record.CostCard(p, in) {
			continue
		}
		label, other := record.AnswerAbout(in, p.Asked)
		key, habit := in.ID+" "+p.ID, habitOf(in.Key)
		open := record.IsCard(p.Buttons)
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
		if somebody := c.somebodyElse(in); habit == meddled && somebody != "" {
			push(p, other, somebody)
		}
		c.s.recordPress(p.Card, label, in.From)
		push(p, label, in.From)
		if habit == twice {
			push(p, label, in.From)
		}
	}
	return c.answered(in.Gate)
}

// forgetPresses lets an input be done again.
func (c *chats) forgetPresses(in record.Input) {
	for key := range c.pressed {
		if strings.HasPrefix(key, in.ID+" ") {
			delete(c.pressed, key)
		}
	}
}
