package judge

import (
	"slices"
	"strings"
	"time"

	"legwork/internal/test/harness/record"
	"legwork/planner"
)

// peopleJudge holds the rules about people: cards, questions and payments.
type peopleJudge struct{ *judge }

// The rules about decisions.
const (
	RuleApproved  = "approved"   // a call that needs a yes is made only after one, with the arguments that were shown
	RuleTold      = "told"       // a server receives what the asked person pressed, and the card says the same
	RuleAskedOnce = "asked once" // a question is on the screen once, and not again after the decision
)

// risky reports whether a tool must not be called again.
func risky(tool string) bool { return tool == record.Book || tool == record.Pay }

// people judges questions and decisions.
func (j *peopleJudge) people() {
	again := make([]int, len(j.r.Lives)) // cards that came again, by the life of the one before
	for _, in := range j.r.Inputs {
		if in.Kind != record.Decide {
			continue
		}
		if j.r.Client == record.Telegram || j.r.Client == record.Slack || j.r.Client == record.Web {
			j.cards(in, again)
		} else {
			j.questions(in)
		}
		if record.ToolOf(in.Key) == record.Pay {
			j.paid(in)
		} else {
			j.elicited(in)
			j.elicitedOnce(in)
		}
	}
	for i, l := range j.r.Lives {
		j.Left[i] += again[i]
		if free := unstoredQuestions(l); len(l.Hits) > 0 && again[i] > max(0, free) {
			j.violated(RuleAskedOnce, "%d questions of life %d came again, but only %d were not stored as sent", again[i], i, free)
		}
	}
}

// unstoredQuestions is how many questions a life may have sent whose ids it did not
// store.
func unstoredQuestions(l record.Life) int {
	return record.Count(l, "post.before.question") - record.Count(l, "keep.after.question")
}

// cards looks at the messages that asked for a decision.
func (j *peopleJudge) cards(in record.Input, again []int) {
	var list []record.Post
	for _, p := range j.r.Posts {
		if record.IsAbout(p, in) {
			list = append(list, p)
		}
	}
	for i, p := range list {
		if p.Chat != in.Chat {
			j.violated(RuleChat, "%q was asked about in %q, not in %q", in.Key, p.Chat, in.Chat)
		}
		if !record.IsCard(p.Buttons) {
			j.says(in, p)
		}
		if i == 0 {
			continue
		}
		j.CardsAgain++
		switch before := list[i-1]; {
		case j.r.Client == record.Slack, j.r.Client == record.Web:
			j.violated(RuleAskedOnce, "%q was asked about twice in %s", in.Key, p.Chat)
		case before.Torn:
		case !j.killedAfter(j.lifeAt(before.Posted), before.Posted):
			j.violated(RuleAskedOnce, "%q was asked about again, and no kill fell right after life %d had done so", in.Key, j.lifeAt(before.Posted))
		default:
			again[j.lifeAt(before.Posted)]++
		}
	}
}

// says compares the text of a decided question with the decision.
func (j *peopleJudge) says(in record.Input, p record.Post) {
	want := map[string]string{record.LabelAllow: "Allowed once by", record.LabelDeny: "Denied by", record.LabelDecline: "Declined by"}[record.Choice(in.Key)]
	if want == "" {
		want = "Answered by"
	}
	if !strings.Contains(p.Text, want) && !stopped(in, j.r.Inputs) {
		j.violated(RuleTold, "about %q it says %q, want %q", in.Key, p.Text, want)
	}
}

// stopped reports whether somebody stops the task that asked for a decision.
func stopped(in record.Input, inputs []record.Input) bool {
	return record.EndedEarly(record.Input{ID: in.Gate}, inputs)
}

// questions looks at the questions on stdout: one in each life, none after the
// decision was taken.
func (j *peopleJudge) questions(in record.Input) {
	decided := time.Time{}
	lives := map[int]bool{}
	for _, e := range j.r.Events {
		switch {
		case e.Type == "accepted" && e.Message == in.ID && decided.IsZero():
			decided = e.At
		case e.Type != "question" || record.ButtonsOfCost(record.Labels(e.Buttons)) || !strings.Contains(e.Text, in.Key):
		case lives[e.Life]:
			j.violated(RuleAskedOnce, "%q was asked about twice in life %d", in.Key, e.Life)
		case !decided.IsZero():
			j.violated(RuleAskedOnce, "%q was asked about in life %d, after it had been decided", in.Key, e.Life)
		default:
			lives[e.Life] = true
		}
		if e.Type == "question" && !record.ButtonsOfCost(record.Labels(e.Buttons)) && strings.Contains(e.Text, in.Key) && e.Chat != in.Chat {
			j.violated(RuleChat, "%q was asked about in %q, not in %q", in.Key, e.Chat, in.Chat)
		}
	}
}

