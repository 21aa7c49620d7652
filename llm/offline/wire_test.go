package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"legwork/llm"
	"legwork/llm/offline"
)

// serve starts the wire protocol on a loopback socket and returns its address.
func serve(t *testing.T, o offline.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- offline.Serve(ctx, l, offline.New(o)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve ended with %v, want nil", err)
		}
	})
	return "http://" + l.Addr().String() + "/v1"
}

func client(url string) *openai.Client {
	c := openai.DefaultConfig("no key")
	c.BaseURL = url
	return openai.NewClientWithConfig(c)
}

// TestPicture: the stand-in says that it sees no pictures, in the language of the goal.
func TestPicture(t *testing.T) {
	t.Parallel()
	url := serve(t, offline.Options{})
	for goal, want := range map[string]string{
		"What is this?": "sees no pictures", "Что на картинке?": "не видит картинок", "这是什么？": "看不到图片",
	} {
		reply, err := client(url).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "offline", Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: system},
			{Role: "user", MultiContent: []openai.ChatMessagePart{
				{Type: "text", Text: "<goal>" + goal + "</goal>"},
				{Type: "image_url", ImageURL: &openai.ChatMessageImageURL{URL: "data:image/png;base64,iVBORw0KGgo="}},
			}},
		}})
		if err != nil || !strings.Contains(reply.Choices[0].Message.Content, want) {
			t.Errorf("%s: %+v, %v; want %q", goal, reply.Choices, err, want)
		}
	}
}

func wirePlan(stream bool) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{
		Model: "offline", Stream: stream,
		Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: system},
			{Role: "user", MultiContent: []openai.ChatMessagePart{{Type: "text", Text: "<goal>What is 17*23?</goal>"}}},
		},
		Tools: []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "plan", Parameters: json.RawMessage(`{"type":"object"}`)}}},
	}
	if stream {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return r
}

const wantPlan = `{"plan":[{"name":"math","description":"What is 17*23"}]}`

func TestPlanOverTheWire(t *testing.T) {
	c := client(serve(t, offline.Options{}))
	got, err := c.CreateChatCompletion(t.Context(), wirePlan(false))
	if err != nil || len(got.Choices) != 1 || len(got.Choices[0].Message.ToolCalls) != 1 || got.Usage.TotalTokens == 0 {
		t.Fatalf("completion %+v, error %v, want one tool call with usage", got, err)
	}
	choice := got.Choices[0]
	if call := choice.Message.ToolCalls[0]; call.Function.Name != "plan" || call.Function.Arguments != wantPlan || call.ID == "" || choice.FinishReason != "tool_calls" {
		t.Errorf("got %+v, want a call of plan with %s", choice, wantPlan)
	}

	text, arguments, finish, usage := receive(t, c, wirePlan(true))
	if text != "" || arguments != wantPlan || finish != "tool_calls" || usage == nil {
		t.Errorf("streamed text %q, arguments %s, finish %q, usage %v, want arguments %s", text, arguments, finish, usage, wantPlan)
	}
}

// receive reads a whole stream.
func receive(t *testing.T, c *openai.Client, r openai.ChatCompletionRequest) (text, arguments, finish string, usage *openai.Usage) {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(t.Context(), r)
	if err != nil {
		t.Fatalf("opening the stream: %v", err)
	}
	defer func() { _ = stream.Close() }()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, arguments, finish, usage
		}
		if err != nil {
			t.Fatalf("reading the stream: %v", err)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			for _, call := range choice.Delta.ToolCalls {
				arguments += call.Function.Arguments
			}
			finish += string(choice.FinishReason)
		}
	}
}

func TestAnswerOverTheWireIsTheSameStreamedAndWhole(t *testing.T) {
	c := client(serve(t, offline.Options{}))
	r := openai.ChatCompletionRequest{Model: "offline", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: `<goal>x</goal><result id="1/a" state="done">391</result>`}}}
	whole, err := c.CreateChatCompletion(t.Context(), r)
	if err != nil || len(whole.Choices) != 1 || !strings.HasSuffix(whole.Choices[0].Message.Content, "- 391") {
		t.Fatalf("completion %+v, error %v, want the result in it", whole, err)
	}
	r.Stream = true
	text, _, finish, usage := receive(t, c, r)
	if text != whole.Choices[0].Message.Content || finish != "stop" || usage != nil {
		t.Errorf("streamed %q, finish %q, usage %v, want %q, stop and no usage", text, finish, usage, whole.Choices[0].Message.Content)
	}
}

