package planner

import (
	"encoding/json"
	"time"

	"legwork/bot"
	"legwork/llm"
)

// EventType says what happened.
type EventType string

// The events of a journal. "Of an action" means that Event.Action names it and
// that the event is taken only while Todo lists that action.
const (
	Opened   EventType = "opened"   // first of every journal: the goal and everything later folds read
	Released EventType = "released" // the conversation's earlier tasks let this one go on
	Replied  EventType = "replied"  // of a model action: a usable reply
	Garbled  EventType = "garbled"  // of a model action: a reply that must be given back with a reason
	Broke    EventType = "broke"    // of a model or show action: no attempt succeeded
	Started  EventType = "started"  // of a tool action that must not run twice
	Returned EventType = "returned" // of a tool action: its result, or why there is none
	Asked    EventType = "asked"    // of a tool action: a person must decide first
	Decided  EventType = "decided"  // of an ask action: what the person decided
	Said     EventType = "said"     // guidance from a person or another agent
	Unsaid   EventType = "unsaid"   // guidance is taken back before anything heeded it
	Set      EventType = "set"      // the shared state was changed from outside
	Stopped  EventType = "stopped"  // a person wants it to end
	Expired  EventType = "expired"  // the time of Deadline has come
	Overdrew EventType = "overdrew" // a budget is reached
	Began    EventType = "began"    // of a model action: its first words go out; of a show slot: about to be sent
	Shown    EventType = "shown"    // of a show slot: it was sent
	Resumed  EventType = "resumed"  // a driver took the task up again, or had no room for it before: the time since the last event was nobody's work
)

// Event is one entry of a journal. Exactly the body that belongs to its Type
// is set. Seq counts from 1 without gaps and is given by the store.
type Event struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Type   EventType `json:"type"`
	Action string    `json:"action,omitempty"`
	By     string    `json:"by,omitempty"` // person's key, "agent:NAME", or empty for legwork itself

	Opening  *Opening                   `json:"opening,omitempty"`
	Reply    *Reply                     `json:"reply,omitempty"`
	Problem  *Problem                   `json:"problem,omitempty"` // garbled, broke
	Result   *Result                    `json:"result,omitempty"`
	Question *Question                  `json:"question,omitempty"`
	Decision *Decision                  `json:"decision,omitempty"`
	Text     string                     `json:"text,omitempty"`    // said
	Message  string                     `json:"message,omitempty"` // said, decided: platform id of the message; shown: id of what was sent
	Of       int                        `json:"of,omitempty"`      // unsaid: seq of the guidance
	Instead  string                     `json:"instead,omitempty"` // shown: id of the slot's earlier message, whose place Message takes
	Values   map[string]json.RawMessage `json:"values,omitempty"`  // set: null deletes
	Budget   string                     `json:"budget,omitempty"`  // overdrew: key of the budget that is reached
	Slot     string                     `json:"slot,omitempty"`    // began, shown: "board" or "answer.1"
	Last     bool                       `json:"last,omitempty"`    // shown: nothing of the outcome is left to show
}

// Opening is the body of Opened.
type Opening struct {
	Goal     string     `json:"goal"`
	Chat     bot.Chat   `json:"chat"`
	From     bot.Person `json:"from"`
	Message  string     `json:"message,omitempty"` // platform id of the asking message
	Language string     `json:"language"`          // of the texts: en, zh, ru
	Timezone string     `json:"timezone"`          // IANA name
	Limits   Limits     `json:"limits"`
	Queued   bool       `json:"queued,omitempty"`  // set by the store: waits for Released before its first decision
	Preview  bool       `json:"preview,omitempty"` // a person decides about the first plan before anything runs
	Model    string     `json:"model,omitempty"`   // configured model that the person has chosen; empty for the usual ones
}