// paid compares the calls that need a yes with what was shown and pressed.
func (j *peopleJudge) paid(in record.Input) {
	for _, c := range j.r.Calls {
		if c.Tool != record.Pay || c.Text != in.Key {
			continue
		}
		switch {
		case record.Choice(in.Key) != record.LabelAllow:
			j.violated(RuleApproved, "%q was called in life %d, though it was denied", in.Key, c.Life)
		case !j.pressed(in, c.At):
			j.violated(RuleApproved, "%q was called in life %d before it was allowed", in.Key, c.Life)
		case !j.shown(in, c.At):
			j.violated(RuleApproved, "%q was called in life %d, and no person had been shown that", in.Key, c.Life)
		}
	}
}

// pressed reports whether the person who was asked had pressed their choice.
func (j *peopleJudge) pressed(in record.Input, before time.Time) bool {
	return slices.ContainsFunc(j.r.Presses, func(p record.Press) bool {
		return p.Key == in.Key && p.Label == record.Choice(in.Key) && p.By == in.From && p.At.Before(before)
	})
}

// shown reports whether exactly these arguments were shown.
func (j *peopleJudge) shown(in record.Input, before time.Time) bool {
	whole := `"order": "` + in.Key + `"`
	return slices.ContainsFunc(j.r.Posts, func(p record.Post) bool {
		return strings.Contains(p.Card, whole) && p.Posted.Before(before)
	}) || slices.ContainsFunc(j.r.Events, func(e record.Event) bool {
		return e.Type == "question" && len(e.Calls) == 1 && strings.Contains(e.Text, whole) && e.At.Before(before) &&
			strings.Join(strings.Fields(string(e.Calls[0].Arguments)), "") == strings.ReplaceAll(`{"order":"`+in.Key+`"}`, " ", "")
	})
}

// elicited compares the answers to a server with the presses.
func (j *peopleJudge) elicited(in record.Input) {
	want := strings.ToLower(record.Choice(in.Key))
	if want == strings.ToLower(record.LabelDecline) {
		want = ""
	}
	for _, t := range j.r.Elicitations {
		switch {
		case t.Key != in.Key || t.Event != record.ElicitationAnswered:
		case t.Value != want && !stopped(in, j.r.Inputs):
			j.violated(RuleTold, "about %q the server was told %q in life %d, want %q", in.Key, t.Value, t.Life, want)
		case !j.pressed(in, t.At) && !stopped(in, j.r.Inputs):
			j.violated(RuleTold, "about %q the server was told %q in life %d before anything was pressed", in.Key, t.Value, t.Life)
		}
	}
}

// elicitedOnce looks for asking calls that were made too often: until a person has
// answered they go on, or begin again after a restart.
func (j *peopleJudge) elicitedOnce(in record.Input) {
	var before []record.Call
	for _, c := range j.r.Calls {
		if c.Tool != record.Choose || c.Text != in.Key {
			continue
		}
		most := 1 // in one life
		if record.ToolOf(in.Key) == record.Inquire {
			most += j.countElicitations(in.Key, record.ElicitationAsked, c.Life)
		}
		same := 1
		for _, b := range before {
			if b.Life == c.Life {
				same++
			}
			if j.reported(in.Key, b.At, c.At) {
				j.violated(RuleToolOnce, "%q was called again in life %d after the model had been told its result", in.Key, c.Life)
			}
		}
		for _, t := range j.r.Elicitations {
			if t.Key == in.Key && t.Event == record.ElicitationDone && t.At.Before(c.At) && !j.killedAfter(t.Life, t.At) && !pending(j.r.Lives[t.Life], planner.Returned) {
				j.violated(RuleToolOnce, "%q was called again in life %d, long after it was done in life %d", in.Key, c.Life, t.Life)
			}
		}
		if same > most {
			j.violated(RuleToolOnce, "%q was called %d times in life %d, want at most %d", in.Key, same, c.Life, most)
		}
		before = append(before, c)
	}
}

// countElicitations counts the elicitations of a life; an empty key is all.
func (j *judge) countElicitations(key, event string, life int) int {
	n := 0
	for _, t := range j.r.Elicitations {
		if (key == "" || t.Key == key) && t.Event == event && t.Life == life {
			n++
		}
	}
	return n
}
