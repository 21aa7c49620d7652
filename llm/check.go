package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxName is how long OpenAI lets a tool's name be.
const maxName = 64

// Check says why a request must not be sent, or nil. These hold for every
// request: system messages come first, then a user's; every tool call of an
// assistant is answered by exactly one tool message right after it; the ids of
// one message's calls differ; the last message is not the assistant's; tools have
// distinct names of [a-zA-Z0-9_-]{1,64} and objects as schemas. Arguments and
// names of calls in the history may be malformed: they are mended when sent.
func Check(r Request) error {
	if len(r.Messages) == 0 {
		return errors.New("there are no messages")
	}
	if err := checkTools(r.Tools); err != nil {
		return err
	}
	h := history{}
	for i, m := range r.Messages {
		if err := h.add(m); err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
	}
	return h.end()
}

func checkTools(tools []Tool) error {
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		if !validName(t.Name) {
			return fmt.Errorf("tool %d: the name %q is not of [a-zA-Z0-9_-]{1,64}", i, t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("tool %d: a second tool is named %q", i, t.Name)
		}
		seen[t.Name] = true
		if len(t.Schema) > 0 && !isObject(t.Schema) {
			return fmt.Errorf("tool %q: its schema is not a JSON object", t.Name)
		}
	}
	return nil
}

// history is the state of the check of messages.
type history struct {
	started bool            // something but system messages was seen
	last    string          // role of the last message
	open    map[string]bool // calls of the last assistant message that have no result yet
	done    map[string]bool // calls that have a result
}

func (h *history) add(m Message) error {
	if m.Role != ToolRole {
		if err := h.settled(); err != nil {
			return err
		}
		h.open, h.done = nil, nil
	}
	var err error
	switch m.Role {
	case System:
		if h.started {
			return errors.New("system messages must come first")
		}
	case User:
		if strings.TrimSpace(m.Content) == "" {
			return errors.New("the text is empty")
		}
	case Assistant:
		err = h.assistant(m)
	case ToolRole:
		err = h.result(m)
	default:
		return fmt.Errorf("no such role; allowed: %s, %s, %s, %s", System, User, Assistant, ToolRole)
	}
	if m.Role != Assistant && len(m.ToolCalls) > 0 {
		return errors.New("only an assistant calls tools")
	}
	if err := checkImages(m); err != nil {
		return err
	}
	if m.Role != ToolRole && m.ToolCallID != "" {
		return errors.New("only a tool message answers a call")
	}
	h.started = h.started || m.Role != System
	h.last = m.Role
	return err
}

// MaxImage is how large an image of a message can be, in bytes; OpenAI takes 20 MB,
// others 5.
const MaxImage = 5 << 20

// ImageTypes are the types of image that models look at.
func ImageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func checkImages(m Message) error {
	if len(m.Images) > 0 && m.Role != User {
		return errors.New("only a user's message holds images")
	}
	for i, image := range m.Images {
		if !slices.Contains(ImageTypes(), image.Type) {
			return fmt.Errorf("image %d is of type %q; allowed: %s", i, image.Type, strings.Join(ImageTypes(), ", "))
		}
		if len(image.Data) == 0 || len(image.Data) > MaxImage {
			return fmt.Errorf("image %d has %d bytes; allowed: 1 to %d", i, len(image.Data), MaxImage)
		}
	}
	return nil
}

func (h *history) assistant(m Message) error {
	if !h.started {
		return errors.New("a user must speak before the assistant")
	}
	if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
		return errors.New("neither text nor tool calls")
	}
	h.open, h.done = map[string]bool{}, map[string]bool{}
	for _, c := range m.ToolCalls {
		switch {
		case c.ID == "":
			return fmt.Errorf("the call of %q has no id", c.Name)
		case h.open[c.ID]:
			return fmt.Errorf("two calls have the id %q", c.ID)
		case c.Name == "":
			return fmt.Errorf("the call %q names no tool", c.ID)
		}
		h.open[c.ID] = true
	}
	return nil
}

func (h *history) result(m Message) error {
	switch {
	case h.done[m.ToolCallID]:
		return fmt.Errorf("a second result of the call %q", m.ToolCallID)
	case !h.open[m.ToolCallID]:
		return fmt.Errorf("the result of a call %q that the message before did not make", m.ToolCallID)
	}
	delete(h.open, m.ToolCallID)
	h.done[m.ToolCallID] = true
	return nil
}

func (h *history) settled() error {
	for id := range h.open {
		return fmt.Errorf("the call %q before it has no result", id)
	}
	return nil
}

func (h *history) end() error {
	if err := h.settled(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	switch {
	case !h.started:
		return errors.New("there is no user message")
	case h.last == Assistant:
		return errors.New("the last word is the assistant's: nothing is left to reply to")
	}
	return nil
}

func validName(name string) bool {
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, invalidInName) < 0
}

func invalidInName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return false
	}
	return true
}

// isObject reports whether raw is exactly one valid JSON object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
