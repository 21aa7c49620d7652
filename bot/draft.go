package bot

import (
	"encoding/json"
	"fmt"
	"time"
)

// DraftKind says what a draft is for. Rate limits and looks depend on it.
type DraftKind string

// The kinds of draft.
const (
	KindBoard    DraftKind = "board"    // live progress; only the newest frame matters
	KindAnswer   DraftKind = "answer"   // the outcome, or its first words while it streams
	KindQuestion DraftKind = "question" // a person must decide something
	KindNotice   DraftKind = "notice"   // one sentence, such as the reply to a command
)

// Draft is a message to be posted, or the new content of one.
type Draft struct {
	Kind     DraftKind `json:"kind"`
	Task     string    `json:"task,omitempty"`    // id of its task
	Text     string    `json:"text"`              // Markdown
	Part     int       `json:"part,omitempty"`    // the part of Text in this message, from 1, as a Splitter counts; 0: all of it
	Partial  bool      `json:"partial,omitempty"` // a frame: later drafts of the same message follow
	Failed   bool      `json:"failed,omitempty"`  // the text reports a failure
	Footer   string    `json:"footer,omitempty"`  // one plain line under an answer: sub-tasks, time, tokens
	ReplyTo  string    `json:"reply_to,omitempty"`
	Mark     string    `json:"mark,omitempty"` // unique per message of the task, for a Finder
	Board    *Board    `json:"board,omitempty"`
	Buttons  []Button  `json:"buttons,omitempty"`
	File     *File     `json:"file,omitempty"`   // only for a Filer, and only in Post: edits never send it again
	Calls    []Call    `json:"calls,omitempty"`  // the calls of a question, for programs; Text describes them to people
	Copy     string    `json:"copy,omitempty"`   // label of buttons that copy the code of an answer, for platforms that have such buttons
	Fixed    string    `json:"-"`                // text of a board in a message that can never be changed
	Plan     *Plan     `json:"plan,omitempty"`   // of a question about a plan, for platforms where people can change it
	Form     *Form     `json:"form,omitempty"`   // of a question with fields, for platforms that show all of them at once
	Adds     bool      `json:"-"`                // of a notice: the message that ReplyTo names was added to the running task
	Hidden   bool      `json:"hidden,omitempty"` // of a question: the answer is a secret, and is not shown
	FreeText bool      `json:"words,omitempty"`  // any text may be the answer, even a number: digits must not press Buttons
}

// Button is one choice under a draft. Data comes back as Message.Data.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
	Style string `json:"style,omitempty"` // StylePrimary, StyleDanger or empty; shown where the platform can
	// Words means that legwork then asks for words. A platform leaves the button out where
	// people can write them along with another press: a comment, or a changed plan.
	Words bool `json:"words,omitempty"`
}

// The styles of buttons. Labels must be clear without them, because not every
// platform shows a style.
const (
	StylePrimary = "primary"
	StyleDanger  = "danger"
)

// Board is the live picture of a task. Its texts are translated already.
type Board struct {
	Title  string `json:"title"`  // the goal, shortened
	Status string `json:"status"` // one line, such as "Working: 2 of 3 done"
	Items  []Item `json:"items,omitempty"`
	// Link is the address of the task in the page; empty: it has none.
	Link string `json:"-"`
	// Waiting says that the task rests until a person acts.
	Waiting bool `json:"-"`
	// Queued says that the task waits for other tasks. Such a board may be missing.
	Queued bool `json:"-"`
}

// Item is one sub-task on the board.
type Item struct {
	ID      string        `json:"id"` // "1/a": round and id
	Title   string        `json:"title"`
	Group   string        `json:"group"`
	State   string        `json:"state"`           // todo, working, waiting, done, failed, skipped
	Elapsed time.Duration `json:"-"`               // zero before it started
	Doing   string        `json:"doing,omitempty"` // the running call, such as "clock.time_in"
}

// Call is a call of a tool that a person is asked about.
type Call struct {
	Tool      string          `json:"tool"`             // "server.tool"
	Arguments json.RawMessage `json:"arguments"`        // all of them
	Reason    string          `json:"reason,omitempty"` // why it needs an approval that it usually would not, such as "host"
	Detail    string          `json:"detail,omitempty"` // the subject of the reason
}

// Plan is a plan that waits for a person. The press of Data may bring another plan in
// Message.Plan, which replaces it.
type Plan struct {
	Items []PlanItem `json:"items"`
	Data  string     `json:"data"` // of the button that runs it
}

// PlanItem is one sub-task of a Plan.
type PlanItem struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"` // of a tool group, or "llm_tool"
	Description string   `json:"description"`
	After       []string `json:"after"` // ids that it waits for; in a Message.Plan null stands for the usual order
}

// Form is what a server asks a person. The press of Data brings the values of all Fields
// in Message.Form.
type Form struct {
	Fields []FormField `json:"fields"` // the open ones
	Data   string      `json:"data"`
}

// FormField is one field of a Form.
type FormField struct {
	Name        string          `json:"name"` // key of its value
	Title       string          `json:"title"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`  // JSON Schema of the value
	Choices     []FormChoice    `json:"choices,omitempty"` // the only values; none: anything that fits Schema
	Many        bool            `json:"many,omitempty"`    // several of Choices, in a list
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"` // when it is left out
}

// FormChoice is one value of a field, and its label.
type FormChoice struct {
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
}

// Parts divides a draft among n messages. They differ in Part; only the last one
// has the buttons and the footer, and only the first one the file.
func (d *Draft) Parts(n int) []Draft {
	parts := make([]Draft, n)
	for i := range parts {
		parts[i] = *d
		parts[i].Part = i + 1
		if i < n-1 {
			parts[i].Footer, parts[i].Buttons = "", nil
		}
		if i > 0 {
			parts[i].File = nil
		}
	}
	return parts
}

// Clock formats a duration: 0:12, 3:05, 1:02:03. It drops fractions of a second.
func Clock(d time.Duration) string {
	seconds := int(d / time.Second)
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
