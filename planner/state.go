package planner

import (
	"slices"
	"strings"
	"time"

	"legwork/llm"
)

// Phase is the phase of a task. Only Working holds sub-tasks that go on.
type Phase string

// The phases in the order a task passes them; rounds repeat deciding and working.
const (
	PhaseQueued    Phase = "queued"    // waits for Released
	PhaseDeciding  Phase = "deciding"  // a model plans, reviews, or answers at once
	PhaseProposed  Phase = "proposed"  // a person decides about the plan (Opening.Preview)
	PhaseWorking   Phase = "working"   // sub-tasks run
	PhaseAnswering Phase = "answering" // a model writes the closing answer
	PhaseShowing   Phase = "showing"   // the outcome is on its way to the chat
	PhaseOver      Phase = "over"      // nothing is wanted any more
	PhaseShared    Phase = "shared"    // agents from outside work (Opening.External); the only one before Showing
)

// Outcome is how a task ended; empty while it is open.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Halted  Outcome = "stopped"
	Pending Outcome = ""
)

// Reasons for an early end that the fold itself finds; others are the codes of
// Problem. They are keys of texts.
const (
	ReasonStopped    = "stopped"
	ReasonExpired    = "expired"
	ReasonBudget     = "budget"
	ReasonRounds     = "rounds"
	ReasonUnreadable = "plan_unreadable"
	ReasonTurns      = "turns"
	ReasonUnusable   = "garbage"
	ReasonReview     = "review"  // no decision about a review came in time
	ReasonFiles      = "files"   // the question is nothing but files, and none can be read
	ReasonIdle       = "idle"    // agents from outside have left it alone for too long
	ReasonDropped    = "dropped" // of no event: the store has given it up
)

// LLMTool is the name of the group that has no tools: the model alone.
const LLMTool = "llm_tool"

// State is the fold of a journal. It holds sequence numbers in place of
// bodies, so that it stays small. A State is a value: Apply never changes the
// one it is given.
type State struct {
	Seq     int // of the last event folded; 0 before any
	Phase   Phase
	Outcome Outcome
	Reason  string // key of what cut the task short; empty for a plain end
	Limits  Limits

	Round        int   // plans taken so far
	Planned      []int // seqs of the events that hold them
	Subtasks     []Work
	Rejected     []int // seqs of first plans that a person wanted changed
	Dropped      int   // plans that were dropped because a part of the question came later
	Parts        []int // seqs of the further parts of the question
	Guidance     []int // seqs of guidance, without guidance that was taken back
	GuidanceSeen int   // how many of Guidance the last plan or reply has seen
	Notes        []int // seqs of the notes from outside
	NotesSeen    int   // how many of Notes the last plan has surely seen

	Cause      int   // seq of the event that the current decision follows; part of its id
	Tries      int   // unusable replies of the current decision
	BadReplies []int // their seqs
	Streamed   bool  // its first words are out

	Files        []Attached // that people sent, in the order of their coming
	WantsFile    bool       // the person wants a file, which the answer makes
	MadeSeqs     []int      // seqs of the results that hold files for the person
	ReturnedSeqs []int      // seqs of the results that hold files of tools
	Wordless     bool       // it is nothing but files so far

	PartsUntil time.Time // what the person sends until then is a part of the question

	Preview bool // a person decides about the first plan

	Review        int       // seq of the event that asked for the open review; 0 for none
	ReviewCall    *Place    // the call that asked for it; nil when that came from outside
	ReviewExpires time.Time // when the open review expires; zero for never
	Reviews       int       // how many there were

	Granted       []StandingGrant
	Tainted       int     // seq of the first result, or of the goal, that holds words of outsiders; 0 while there is none
	Private       Origins // where the private data that it holds came from
	PromptPending bool    // the goal is a server's prompt that is not written out yet
	PromptSeq     int     // seq of the event that holds it

	Answer         int              // seq of the event whose text is the answer; 0 for none
	FailedSeq      int              // seq of the last model call for all to read that failed; 0 for none
	CutOffSeq      int              // and of the last of these that had begun to write, or of CutOff; 0 for none
	Budget         string           // key of a budget that is reached and not yet extended
	BudgetSeq      int              // seq of BudgetReached while Budget is set
	Overdraft      Overdraft        // the body of BudgetReached, while Budget is set
	Extended       map[string]int64 // by how much people extended the task's own budgets, by key
	Shared         map[string]Value // the shared state by key; never written to, only replaced
	Version        int              // of the shared state: grows with each change
	ChangedVersion int              // the newest version that changed or deleted a key; those since have added some
	Changes        []int            // seqs of the events that changed it, one for each version
	Asks           int              // ask_person calls so far
	Reads          int              // of results of earlier tasks, so far
	Slots          []Slot
	Usage          llm.Usage // of all calls so far

	Opened time.Time
	Last   time.Time     // of the last event
	Used   time.Duration // working time since the limit that counts now began
	Worked time.Duration // working time in all: no downtime, no waiting for people
	Limit  time.Duration // working time allowed for the current stretch
}

// StandingGrant is a grant that holds for the rest of the task.
type StandingGrant struct {
	Seq int    // of the decision
	By  string // key of who decided
	Grant
}

// Slot is one message of the task in the chat.
type Slot struct {
	Name    string // "board", "answer.1"
	Message string // platform id; empty while it is only intended
}

