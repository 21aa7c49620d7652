package offline

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"legwork/llm"
)

// maxBody is the largest request that is read, in bytes.
const maxBody = 64 << 20

// Serve speaks the OpenAI protocol on a listener until ctx ends; nil then. It
// cuts running streams off, returns after their handlers did, and closes the
// listener.
func Serve(ctx context.Context, l net.Listener, m *Model) error {
	server := &http.Server{Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(wait) != nil {
			_ = server.Close() // somebody sends a request without end; its error adds no information
		}
	})
	if err := server.Serve(l); stop() {
		return fmt.Errorf("serving the offline model: %w", err)
	}
	<-stopped
	return nil
}

// Handler serves chat completions, streamed or not, and the list of models,
// under /v1 and without it. It refuses recordings, speech and pictures. It is strict: what OpenAI refuses is refused here,
// also an unknown model, an unknown key and a tool call without its result.
func (m *Model) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range [...]string{"", "/v1"} {
		mux.HandleFunc("POST "+prefix+"/chat/completions", m.complete)
		mux.HandleFunc("GET "+prefix+"/models", m.list)
		for path, cannot := range map[string]string{
			"/audio/transcriptions": "hears nothing", "/audio/speech": "does not speak", "/images/generations": "makes no pictures",
		} {
			mux.HandleFunc("POST "+prefix+path, func(w http.ResponseWriter, _ *http.Request) {
				refuse(w, http.StatusBadRequest, "unsupported", "The offline stand-in "+cannot+": configure another model for that role.")
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "unknown_url", "Unknown request URL: "+r.Method+" "+r.URL.Path)
	})
	return mux
}

func (m *Model) list(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"object": "list", "data": []openai.Model{{ID: m.o.Name, Object: "model", OwnedBy: "legwork"}}})
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	var in openai.ChatCompletionRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "The body is not a chat completion request: "+err.Error())
		return
	}
	if in.Model != m.o.Name {
		refuse(w, http.StatusNotFound, "model_not_found", fmt.Sprintf("The model %q does not exist; there is %q.", in.Model, m.o.Name))
		return
	}
	request, err := fromWire(in)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	out := &output{w: w, model: m.o.Name, id: fmt.Sprintf("chatcmpl-%d", time.Now().UnixNano()), at: time.Now().Unix()}
	var stream func(llm.Delta)
	if in.Stream {
		stream = func(d llm.Delta) { out.chunk(openai.ChatCompletionStreamChoiceDelta{Content: d.Text}, "") }
	}
	reply, err := m.Call(r.Context(), request, stream)
	var fault *llm.Error
	switch {
	case errors.As(err, &fault):
		refuse(w, fault.Status, "invalid_request", fault.Err.Error())
	case err != nil: // the client is gone
	case in.Stream:
		out.finish(reply, in.StreamOptions != nil && in.StreamOptions.IncludeUsage)
	default:
		out.whole(reply)
	}
}

// fromWire reads a request's messages and tools.
func fromWire(in openai.ChatCompletionRequest) (llm.Request, error) {
	if in.StreamOptions != nil && !in.Stream {
		return llm.Request{}, errors.New("stream_options is only allowed with stream")
	}
	var r llm.Request
	for _, t := range in.Tools {
		if t.Type != openai.ToolTypeFunction || t.Function == nil {
			return r, errors.New(`each of tools must have the type "function" and a function`)
		}
		schema, err := json.Marshal(t.Function.Parameters)
		if err != nil {
			return r, err
		}
		r.Tools = append(r.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: schema})
	}
	for _, m := range in.Messages {
		out := llm.Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
		for _, p := range m.MultiContent {
			out.Content += p.Text
			if p.ImageURL != nil {
				image, err := readImage(p.ImageURL.URL)
				if err != nil {
					return r, err
				}
				out.Images = append(out.Images, image)
			}
		}
		if m.Role == "developer" {
			out.Role = llm.System
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				return r, fmt.Errorf("the arguments of the tool call %q are not JSON", c.ID)
			}
			out.ToolCalls = append(out.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, out)
	}
	return r, nil
}

// readImage reads an image that is part of a request.
func readImage(url string) (llm.Image, error) {
	kind, data, found := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	content, err := base64.StdEncoding.DecodeString(data)
	if !found || err != nil {
		return llm.Image{}, errors.New("an image must be a data URL in base64")
	}
	return llm.Image{Type: kind, Data: content}, nil
}

// output writes one reply in the wire's form.
type output struct {
	w         http.ResponseWriter
	model, id string
	at        int64
	begun     bool
}

func (o *output) chunk(d openai.ChatCompletionStreamChoiceDelta, finish openai.FinishReason) {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "text/event-stream")
		d.Role = llm.Assistant
	}
	o.event([]openai.ChatCompletionStreamChoice{{Delta: d, FinishReason: finish}}, nil)
}

// event sends one chunk. A client that is gone is noticed through its context.
func (o *output) event(choices []openai.ChatCompletionStreamChoice, u *openai.Usage) {
	data, err := json.Marshal(openai.ChatCompletionStreamResponse{ID: o.id, Object: "chat.completion.chunk", Created: o.at, Model: o.model, Choices: choices, Usage: u})
	if err == nil {
		fmt.Fprintf(o.w, "data: %s\n\n", data)
	}
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (o *output) finish(r llm.Reply, withUsage bool) {
	calls, reason := toolCalls(r)
	if len(calls) > 0 {
		o.chunk(openai.ChatCompletionStreamChoiceDelta{ToolCalls: calls}, "")
	}
	o.chunk(openai.ChatCompletionStreamChoiceDelta{}, reason)
	if withUsage {
		u := wireUsage(r.Usage)
		o.event([]openai.ChatCompletionStreamChoice{}, &u)
	}
	fmt.Fprint(o.w, "data: [DONE]\n\n")
}

func (o *output) whole(r llm.Reply) {
	calls, reason := toolCalls(r)
	write(o.w, http.StatusOK, openai.ChatCompletionResponse{
		ID: o.id, Object: "chat.completion", Created: o.at, Model: o.model, Usage: wireUsage(r.Usage),
		Choices: []openai.ChatCompletionChoice{{
			Message: openai.ChatCompletionMessage{Role: llm.Assistant, Content: r.Text, ToolCalls: calls}, FinishReason: reason,
		}},
	})
}

func toolCalls(r llm.Reply) (list []openai.ToolCall, reason openai.FinishReason) {
	reason = openai.FinishReasonStop
	for i, c := range r.ToolCalls {
		list = append(list, openai.ToolCall{Index: &i, ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
		reason = openai.FinishReasonToolCalls
	}
	return list, reason
}

func wireUsage(u llm.Usage) openai.Usage {
	return openai.Usage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, openai.ErrorResponse{Error: &openai.APIError{Message: strings.TrimSpace(message), Type: "invalid_request_error", Code: code}})
}

func write(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, nil // the values of this file always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
