// Package caller tells built-in servers for whom they are called. legwork says
// it in the _meta of each tools/call, which models cannot write.
package caller

import "github.com/mark3labs/mcp-go/mcp"

// The keys of _meta.
const (
	chatKey    = "legwork/chat"
	personKey  = "legwork/person"
	privateKey = "legwork/private"
)

// Local is the chat and the person of a server that runs by itself, such as
// legwork mcp on standard input and output.
const Local = "local"

// Caller is the person for whom a tool is called, and the chat in which it
// was asked for.
type Caller struct {
	Chat    string // "telegram:-100987"; Local when the caller does not say
	Person  string // "telegram:12345"; Local when the caller does not say
	Private bool   // only this person and the bot are in the chat
}

// From reads the caller of a request. It is private only when the request
// says so and names both the person and the chat.
func From(r mcp.CallToolRequest) Caller {
	c := Caller{Chat: Local, Person: Local}
	if r.Params.Meta == nil {
		return c
	}
	fields := r.Params.Meta.AdditionalFields
	chat, _ := fields[chatKey].(string)
	person, _ := fields[personKey].(string)
	if chat != "" {
		c.Chat = chat
	}
	if person != "" {
		c.Person = person
	}
	private, _ := fields[privateKey].(bool)
	c.Private = private && chat != "" && person != ""
	return c
}

// Meta is what a request says so that From reads c out of it.
func (c Caller) Meta() map[string]any {
	fields := map[string]any{chatKey: c.Chat, personKey: c.Person}
	if c.Private {
		fields[privateKey] = true
	}
	return fields
}
