package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"legwork/internal/clip"
)

// usageWait is how long a complete reply waits for the event with its usage.
const usageWait = 2 * time.Second

// send makes one request and reads its reply to the end. The draft holds what
// came, also beside a fault; it is nil when no reply began.
func (e *endpoint) send(ctx context.Context, out openai.ChatCompletionRequest, emit func(Delta)) (*draft, *fault) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := e.client.CreateChatCompletionStream(ctx, out)
	if err != nil {
		return nil, e.sendFault(err)
	}
	defer func() { _ = s.Close() }()
	d := &draft{stream: emit, most: max(minReplyBytes, 16*e.config.MaxOutputTokens)}
	var linger *time.Timer
	for err == nil {
		var data []byte
		if data, err = s.RecvRaw(); err == nil {
			err = d.take(data)
		}
		if d.finish != "" && linger == nil {
			linger = time.AfterFunc(usageWait, func() { cancel(errComplete) })
			defer linger.Stop()
		}
	}
	d.close()
	return d, e.replyFault(d, err)
}

// sendFault makes the fault of an error before a reply began: the doer's, or one of
// go-openai's own checks.
func (e *endpoint) sendFault(err error) *fault {
	if f := asFault(err); f != nil {
		return f
	}
	f := &fault{problem: Invalid, err: err}
	if errors.Is(err, openai.ErrReasoningToolsRequireResponses) {
		f.hint = e.doer.key("reasoning_effort") + " must be none: this model takes no tools otherwise"
	}
	return f
}

// replyFault returns nil when the draft is a complete reply. end is the error that
// ended its stream, io.EOF after the [DONE] event.
func (e *endpoint) replyFault(d *draft, end error) *fault {
	f := e.classifyEnd(d, end)
	if f == nil {
		return nil
	}
	f.paid = d.pieces || d.counted
	f.partial = clip.Bytes(d.text.String(), d.most)
	if f.length {
		f.calls = d.toolCalls()
	}
	f.err = errors.New(e.doer.redact(f.err.Error()))
	return f
}

func (e *endpoint) classifyEnd(d *draft, end error) *fault {
	if errors.Is(end, io.EOF) || d.finish != "" {
		return e.classifyFinish(d)
	}
	var strange *protocolError
	var said *midStreamError
	switch {
	case errors.As(end, &said):
		return e.midStreamFault(said)
	case errors.As(end, &strange):
		f := &fault{problem: Garbage, retry: len(strange.begin) == 0, err: end}
		if !f.retry {
			f.hint = e.doer.addressHint(apiError{})
		}
		return f
	case errors.Is(end, errIncomplete) && !d.choices:
		return &fault{problem: Garbage, retry: true, err: errNoChoices, hint: e.doer.addressHint(apiError{})}
	case errors.Is(end, errIncomplete):
		return &fault{problem: CutOff, retry: true, err: end}
	case errors.Is(end, errTooMuch), errors.Is(end, errReplyTooLong) && d.pieces:
		return &fault{problem: CutOff, err: end, hint: "the endpoint does not keep to " + e.doer.key("max_output_tokens")}
	case errors.Is(end, errNotJSON), errors.Is(end, errEventTooLong), errors.Is(end, errReplyTooLong), errors.Is(end, errCalls):
		return &fault{problem: Garbage, retry: errors.Is(end, errNotJSON), err: end}
	}
	f := e.doer.connectionFault(end)
	if d.pieces {
		f.problem = CutOff
	}
	return f
}

// midStreamFault makes the fault of an error sent in place of the rest of a reply.
func (e *endpoint) midStreamFault(said *midStreamError) *fault {
	status := said.said.status
	switch {
	case status != 0:
	case said.said.is("rate_limit", "rate limit", "too many requests"):
		status = 429
	default:
		status = 500
	}
	f := e.doer.classify(status, said.said)
	f.err = said
	return f
}

var errThought = errors.New("the reply holds thinking and neither text nor tool calls")

