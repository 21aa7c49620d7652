package planner

import "time"

// Work is a sub-task as the machine sees it.
type Work struct {
	ID         string // "2/a"
	Name       string // tool group or llm_tool
	Source     int    // seq of the event that describes it
	Index      int    // of its description in that event: plan entry, or call when Parent is set
	Round      int
	Parent     *Place // the call that delegated it; nil for an entry of a plan
	After      []int  // indexes of the sub-tasks whose results it needs
	State      SubState
	Why        string // failed: key of the reason
	Turns      []Turn
	Tries      int   // unusable replies of the current turn
	BadReplies []int // their seqs
	EndSeq     int   // seq of the event that ended it
	StartedAt  time.Time
	EndedAt    time.Time
}

// SubState is the state of a sub-task, as people and programs read it.
type SubState string

// The states of a sub-task.
const (
	SubTodo    SubState = "todo"
	SubWorking SubState = "working"
	SubWaiting SubState = "waiting"
	SubDone    SubState = "done"
	SubFailed  SubState = "failed"
	SubSkipped SubState = "skipped"
)

// Ended reports whether nothing more will happen to a sub-task in this state.
func (s SubState) Ended() bool { return s == SubDone || s == SubFailed || s == SubSkipped }

// Turn is one reply of a sub-task's model that called tools.
type Turn struct {
	Seq   int
	Calls []CallState
}

// CallState is one tool call of a turn.
type CallState struct {
	Kind     CallKind
	Step     CallStep
	Attempt  int
	Result   int // seq of the event that ended it
	Child    int // CallDelegate: index of the sub-task
	Asked    int // seq of the last question about it; 0 for none
	Allowed  bool
	Approved int       // Allowed: seq of the question that was agreed to
	Expires  time.Time // of the last question: when it lapses; zero for never

	Elicited int  // seq of the last question of the server; 0 for none
	Fields   int  // StepAsked, by the server: how many answers it wants; 0 for an approval
	Field    int  // StepAsked, by the server: how many it has
	Live     bool // StepAsked, by the server: the call is under way and waits
	Ran      bool // Live: it was started, and must not be started again

	Reviewed int // update_state that asked for a review: seq of what ended it

	Version int              // get_state, update_state: of the shared state after the call
	Shared  map[string]Value // get_state: the shared state that it read, as in State
}

// lapses is when the call's question lapses; zero when none is open, or never.
func (c *CallState) lapses() time.Time {
	if c.Step == StepAsked || c.Kind == CallAsk && c.Step == StepOpen {
		return c.Expires
	}
	return time.Time{}
}

// CallKind says who resolves a call.
type CallKind uint8

// The kinds of call.
const (
	CallTool     CallKind = iota // a server
	CallInstant                  // the fold: refused, get_state, update_state, read_result
	CallAsk                      // a person, by ask_person
	CallDelegate                 // a sub-task
	CallTooMany                  // nobody: a limit of the task is reached
	CallGuarded                  // nobody: what a person decides about the shared state nobody else writes
)

// CallStep says how far a call is.
type CallStep uint8

// The steps of a call.
const (
	StepOpen    CallStep = iota // wanted
	StepAsked                   // a person must allow it, or answer its server, first
	StepStarted                 // started, and must not be started again
	StepDone
)

// Place is a call's position: sub-task, turn and call, all indexes.
type Place struct{ Subtask, Turn, Call int }
