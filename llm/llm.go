// Package llm speaks to language models: any OpenAI-compatible endpoint, named
// models with roles, fallback, retries and honest errors.
package llm

import (
	"context"
	"encoding/json"
	"time"
)

// The roles a model can be given in the config. The first four always have a model.
const (
	RolePlan       = "plan"
	RoleReview     = "review"
	RoleWork       = "work"
	RoleAnswer     = "answer"
	RoleVision     = "vision"     // of requests with images
	RoleTranscribe = "transcribe" // of Transcribe
	RoleImage      = "image"      // of Paint
	RoleSpeech     = "speech"     // of Speak
)

// The roles of a Message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

// Message is one entry of a prompt. An assistant's tool calls must be followed
// by one tool message for each, in any order; Check enforces it.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Images     []Image    `json:"images,omitempty"` // of a user's message, after its Content
}

// Image is a picture that a model can look at.
type Image struct {
	Type string `json:"type"` // image/png, image/jpeg, image/gif or image/webp
	Data []byte `json:"data"`
}

// ToolCall is a model's wish to call a tool.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it, perhaps malformed
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string          `json:"name"` // [a-zA-Z0-9_-]{1,64}
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Request is one call of a model.
type Request struct {
	Role     string // RolePlan and so on: chooses the model
	Model    string // a configured model's name; empty: the role's
	Messages []Message
	Tools    []Tool
	// TextTools explains to a model without tool calling how to write a call in
	// its text. It is added to the system message only for such models; the
	// tools' definitions follow it.
	TextTools string
	// MaxOutput bounds the reply, in tokens, below the model's max_output_tokens; 0: no
	// further bound.
	MaxOutput int
	// BeforeRetry is called before each attempt that follows a paid one, at the same
	// model or at a fallback. After its error there are no further attempts, and the
	// call ends with the failure of the last one. May be nil.
	BeforeRetry func() error `json:"-"`
}

// Delta is a piece of a streamed reply.
type Delta struct {
	Text     string
	Thinking string
	Reset    bool // forget the earlier pieces: the call is made again
}

// Usage counts what calls used: one call with all its attempts, or several calls
// together.
type Usage struct {
	Input       int   `json:"input,omitempty"` // of these, CachedInput were cached
	CachedInput int   `json:"cached_input,omitempty"`
	Output      int   `json:"output,omitempty"`
	Estimated   bool  `json:"estimated,omitempty"` // the endpoint reported none
	Cost        int64 `json:"cost,omitempty"`      // millionths of a US dollar; without those of models whose price is not known
	Unpriced    bool  `json:"unpriced,omitempty"`  // some of it has no known price

	Images       int `json:"images,omitempty"`        // pictures that were made
	AudioSeconds int `json:"audio_seconds,omitempty"` // of audio that was transcribed
	Characters   int `json:"characters,omitempty"`    // of text that was spoken
}

// Tokens is how many were used in all.
func (u Usage) Tokens() int64 { return int64(u.Input) + int64(u.Output) }

// Empty reports that nothing was used.
func (u Usage) Empty() bool {
	return u.Tokens() == 0 && u.Cost == 0 && u.Images == 0 && u.AudioSeconds == 0 && u.Characters == 0
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CachedInput: u.CachedInput + v.CachedInput, Output: u.Output + v.Output,
		Estimated: u.Estimated || v.Estimated, Cost: u.Cost + v.Cost, Unpriced: u.Unpriced || v.Unpriced,
		Images: u.Images + v.Images, AudioSeconds: u.AudioSeconds + v.AudioSeconds, Characters: u.Characters + v.Characters,
	}
}

// Reply is a complete reply. A reply that was cut off is an error instead.
type Reply struct {
	Text      string
	Thinking  string
	ToolCalls []ToolCall
	Usage     Usage
	Model     string        // name in the config of the model that answered
	Elapsed   time.Duration // of the whole call
}

// Model answers requests. stream may be nil; while Call runs it is called with
// the pieces in order, one at a time, and never after Call returned.
type Model interface {
	Call(ctx context.Context, r Request, stream func(Delta)) (Reply, error)
}

// Problem is the kind of an Error. It is also the key of the sentence that a
// person reads.
type Problem string

// The problems of model calls.
const (
	Unreachable Problem = "unreachable" // no connection, reset, 5xx, no first byte, idle
	Refused     Problem = "refused"     // 401, 403: the key
	NotFound    Problem = "not_found"   // 404: the address or the model's name
	Busy        Problem = "busy"        // 429
	Invalid     Problem = "invalid"     // 400 and the like: this request will never do
	TooLong     Problem = "too_long"    // the context is too small for the prompt
	Filtered    Problem = "filtered"    // a content filter stopped it
	CutOff      Problem = "cut_off"     // truncated by length or a broken stream
	Garbage     Problem = "garbage"     // not the protocol, or an empty reply
	Held        Problem = "held"        // Options.Gate did not allow the call
)

// Problems lists the problems of endpoints: all but Held.
func Problems() []Problem {
	return []Problem{Unreachable, Refused, NotFound, Busy, Invalid, TooLong, Filtered, CutOff, Garbage}
}

// Error is what Call returns when every attempt and every fallback failed; it
// describes the last one. Cancellation is returned as the context's error.
type Error struct {
	Problem Problem
	Model   string // name in the config
	Status  int    // HTTP status; 0 for none
	Hint    string // advice for an admin, in English; may be empty
	Usage   Usage  // tokens that were paid for nevertheless
	Partial string // the longest text received before it was cut off
	Err     error
	// Length: a CutOff reply had reached max_output_tokens. Calls are those that had
	// begun; the last one is not complete.
	Length bool
	Calls  []ToolCall
	// Wait is how long a Busy endpoint asks to wait; 0: it did not say.
	Wait time.Duration
}

func (e *Error) Error() string {
	s := "calling model " + quote(e.Model) + ": " + string(e.Problem)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

func quote(s string) string { return toJSON(s) }
