// Package tasks holds the types of tasks and of everything around them that the
// packages below it share: the inbox decides what a message means, the executor does
// one action of the machine, the presenter shows a task in its chat. Stores,
// engines, platforms and tools are interfaces here; other packages implement them.
package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"legwork/bot"
	"legwork/tools"
)

// NewID makes an id for a task that starts at that time.
func NewID(at time.Time) ID {
	return ID(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
}

// Time returns when the id was made; false if NewID has not made it.
func (id ID) Time() (at time.Time, known bool) {
	u, err := ulid.ParseStrict(string(id))
	return u.Timestamp(), err == nil
}

// Page is the public address of legwork, "https://bot.example.com", below which others
// reach the page in the browser. Empty: it has none, and messages have no links to it.
type Page string

// In is the page as chats of a platform link it: not in the page's own.
func (p Page) In(platform string) Page {
	if platform == PlatformWeb {
		return ""
	}
	return p
}

// Task is the address of a task in the page; empty without one.
func (p Page) Task(id ID) string {
	if p == "" {
		return ""
	}
	return strings.TrimSuffix(string(p), "/") + "/console/tasks/" + string(id)
}

// Toolbox gives access to the current tool groups. It is safe for concurrent use.
type Toolbox interface {
	// Groups lists the groups, in a fixed order.
	Groups() []tools.Group
	// Tools lists a group's tools for the person of that key. It leaves out the tools of
	// servers that it cannot reach. An error means that no tools are left.
	Tools(ctx context.Context, group, person string) ([]tools.Tool, error)
	// SignIns lists the sign-ins that the servers of a group require of a person before
	// their tools can be listed. It waits for no server.
	SignIns(group, person string) []tools.SignIn
	// Find returns the names of the tools of a group for a person that fit a description
	// in plain words best, the best first.
	Find(ctx context.Context, group, person, query string) ([]string, error)
	// Verdict says whether a call may be made, and how. It refuses arguments that do
	// not fit, before a person is asked. It waits for a server that is starting.
	Verdict(ctx context.Context, group, person, tool string, arguments json.RawMessage) tools.Verdict
	// Call makes a call. Every failure is a Result that a model can act on; the
	// error is only that of ctx.
	Call(ctx context.Context, c tools.Call) (tools.Result, error)
	// Prompts lists the prompts of a group's servers.
	Prompts(ctx context.Context, group string) ([]tools.Prompt, error)
	// Prompt returns the text of a prompt, named "server/prompt".
	Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error)
	// Changes lists the tools that are quarantined because their servers changed
	// them. Accept allows one of them again in its current form.
	Changes(ctx context.Context) []tools.Change
	Accept(ctx context.Context, change string) (tools.Change, error)
}

// Inventory is a Toolbox that can list its groups and the state of their servers
// without waiting for servers.
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