func TestTheListOfModelsNamesTheOne(t *testing.T) {
	list, err := client(serve(t, offline.Options{Name: "stand-in"})).ListModels(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != "stand-in" {
		t.Errorf("models %+v, error %v, want stand-in", list, err)
	}
}

func TestTheWireIsStrict(t *testing.T) {
	url := serve(t, offline.Options{})
	for name, c := range map[string]struct {
		path, body string
		status     int
		code       string
	}{
		"no JSON":              {"/chat/completions", `{`, 400, "invalid_request"},
		"unknown key":          {"/chat/completions", `{"model":"offline","modell":1}`, 400, "invalid_request"},
		"unknown model":        {"/chat/completions", `{"model":"gpt-5"}`, 404, "model_not_found"},
		"no messages":          {"/chat/completions", `{"model":"offline","messages":[]}`, 400, "invalid_request"},
		"unknown role":         {"/chat/completions", `{"model":"offline","messages":[{"role":"boss","content":"x"}]}`, 400, "invalid_request"},
		"call without result":  {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"y"}]}`, 400, "invalid_request"},
		"result without call":  {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1","content":"y"}]}`, 400, "invalid_request"},
		"arguments, no JSON":   {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"1","content":"y"}]}`, 400, "invalid_request"},
		"tool of another type": {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"}],"tools":[{"type":"magic"}]}`, 400, "invalid_request"},
		"tool with a bad name": {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a.b","parameters":{}}}]}`, 400, "invalid_request"},
		"stream options":       {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":"x"}],"stream_options":{"include_usage":true}}`, 400, "invalid_request"},
		"a recording":          {"/audio/transcriptions", `{}`, 400, "unsupported"},
		"speech":               {"/audio/speech", `{}`, 400, "unsupported"},
		"a picture to make":    {"/images/generations", `{}`, 400, "unsupported"},
		"an image elsewhere":   {"/chat/completions", `{"model":"offline","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{"url":"https://x.example/1.png"}}]}]}`, 400, "invalid_request"},
		"another address":      {"/responses", `{}`, 404, "unknown_url"},
	} {
		resp, err := http.Post(url+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got openai.ErrorResponse
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || got.Error == nil || got.Error.Code != c.code || got.Error.Message == "" {
			t.Errorf("%s: status %d, error %+v (%v), want %d and %s for %s", name, resp.StatusCode, got.Error, err, c.status, c.code, c.body)
		}
	}
}

func TestServeEndsStreamsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- offline.Serve(ctx, l, offline.New(offline.Options{WordDelay: time.Hour})) }()
	stream, err := client("http://"+l.Addr().String()).CreateChatCompletionStream(t.Context(), openai.ChatCompletionRequest{
		Model: "offline", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "x"}},
	})
	if err != nil {
		t.Fatalf("opening the stream: %v", err)
	}
	defer func() { _ = stream.Close() }()
	if chunk, err := stream.Recv(); err != nil || len(chunk.Choices) != 1 || chunk.Choices[0].Delta.Content == "" {
		t.Fatalf("first chunk %+v, error %v, want a word", chunk, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve ended with %v, want nil", err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream went on after Serve ended")
	}
}

func TestLegworksClientReadsTheSameFromTheWire(t *testing.T) {
	models, err := llm.New(llm.Config{Models: map[string]llm.ModelConfig{"main": {BaseURL: serve(t, offline.Options{}), Model: "offline"}}}, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	plan := planRequest("<goal>What is 17*23, and what time is it in Tokyo?</goal>")
	work := workRequest("What is 17*23")
	for name, r := range map[string]llm.Request{"plan": plan, "work": work, "talk": planRequest("<goal>你好</goal>")} {
		streamed := ""
		got, err := models.Call(t.Context(), r, func(d llm.Delta) { streamed += d.Text })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := ask(t, r)
		if got.Text != want.Text || streamed != want.Text || !cmp.Equal(got.ToolCalls, want.ToolCalls) || got.Usage.Input == 0 {
			t.Errorf("%s: over the wire %+v, streamed %q, want %+v", name, got, streamed, want)
		}
	}
}

// TestTransportStreams: the first words arrive while the reply is still being written, and
// a call that is given up then ends.
func TestTransportStreams(t *testing.T) {
	config := llm.Config{Models: map[string]llm.ModelConfig{"main": {Offline: true}}}
	models, err := llm.New(config, llm.Options{Offline: offline.New(offline.Options{WordDelay: time.Hour}).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = models.Call(ctx, llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{{Role: llm.User, Content: "x"}}}, func(d llm.Delta) {
		if d.Text != "" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the call was given up after the first word", err)
	}
}

// TestTransport: models of the config that are offline reach the stand-in without
// an address.
func TestTransport(t *testing.T) {
	config := llm.Config{Models: map[string]llm.ModelConfig{"main": {Offline: true}}}
	models, err := llm.New(config, llm.Options{Offline: offline.New(offline.Options{}).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	var streamed strings.Builder
	reply, err := models.Call(t.Context(), llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{{Role: llm.User, Content: `<goal>x</goal><result id="1/a" state="done">391</result>`}}},
		func(d llm.Delta) { streamed.WriteString(d.Text) })
	if err != nil || !strings.Contains(reply.Text, "391") || streamed.String() != reply.Text || reply.Usage.Cost != 0 {
		t.Errorf("got %+v, %v, and %q streamed; want the result, at no cost", reply, err, streamed.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := models.Call(ctx, llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{{Role: llm.User, Content: "x"}}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	if _, err := llm.New(config, llm.Options{}); err == nil {
		t.Error("an offline model is taken where there is no stand-in")
	}
}
