// Package bot holds what every chat platform shares: who speaks where, what a
// message and a draft are, and what a platform must be able to do.
package bot

import (
	"context"
	"errors"
	"time"
)

// Chat names one conversation on one platform. Two chats are the same
// conversation when their keys are equal.
type Chat struct {
	Platform string `json:"platform"`          // "telegram", "slack", "terminal", "web"
	ID       string `json:"id"`                // the platform's own id of the chat
	Thread   string `json:"thread,omitempty"`  // topic or thread inside it; empty for none
	Private  bool   `json:"private,omitempty"` // only one person and the bot are in it
}

// Key is the conversation's name in the store: "slack:C1" or "slack:C1/1712.3".
func (c Chat) Key() string {
	if c.Thread == "" {
		return c.Platform + ":" + c.ID
	}
	return c.Platform + ":" + c.ID + "/" + c.Thread
}

// Person is somebody who writes in a chat.
type Person struct {
	Platform string `json:"platform"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
}

// Key is how the config names a person: "telegram:12345".
func (p Person) Key() string { return p.Platform + ":" + p.ID }

// Message is one inbound delivery: a text or the press of a button.
type Message struct {
	Key      string    `json:"key"` // unique per delivery and equal when it is delivered again, such as "telegram:update:42"
	Chat     Chat      `json:"chat"`
	From     Person    `json:"from"`
	ID       string    `json:"id,omitempty"` // the platform's id of this message
	Text     string    `json:"text,omitempty"`
	At       time.Time `json:"at"`
	ReplyTo  string    `json:"reply_to,omitempty"` // the platform's id of the message it replies to
	Press    string    `json:"press,omitempty"`    // Data of the pressed button; empty for a text
	Language string    `json:"language,omitempty"` // the platform's hint, a BCP 47 tag
	Apart    bool      `json:"apart,omitempty"`    // a question of its own, never guidance for a running task
}

// Kind says what a draft is for; pacing and looks depend on it.
type Kind string

// The kinds of draft.
const (
	KindBoard    Kind = "board"    // live progress; only the newest frame matters
	KindAnswer   Kind = "answer"   // the outcome, or its first words while it streams
	KindQuestion Kind = "question" // a person must decide something
	KindNotice   Kind = "notice"   // one sentence, such as the reply to a command
)

// Draft is a message to be posted, or the new content of one.
type Draft struct {
	Kind    Kind     `json:"kind"`
	Task    string   `json:"task,omitempty"`    // id of the task it speaks of
	Text    string   `json:"text"`              // Markdown
	Partial bool     `json:"partial,omitempty"` // more text follows in later drafts of the same message
	Failed  bool     `json:"failed,omitempty"`  // the text says what went wrong
	Footer  string   `json:"footer,omitempty"`  // one plain line under an answer: sub-tasks, time, tokens
	ReplyTo string   `json:"reply_to,omitempty"`
	Mark    string   `json:"mark,omitempty"` // unique per message of the task, for a Finder
	Board   *Board   `json:"board,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
}

// Button is one choice under a draft. Data comes back as Message.Press.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

// Board is the live picture of a task. Texts in it are translated already.
type Board struct {
	Title  string `json:"title"`  // the goal, shortened
	Status string `json:"status"` // one line, such as "Working: 2 of 3 done"
	Items  []Item `json:"items,omitempty"`
}

// Item is one sub-task on the board.
type Item struct {
	ID      string        `json:"id"` // "1/a": round and id
	Title   string        `json:"title"`
	Group   string        `json:"group"`
	State   string        `json:"state"`             // todo, working, waiting, done, failed, skipped
	Elapsed time.Duration `json:"elapsed,omitempty"` // zero before it started
	Doing   string        `json:"doing,omitempty"`   // what is being called now, such as "clock.time_in"
}

// Limits are what one message of a platform can hold; zero means no limit.
type Limits struct {
	Text    int           // length of a message's text, in the platform's own units
	Edits   bool          // posted messages can be changed
	EditGap time.Duration // least time between two frames of one message
	// Passing says that boards and questions are no lasting messages: after a
	// restart nothing is left of them, so that they are posted anew and their
	// ids need not be kept.
	Passing bool
}

// ErrGone is what Post and Edit return, wrapped, when no further try will help:
// the bot was blocked, the chat or the message deleted. Any other error may pass.
var ErrGone = errors.New("the chat or message is gone")

// ErrTold is what a handler returns, wrapped, when the people concerned have
// read a sentence about it already: the rest is for operators.
var ErrTold = errors.New("people were told")

// Platform is one chat service. Its methods are safe for concurrent use.
type Platform interface {
	// Name is the Platform of every Chat it makes.
	Name() string
	Limits() Limits
	// Run receives until ctx ends. A batch is acknowledged to the service only
	// after handle returned nil for it.
	Run(ctx context.Context, handle func(context.Context, []Message) error) error
	// Post sends a new message and returns the service's id of it.
	Post(ctx context.Context, to Chat, d Draft) (id string, err error)
	// Edit replaces a posted message. Repeating an edit is harmless.
	Edit(ctx context.Context, to Chat, id string, d Draft) error
}

// Streamer is an ability of platforms that can show text which is no message
// yet. Each frame replaces the one before of the same task; an empty text takes
// it back; the answer's Post ends it.
type Streamer interface {
	Stream(ctx context.Context, to Chat, d Draft) error
}

// Splitter is an ability of platforms whose messages have a length limit: the
// parts are posted one after the other.
type Splitter interface {
	Split(d Draft) []Draft
}

// Finder is an ability of platforms that can look for a message which may have
// been sent before a crash. mark is what Draft.Mark was; id is empty when there
// is none.
type Finder interface {
	Find(ctx context.Context, to Chat, mark string) (id string, err error)
}
