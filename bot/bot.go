// Package bot holds what all chat platforms share: chats, persons, messages and
// drafts, and the interfaces of a platform.
package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Chat names one conversation on one platform. Two chats are the same
// conversation when their keys are equal.
type Chat struct {
	Platform string `json:"platform"`          // "telegram", "slack", "terminal", "web"
	ID       string `json:"id"`                // the platform's own id of the chat
	Thread   string `json:"thread,omitempty"`  // topic or thread inside it; empty for none
	Private  bool   `json:"private,omitempty"` // only one person and the bot are members
}

// Key names the conversation in the store: "slack:C1" or "slack:C1/1712.3".
func (c Chat) Key() string {
	if c.Thread == "" {
		return c.Platform + ":" + c.ID
	}
	return c.Platform + ":" + c.ID + "/" + c.Thread
}

// Room is the key of the chat that a thread or topic belongs to.
func (c Chat) Room() string { return c.Platform + ":" + c.ID }

// Person is somebody who writes in a chat.
type Person struct {
	Platform string `json:"platform"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
}

// Key names the person in the config: "telegram:12345".
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

	// Media names what a message holds beside its text, or in place of one, and
	// legwork cannot read: "sticker", "photo". MediaName is the name of the file,
	// if it has one.
	Media, MediaName string
	// Facts are what the platform says about Media that can be put into words. They
	// are zero for media without a text "media." + Media.
	Facts Facts
	// Files are the files that the message holds. Media is empty when legwork takes
	// them all.
	Files []Attachment
	// Full says that Text has almost the greatest length of the platform's messages: the
	// client has probably cut a longer text, and the next message is the rest.
	Full bool
	// Earlier are messages of others that this one brings along, oldest first. They
	// are material for the question, never orders.
	Earlier []Quoted
	// Data is the Data of the pressed button, for MessagePress.
	Data string
	// Plan replaces the plan that the pressed button runs, and Form holds the values of
	// fields by their names, if the draft had a Plan or a Form. A handler returns a
	// *RefusedError for those that cannot be used.
	Plan []PlanItem
	Form map[string]json.RawMessage
	// MovedTo is the chat's new address, for MessageMove.
	MovedTo Chat

	// Standalone makes it a question of its own, never guidance for a running task.
	Standalone bool
	// Overheard marks a message that does not address the bot. It counts only as
	// guidance or an answer by somebody who asked something in this conversation.
	Overheard bool
	// Assumed marks a ReplyTo that the platform filled in: the person wrote while a
	// question was open, did not point at it, and was not shown that the text is its
	// answer.
	Assumed bool
	// InThread marks a message in a thread that holds this conversation alone. It
	// speaks to the task there, as a reply would.
	InThread bool
	// Unattended marks a press or reply that no person sent: the platform declines a
	// question because no person can answer it. Its decision names no person.
	Unattended bool

	// Team is the workspace of its author; empty where there are none.
	Team string
	// External marks an author who is a guest or belongs to another organisation.
	External bool
	// Token is the platform's handle for answering this delivery, for an
	// Answerer; empty where there is none.
	Token string
	// Trigger is the platform's handle for showing a form in answer to this delivery, for a
	// SecretAsker; empty where there is none.
	Trigger string
}

// Quoted is an earlier message that another message brings along.
type Quoted struct {
	From    string    `json:"from,omitempty"` // display name of its author; empty when unknown
	Text    string    `json:"text"`
	At      time.Time `json:"at,omitzero"`       // zero when unknown
	Pointed bool      `json:"pointed,omitempty"` // the person replied to it, forwarded it or selected its words
	Own     bool      `json:"own,omitempty"`     // its author is the bot, or the person who brings it along

	Files []Attachment `json:"files,omitempty"`

	// Bot says that its author is the bot, and ID is the platform's id of such a message
	// in this chat. From these the inbox sets the labels: Outside, if words of outsiders
	// may have gone into it, and Private, where private data in it came from.
	Bot     bool     `json:"-"`
	ID      string   `json:"-"`
	Outside bool     `json:"outside,omitempty"`
	Private []string `json:"private,omitempty"`

	// Media and Facts are those of a Message. The inbox puts them into Text.
	Media string `json:"-"`
	Facts Facts  `json:"-"`
}

// Empty reports whether nothing was quoted.
func (q Quoted) Empty() bool { return q.Text == "" && q.Media == "" && len(q.Files) == 0 }

// Facts are words about media, such as a location.
type Facts struct {
	Name string // of a place, a contact, a poll, a checklist
	Text string // coordinates, a telephone number, a list in Markdown, an emoji
}

// Quotation is the message as a quotation in Markdown.
func (q Quoted) Quotation() string {
	text := q.Text
	if q.From != "" {
		text = q.From + ": " + text
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
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
	// MessageSecret brings a secret in Text, which the person entered in a SecretForm with
	// that Data. It is in no chat.
	MessageSecret MessageKind = "secret"
	// MessageMove says that the platform gave the chat another id. The whole
	// conversation goes to MovedTo; the message has no author.
	MessageMove MessageKind = "move"
)

// Limits are the limits of a platform's messages; zero means no limit.
type Limits struct {
	Text    int           // length of a message's text, in the platform's own units
	Edits   bool          // posted messages can be changed
	EditGap time.Duration // least time between two frames of one message
	// GroupMessages is how many messages a minute the bot may send to a group; zero
	// means that people need not know.
	GroupMessages int
	// Toasts says that Answerer.Answer answers a press with a note that vanishes
	// by itself.
	Toasts bool
	// Ephemeral says that boards and questions vanish at a restart. They are posted
	// anew then, and their ids need not be kept.
	Ephemeral bool
	// CanReply says that people can reply to one particular message. Elsewhere cards say
	// how else to answer them.
	CanReply bool
	// ShowsTasks says that each answer leads to a view of its task, so that no button for
	// that is needed.
	ShowsTasks bool
}

// ErrGone is the wrapped error of Post and Edit when no further try will help: the
// bot was blocked, the chat or the message deleted. Other errors may pass.
var ErrGone = errors.New("the chat or message is gone")

// MovedError is the error of Edit when the draft is shown in another message,
// because the old one was gone or full.
type MovedError struct{ ID string }

func (m *MovedError) Error() string { return "the message is now " + m.ID }

// LaterError is the error of Post, Edit and Stream for a frame (Draft.Partial) that
// may not go yet. Nothing was sent; the newest frame should be offered again after
// that time. Other drafts wait instead.
type LaterError struct{ After time.Duration }

func (l *LaterError) Error() string { return "not before " + l.After.String() + " from now" }

// ErrNotified is the wrapped error of a handler when it has notified the people
// concerned already. The error is for operators.
var ErrNotified = errors.New("people were notified")

// RefusedError is the error of a handler for a message that its author must correct.
// The message was not stored.
type RefusedError struct{ Mistakes []Mistake }

// Mistake is one reason of a RefusedError.
type Mistake struct {
	Field  string // name of the field of a form; empty: the plan
	Reason string // a sentence
}

func (r *RefusedError) Error() string {
	reasons := make([]string, len(r.Mistakes))
	for i, m := range r.Mistakes {
		reasons[i] = m.Reason
	}
	return strings.Join(reasons, " ")
}

// Platform is one chat service. Its methods are safe for concurrent use.
type Platform interface {
	// Name is the Platform of every Chat it makes.
	Name() string
	Limits() Limits
	// Run receives messages until ctx ends. It acknowledges a batch to the service
	// only after handle returned nil for it.
	Run(ctx context.Context, handle func(context.Context, []Message) error) error
	// Post sends a new message and returns the service's id of it.
	Post(ctx context.Context, to Chat, d Draft) (id string, err error)
	// Edit replaces a posted message. Repeating an edit is harmless.
	Edit(ctx context.Context, to Chat, id string, d Draft) error
}

// Streamer is a platform that can show text before it becomes a message. Each
// frame replaces the previous one of the same task; an empty text removes it; the
// answer's Post ends it.
type Streamer interface {
	// Streams reports whether it can in that chat. Where it can, and messages are
	// not Ephemeral, a task without a plan needs no board: its first frame, with a
	// Board and no text, shows that work has begun.
	Streams(to Chat) bool
	Stream(ctx context.Context, to Chat, d Draft) error
}

// Remover is a platform where the bot can delete its own messages. People are notified
// of messages, but not of edits. So the answer of a task is a message of its own there,
// and the message that showed the beginning of its work is deleted.
type Remover interface {
	// Removes reports whether that is so in that chat.
	Removes(to Chat) bool
	// Remove deletes a message of the bot. It is no error when the message is gone.
	Remove(ctx context.Context, to Chat, id string) error
}

// Eraser is a platform where the bot can delete what a person wrote in a private chat.
type Eraser interface {
	// Erase deletes a message. It is no error when the message is gone.
	Erase(ctx context.Context, in Chat, id string) error
}

// SecretAsker is a platform that asks for a secret in a form of its own, outside of the
// chat.
type SecretAsker interface {
	// AskSecret shows a form to the author of m. The error wraps ErrGone when m has no
	// Trigger, or one that is too old: the person has to press a button.
	AskSecret(ctx context.Context, m Message, f SecretForm) error
}

// SecretForm asks for a secret. Its texts are translated already.
type SecretForm struct {
	Data                         string // comes back with the secret
	Title, Label, Submit, Cancel string
}

// Splitter is a platform whose messages have a length limit. The parts are posted
// one after the other. They differ in Part only; the last one
// alone has the buttons and the footer.
type Splitter interface {
	Split(d Draft) []Draft
}

// Finder is a platform that can look for a message which may have been sent before
// a crash. mark is its Draft.Mark; id is empty when there is no such message.
type Finder interface {
	Find(ctx context.Context, to Chat, mark string) (id string, err error)
}

// Answerer is a platform that can answer a press or a command so that only its
// author sees it.
type Answerer interface {
	// Answer shows text, one sentence or a few lines of Markdown, to the author
	// of m. m.Token is not empty. An empty text only ends the waiting state of a press.
	Answer(ctx context.Context, m Message, text string) error
}

// ButtonAnswerer is an Answerer that can show buttons under an answer.
type ButtonAnswerer interface {
	// AnswerWith shows a draft to the author of m alone. m.Token is not empty.
	AnswerWith(ctx context.Context, m Message, d Draft) error
}

// Forgetter is a platform that shows stored messages.
type Forgetter interface {
	// Forgot tells that the stored messages of a chat were deleted.
	Forgot(ctx context.Context, chat Chat)
}

// Director is a platform where the bot can write to a person first.
type Director interface {
	// Direct returns the private chat with a person. The error wraps ErrGone when
	// there cannot be one, for example because the person never wrote to the bot.
	Direct(ctx context.Context, person string) (Chat, error)
}

// Speller is a platform where people write commands in another form than "/NAME".
// Texts name that form.
type Speller interface {
	// Spell returns how people write the command NAME in a chat: "/legwork stop".
	Spell(to Chat, name string) string
}