// classifyFinish checks a reply that the model or the endpoint has ended.
func (e *endpoint) classifyFinish(d *draft) *fault {
	empty := strings.TrimSpace(d.text.String()) == "" && len(d.calls) == 0
	switch strings.ToLower(d.finish) {
	case "length", "max_tokens", "model_length":
		f := &fault{problem: CutOff, length: true, err: errors.New("the reply reached max_output_tokens")}
		if empty && d.thinking.Len() > 0 {
			f.hint = "all of " + e.doer.key("max_output_tokens") + " went into thinking"
		}
		return f
	case "content_filter", "safety", "prohibited_content", "blocklist", "sensitive":
		return &fault{problem: Filtered, err: errors.New("a content filter stopped the reply")}
	case "error", "network_error", "insufficient_system_resource":
		return &fault{problem: Unreachable, retry: true, err: errors.New("the endpoint ended the reply with an error")}
	}
	switch {
	case empty && strings.TrimSpace(d.thinking.String()) != "":
		return &fault{problem: Garbage, thought: true, err: errThought}
	case empty:
		return &fault{problem: Garbage, retry: true, err: errors.New("the reply holds neither text nor tool calls")}
	case d.finish == "" && !d.whole():
		return &fault{problem: CutOff, retry: true, err: errors.New("the arguments of a tool call are not complete")}
	}
	return nil
}

// reply makes the Reply of a complete draft. Usage and Elapsed are the call's. Calls
// in the text count also for a model with tool calling: when its server does not know
// the form in which it was trained to write them, they come as text.
func (e *endpoint) reply(d *draft, r Request) Reply {
	reply := Reply{Text: d.text.String(), Thinking: d.thinking.String(), ToolCalls: d.toolCalls(), Model: e.name}
	if len(r.Tools) == 0 || len(reply.ToolCalls) > 0 {
		return reply
	}
	reply.ToolCalls, reply.Text = readTextCalls(reply.Text, r.Tools)
	return reply
}

// attemptUsage counts what an attempt cost. paid is false when no reply had begun.
// The gauge learns from complete replies.
func (e *endpoint) attemptUsage(d *draft, prompt promptSize, complete bool) (u Usage, paid bool) {
	if complete {
		e.measured.Store(true)
	}
	switch {
	case d == nil || !d.pieces && !d.counted:
		return Usage{}, false
	case !d.counted || !e.plausible(d.usage, prompt.bytes+prompt.images*imageBytes, d.size()):
		return e.priced(Usage{Input: e.promptTokens(prompt), Output: e.tokens(d.size()), Estimated: true}), true
	}
	if complete && prompt.images == 0 {
		e.tokenRatio.learn(prompt.bytes, d.usage.Input)
	}
	return e.priced(d.usage), true
}

// adapt finds out from an error which field the endpoint does not support. It
// reports whether a retry without that field can help.
func (e *endpoint) adapt(sent openai.ChatCompletionRequest, f *fault) bool {
	text := strings.ToLower(f.err.Error())
	if f.status == http.StatusBadRequest && len(sent.Tools) > 0 && !e.quirks.briefTools.Load() &&
		strings.Contains(text, "description") && strings.Contains(text, "too long") {
		e.quirks.briefTools.Store(true)
		return true
	}
	if f.problem != Invalid || f.status == 0 {
		return false
	}
	if len(sent.Tools) > 0 && refusesTools(text) {
		f.hint = "set " + e.doer.key("tool_calls") + " to text: this model takes no tools by the protocol"
		return false
	}
	if strings.Contains(text, "too large") && (sentMaxTokens(sent) || sent.MaxCompletionTokens > 0) {
		or(&f.hint, "check "+e.doer.key("max_output_tokens"))
		return false
	}
	switch {
	case sent.StreamOptions != nil && strings.Contains(text, "stream_options"):
		e.quirks.noStreamOptions.Store(true)
	case sentMaxTokens(sent) && strings.Contains(text, "max_completion_tokens"):
		e.quirks.completionTokens.Store(true)
	case sent.MaxCompletionTokens > 0 && strings.Contains(text, "max_completion_tokens"),
		sentMaxTokens(sent) && strings.Contains(text, "max_tokens"):
		e.quirks.noLimit.Store(true)
	default:
		return false
	}
	return true
}

// refusesTools matches the errors of Ollama, vLLM and others for models without
// tool calling.
func refusesTools(text string) bool {
	return containsAny(text, "not support tool", "not support function", "tool-call-parser", "tool choice requires")
}
