// Package steps reads the journal of a task as a list of steps: what ran when, what
// waited for what, and what the time and the tokens went to. It is a fold of the
// journal without clock and I/O.
package steps

import (
	"time"

	"legwork/llm"
	"legwork/planner"
)

// Kind says what a step does.
type Kind string

// The kinds of step.
const (
	KindPlan   Kind = "plan"   // a model plans
	KindReview Kind = "review" // a model judges the results
	KindWork   Kind = "work"   // a turn of a sub-task's model
	KindAnswer Kind = "answer" // a model writes the closing answer
	KindTool   Kind = "tool"   // a tool call, with all its attempts
	KindAsk    Kind = "ask"    // a person decides or answers
	KindFile   Kind = "file"   // a file that people sent is read
	KindShow   Kind = "show"   // the outcome is brought to the chat
	KindQueue  Kind = "queue"  // the task waits for an earlier one of its conversation
)

// Model reports that a model does the step.
func (k Kind) Model() bool {
	return k == KindPlan || k == KindReview || k == KindWork || k == KindAnswer
}

// People reports that the step is time in which the task waits.
func (k Kind) People() bool { return k == KindAsk || k == KindQueue }

// State is the state of a step.
type State string

// The states of a step.
const (
	Waiting   State = "waiting"   // wanted, but not running: a person or a budget comes first, or there is no room
	Running   State = "running"   // at work, or a person is being asked
	Done      State = "done"      // it has brought a result
	Failed    State = "failed"    // Error says why
	Cancelled State = "cancelled" // it was no longer wanted before it ended
)

// Ended reports that nothing more happens to a step in this state.
func (s State) Ended() bool { return s != Waiting && s != Running }

// Step is one action of a task.
type Step struct {
	ID      string // of its first attempt, as planner.ActionID writes it; of KindQueue: "queue SEQ"
	Kind    Kind
	Name    string // of a tool call: "server.tool"; of a question: what it is about; of a file: its name
	Subtask string // "1/a"; empty for a step of the whole task
	Group   string // of the sub-task
	Model   string // that replied
	State   State
	Error   string // failed: the key of the reason, as in planner.Problem, or "denied", "expired", "unknown", "tool"

	Wanted  time.Time     // when it became possible
	Started time.Time     // when it first ran; zero before
	Ended   time.Time     // zero before
	Took    time.Duration // how long it ran, until now while it runs
	Waited  time.Duration // from Wanted to Ended, without Took
	Usage   llm.Usage

	Reply    int           // seq of the event that began the turn of a tool call; 0 for others
	Since    int           // seq of the event that made its last attempt possible: what the attempt saw of the journal
	Seq      int           // seq of the event that ended it; 0 before
	After    int           // index of the step whose end made it possible; -1 for none
	Critical time.Duration // its part of the critical path

	action planner.ActionID // of the last attempt
	place  planner.Place    // of a tool call
	spans  []span
	held   time.Duration // it was wanted, and something else than a person came first
	heldAt time.Time
}

// Action returns the last attempt of the step.
func (s *Step) Action() planner.ActionID { return s.action }

// span is a time in which a step ran.
type span struct {
	from, to int // seqs of the events that began and ended it; to is 0 while it lasts
	at, end  time.Time
}

// Report is the steps of a task and the sums over them.
type Report struct {
	Steps []Step
	State planner.State // after the last event

	// Sums over all steps. Steps run beside each other, so that the sums may exceed the
	// time that has passed.
	Model, Tool, Waiting time.Duration
	// Path is the length of the critical path: the chain of steps, each of which made the
	// next one possible, that leads to the last step. Its parts are in PathModel,
	// PathTool and PathWaiting; the rest is reading files and showing the outcome.
	Path, PathModel, PathTool, PathWaiting time.Duration
}

// Of folds a whole journal. now ends the time of what still runs.
func Of(events []planner.Event, now time.Time) Report {
	r := recorder{events: events, open: map[planner.ActionID]int{}, calls: map[planner.ActionID]int{}, asked: map[int]bool{}, ends: map[int]place{}}
	for _, e := range events {
		r.add(e)
	}
	return r.report(now)
}
