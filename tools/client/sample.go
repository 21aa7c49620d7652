package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/llm"
)

// invalid is the refusal of a request that cannot be read.
func invalid(err error) error {
	return &refusal{code: mcp.INVALID_PARAMS, message: err.Error()}
}

// sample makes a model call that a server asks for.
func (c *connection) sample(f *flight, params json.RawMessage) (any, error) {
	if !c.cfg.Sampling || f == nil || f.call.Sample == nil {
		return nil, &refusal{code: mcp.METHOD_NOT_FOUND, message: "legwork makes no model calls for this server; its admin can allow them (sampling)"}
	}
	s, err := readSampling(params)
	if err != nil {
		return nil, invalid(err)
	}
	s.Server = c.cfg.Name
	f.clock.pause() // people may have to agree, and the model takes its own time
	defer f.clock.resume()
	f.free()
	out, err := f.call.Sample(f.ctx, s)
	if err != nil {
		return nil, &refusal{code: -1, message: "the model call was refused or failed"} // why is not the server's business
	}
	return map[string]any{
		"role": "assistant", "model": out.Model, "stopReason": "endTurn",
		"content": map[string]string{"type": "text", "text": out.Text},
	}, nil
}

// maxSampling is how long a model call may be that a server asks for, in bytes: a
// person has to read it.
const maxSampling = 32 << 10

// readSampling reads the params of sampling/createMessage. What is not text is
// told of in words.
func readSampling(params json.RawMessage) (Sampling, error) {
	var p struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		System    string `json:"systemPrompt"`
		MaxTokens int    `json:"maxTokens"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return Sampling{}, fmt.Errorf("reading the model call: %w", err)
	}
	if len(p.Messages) == 0 {
		return Sampling{}, errors.New("a model call without messages")
	}
	s := Sampling{System: clean(p.System), MaxTokens: p.MaxTokens}
	for _, m := range p.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return Sampling{}, fmt.Errorf("messages of the role %q are not known", clean(m.Role))
		}
		s.Messages = append(s.Messages, llm.Message{Role: m.Role, Content: inWords(m.Content)})
	}
	if size := s.size(); size > maxSampling {
		return Sampling{}, fmt.Errorf("a model call of %d bytes; the limit is %d", size, maxSampling)
	}
	return s, nil
}

func (s Sampling) size() int {
	n := len(s.System)
	for _, m := range s.Messages {
		n += len(m.Content)
	}
	return n
}

// roots tells a server which folders it is to work in.
func (c *connection) roots() (any, error) {
	if len(c.cfg.Roots) == 0 {
		return nil, &refusal{code: mcp.METHOD_NOT_FOUND, message: "legwork has no folders for this server; its admin can name some (roots)"}
	}
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	all := []root{}
	for _, folder := range c.cfg.Roots {
		path, err := filepath.Abs(folder)
		if err != nil {
			continue
		}
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			c.log.Warn("a folder of the server's roots is missing", "folder", folder)
			continue
		}
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		all = append(all, root{URI: u.String(), Name: filepath.Base(path)})
	}
	return map[string]any{"roots": all}, nil
}
