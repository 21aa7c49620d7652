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
)

// NewID makes an id for a task that starts at that time.
func NewID(at time.Time) ID {
	return ID(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Toolbox gives access to the tool groups as they are at the moment of a call.
// It is safe for concurrent use.
type Toolbox interface {
	// Groups lists what work can be given to, in a fixed order.
	Groups(ctx context.Context) []Group
	// Tools lists a group's tools. What cannot be reached is left out; an error
	// means that nothing is left.
	Tools(ctx context.Context, group string) ([]Tool, error)
	// Verdict says whether a call may be made.
	Verdict(group, tool string) Verdict
	// Call makes it. Whatever goes wrong is a Result that a model can act on;
	// the error is only that of ctx.
	Call(ctx context.Context, group, tool string, arguments json.RawMessage) (ToolResult, error)
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
	Repeatable bool   // making it twice does no harm
}

// ToolResult is what a tool returned.
type ToolResult struct {
	Text    string
	Failed  bool // the text says what went wrong
	Unknown bool // it was sent, and nobody knows whether it took effect
	Bytes   int  // size of the whole result when Text was cut; 0 otherwise
	Show    int  // bytes of it that go to the model at first
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
