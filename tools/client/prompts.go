package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
)

const (
	maxPrompts    = 200              // of one server
	promptTimeout = 30 * time.Second // for one to be written out
	maxPrompt     = 64 << 10         // bytes of one that was written out
)

// readPrompts reads the raw pages of prompts/list.
func readPrompts(pages [][]byte) []Prompt {
	var all []Prompt
	for _, page := range pages {
		var p struct {
			Prompts []json.RawMessage `json:"prompts"`
		}
		_ = json.Unmarshal(page, &p)
		for _, raw := range p.Prompts {
			if one, ok := readPrompt(raw); ok && len(all) < maxPrompts {
				all = append(all, one)
			}
		}
	}
	return all
}

func readPrompt(raw json.RawMessage) (Prompt, bool) {
	var p struct {
		Name, Title, Description string
		Arguments                []struct {
			Name, Description string
			Required          bool
		}
	}
	if json.Unmarshal(raw, &p) != nil || p.Name == "" {
		return Prompt{}, false
	}
	one := Prompt{Name: clean(p.Name), Title: clean(p.Title)}
	one.Description = clip.Bytes(clean(p.Description), maxDescription)
	for _, a := range p.Arguments {
		text := clip.Bytes(clean(a.Description), maxDescription)
		one.Arguments = append(one.Arguments, PromptArgument{Name: clean(a.Name), Description: text, Required: a.Required})
	}
	return one, true
}

// Prompt has a server write one of its prompts out as one text. Several messages
// begin with their roles, and content that is not text becomes a note. Prompt waits
// for the server, half a minute at most.
func (s *Server) Prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, promptTimeout)
	defer cancel()
	text, err := s.prompt(ctx, name, args)
	if commonRevision(err) != "" { // a new connection is on its way
		text, err = s.prompt(ctx, name, args)
	}
	return text, err
}

func (s *Server) prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	conn, cat, release, err := s.acquire(ctx)
	if err != nil {
		return "", unavailableError{err}
	}
	defer release()
	if err := cat.checkPrompt(name, args); err != nil {
		return "", fmt.Errorf("writing the prompt %s out: %w", s.full(name), err)
	}
	r := mcp.GetPromptRequest{}
	r.Params.Name, r.Params.Arguments = name, args
	var got captured
	if _, err := conn.client.GetPrompt(withCapture(ctx, &got), r); err != nil {
		return "", fmt.Errorf("writing the prompt %s out: %w", s.full(name), plainError(err))
	}
	if _, asks, _ := readInputs(got.result()); asks {
		return "", fmt.Errorf("writing the prompt %s out: the server asks a question first, which legwork supports only for tools and resources", s.full(name))
	}
	text, err := promptText(got.result())
	if err != nil {
		return "", fmt.Errorf("writing the prompt %s out: %w", s.full(name), err)
	}
	return text, nil
}

// checkPrompt tells whether a prompt exists and has what it needs.
func (c *Catalog) checkPrompt(name string, args map[string]string) error {
	for _, p := range c.Prompts {
		if p.Name != name {
			continue
		}
		for _, a := range p.Arguments {
			if a.Required && args[a.Name] == "" {
				return fmt.Errorf("it needs the argument %q", a.Name)
			}
		}
		return nil
	}
	return errors.New("the server has no such prompt")
}

// promptText is the result of prompts/get as one text.
func promptText(raw []byte) (string, error) {
	var r struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", fmt.Errorf("reading it: %w", err)
	}
	var parts []string
	for _, m := range r.Messages {
		text := contentText(m.Content)
		if len(r.Messages) > 1 {
			text = m.Role + ": " + text
		}
		parts = append(parts, text)
	}
	text := clean(strings.Join(parts, "\n\n"))
	if len(text) > maxPrompt {
		return "", fmt.Errorf("it has more than %d bytes", maxPrompt)
	}
	return text, nil
}
