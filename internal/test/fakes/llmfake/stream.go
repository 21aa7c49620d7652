package llmfake

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
)

// stream writes the reply as server-sent events the way OpenAI does: the role,
// the pieces, the finish reason, the usage, [DONE].
func (r *reply) stream(ctx context.Context) error {
	r.w.Header().Set("Content-Type", cmp.Or(r.Type, "text/event-stream"))
	if err := r.flood(ctx); err != nil {
		return err
	}
	broken, err := r.pieces(ctx)
	if err != nil || broken {
		return err
	}
	if r.Fault.Kind != FaultNoDone {
		if err := r.put(ctx, []byte("data: [DONE]\n\n")); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}

// pieces writes all events and reports whether the fault ended the stream.
func (r *reply) pieces(ctx context.Context) (broken bool, err error) {
	for _, e := range r.script() {
		if r.breaks() && r.events == r.Fault.After {
			return true, r.breakOff(ctx)
		}
		if e.token {
			r.tokens++
			due := r.start.Add(r.First + time.Duration(r.tokens)*r.PerToken)
			if err := wait(ctx, time.After(time.Until(due))); err != nil {
				return false, err
			}
			if e.last && r.Hold != nil {
				select {
				case <-r.Hold:
				case <-ctx.Done():
					return false, ctx.Err()
				}
			}
		}
		text, err := json.Marshal(e.chunk)
		if err != nil {
			return false, err
		}
		if err := r.put(ctx, append(append([]byte("data: "), text...), "\n\n"...)); err != nil {
			return false, err
		}
		r.events++
	}
	if r.breaks() {
		return true, r.breakOff(ctx)
	}
	return false, nil
}

type event struct {
	chunk map[string]any
	token bool // it takes the time of a token
	last  bool // of the tokens
}

func (r *reply) script() []event {
	events := []event{{chunk: r.chunk(map[string]any{"role": "assistant", "content": ""}, nil)}}
	say := func(delta map[string]any) {
		events = append(events, event{chunk: r.chunk(delta, nil), token: true})
	}
	for _, piece := range tokens(r.Thinking, r.Token) {
		say(map[string]any{"reasoning_content": piece})
	}
	for _, piece := range tokens(r.Text, r.Token) {
		say(map[string]any{"content": piece})
	}
	for i, c := range r.ToolCalls {
		say(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""},
		}}})
		for _, piece := range tokens(c.Arguments, r.Token) {
			say(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}})
		}
	}
	events[len(events)-1].last = true
	events = append(events, event{chunk: r.chunk(map[string]any{}, r.finish())})
	if r.request.Usage {
		last := r.chunk(nil, nil)
		last["choices"], last["usage"] = []any{}, r.usage()
		events = append(events, event{chunk: last})
	}
	return events
}

func (r *reply) chunk(delta map[string]any, finish any) map[string]any {
	return map[string]any{
		"id": r.id(), "object": "chat.completion.chunk", "created": r.start.Unix(), "model": r.request.Model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	}
}
