// Package judge looks for broken promises in the record of a run of the crash
// harness. A kill excuses only what it can have caused: judge counts that from
// the failpoints that the killed process had passed.
package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
	"legwork/planner"
)

// killWindow is how long before a kill legwork may have sent something whose storing
// the kill prevented: commits on a slow disk, a busy machine. A stronger bound
// is the number of events that a life stored, from its log of failpoints: no
// more can be repeated than were not stored.
const killWindow = 2 * time.Second

// lostWindow is how long legwork works on without its database, with the time that
// it takes to end.
const lostWindow = 10 * time.Second

// The rules.
const (
	RuleEnds      = "ends"           // the last life ends by itself with exit code 0, the others by a kill or by themselves
	RuleProtocol  = "protocol"       // no invalid prompt, no garbage or error on stdout
	RuleAnswered  = "answered"       // every question gets an answer
	RuleOnce      = "once"           // only one, or a second one when a kill fell right after the first
	RuleContent   = "content"        // an answer has all results of its tools, and nothing of another question
	RuleChat      = "chat"           // an answer is in the conversation of its question
	RuleOrder     = "order"          // within a conversation decisions and plain answers keep the order
	RuleHistory   = "history"        // each decision sees the plain answers before it
	RuleGuidance  = "guidance"       // guidance is in exactly one answer
	RuleBookOnce  = "book once"      // a call that must not run twice never does
	RuleToolOnce  = "tool once"      // no call is repeated after its result was stored
	RuleModelOnce = "one model call" // no model call is repeated after its reply was stored: a kill costs those in flight
)

// Violation is one broken promise.
type Violation struct {
	Rule string
	Text string
}

func (v Violation) String() string { return v.Rule + ": " + v.Text }

// Verdict is the result of judging one run.
type Verdict struct {
	Violations []Violation
	Answers    int
	Doubles    int   // answers that came twice, in the window that allows it
	Torn       int   // likewise, because the platform's reply to the first was lost
	Orphans    int   // boards that stay as they were, for the same reasons
	CardsAgain int   // questions that came twice, likewise
	Overdrawn  int   // questions about costs
	Unknown    int   // calls of book and pay whose outcome a kill hid
	LostModel  []int // model calls that were made again, per kill
	LostTools  int   // tool calls that were made again, all kills
	Doubled    []int // of Doubles, by the life that showed the first
	Left       []int // of Orphans and CardsAgain, by the life that showed them
	Files      int   // files that were made and came
	FilesAgain int   // of them came again, in the window that allows it
	FilesTorn  int   // likewise, because the platform's reply was lost
	MediaAgain int   // pictures, recordings and transcriptions that were paid again
}

// Check looks for broken promises in the record of a run.
func Check(r record.Record) Verdict {
	j := &judge{r: r, answers: map[string][]record.Event{}, asked: exchanges(r.Model)}
	j.Doubled, j.Left = make([]int, len(r.Lives)), make([]int, len(r.Lives))
	j.ends()
	j.protocol()
	j.chatRecord()
	j.sort()
	for _, in := range r.Inputs {
		switch {
		case in.Kind == record.Guidance && j.guidanceTaken(in):
			j.guidance(in)
		case in.Question():
			j.answered(in)
		case in.Kind == record.Forget:
			j.forgotten(in)
		}
	}
	j.doubles()
	(&peopleJudge{j}).people()
	j.paused()
	j.fired()
	for _, damage := range r.Damage {
		j.violated(RuleData, "%s", damage)
	}
	j.order()
	j.tools()
	j.models()
	j.ledger()
	j.budgets()
	(&programJudge{j}).programs()
	(&fileJudge{j}).files()
	return j.Verdict
}

type judge struct {
	Verdict
	r       record.Record
	answers map[string][]record.Event // by id of the question
	asked   []exchange                // of the model, in order
}

func (j *judge) violated(rule, format string, a ...any) {
	j.Violations = append(j.Violations, Violation{rule, fmt.Sprintf(format, a...)})
}

