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

// Room is the key of the chat around a thread or topic; Key where there is none.
func (c Chat) Room() string { return c.Platform + ":" + c.ID }

// Person is somebody who writes in a chat.
type Person struct {
	Platform string `json:"platform"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
}

// Key is how the config names a person: "telegram:12345".
func (p Person) Key() string { return p.Platform + ":" + p.ID }

// Message is what a platform delivers: words of a person, the press of a
// button, or news about an earlier message or the chat. Kind says which, and
// with that which fields count beside Key, Chat, From and At.
type Message struct {
	Kind     MessageKind
	Key      string // unique per delivery, and the same when the platform delivers it again: "telegram:1:update:42"
	Chat     Chat
	From     Person
	ID       string // the platform's id of the message; of a press, of the message with the button
	Text     string // a command begins with a slash
	At       time.Time
	ReplyTo  string // the platform's id of the message that it replies to
	Language string // the platform's hint, a BCP 47 tag

	// Media names what a message without text holds instead: "sticker", "photo".
	Media string
	// Data is the Data of the pressed button, for MessagePress.
	Data string
	// MovedTo is the chat's new address, for MessageMove.
	MovedTo Chat

	// Standalone makes it a question of its own, never guidance for a running task.
	Standalone bool
	// Overheard marks a message that does not address the bot. It counts only as
	// guidance or an answer by somebody who asked something in this conversation.
	Overheard bool
	// InThread marks a message in a thread that holds this conversation alone. It
	// speaks to the task there, as a reply would.
	InThread bool

	// Team is the workspace of its author; empty where there are none.
	Team string
	// External marks an author who is a guest or belongs to another organisation.
	External bool
	// Token is the platform's handle for answering this delivery, for an
	// Answerer; empty where there is none.
	Token string
}

// MessageKind says what a message is.
type MessageKind string

// The kinds of message.
const (
	// MessageText is a text, a command, or media without words. Platforms write
	// commands in their own forms ("/task@bot TEXT", "/legwork stop", "!stop") as
	// "/NAME" and, after a space, the rest.
	MessageText MessageKind = ""
	// MessageEdit brings the new Text of the message ID.
	MessageEdit MessageKind = "edit"
	// MessageDeletion says that the message ID is gone; From may be empty.
	MessageDeletion MessageKind = "deletion"
	// MessagePress is the press of a button under the message ID. Text, if any,
	// explains it.
	MessagePress MessageKind = "press"
	// MessageMove says that the platform gave the chat another id. The whole
	// conversation goes to MovedTo; the message has no author.
	MessageMove MessageKind = "move"
)

// Limits are what one message of a platform can hold; zero means no limit.
type Limits struct {
	Text    int           // length of a message's text, in the platform's own units
	Edits   bool          // posted messages can be changed
	EditGap time.Duration // least time between two frames of one message
	// Toasts says that Answerer.Answer shows a press a note that passes, and
	// leaves no message behind.
	Toasts bool
	// Ephemeral says that boards and questions are no lasting messages: after a
	// restart nothing is left of them, so that they are posted anew and their
	// ids need not be kept.
	Ephemeral bool
}

// ErrGone is what Post and Edit return, wrapped, when no further try will help:
// the bot was blocked, the chat or the message deleted. Any other error may pass.
var ErrGone = errors.New("the chat or message is gone")

// MovedError is what Edit returns when the draft is shown, but in another message
// than the one that was to be changed: that one was gone, or could hold no more.
type MovedError struct{ ID string }

func (m *MovedError) Error() string { return "the message is now " + m.ID }

// LaterError is what Post, Edit and Stream return for a frame (Draft.Partial) whose
// turn has not come: nothing was sent, and the newest frame should be offered
// again after that time. Other drafts wait their turn instead.
type LaterError struct{ After time.Duration }

func (l *LaterError) Error() string { return "not before " + l.After.String() + " from now" }

// ErrNotified is what a handler returns, wrapped, when the people concerned have
// read a sentence about it already: the rest is for operators.
var ErrNotified = errors.New("people were told")

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
	// Streams reports whether it can in that chat. Where it can, and messages
	// last, a task without a plan needs no board: its first frame, with a Board
	// and no text, says that work has begun.
	Streams(to Chat) bool
	Stream(ctx context.Context, to Chat, d Draft) error
}

// Splitter is an ability of platforms whose messages have a length limit: the
// parts are posted one after the other. They differ in Part only; the last one
// alone has the buttons and the footer.
type Splitter interface {
	Split(d Draft) []Draft
}

// Finder is an ability of platforms that can look for a message which may have
// been sent before a crash. mark is what Draft.Mark was; id is empty when there
// is none.
type Finder interface {
	Find(ctx context.Context, to Chat, mark string) (id string, err error)
}

// Answerer is an ability of platforms that can answer a press or a command
// where only its author sees it.
type Answerer interface {
	// Answer shows text, one sentence or a few lines of Markdown, to the author
	// of m. m.Token is not empty. An empty text only ends the waiting of a press.
	Answer(ctx context.Context, m Message, text string) error
}

// Director is an ability of platforms where the bot can write to a person by
// itself.
type Director interface {
	// Direct returns the private chat with a person. ErrGone, wrapped, when there
	// can be none, for example because the person never wrote to the bot.
	Direct(ctx context.Context, person string) (Chat, error)
}

// Speller is an ability of platforms where people write commands in another
// form than "/NAME", so that texts can name the one that works.
type Speller interface {
	// Spell is how the command NAME is written in a chat: "/legwork stop".
	Spell(to Chat, name string) string
}