// Labels are those of what the task has read so far, and so of its answer.
func (s *State) Labels() Labels { return Labels{Outside: s.Tainted > 0, Private: s.Private} }

// Finished reports that nothing is wanted any more.
func (s *State) Finished() bool { return s.Phase == PhaseOver }

// Settled reports that the outcome is known, shown or not.
func (s *State) Settled() bool { return s.Outcome != Pending }

// Queued reports that the task waits for Released.
func (s *State) Queued() bool { return s.Phase == PhaseQueued }

// Slot returns the slot of that name; its zero value when there is none.
func (s *State) Slot(name string) Slot {
	if i := slices.IndexFunc(s.Slots, func(slot Slot) bool { return slot.Name == name }); i >= 0 {
		return s.Slots[i]
	}
	return Slot{}
}

// SingleSubtask reports that the task consists of one sub-task whose last turn is the
// answer: its plan had one entry, and no guidance or note came that a review would
// have to see. After the answer's first words they are too late for it.
func (s *State) SingleSubtask() bool {
	return s.Round == 1 && len(s.Subtasks) == 1 && !s.WantsFile && s.GuidanceSeen == len(s.Guidance) &&
		(s.Streamed || s.Review == 0 && s.NotesSeen == len(s.Notes))
}

// GroupOf is the tool group of the sub-task that an action belongs to, or llm_tool;
// empty for an action of no sub-task, and for the closing answer.
func (s *State) GroupOf(id ActionID) string {
	for i := range s.Subtasks {
		if w := &s.Subtasks[i]; w.ID == id.Subtask && !w.Closing {
			return w.Name
		}
	}
	return ""
}

// PlannedSubtasks is how many sub-tasks there are, and how many of them have ended. The
// closing answer, which is one once it calls tools, does not count.
func (s *State) PlannedSubtasks() (all, ended int) {
	for _, w := range s.Subtasks {
		switch {
		case w.Closing:
		case w.State.Ended():
			all, ended = all+1, ended+1
		default:
			all++
		}
	}
	return all, ended
}

// closes reports that the closing answer calls tools.
func (s *State) closes() bool {
	return slices.ContainsFunc(s.Subtasks, func(w Work) bool { return w.Closing && !w.State.Ended() })
}

// HasResults reports that at least one sub-task has a result.
func (s *State) HasResults() bool {
	return slices.ContainsFunc(s.Subtasks, func(w Work) bool { return w.State == SubDone })
}

// Status is the task's state in the words of the API: queued, planning,
// working, waiting, answering, done, failed, stopped.
func (s *State) Status() string {
	switch {
	case s.Budget != "", s.Review > 0, s.Phase == PhaseProposed, s.asksGoal(), s.Phase == PhaseWorking && !busy(*s):
		return "waiting"
	}
	switch s.Phase {
	case PhaseDeciding:
		return "planning"
	case PhaseShared, PhaseWorking:
		if s.closes() {
			return "answering"
		}
		return "working"
	case PhaseShowing:
		return "answering"
	case PhaseOver:
		return string(s.Outcome)
	}
	return string(s.Phase)
}

// Fold applies a whole journal.
func Fold(events []Event) State {
	var s State
	for _, e := range events {
		s = Apply(s, e)
	}
	return s
}

// AnswerOf is the text of the event that State.Answer names: the reply of a model or
// of an agent from outside.
func AnswerOf(e Event) string {
	if e.Type == Answered {
		return e.Text
	}
	if e.Reply == nil {
		return ""
	}
	return e.Reply.Text
}

// ShownAnswer is AnswerOf as chats and the history show it.
func ShownAnswer(e Event) string {
	if e.Reply != nil && e.Reply.Shown != "" {
		return e.Reply.Shown
	}
	return AnswerOf(e)
}

// CutOffText is the beginning of the answer in the event that State.CutOffSeq names;
// empty where there is none.
func CutOffText(e Event) string {
	switch {
	case e.Type == CutOff:
		return e.Text
	case e.Problem != nil:
		return e.Problem.Text
	}
	return ""
}

// Settles tells the store whether e, which led from before to after, settled the
// task, or brought the answer of one that was stopped. Then text is its answer: empty where there is none, and its beginning where
// it was cut off. failed says that the task did not reach its goal.
func Settles(before, after State, e Event) (text string, failed, settled bool) {
	if (before.Settled() || !after.Settled()) && e.Type != CutOff {
		return "", false, false
	}
	if after.Answer == e.Seq {
		text = ShownAnswer(e)
	}
	if after.CutOffSeq == e.Seq {
		text = strings.TrimSpace(CutOffText(e)) + " […]"
	}
	return text, after.Outcome == Failed || after.CutOffSeq == e.Seq || text == "", true
}

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
	Reason     string // failed: key of the reason
	Turns      []Turn
	Tries      int   // unusable replies of the current turn
	BadReplies []int // their seqs
	EndSeq     int   // seq of the event that ended it
	Closing    bool  // it is the closing answer, which has called tools of the machine
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
	Task     int // seq of the event that holds the State by which it goes on at its server; 0 for none
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
	CallTooMany                  // the fold: a limit of the task is reached
	CallGuarded                  // the fold: it would change values that only a person may change
	CallMake                     // legwork itself, by make_file
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