func (j *judge) ends() {
	for i, life := range j.r.Lives {
		last := i == len(j.r.Lives)-1
		switch {
		case life.Lost && !last:
		case life.Hung:
			j.violated(RuleEnds, "life %d did not end in time", i)
		case !life.Killed && life.Exit == 1 && j.budgetReached(""): // chat exits with 1 when its last question got no answer
		case !life.Killed && life.Exit != 0:
			j.violated(RuleEnds, "life %d ended with exit code %d", i, life.Exit)
		case last && life.Cut():
			j.violated(RuleEnds, "the last life was cut off: the run is not complete")
		}
	}
}

func (j *judge) protocol() {
	for _, e := range j.r.Model {
		if e.Event == llmfake.EventRefused {
			j.violated(RuleProtocol, "the model endpoint refused a request: %s", e.Problem)
		}
	}
	for _, rude := range j.r.Misuse {
		j.violated(RuleProtocol, "a platform or a server says: %s", rude)
	}
	for _, e := range j.r.Events {
		// A kill may cut the last line; it may not cut any other.
		cut := j.r.Lives[e.Life].Cut() && j.isLast(e)
		if (e.Bad || e.Type == "error") && !cut {
			j.violated(RuleProtocol, "stdout said %q", e.Line)
		}
	}
}

func (j *judge) isLast(e record.Event) bool {
	var last record.Event
	for _, other := range j.r.Events {
		if other.Life == e.Life {
			last = other
		}
	}
	return last.Line == e.Line
}

// sort assigns every answer to the question whose mark it begins with.
func (j *judge) sort() {
	for _, e := range j.r.Events {
		if e.Type == "answer" && !e.Bad {
			id := e.About()
			if e.Question != "" {
				id = e.Question
			}
			j.answers[id] = append(j.answers[id], e)
			j.Answers++
		}
	}
}

func (j *judge) answered(in record.Input) {
	answers := j.answers[in.ID]
	if len(answers) == 0 {
		j.violated(RuleAnswered, "%s (%q) got no answer", in.ID, in.Text)
		return
	}
	for i, a := range answers {
		if a.Failed && !record.EndedEarly(in, j.r.Inputs) {
			j.violated(RuleContent, "the answer of %s says that it failed: %q", in.ID, a.Text)
		}
		if a.Chat != in.Chat {
			j.violated(RuleChat, "%s was asked in %q and answered in %q", in.ID, in.Chat, a.Chat)
		}
		// In chats, an earlier message is only checked against the window: it may be
		// the first words of the later one.
		if !record.EndedEarly(in, j.r.Inputs) && (a.Question == "" || i == len(answers)-1) {
			j.content(in, a)
		}
		if i == 0 {
			continue
		}
		if a.Question != "" {
			if j.answeredAgain(in, answers[i-1]) {
				j.Doubles++
				j.Doubled[answers[i-1].Life]++
			}
			continue
		}
		if !j.killedAfter(answers[i-1].Life, answers[i-1].At) || a.Life == answers[i-1].Life {
			j.violated(RuleOnce, "%s was answered again in life %d, and no kill fell right after the answer of life %d", in.ID, a.Life, answers[i-1].Life)
			continue
		}
		j.Doubles++
		j.Doubled[answers[i-1].Life]++
	}
}

// forgotten looks for the reply to the wish that a conversation be deleted.
func (j *judge) forgotten(in record.Input) {
	if !slices.ContainsFunc(j.r.Posts, func(p record.Post) bool { return p.Chat == in.Chat && record.SaysForgotten(p.Text) }) {
		j.violated(RuleAnswered, "no message says that %s was forgotten", in.Chat)
	}
}

// doubles compares the answers that came twice with those that the killed lives had
// sent and not stored as sent.
func (j *judge) doubles() {
	sent := map[int]int{}
	for _, e := range j.r.Events {
		if e.Type == "answer" {
			sent[e.Life]++
		}
	}
	for i, l := range j.r.Lives {
		free := sent[i] - passed(l, planner.Sent) + record.Count(l, "post.after.file") // whose messages are recorded as well
		if j.r.Client == record.Telegram {
			free = unstoredMessages(l)
		}
		if len(l.Hits) > 0 && j.Doubled[i] > max(0, free) {
			j.violated(RuleOnce, "%d answers of life %d came again, but only %d of %d were not stored as sent", j.Doubled[i], i, free, sent[i])
		}
	}
}

