package judge

import (
	"slices"
	"time"

	"legwork/internal/test/harness/record"
)

// RuleTidy is broken by anything unfinished in a chat at the end.
const RuleTidy = "tidy" // no board with Stop, no question, no stream, no preview, no delivery that was not confirmed

// chatRecord sorts the messages of the bot: answers become events, as stdout
// tells them in the terminal; what should not be there any more is held against
// what a kill can have hidden.
func (j *judge) chatRecord() {
	if j.r.Client != record.Telegram && j.r.Client != record.Slack && j.r.Client != record.Web {
		return
	}
	for _, d := range j.r.Unconfirmed {
		j.violated(RuleTidy, "never confirmed: %s", d)
	}
	boards := make([]int, len(j.r.Lives)) // that were left, and questions, by life
	for _, p := range j.r.Posts {
		life := j.lifeAt(p.Posted)
		if p.Live || slices.Contains(p.Buttons, record.StopLabel) || record.IsCard(p.Buttons) {
			switch {
			case j.r.Client == record.Telegram && p.Torn:
				j.Orphans++
			case j.r.Client == record.Telegram && !p.Live && j.killedAfter(life, p.Posted):
				boards[life]++
				j.Orphans++
			default:
				j.violated(RuleTidy, "in %s there is still %q with the buttons %q", p.Chat, p.Text, p.Buttons)
			}
			continue
		}
		if id, ok := record.AnswerOf(p, j.r.Inputs); ok && p.File == nil {
			j.r.Events = append(j.r.Events, record.Event{
				At: p.At, Life: j.lifeAt(p.At), Type: "answer", Task: "task of " + id, Chat: p.Chat, Text: p.Text, Question: id, Post: p,
			})
		}
	}
	for i, l := range j.r.Lives {
		j.Left[i] += boards[i]
		if free := unstoredMessages(l); len(l.Hits) > 0 && boards[i] > max(0, free) {
			j.violated(RuleTidy, "%d boards and questions of life %d were left, but only %d were not stored as sent", boards[i], i, free)
		}
	}
	slices.SortStableFunc(j.r.Events, func(a, b record.Event) int { return a.At.Compare(b.At) })
}

// unstoredMessages is how many messages a life may have sent whose ids it did not store.
func unstoredMessages(l record.Life) int {
	return unstoredQuestions(l) + record.Count(l, "post.before.answer") + record.Count(l, "post.before.board") - record.Count(l, "keep.after.answer") - record.Count(l, "keep.after.board")
}

// lifeAt is the life whose effect was seen at that time: the next one begins
// when all is there that the one before had sent.
func (j *judge) lifeAt(at time.Time) int {
	life := 0
	for i, l := range j.r.Lives {
		if at.After(l.Start) {
			life = i
		}
	}
	return life
}

// answeredAgain judges an answer that came after another one to the same question: on
// Telegram the window between sending and storing allows it, and an answer of
// the platform that was lost; in Slack every message can be found again, and in the browser none is posted twice.
func (j *judge) answeredAgain(in record.Input, before record.Event) bool {
	switch {
	case j.r.Client == record.Slack, j.r.Client == record.Web:
		j.violated(RuleOnce, "%s has two answers in %s", in.ID, before.Chat)
		return false
	case before.Post.Torn:
		j.Torn++
		return false
	case !j.killedAfter(before.Life, before.Post.Posted):
		j.violated(RuleOnce, "%s was answered again, and no kill fell right after the answer of life %d", in.ID, before.Life)
		return false
	}
	return true
}
