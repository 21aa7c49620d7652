// Package record holds what one run of the crash harness leaves behind: what
// people and programs did, what they saw, and what the model endpoint, the tool
// servers and the webhook received. Its functions read that: which question a
// post answers, which button belongs to a decision.
package record

import (
	"encoding/json"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/planner"
	"legwork/tasks"
)

// Record is all that one run left on the wires.
type Record struct {
	Seed         int64
	Inputs       []Input  // in the order of sending
	Lives        []Life   // of the process, in order
	Client       string   // Terminal, Telegram, Slack, API or Web
	Events       []Event  // of stdout, in order
	Posts        []Post   // messages of the bot in chats, at the end
	Misuse       []string // what the platform would call a bug of the client
	Unconfirmed  []string // deliveries that the bot never confirmed
	Model        []llmfake.Entry
	Calls        []Call               // of tools, in order
	Elicitations []Elicitation        // of people with tool servers, in order
	Presses      []Press              // of the buttons of questions, in order
	Damage       []string             // errors of reading the data and the backups at the end
	Ledger       []tasks.Spent        // at the end; nil: not read
	Budget       Budget               // of each task
	DoneAt       map[string]time.Time // when people did each input, by its id
	Disturbed    map[string]int       // how often the database was disturbed, by the kind
	Outages      []Outage             // of the database, in order
	Disk         Disk                 // at the end
	Saved        []Sent               // files in the folder of the terminal, at the end

	// Of API alone.
	Wire     []Request           // of programs, in the order of their replies
	Streamed []StreamEvent       // by streams, in order
	Webhooks []Webhook           // requests that the webhook got, in order
	Tasks    map[string][]string // ids that programs received, by the input
	Contexts map[string]Context  // at the end, by the task's id
	Listed   []Task              // all tasks in the end
	Uploads  []Upload            // that were answered with 201
	Made     map[string][]Sent   // files of contexts at the end, by the input
}

// Kind is what an Input is for.
type Kind string

// The kinds of Input.
const (
	Plain      Kind = "plain"       // answered at once
	Planned    Kind = "planned"     // needs sub-tasks
	Guidance   Kind = "guidance"    // sent while the planned question before it works
	Stop       Kind = "stop"        // a press of the planned question's button
	Decide     Kind = "decide"      // a press of a button under a question of the planned task
	Pause      Kind = "pause"       // an admin pauses everything while the planned question works
	DecideCost Kind = "decide cost" // presses under questions about the cost of the planned task
	Resume     Kind = "resume"      // an admin resumes, when all is calm
	Note       Kind = "note"        // an agent adds to the context while the planned question works
	Merge      Kind = "merge"       // an operator and an agent change the shared state of the planned question at once
	Review     Kind = "review"      // one person asks for a review of the planned question, another one reviews it
	Shared     Kind = "shared"      // two agents work on a context of their own
	Forget     Kind = "forget"      // a person deletes the conversation, when the question before it has its answer
)

// Input is one thing that a person does. Its ID is, for questions, the id that
// Brain finds in the text; the terminal takes it for the message's as well.
type Input struct {
	Kind  Kind
	ID    string
	Chat  string // the conversation, by the client's own name
	From  string // the person; empty in the terminal
	Text  string
	Apart bool   // asked by a command, beside the running task
	Fired bool   // asked by a schedule of the config, not by a person
	Place string // of Fired: the chat and the person as the config names them
	As    string
	// Gate is the id of a question that this input waits for; empty: none.
	// Guidance waits for its first sub-task, a question for its answer, a press
	// for its button.
	Gate string
	// Key is the subject of a decision: the description of the sub-task that asks,
	// such as "q2 pay beta"; of Resume, the id of its Pause.
	Key string
	// AfterGuidance is the id of guidance before it, of the same person, which must have
	// been taken: legwork joins messages that follow within a second.
	AfterGuidance string
	// Notify is where the outcome of a task that a program starts goes: "ops", the
	// webhook, or a room; empty: nowhere. Agent says that an agent starts it, by
	// MCP.
	Notify string
	Agent  bool
	// File goes along with a question; nil: none. The words of a voice message are Text.
	File *File
	// Extends says, of DecideCost, that the person extends budgets. Otherwise they
	// take the answer with what there is.
	Extends bool
}

// Question reports whether an answer is due.
func (in Input) Question() bool { return in.Kind == Plain || in.Kind == Planned }

// Starts reports whether an input makes a task.
func (in Input) Starts() bool { return in.Question() || in.Kind == Shared }

// Repeated reports whether an input is done in each life until it has taken
// effect, as people do who see that nothing happens.
func (in Input) Repeated() bool {
	return in.Kind == Stop || in.Decides() || in.Kind == Pause || in.Kind == Resume || in.Kind == Forget
}

// Decides reports whether an input waits for nothing but for what asks for it.
func (in Input) Decides() bool { return in.Kind == Decide || in.Kind == DecideCost }

