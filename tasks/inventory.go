package tasks

import "context"

// Inventory is a Toolbox that tells how its groups and their servers are, without
// waiting for any of them.
type Inventory interface {
	Inventory(ctx context.Context) []GroupStatus
}

// GroupStatus tells how a group is.
type GroupStatus struct {
	Name        string
	Description string
	Approve     string // when a person is asked: never, writes, always, or patterns of tools
	Servers     []ServerStatus
}

// ServerStatus tells how a server of a group is, and what the group offers of it.
type ServerStatus struct {
	Name    string
	Problem string // why it cannot be used; empty: it can
	Tools   []ToolStatus
}

// ToolStatus tells what the rules of a group make of a tool.
type ToolStatus struct {
	Name        string // "server.tool"
	Description string
	ReadOnly    bool // known to change nothing
	Asks        bool // a person is asked before each call
}
