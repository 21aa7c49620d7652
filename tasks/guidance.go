package tasks

import (
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
)

// recent remembers the tasks that the questions of the batch at hand go to.
type recent struct{ tasks []opened }

type opened struct {
	id   ID
	from string
	chat string
	at   time.Time // when the question was sent
}

// of returns those of a message's author in its chat, oldest first.
func (r *recent) of(m bot.Message) []opened {
	var list []opened
	for _, t := range r.tasks {
		if t.from == m.From.Key() && t.chat == m.Chat.Key() {
			list = append(list, t)
		}
	}
	return list
}

// prompt is how long ago a message was sent at most that is taken for a part
// of a question which came just before it: those of an outage come all at once.
const prompt = 10 * time.Second

// guided finds the running task that a plain message speaks to: one to whose
// messages it replies, one that its author opened within the last second, or,
// in a private chat, one that works by a plan.
func (in *Inbox) guided(m bot.Message, sent, now time.Time, live []liveTask, fresh *recent) ID {
	for _, t := range live {
		if !t.state.Settled() && t.speaks(m.ReplyTo) && in.steers(m, t) {
			return t.Task
		}
	}
	for _, t := range slices.Backward(fresh.of(m)) {
		if sent.Sub(t.at) < burst {
			return t.id
		}
	}
	for _, t := range slices.Backward(live) {
		if t.From.Key() != m.From.Key() || t.state.Settled() {
			continue
		}
		if t.state.Round == 0 && now.Sub(t.state.Opened) < burst && now.Sub(sent) < prompt {
			return t.Task
		}
		if t.state.Round > 0 && m.Chat.Private {
			return t.Task
		}
	}
	return ""
}

// steers reports that a message's author may steer a task.
func (in *Inbox) steers(m bot.Message, t liveTask) bool {
	return t.From.Key() == m.From.Key() || slices.Contains(in.Admins, m.From.Key())
}

// speaks reports that the task sent the message of that id.
func (t liveTask) speaks(message string) bool {
	return message != "" && slices.ContainsFunc(t.state.Slots, func(s planner.Slot) bool { return s.Message == message })
}