// killedAfter reports whether the life was killed so soon after the moment
// that what happened then may not have been stored. Nothing is stored while the
// database cannot be reached.
func (j *judge) killedAfter(life int, at time.Time) bool {
	l := j.r.Lives[life]
	if !l.Cut() {
		return false
	}
	from := l.End.Add(-killWindow)
	if l.Lost {
		from = from.Add(-lostWindow)
	}
	for _, o := range slices.Backward(j.r.Outages) {
		if begin := o.From.Add(-killWindow); begin.Before(from) && o.From.Before(l.End) && o.To.After(from) {
			from = begin
		}
	}
	return at.After(from)
}

func (j *judge) content(in record.Input, a record.Event) {
	if j.shortened(in, a) {
		return
	}
	for _, round := range llmfake.ReadQuestion(in.Text).Rounds {
		for _, part := range round {
			tool, _, _ := strings.Cut(part, " ")
			task := in.ID + " " + part
			switch {
			case strings.HasPrefix(part, "make "):
				if !strings.Contains(a.Text, part+": made") {
					j.violated(RuleContent, "the answer of %s says of %q something else than that it was made: %q", in.ID, part, a.Text)
				}
			case !slices.Contains(record.Tools, tool):
				if !strings.Contains(a.Text, part) {
					j.violated(RuleContent, "the answer of %s lacks %q: %q", in.ID, part, a.Text)
				}
			case strings.Contains(a.Text, record.Output(tool, task)):
			case risky(tool) && record.Choice(task) != record.LabelDeny && j.cutOff(task):
			default:
				j.violated(RuleContent, "the answer of %s lacks the result of %q: %q", in.ID, task, a.Text)
			}
		}
	}
	if in.File != nil && !j.cuts(in) && !strings.Contains(a.Text, in.File.Says) {
		j.violated(RuleContent, "the answer of %s lacks what stands in its file, %q: %q", in.ID, in.File.Says, a.Text)
	}
	for _, other := range j.r.Inputs {
		if other.Question() && other.ID != in.ID && strings.Contains(a.Text, "["+other.ID+"]") {
			j.violated(RuleContent, "the answer of %s speaks of %s: %q", in.ID, other.ID, a.Text)
		}
	}
}

// cuts reports that the prompt of an answer may be cut to what the budget has left. The
// closing answer never asks for more, and one that makes files takes several calls.
func (j *judge) cuts(in record.Input) bool {
	return j.r.Budget != (record.Budget{}) && len(in.Makes()) > 0
}

// shortened reports that the prompt of an answer was cut.
func (j *judge) shortened(in record.Input, a record.Event) bool {
	return j.cuts(in) && strings.Contains(a.Text, "[…]")
}

// cutOff reports whether a kill can have hidden the outcome of a risky call:
// it fell after the call was made and before the model was told its result, or
// between the mark that the call starts and the call itself.
func (j *judge) cutOff(task string) bool {
	var called record.Call
	wanted := len(j.r.Lives) // the life in which the model wanted the call
	for _, x := range j.asked {
		if x.step == llmfake.StepWork && x.id == task && x.results == 0 && x.delivered {
			wanted = min(wanted, x.life)
		}
	}
	calls := make([]int, len(j.r.Lives)) // risky ones
	for _, c := range j.r.Calls {
		if !risky(c.Tool) {
			continue
		}
		calls[c.Life]++
		if c.Text == task {
			called = c
		}
	}
	if called.Text != "" {
		l := j.r.Lives[called.Life]
		return l.Cut() && !j.reported(task, called.At, l.End)
	}
	for i, l := range j.r.Lives {
		if l.Cut() && i >= wanted && record.Begun(l, string(planner.Started)) > calls[i] {
			return true
		}
	}
	return false
}

// RuleData is broken by data, or a backup, that cannot be read whole.
const RuleData = "data"
