package llmfake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// errBroken tells that the fake broke the reply off as it was asked to.
var errBroken = errors.New("broken off")

// errEnded tells that the reply has properly ended before its time.
var errEnded = errors.New("ended early")

// reply writes one response.
type reply struct {
	Response
	w       http.ResponseWriter
	request Request
	start   time.Time
	tokens  int
	events  int
	sent    int    // bytes
	held    []byte // written and not flushed yet
}

// send writes the response and says what became of it. After EventBroken the
// connection must not be used again.
func send(ctx context.Context, w http.ResponseWriter, request Request, response Response) string {
	r := &reply{Response: response, w: w, request: request, start: time.Now()}
	err := r.write(ctx)
	switch {
	case errors.Is(err, errBroken):
		return EventBroken
	case err != nil && !errors.Is(err, errEnded):
		return EventGone
	case response.Fault.Kind != "":
		return EventFault
	}
	return EventReply
}

func (r *reply) write(ctx context.Context) error {
	if r.Fault.Kind == FaultHang {
		return wait(ctx, nil)
	}
	if err := wait(ctx, time.After(r.First)); err != nil {
		return err
	}
	switch r.Fault.Kind {
	case FaultStatus:
		return r.status()
	case FaultHead:
		r.w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(r.w).Flush(); err != nil {
			return err
		}
		return wait(ctx, nil)
	case FaultGarbage:
		return r.page(ctx, "application/json", `{"status":"ok","data":[1,2,3]}`)
	case FaultHTML:
		return r.page(ctx, "text/html; charset=utf-8", "<!doctype html><html><title>Sign in</title><p>Please sign in.</html>")
	}
	if r.Body != "" {
		return r.page(ctx, cmp.Or(r.Type, "text/event-stream"), r.Body)
	}
	if r.request.Call != "" {
		return r.media(ctx)
	}
	if r.request.Stream {
		return r.stream(ctx)
	}
	return r.whole(ctx)
}

// wait returns when c fires, and ctx's error when it ends first.
func wait(ctx context.Context, c <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c:
		return nil
	}
}

func (r *reply) page(ctx context.Context, contentType, text string) error {
	r.w.Header().Set("Content-Type", contentType)
	if err := r.put(ctx, []byte(text)); err != nil {
		return err
	}
	return r.flush(ctx)
}

// whole writes an unstreamed reply.
func (r *reply) whole(ctx context.Context) error {
	pause := time.Duration(len(tokens(r.Text, r.Token))) * r.PerToken
	if err := wait(ctx, time.After(pause)); err != nil {
		return err
	}
	message := map[string]any{"role": "assistant", "content": orNull(r.Text), "refusal": nil}
	if r.Thinking != "" {
		message["reasoning_content"] = r.Thinking
	}
	if r.ToolCalls != nil {
		message["tool_calls"] = wireCalls(r.ToolCalls)
	}
	text, err := json.Marshal(map[string]any{
		"id": r.id(), "object": "chat.completion", "created": r.start.Unix(), "model": r.request.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": r.finish()}},
		"usage":   r.usage(),
	})
	if err != nil {
		return err
	}
	return r.document(ctx, "application/json", text)
}

// document writes a reply that is no stream.
func (r *reply) document(ctx context.Context, contentType string, content []byte) error {
	r.w.Header().Set("Content-Type", cmp.Or(r.Type, contentType))
	switch r.Fault.Kind {
	case FaultEnd, FaultCut, FaultReset, FaultStall, FaultError:
		if err := r.put(ctx, content[:len(content)/2]); err != nil {
			return err
		}
		return r.breakOff(ctx)
	}
	return r.put(ctx, content)
}

func wireCalls(calls []ToolCall) []any {
	var out []any
	for _, c := range calls {
		out = append(out, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	return out
}

func (r *reply) id() string { return fmt.Sprintf("chatcmpl-%d", r.request.Seq) }

func (r *reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r *reply) usage() map[string]any {
	u := r.Usage
	if u == nil {
		out := len(r.Text) + len(r.Thinking)
		for _, c := range r.ToolCalls {
			out += len(c.Name) + len(c.Arguments)
		}
		u = &Usage{Input: len(r.request.Raw) / 4, Output: (out + 3) / 4}
	}
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Cached},
	}
}

// put writes bytes, one by one when the reply is slow, and flushes them.
func (r *reply) put(ctx context.Context, text []byte) error {
	r.held = append(r.held, text...)
	for r.Split > 0 && len(r.held) > r.Split && r.Fault.Kind != FaultSlow {
		piece := r.held[:r.Split]
		r.held = r.held[r.Split:]
		if err := r.raw(ctx, piece); err != nil {
			return err
		}
	}
	if r.Split > 0 && r.request.Stream {
		return nil
	}
	return r.flush(ctx)
}

func (r *reply) flush(ctx context.Context) error {
	text := r.held
	r.held = nil
	if r.Fault.Kind != FaultSlow {
		return r.raw(ctx, text)
	}
	every := r.Fault.Every
	if every == 0 {
		every = 20 * time.Millisecond
	}
	for _, b := range text {
		if err := wait(ctx, time.After(every)); err != nil {
			return err
		}
		if err := r.raw(ctx, []byte{b}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reply) raw(ctx context.Context, text []byte) error {
	if err := ctx.Err(); err != nil || len(text) == 0 {
		return err
	}
	room := r.Fault.Bytes - r.sent
	cut := r.Fault.Bytes > 0 && len(text) >= room
	if cut {
		text = text[:room]
	}
	r.sent += len(text)
	if _, err := r.w.Write(text); err != nil {
		return err
	}
	if err := http.NewResponseController(r.w).Flush(); err != nil || !cut {
		return err
	}
	r.held, r.Fault.Bytes = nil, 0
	if err := r.breakOff(ctx); err != nil {
		return err
	}
	return errEnded
}

// tokens cuts text into pieces of n characters, or into words with the space
// that follows them.
func tokens(text string, n int) []string {
	var out []string
	for text != "" {
		end := 0
		if n > 0 {
			for i := 0; i < n && end < len(text); i++ {
				_, size := utf8.DecodeRuneInString(text[end:])
				end += size
			}
		} else {
			end = wordEnd(text)
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

func wordEnd(text string) int {
	space := strings.IndexFunc(text, unicode.IsSpace)
	if space < 0 {
		return len(text)
	}
	rest := bytes.IndexFunc([]byte(text[space:]), func(r rune) bool { return !unicode.IsSpace(r) })
	if rest < 0 {
		return len(text)
	}
	return space + rest
}
