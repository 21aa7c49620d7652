package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// draft is a reply while it comes in.
type draft struct {
	stream   func(Delta)
	split    splitter
	text     strings.Builder
	thinking strings.Builder
	calls    []*callDraft
	usage    Usage
	counted  bool      // the endpoint reported usage
	finish   string    // its reason to finish; empty: not yet
	pieces   bool      // a delta was seen
	began    time.Time // when the first one was; zero before
	most     int       // bytes that the reply may have
	bytes    int       // that it has
	choices  bool      // an event of the protocol was seen
}

// callDraft is a tool call while it comes in.
type callDraft struct {
	index     int // the endpoint's; -1 where it gave none
	id, name  string
	arguments strings.Builder
}

// minReplyBytes is how long every reply may be, in bytes, whatever its model's
// limit of tokens.
const minReplyBytes = 1 << 20

var errTooMuch = errors.New("the reply is far longer than its model may write")

// maxCalls is how many tool calls one reply may hold.
const maxCalls = 256

// midStreamError is an error that came as an event of a stream.
type midStreamError struct{ said apiError }

func (e *midStreamError) Error() string {
	return "the stream broke off with an error: " + e.said.message
}

var errNoChoices = errors.New("the reply is JSON, but not of the protocol: it has no choices")

var errNotJSON = errors.New("an event of the stream is not the protocol's JSON")

var errCalls = errors.New("the reply holds more than 256 tool calls")

// take adds an event. It may call stream.
func (d *draft) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return errNotJSON
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return &midStreamError{readAPIError(data)}
	}
	if u, ok := readUsage(c.Usage); ok {
		d.usage, d.counted = u, true
	}
	d.choices = d.choices || c.Choices != nil
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		part := choice.Delta
		if part.empty() && !d.pieces {
			part = choice.Message
		}
		if !d.pieces && !part.empty() {
			d.pieces, d.began = true, time.Now()
		}
		if err := d.add(part); err != nil {
			return err
		}
		if d.bytes > d.most {
			return errTooMuch
		}
		if choice.FinishReason != "" {
			d.finish = choice.FinishReason
		}
	}
	return nil
}

func (p piece) empty() bool {
	return p.Content == content{} && p.ReasoningContent == content{} && p.Reasoning == content{} &&
		p.Refusal == "" && len(p.ToolCalls) == 0
}

func (d *draft) add(p piece) error {
	thinking := cmp.Or(p.ReasoningContent.text, p.Reasoning.text)
	text, inline := d.split.add(p.Content.text + p.Refusal)
	d.emit(text, thinking+p.Content.thinking+inline)
	for _, part := range p.ToolCalls {
		if err := d.call(part); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) emit(text, thinking string) {
	if text == "" && thinking == "" {
		return
	}
	d.text.WriteString(text)
	d.thinking.WriteString(thinking)
	d.bytes += len(text) + len(thinking)
	if d.stream != nil {
		d.stream(Delta{Text: text, Thinking: thinking})
	}
}

// call adds a part to its call: that of the same index, unless it brings
// another id; without an index the last one, unless it begins a new call.
func (d *draft) call(part callPart) error {
	at, index := len(d.calls)-1, -1
	if part.Index != nil {
		index = *part.Index
		for at >= 0 && d.calls[at].index != index {
			at--
		}
	}
	if at < 0 || d.calls[at].endsBefore(part) {
		if len(d.calls) == maxCalls {
			return errCalls
		}
		d.calls = append(d.calls, &callDraft{index: index})
		at = len(d.calls) - 1
	}
	c := d.calls[at]
	or(&c.id, part.ID)
	or(&c.name, part.Function.Name)
	c.arguments.WriteString(string(part.Function.Arguments))
	d.bytes += len(part.Function.Name) + len(part.Function.Arguments)
	return nil
}

// endsBefore reports whether part belongs to another call than c: it brings
// another id or, without ids and indexes, another name.
func (c *callDraft) endsBefore(part callPart) bool {
	switch {
	case part.ID != "" && c.id != "":
		return part.ID != c.id
	case part.Index != nil:
		return false
	}
	return part.Function.Name != "" && c.name != ""
}

// close ends the text.
func (d *draft) close() { d.emit(d.split.end()) }

// toolCalls returns the calls with ids that differ and arguments that are not
// empty. A call without a name is kept: the caller tells the model.
func (d *draft) toolCalls() []ToolCall {
	out := make([]ToolCall, 0, len(d.calls))
	for _, c := range d.calls {
		call := ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()}
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		call.Arguments = meantArguments(call.Arguments)
		out = append(out, call)
	}
	return withIDs(out)
}

// withIDs gives an id to each call that has none or one that came before.
func withIDs(calls []ToolCall) []ToolCall {
	if len(calls) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		for n := i + 1; calls[i].ID == "" || seen[calls[i].ID]; n++ {
			calls[i].ID = "call_" + strconv.Itoa(n)
		}
		seen[calls[i].ID] = true
	}
	return calls
}

// whole reports whether every call's arguments are complete JSON.
func (d *draft) whole() bool {
	return !slices.ContainsFunc(d.calls, func(c *callDraft) bool {
		text := strings.TrimSpace(c.arguments.String())
		return text != "" && !json.Valid([]byte(text))
	})
}

// size is the number of bytes that the model wrote.
func (d *draft) size() int {
	n := d.text.Len() + d.thinking.Len()
	for _, c := range d.calls {
		n += len(c.name) + c.arguments.Len()
	}
	return n
}
