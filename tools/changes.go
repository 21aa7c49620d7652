package tools

import (
	"context"
	"errors"
)

// Change is a tool whose definition is not the one that was agreed to.
type Change struct {
	ID         string // short; names the tool and the new definition
	Tool       string // "server.tool"
	Difference string // in the form of a unified diff
}

// Changes are the tools that are held back because their servers changed them.
func (m *Manager) Changes() []Change { return nil }

// Accept lets a changed tool be used as it is now.
func (m *Manager) Accept(context.Context, string) (Change, error) {
	return Change{}, errors.New("no such change")
}
