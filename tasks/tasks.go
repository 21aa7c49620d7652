// Package tasks turns messages into tasks and tasks into answers: the inbox
// decides what a message means, the executor does one action of the machine,
// the presenter shows a task in its chat. Stores, engines, platforms and tools
// are interfaces here; they live elsewhere.
package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
)

// NewID makes an id for a task that starts at that time.
func NewID(at time.Time) ID {
	return ID(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Made is when the id was made; false when NewID has not made it.
func (id ID) Made() (at time.Time, known bool) {
	u, err := ulid.ParseStrict(string(id))
	return u.Timestamp(), err == nil
}

// Toolbox gives access to the tool groups as they are at the moment of a call.
// It is safe for concurrent use.
type Toolbox interface {
	// Groups lists what work can be given to, in a fixed order.
	Groups(ctx context.Context) []Group
	// Tools lists a group's tools. What cannot be reached is left out; an error
	// means that nothing is left.
	Tools(ctx context.Context, group string) ([]Tool, error)
	// Find returns the names of the tools of a group that a description in plain
	// words fits best, the best first.
	Find(ctx context.Context, group, query string) ([]string, error)
	// Verdict says whether a call may be made, and how: one whose arguments do
	// not fit is refused before anybody is asked. It waits for a server that is
	// still starting.
	Verdict(ctx context.Context, group, tool string, arguments json.RawMessage) Verdict
	// Call makes it. Whatever goes wrong is a Result that a model can act on;
	// the error is only that of ctx.
	Call(ctx context.Context, c ToolCall) (ToolResult, error)
	// Prompts lists the prompts of a group's servers.
	Prompts(ctx context.Context, group string) ([]ServerPrompt, error)
	// Prompt writes out one of them, named "server/prompt".
	Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error)
	// Changes lists the tools that are held back because their servers changed
	// them, and Accept lets one of them be used again as it is now.
	Changes(ctx context.Context) []ToolChange
	Accept(ctx context.Context, change string) (ToolChange, error)
}

// Group is a tool group as the planner sees it.
type Group struct {
	Name         string
	Description  string
	Instructions string   // added to the prompts of its sub-tasks
	Model        string   // configured model for its sub-tasks; empty for the role's
	Allow        []string // keys of persons and chats that may use it; empty or "*": everybody
	ReadOnly     bool     // every tool of it is known only to read
}

// open reports whether a person may use the group in a chat.
func (g Group) open(chat bot.Chat, person bot.Person) bool {
	if len(g.Allow) == 0 {
		return true
	}
	for _, who := range g.Allow {
		if who == "*" || who == person.Key() || who == chat.Key() || who == chat.Room() {
			return true
		}
	}
	return false
}

// Tool is one tool of a group.
type Tool struct {
	Name        string // "server.tool"
	Exposed     string // as models call it
	Description string
	Schema      json.RawMessage
}

// Verdict says what the policy of a group makes of a tool.
type Verdict struct {
	Refusal    string // not empty: the call must not be made; for the model
	Ask        bool   // a person must approve of the exact call first
	Never      bool   // the admin wants no question about this tool, whatever it does
	Repeatable bool   // making it twice does no harm
	Trusted    bool   // its results are no words of outsiders
	Sources    bool   // addresses in its results may be visited: a search engine that the admin chose
	Definition string // hash of what the tool says it does: an approval is bound to it
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Group     string
	Tool      string // "server.tool"
	Arguments json.RawMessage
	// Definition is the hash that Verdict gave: a tool that was changed since is
	// not called.
	Definition string
	Chat       string // keys of where it is called, threads and topics aside, and for whom; built-in servers alone are told
	Person     string
	Private    bool // only the person is in the chat
	Hops       int  // how often the work was handed on, with this call: see planner.Opening

	Progress func(Progress) // how far it is, one report at a time; nil: no reports are wanted
	// Ask brings a question that the server has in the midst of the call to a
	// person, and waits for as long as that takes. Its error ends the call.
	Ask func(context.Context, form.Question) (form.Answer, error)
	// Sample makes a model call that the server asks for.
	Sample func(context.Context, Sampling) (Sampled, error)
	// Resume goes on with a call whose result was a question.
	Resume *Resume
}

// Progress is how far a call is; Total is 0 where it is not known.
type Progress struct {
	Done, Total float64
	Message     string
}

// Sampling is a model call that a server asks for.
type Sampling struct {
	Server    string
	System    string
	Messages  []llm.Message // of users and assistants
	MaxTokens int
}

// Sampled is the reply to it.
type Sampled struct{ Model, Text string }

// Resume is the answer to the question that was a call's result.
type Resume struct {
	State  json.RawMessage // ToolResult.State
	Answer form.Answer
}

// ToolResult is what a tool returned.
type ToolResult struct {
	Text    string
	Failed  bool // the text says what went wrong
	Unknown bool // it was sent, and whether it took effect is unknown
	Bytes   int  // size of the whole result when Text was cut; 0 otherwise
	Show    int  // bytes of it that go to the model at first
	Images  []llm.Image

	// Question, when set, is what the server wants to know from a person before
	// it goes on; nothing else is set then but State, which is opaque.
	Question *form.Question
	State    json.RawMessage
}

// ServerPrompt is a prompt that a server offers to people.
type ServerPrompt struct {
	Name        string // "server/prompt"
	Title       string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is one argument of a ServerPrompt.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}

// ToolChange is a tool whose definition is not the one that was agreed to.
type ToolChange struct {
	ID         string // short; names the tool and the new definition
	Tool       string // "server.tool"
	Difference string // in the form of a unified diff
}

// Chats finds the platform of a chat.
type Chats map[string]bot.Platform

// Platform returns the platform that serves a chat.
func (c Chats) Platform(chat bot.Chat) (bot.Platform, error) {
	p, ok := c[chat.Platform]
	if !ok {
		return nil, fmt.Errorf("no platform %q is connected", chat.Platform)
	}
	return p, nil
}
