package tools

import (
	"context"
	"errors"

	"legwork/tools/client"
)

// Prompt is a prompt that a server offers to people.
type Prompt struct {
	Server string
	client.Prompt
}

// Prompts lists the prompts of a group's servers, waiting for those that are
// still starting, at most the group's tool timeout.
func (s *Set) Prompts(context.Context, string) ([]Prompt, error) { return nil, nil }

// Prompt writes out the prompt "server/prompt" of a group.
func (s *Set) Prompt(context.Context, string, string, map[string]string) (string, error) {
	return "", errors.New("no prompts yet")
}