// Limits bound one task. They are written into its Opening, so that a change
// of the config never changes an old journal.
type Limits struct {
	Rounds      int           `json:"rounds"`
	Subtasks    int           `json:"subtasks"`
	Parallel    int           `json:"parallel"`
	Turns       int           `json:"turns"`
	Garbles     int           `json:"garbles"`      // refused replies in a row before giving up
	TaskTimeout time.Duration `json:"task_timeout"` // working time
	AnswerTime  time.Duration `json:"answer_time"`  // for the closing answer after it
}

// DefaultLimits are those of a config that names none: six rounds of twelve
// sub-tasks.
func DefaultLimits() Limits {
	return Limits{Rounds: 6, Subtasks: 12, Parallel: 6, Turns: 20, Garbles: 2, TaskTimeout: 15 * time.Minute, AnswerTime: 2 * time.Minute}
}

// Reply is the body of Replied: what a model said, read already.
type Reply struct {
	Text   string    `json:"text,omitempty"`
	Plan   []Subtask `json:"plan,omitempty"`
	IsPlan bool      `json:"is_plan,omitempty"` // an empty Plan with IsPlan means that nothing is left to do
	Queued bool      `json:"queued,omitempty"`  // set by the store: the plan waits for Released
	Calls  []Call    `json:"calls,omitempty"`
	Usage  llm.Usage `json:"usage,omitzero"`
	Model  string    `json:"model,omitempty"`
}

// Subtask is one entry of a plan after it was read and its dependencies were
// resolved. Ids are qualified by round: "2/a".
type Subtask struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"` // tool group or llm_tool
	Description string   `json:"description"`
	After       []string `json:"after,omitempty"` // qualified ids
}

// Call is one tool call of a sub-task's model turn. Either Tool is set, or one
// of the machine's own tools, or Refusal.
type Call struct {
	ID        string    `json:"id"`   // the model's id of the call, unique within its turn
	Name      string    `json:"name"` // as the model wrote it
	Arguments string    `json:"arguments"`
	Tool      string    `json:"tool,omitempty"`    // "server.tool"
	Refusal   string    `json:"refusal,omitempty"` // why it is not made: unknown tool, unreadable arguments
	Update    *Update   `json:"update,omitempty"`
	Read      *Read     `json:"read,omitempty"`
	Ask       *Question `json:"ask,omitempty"`
	Delegate  *Subtask  `json:"delegate,omitempty"` // ID and After are given by the fold
}

// Update is a call of the machine's tool update_state.
type Update struct {
	Values map[string]json.RawMessage `json:"values"`
}

// Read is a call of the machine's tool read_result.
type Read struct {
	Result int `json:"result"` // seq of the event that holds it
	Offset int `json:"offset"` // in bytes
}

// Problem is the body of Garbled and Broke.
type Problem struct {
	Code   string    `json:"code"`             // key of the sentence for people
	Reason string    `json:"reason,omitempty"` // garbled: for the model; broke: for operators
	Text   string    `json:"text,omitempty"`   // garbled: what the model had written, shortened
	Usage  llm.Usage `json:"usage,omitzero"`
}

// Result is the body of Returned.
type Result struct {
	Text    string `json:"text"`
	Failed  bool   `json:"failed,omitempty"`  // the text says what went wrong
	Unknown bool   `json:"unknown,omitempty"` // it was started and its outcome is not known
	Bytes   int    `json:"bytes,omitempty"`   // of the whole result when Text had to be cut
	Show    int    `json:"show,omitempty"`    // how many bytes of Text go to the model at first
}

// Question is something a person must decide: the body of Asked, and an
// ask_person call.
type Question struct {
	Text    string    `json:"text"`
	Choices []string  `json:"choices,omitempty"`
	Hash    string    `json:"hash,omitempty"` // of server, tool, definition and arguments: binds an approval
	Expires time.Time `json:"expires,omitzero"`
}

// Decision is the body of Decided.
type Decision struct {
	Approve bool   `json:"approve,omitempty"`
	Text    string `json:"text,omitempty"`   // the answer, or why not
	Queued  bool   `json:"queued,omitempty"` // set by the store: the plan that is agreed to waits for Released
}
