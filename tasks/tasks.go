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
	"legwork/tools"
)

// NewID makes an id for a task that starts at that time.
func NewID(at time.Time) ID {
	return ID(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Time is when the id was made; false when NewID has not made it.
func (id ID) Time() (at time.Time, known bool) {
	u, err := ulid.ParseStrict(string(id))
	return u.Timestamp(), err == nil
}

// Toolbox gives access to the tool groups as they are at the moment of a call.
// It is safe for concurrent use.
type Toolbox interface {
	// Groups lists what work can be given to, in a fixed order.
	Groups() []tools.Group
	// Tools lists a group's tools. What cannot be reached is left out; an error
	// means that nothing is left.
	Tools(ctx context.Context, group string) ([]tools.Tool, error)
	// Find returns the names of the tools of a group that a description in plain
	// words fits best, the best first.
	Find(ctx context.Context, group, query string) ([]string, error)
	// Verdict says whether a call may be made, and how: one whose arguments do
	// not fit is refused before anybody is asked. It waits for a server that is
	// still starting.
	Verdict(ctx context.Context, group, tool string, arguments json.RawMessage) tools.Verdict
	// Call makes it. Whatever goes wrong is a Result that a model can act on;
	// the error is only that of ctx.
	Call(ctx context.Context, c tools.Call) (tools.Result, error)
	// Prompts lists the prompts of a group's servers.
	Prompts(ctx context.Context, group string) ([]tools.Prompt, error)
	// Prompt writes out one of them, named "server/prompt".
	Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error)
	// Changes lists the tools that are quarantined because their servers changed
	// them, and Accept lets one of them be used again as it is now.
	Changes(ctx context.Context) []tools.Change
	Accept(ctx context.Context, change string) (tools.Change, error)
}

// Inventory is a Toolbox that lists its groups and the state of their servers,
// without waiting for any of them.
type Inventory interface {
	Inventory() []tools.GroupStatus
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