// Post is one message of the bot that stands in a chat.
type Post struct {
	Chat    string // the conversation, by the name that Input uses; another name elsewhere
	ID      string
	Text    string            // as shown
	To      string            // the input that it replies to; empty: none
	Buttons []string          // labels
	Live    bool              // it still streams, or is a preview
	Torn    bool              // the platform took it, and the platform's reply got lost
	Card    string            // its text when it first asked for a decision; empty: it never did
	Asked   []string          // labels of its buttons then
	Data    map[string]string // of its buttons, by label
	Posted  time.Time         // when it was first seen
	At      time.Time         // when it got its present text
	File    *Sent             // that it shows; Text is its caption
}

// Life is one start of the process until its end.
type Life struct {
	Start, End time.Time
	Killed     bool     // by the harness or at a failpoint
	Point      string   // where the kill was planned: "name:n", or "random"
	Hits       []string // the failpoints it passed, in order
	Exit       int      // exit code, when it was not killed
	Hung       bool     // it did not end in time
	Lost       bool     // it ended by itself, because it lost its database or could not reach it
	AfterPause bool     // its kill fell soon after everything was paused
}

// Cut reports whether a life ended in the middle of its work.
func (l Life) Cut() bool { return l.Killed || l.Lost }

// The kinds of disturbances of a database.
const (
	CutAll    = "all connections cut"
	CutBefore = "commit cut before the server got it"
	CutAfter  = "commit cut before its reply"
	Crash     = "server killed"
)

// Disturbances lists them.
func Disturbances() []string { return []string{CutAll, CutBefore, CutAfter, Crash} }

// Outage is a time in which the database could not be reached.
type Outage struct{ From, To time.Time }

// Event is one line of stdout.
type Event struct {
	At      time.Time `json:"-"`
	Life    int       `json:"-"` // index into Record.Lives
	Line    string    `json:"-"` // as it came
	Bad     bool      `json:"-"` // the line is no JSON object
	Type    string    `json:"type"`
	Message string    `json:"message"` // accepted: id of the input
	Task    string    `json:"task"`
	Chat    string    `json:"chat"`
	Text    string    `json:"text"`
	ReplyTo string    `json:"reply_to"`
	Failed  bool      `json:"failed"`
	Buttons []Button  `json:"buttons"`
	Files   []string  `json:"files"` // paths of saved files
	Calls   []struct {
		Arguments json.RawMessage `json:"arguments"`
	} `json:"calls"`

	Question string // in chats: the question that it answers
	Post     Post   // and the message
}

// Button is one under a question on stdout.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

// Call is one call that reached the tool server.
type Call struct {
	At   time.Time
	Life int // index into Record.Lives: each life has a log of its own
	Tool string
	Text string // the argument: the sub-task's description
}

// Elicitation is what a tool server had with a person in the course of a call.
type Elicitation struct {
	At    time.Time
	Life  int
	Event string // asked, answered or done
	Key   string // the sub-task's description
	Value string // answered: the choice; empty: declined
}

// Press is one press of a button under a question.
type Press struct {
	At    time.Time
	Key   string // what it is about
	Label string
	By    string
}

// The groups, which have one tool each, of the same name where no other is
// given.
const (
	Lookup  = "lookup"  // can be called again
	Book    = "book"    // must never be called again
	Pay     = "pay"     // likewise, and only after a person allowed it
	Ask     = "ask"     // choose: its server asks a person in the middle of the call
	Inquire = "inquire" // choose: its server returns a question, and is called again with the answer
)

// Tools are the tools of the servers that the harness calls.
var Tools = []string{Lookup, Book, Pay, Ask, Inquire}

// Choose is the tool of ask and inquire.
const Choose = "choose"

// The clients: where people talk to legwork.
const (
	Terminal = "terminal"
	Telegram = "telegram"
	Slack    = "slack"
	API      = "api"
	Web      = "web"
)

// Clients lists them.
func Clients() []string { return []string{Terminal, Telegram, Slack, API, Web} }

// Committing names the failpoint before the store commits an event.
func Committing(t planner.EventType) string { return "commit.before." + string(t) }

// Committed names the failpoint after it.
func Committed(t planner.EventType) string { return "commit.after." + string(t) }

// Count returns how often a life passed a failpoint.
func Count(l Life, point string) int {
	n := 0
	for _, hit := range l.Hits {
		if hit == point {
			n++
		}
	}
	return n
}

// Begun returns how many events of a type a life stored or was storing when it ended.
// A transaction can run again before it is committed. So only those before
// the last commits are counted by what they stored; after them, what began counts.
func Begun(l Life, event string) int {
	const before, after = "commit.before.", "commit.after."
	stored, began, done, ended := 0, 0, 0, false // began, done: in the last transactions
	for _, hit := range l.Hits {
		switch {
		case strings.HasPrefix(hit, before) && ended:
			stored, began, done, ended = stored+done, 0, 0, false
		case strings.HasPrefix(hit, after):
			ended = true
		}
		switch hit {
		case before + event:
			began++
		case after + event:
			done++
		}
	}
	return stored + max(began, done)
}

// AdminRoom is the private chat of the admin.
const AdminRoom = "private eve"
