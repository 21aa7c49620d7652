package harness

import "slices"

// settle notes who is in which room.
func (c *chats) settle(rooms []room) {
	c.people = map[string][]string{}
	for _, r := range rooms {
		c.people[r.name] = r.people
	}
}

// asks reports whether a decision can be made: something asks for it, or it is
// too late.
func (c *chats) asks(in Input) bool {
	open, closed := c.cards(in)
	return len(open) > 0 || closed || c.answered(in.Gate)
}

// cards are the messages that ask for a decision and can still be pressed;
// closed says that there is one that cannot.
func (c *chats) cards(in Input) (open []Post, closed bool) {
	for _, p := range c.list() {
		switch {
		case p.Chat != in.Chat || !isAbout(p, in):
		case isCard(p.Buttons):
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
func (c *chats) decide(in Input, push func(p Post, label, by string)) (done bool) {
	open, closed := c.cards(in)
	press := func(p Post, label, by string) {
		c.s.pushes(in.Key, label, by)
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
	p, again := open[hash(in.ID)%len(open)], c.pressed[in.ID]
	c.pressed[in.ID], c.pressed["again "+in.ID] = true, again
	if somebody := c.meddler(in); habit == meddled && somebody != "" {
		press(p, other(in.Key), somebody)
	}
	press(p, Choice(in.Key), in.From)
	return false
}

// decideLate presses another button when all is decided.
func (c *chats) decideLate(in Input, press func(p Post, label, by string)) {
	if habitOf(in.Key) != wavering || c.pressed["late "+in.ID] {
		return
	}
	c.pressed["late "+in.ID] = true
	for _, p := range c.list() {
		if p.Chat == in.Chat && isAbout(p, in) {
			press(p, other(in.Key), in.From)
			return
		}
	}
}

// meddler is somebody else in the room where a decision is to be made; empty
// for nobody.
func (c *chats) meddler(in Input) string {
	people := c.people[in.Chat]
	if i := slices.IndexFunc(people, func(who string) bool { return who != in.From }); i >= 0 {
		return people[i]
	}
	return ""
}
