package main

import (
	"context"

	"legwork/internal/redact"
	"legwork/tasks"
	"legwork/toolbox"
)

// sealed is a toolbox whose tools tell no credentials of the config: a server
// that was talked into telling its environment tells neither models nor chats,
// and nothing of it is stored.
type sealed struct {
	toolbox.Toolbox
	credentials *redact.Redactor
}

var (
	_ tasks.Toolbox   = sealed{}
	_ tasks.Inventory = sealed{}
)

// Call implements tasks.Toolbox.
func (s sealed) Call(ctx context.Context, c tasks.ToolCall) (tasks.ToolResult, error) {
	if tell := c.Progress; tell != nil {
		c.Progress = func(p tasks.Progress) {
			p.Message = s.credentials.Known(p.Message)
			tell(p)
		}
	}
	result, err := s.Toolbox.Call(ctx, c)
	result.Text = s.credentials.Known(result.Text)
	return result, err
}

// Prompt implements tasks.Toolbox.
func (s sealed) Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error) {
	text, err := s.Toolbox.Prompt(ctx, group, name, arguments)
	return s.credentials.Known(text), err
}
