package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// errCancelled ends a conversation that the client called off.
var errCancelled = errors.New("cancelled")

// capabilitiesKey is where a conversation keeps what the client declared.
type capabilitiesKey struct{}

// converse makes a call that asks the client the older way: its questions are
// requests on the stream of the call, and the call goes on with the answers.
func (f *fake) converse(x *exchange, handle server.ToolHandlerFunc) {
	cancelled := f.cancels(x)
	if x.http != nil {
		x.http.stream = true
	}
	x.back.later(func() {
		ctx := context.WithValue(x.ctx(), capabilitiesKey{}, f.gate.capabilities(x.session))
		var r mcp.CallToolRequest
		var arguments map[string]any
		_ = json.Unmarshal(x.params.Arguments, &arguments) // the tool misses what it needs
		r.Params.Name, r.Params.Arguments = x.params.Name, arguments
		for {
			result, err := handle(ctx, r)
			if err == nil && result.NeedsInput() {
				r.Params.InputResponses, err = f.put(x, result.InputRequests, cancelled)
				r.Params.RequestState = result.RequestState
			} else if err == nil {
				b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": x.ID, "result": result})
				x.reply(string(b))
				return
			}
			if errors.Is(err, errCancelled) {
				return
			}
			if err != nil {
				x.reply(failure(err).message(x.ID))
				return
			}
		}
	})
}

// failure is the error of a call as the client gets it.
func failure(err error) *refusal {
	var visit mcp.URLElicitationRequiredError
	if errors.As(err, &visit) {
		return &refusal{code: mcp.URL_ELICITATION_REQUIRED, text: "a person must sign in first", data: map[string]any{"elicitations": visit.Elicitations}}
	}
	return &refusal{code: mcp.INTERNAL_ERROR, text: err.Error()}
}

// put asks questions one after the other.
func (f *fake) put(x *exchange, questions mcp.InputRequests, cancelled <-chan struct{}) (mcp.InputResponses, error) {
	answers := mcp.InputResponses{}
	for name, q := range questions {
		id := fmt.Sprintf("ask-%d", f.questions.Add(1))
		message := map[string]any{"jsonrpc": "2.0", "id": id, "method": q.Method}
		switch {
		case q.Elicitation != nil:
			message["params"] = q.Elicitation
		case q.Sampling != nil:
			message["params"] = q.Sampling
		}
		b, err := json.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("asking: %w", err)
		}
		wait := make(chan exchange, 1)
		f.mu.Lock()
		f.waiting[id] = wait
		f.mu.Unlock()
		f.ask(x, string(b))
		select {
		case a := <-wait:
			if a.Result == nil {
				return nil, fmt.Errorf("asking: the client answered with an error: %s", a.Error)
			}
			var answer mcp.InputResponse
			if err := json.Unmarshal(a.Result, &answer); err != nil {
				return nil, fmt.Errorf("reading the answer: %w", err)
			}
			answers[name] = answer
		case <-cancelled:
			x.reply(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"` + id + `","reason":"the call was cancelled"}}`)
			return nil, errCancelled
		}
	}
	return answers, nil
}

// ask brings a question: on the stream of the call, or, with -aside, on that
// of the client's GET once it is there.
func (f *fake) ask(x *exchange, question string) {
	if !f.aside || f.http == "" {
		x.reply(question)
		return
	}
	for {
		if s := f.streams.find(x.session); s != nil {
			s.event(question, "", 0, "")
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-x.ctx().Done():
			return
		}
	}
}

// answered brings an answer of the client to the question that waits for it.
func (f *fake) answered(x *exchange) bool {
	var id string
	if x.Method != "" || json.Unmarshal(x.ID, &id) != nil {
		return false
	}
	f.mu.Lock()
	wait, ok := f.waiting[id]
	delete(f.waiting, id)
	f.mu.Unlock()
	if ok {
		wait <- *x
		x.back.accept()
	}
	return ok
}
