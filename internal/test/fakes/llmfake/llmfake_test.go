package llmfake_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/llmfake"
)

// pictured is a user's message with an image.
func pictured(kind string, data []byte) string {
	return `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:` + kind + `;base64,` +
		base64.StdEncoding.EncodeToString(data) + `","detail":"auto"}}]}`
}

// start runs a fake whose violations are part of the test.
func start(t *testing.T, o llmfake.Options) *llmfake.Server {
	t.Helper()
	s, err := llmfake.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// send sends a body; the reply is to be read.
func send(t *testing.T, s *llmfake.Server, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer sk-test")
	return http.DefaultClient.Do(request)
}

// post sends a body and returns the status and all that could be read.
func post(t *testing.T, s *llmfake.Server, body string) (*http.Response, string, error) {
	t.Helper()
	response, err := send(t, s, body)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

func TestRefuses(t *testing.T) {
	const (
		user = `{"role":"user","content":"hi"}`
		call = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"look_up","arguments":"{}"}}]}`
		tool = `{"role":"tool","tool_call_id":"c1","content":"found"}`
		def  = `"tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{}}}}]`
	)
	messages := func(list ...string) string {
		return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
	}
	with := func(fields string) string {
		return `{"model":"m","messages":[` + user + `],` + fields + `}`
	}
	tests := []struct{ name, body, want string }{ // want: a part of the message; empty: accepted
		{"plain", messages(user), ""},
		{"call and result", messages(user, call, tool), ""},
		{"call, result, more", messages(user, call, tool, user), ""},
		{"tools", with(def), ""},
		{"usage of a stream", with(`"stream":true,"stream_options":{"include_usage":true}`), ""},
		{"content parts", messages(`{"role":"user","content":[{"type":"text","text":"hi"}]}`), ""},
		{"an image", messages(pictured("image/png", llmfake.PNG(2, 2))), ""},
		{"an image of another type", messages(pictured("image/jpeg", llmfake.PNG(2, 2))), "it is of the format png"},
		{"text as an image", messages(pictured("image/png", []byte("abc"))), "the data is no image"},
		{"text as WebP", messages(pictured("image/webp", []byte("RIFF...."))), "no signature of WebP"},
		{"an image as wide as a street", messages(pictured("image/png", llmfake.PNG(8001, 1))), "8001 x 1 pixels"},
		{"an image from elsewhere", messages(`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]}`), "expected a base64-encoded data URL"},
		{"a film", messages(`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:video/mp4;base64,YWJj"}}]}`), "is not supported"},
		{"a broken image", messages(`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,=="}}]}`), "no image"},
		{"an image of the system", messages(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]}`, user), "is not allowed here"},
		{"reasoning model", `{"model":"gpt-5-mini","messages":[` + user + `],"max_completion_tokens":5}`, ""},
		{"no JSON", `{"model":`, "could not parse"},
		{"no UTF-8", "{\"model\":\"\xff\"}", "no UTF-8"},
		{"no model", `{"messages":[` + user + `]}`, "must provide a model"},
		{"no messages", messages(), "empty array"},
		{"unknown field", with(`"max_token":3`), "Unrecognized request argument supplied: max_token"},
		{"wrong type", with(`"stream":"yes"`), "wrong type"},
		{"unknown role", messages(`{"role":"human","content":"hi"}`), "Invalid value: 'human'"},
		{"empty text", messages(`{"role":"user","content":" "}`), "it is empty"},
		{"null text", messages(`{"role":"user","content":null}`), "got null"},
		{"silent assistant", messages(user, `{"role":"assistant","content":""}`), "needs content or tool_calls"},
		{"no result", messages(user, call), "did not have response messages: c1"},
		{"late result", messages(user, call, user, tool), "did not have response messages: c1"},
		{"orphan result", messages(user, tool), "not one of its calls"},
		{"two results", messages(user, call, tool, tool), "not one of its calls"},
		{"repeated id", messages(user, call, tool, call, tool), "Duplicate value"},
		{"no calls", messages(user, `{"role":"assistant","content":"a","tool_calls":[]}`), "empty array"},
		{"arguments no object", messages(user, strings.Replace(call, `"{}"`, `"[1]"`, 1), tool), "not a JSON object"},
		{"arguments cut", messages(user, strings.Replace(call, `"{}"`, `"{\"a\":"`, 1), tool), "not a JSON object"},
		{"called name", messages(user, strings.Replace(call, "look_up", "look.up", 1), tool), "does not match"},
		{"offered name", with(strings.Replace(def, "look_up", "look.up", 1)), "does not match"},
		{"name of 65", with(strings.Replace(def, "look_up", strings.Repeat("a", 65), 1)), "does not match"},
		{"no tools", with(`"tools":[]`), "0 of them"},
		{"schema no object", with(strings.Replace(def, `"object"`, `"array"`, 1)), "Invalid schema"},
		{"choice without tools", with(`"tool_choice":"auto"`), "only allowed when"},
		{"stream_options alone", with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream'"},
		{"stream_options unknown", with(`"stream":true,"stream_options":{"usage":true}`), "unknown field"},
		{"max_tokens of a reasoning model", `{"model":"o3","messages":[` + user + `],"max_tokens":5}`, "Use 'max_completion_tokens'"},
		{"max_completion_tokens of another", with(`"max_completion_tokens":5`), "Use 'max_tokens'"},
		{"temperature of a reasoning model", `{"model":"o3","messages":[` + user + `],"temperature":0.2}`, "Only the default"},
		{"a message's unknown field", messages(`{"role":"user","content":"hi","at":1}`), "Unknown parameter: 'messages[0].at'"},
		{"an author's name", messages(`{"role":"user","content":"hi","name":"ann b"}`), "Invalid 'messages[0].name'"},
		{"system in the midst", messages(user, `{"role":"system","content":"hi"}`), "must be at the beginning"},
		{"assistant first", messages(`{"role":"assistant","content":"hi"}`, user), "the user speaks before"},
		{"user twice", messages(user, user), "two messages of role 'user'"},
		{"assistant last", messages(user, `{"role":"assistant","content":"hi"}`), "nothing is left to reply to"},
		{"empty result", messages(user, call, strings.Replace(tool, "found", "", 1)), "it is empty"},
		{"a user's call", messages(`{"role":"user","content":"hi","tool_call_id":"c1"}`), "of role 'user'"},
		{"tool named twice", with(`"tools":[` + strings.Repeat(`{"type":"function","function":{"name":"a"}},`, 2) + `{"type":"function","function":{"name":"b"}}]`), "must be unique"},
		{"choice of a tool", with(def + `,"tool_choice":{"type":"function","function":{"name":"look_up"}}`), ""},
		{"choice of no tool", with(def + `,"tool_choice":{"type":"function","function":{"name":"look_down"}}`), "nor one of the tools"},
		{"no room", with(`"max_tokens":0`), "below minimum"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, llmfake.Options{Respond: llmfake.Script(llmfake.Say("fine"))})
			response, text, err := post(t, s, test.body)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if response.StatusCode != http.StatusOK || len(s.Violations()) != 0 {
					t.Errorf("got %d %s for %s, want it accepted", response.StatusCode, text, test.body)
				}
				return
			}
			var got struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			if response.StatusCode != http.StatusBadRequest || !strings.Contains(got.Error.Message, test.want) || got.Error.Type == "" || len(s.Violations()) != 1 {
				t.Errorf("got %d %q and violations %q for %s, want 400, a message with %q and one violation", response.StatusCode, text, s.Violations(), test.body, test.want)
			}
		})
	}
}

// TestTooLong: what does not fit the endpoint is refused, and no violation.
func TestTooLong(t *testing.T) {
	s := start(t, llmfake.Options{ContextTokens: 1000, Description: 10, Respond: llmfake.Script(llmfake.Say("fine"))})
	for body, want := range map[string]string{
		`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", 5000) + `"}]}`:                                                          "maximum context length",
		`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"a","description":"a tool like others"}}]}`: "string too long",
		`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"a","description":"a tool"}}]}`:             "fine",
	} {
		_, text, err := post(t, s, body)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("got %q, error %v for %.200s, want %q", text, err, body, want)
		}
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations %q, want none", v)
	}
}

func TestKeyAndModel(t *testing.T) {
	s := start(t, llmfake.Options{Key: "sk-test", Models: []string{"m"}})
	other := start(t, llmfake.Options{Key: "sk-other"})
	tests := []struct {
		server     *llmfake.Server
		model      string
		want, code string
	}{
		{s, "m", "200 OK", ""},
		{s, "n", "404 Not Found", "model_not_found"},
		{other, "m", "401 Unauthorized", "invalid_api_key"},
	}
	for _, test := range tests {
		response, text, err := post(t, test.server, `{"model":"`+test.model+`","messages":[{"role":"user","content":"hi"}]}`)
		if err != nil || response.Status != test.want || !strings.Contains(text, test.code) {
			t.Errorf("got %v %q (%v), want %s with %q", response, text, err, test.want, test.code)
		}
		if v := test.server.Violations(); len(v) != 0 {
			t.Errorf("got violations %q, want none", v)
		}
	}
}

type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

type heard struct {
	Text, Thinking, Call, Arguments, Finish string
	Chunks                                  int
	Usage, Done                             bool
}

// listen puts a stream together as a client would.
func listen(t *testing.T, text string) heard {
	t.Helper()
	var h heard
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			h.Done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v in %q", err, data)
		}
		h.Chunks++
		h.Usage = h.Usage || c.Usage != nil && c.Usage.Prompt > 0 && c.Usage.Completion > 0
		for _, choice := range c.Choices {
			h.Text += choice.Delta.Content
			h.Thinking += choice.Delta.Reasoning
			h.Finish += choice.Finish
			for _, call := range choice.Delta.ToolCalls {
				h.Call += call.ID + call.Function.Name
				h.Arguments += call.Function.Arguments
			}
		}
	}
	return h
}

const streamed = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`

func TestStream(t *testing.T) {
	calls := llmfake.Call("look_up", `{"text": "Zürich"}`)
	calls.Thinking = "let me see"
	tests := []struct {
		name     string
		response llmfake.Response
		want     heard
	}{
		{"words", llmfake.Say("two  wörds"), heard{Text: "two  wörds", Finish: "stop", Chunks: 5, Usage: true, Done: true}},
		{"characters", llmfake.Response{Text: "añb", Token: 1}, heard{Text: "añb", Finish: "stop", Chunks: 6, Usage: true, Done: true}},
		{"cut bytes", llmfake.Response{Text: "añb c", Split: 3}, heard{Text: "añb c", Finish: "stop", Chunks: 5, Usage: true, Done: true}},
		{"call", calls, heard{Thinking: "let me see", Call: "call_1_1look_up", Arguments: `{"text": "Zürich"}`, Finish: "tool_calls", Chunks: 9, Usage: true, Done: true}},
		{"length", llmfake.Response{Text: "half", Finish: "length"}, heard{Text: "half", Finish: "length", Chunks: 4, Usage: true, Done: true}},
		{"empty", llmfake.Response{Usage: &llmfake.Usage{Input: 1, Output: 1}}, heard{Finish: "stop", Chunks: 3, Usage: true, Done: true}},
		{"no done", llmfake.Broken(llmfake.FaultNoDone, 0, "a"), heard{Text: "a", Finish: "stop", Chunks: 4, Usage: true}},
		{"ended", llmfake.Broken(llmfake.FaultEnd, 2, "a b c"), heard{Text: "a ", Chunks: 2}},
		{"ended after all", llmfake.Broken(llmfake.FaultEnd, 99, "a"), heard{Text: "a", Finish: "stop", Chunks: 4, Usage: true}},
		{"a body of its own", llmfake.Response{Body: "data: [DONE]\n\n"}, heard{Done: true}},
		{"flood", llmfake.Response{Text: "a", Fault: llmfake.Fault{Kind: llmfake.FaultFlood, Message: ": still here\n\n", After: 3}}, heard{Text: "a", Finish: "stop", Chunks: 4, Usage: true, Done: true}},
		{"slow", llmfake.Response{Text: "a", Fault: llmfake.Fault{Kind: llmfake.FaultSlow, Every: time.Microsecond}}, heard{Text: "a", Finish: "stop", Chunks: 4, Usage: true, Done: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, llmfake.Options{Respond: llmfake.Script(test.response)})
			_, text, err := post(t, s, streamed)
			if diff := cmp.Diff(test.want, listen(t, text)); err != nil || diff != "" {
				t.Errorf("read %q, %v; heard (-want +got):\n%s", text, err, diff)
			}
		})
	}
}

// TestBreaksAtAByte: a stream can be cut within an event, after exactly so many
// bytes.
func TestBreaksAtAByte(t *testing.T) {
	for kind, want := range map[llmfake.FaultKind]error{llmfake.FaultEnd: nil, llmfake.FaultCut: io.ErrUnexpectedEOF, llmfake.FaultReset: syscall.ECONNRESET} {
		s := start(t, llmfake.Options{Respond: llmfake.Script(llmfake.Response{Text: "a b c", Fault: llmfake.Fault{Kind: kind, Bytes: 17}})})
		_, text, err := post(t, s, streamed)
		if len(text) > 17 || kind != llmfake.FaultReset && len(text) < 17 || !errors.Is(err, want) {
			t.Errorf("%s: read %q and error %v, want 17 bytes and %v", kind, text, err, want)
		}
	}
}

func TestPace(t *testing.T) {
	s := start(t, llmfake.Options{Respond: llmfake.Script(llmfake.Response{Text: strings.Repeat("a", 40), Token: 1, First: 20 * time.Millisecond, PerToken: time.Millisecond})})
	began := time.Now()
	if _, text, err := post(t, s, streamed); err != nil {
		t.Fatal(text, err)
	}
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("20 ms and 40 tokens of 1 ms took %v, want at least 60ms", took)
	}
}

// TestHold: all tokens but the last come before the stream is let go.
func TestHold(t *testing.T) {
	hold := make(chan struct{})
	s := start(t, llmfake.Options{Respond: llmfake.Script(llmfake.Response{Text: "one two three", Hold: hold})})
	response, err := send(t, s, streamed)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 0, 4096)
	for !strings.Contains(string(first), "two") {
		n, err := response.Body.Read(first[len(first):cap(first)])
		if first = first[:len(first)+n]; err != nil {
			t.Fatalf("read %q, %v", first, err)
		}
	}
	close(hold)
	rest, err := io.ReadAll(response.Body)
	if err != nil || strings.Contains(string(first), "three") || !strings.Contains(string(rest), "three") || !strings.Contains(string(rest), "[DONE]") {
		t.Errorf("before it was let go: %q; after it: %q, %v", first, rest, err)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name     string
		response llmfake.Response
		status   int    // 0: the connection breaks before one
		text     string // a part of the body
		header   string // Retry-After
		err      error  // of reading
	}{
		{name: "milliseconds", response: llmfake.Busy("300ms"), status: 429, text: "Rate limit"},
		{name: "a page", response: llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 502, Type: "text/html", Message: "<h1>Bad gateway</h1>"}}, status: 502, text: "<h1>Bad gateway</h1>"},
		{name: "reset before all", response: llmfake.Broken(llmfake.FaultReset, 0, "a"), err: syscall.ECONNRESET},
		{name: "reset after the headers", response: llmfake.Response{Text: "a", Fault: llmfake.Fault{Kind: llmfake.FaultReset, Begun: true}}, status: 200, err: syscall.ECONNRESET},
		{name: "401", response: llmfake.Status(401), status: 401, text: "invalid_api_key"},
		{name: "403", response: llmfake.Status(403), status: 403, text: "unsupported_country"},
		{name: "404", response: llmfake.Status(404), status: 404, text: "model_not_found"},
		{name: "429", response: llmfake.Busy("7"), status: 429, text: "rate_limit_exceeded", header: "7"},
		{name: "500", response: llmfake.Status(500), status: 500, text: "server_error"},
		{name: "garbage", response: llmfake.Broken(llmfake.FaultGarbage, 0, ""), status: 200, text: `"data":[1,2,3]`},
		{name: "html", response: llmfake.Broken(llmfake.FaultHTML, 0, ""), status: 200, text: "<!doctype html>"},
		{name: "cut", response: llmfake.Broken(llmfake.FaultCut, 2, "a b"), status: 200, text: `"a "`, err: io.ErrUnexpectedEOF},
		{name: "cut at once", response: llmfake.Broken(llmfake.FaultCut, 0, "a b"), err: io.EOF},
		{name: "reset", response: llmfake.Broken(llmfake.FaultReset, 2, "a b"), status: 200, err: syscall.ECONNRESET},
		{name: "error in the stream", response: llmfake.Broken(llmfake.FaultError, 1, "a b"), status: 200, text: `data: {"error":{`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, llmfake.Options{Respond: llmfake.Script(test.response)})
			response, text, err := post(t, s, streamed)
			if !errors.Is(err, test.err) {
				t.Errorf("got error %v, want %v", err, test.err)
			}
			if test.status == 0 {
				return
			}
			if response.StatusCode != test.status || !strings.Contains(text, test.text) || response.Header.Get("Retry-After") != test.header {
				t.Errorf("got %d %q with Retry-After %q, want %d, %q and %q", response.StatusCode, text, response.Header.Get("Retry-After"), test.status, test.text, test.header)
			}
		})
	}
}

func TestHangsUntilTheClientGoes(t *testing.T) {
	for _, kind := range []llmfake.FaultKind{llmfake.FaultHang, llmfake.FaultStall} {
		arrived := make(chan bool, 1)
		log := filepath.Join(t.TempDir(), "wire.jsonl")
		s, err := llmfake.Start(llmfake.Options{Log: log, Respond: func(llmfake.Request) llmfake.Response {
			arrived <- true
			return llmfake.Broken(kind, 1, "a b")
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(streamed))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer x")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want the client's own", kind, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		entries, err := llmfake.ReadLog(log)
		if err != nil || len(entries) != 2 || entries[1].Event != llmfake.EventGone {
			t.Errorf("%s: logged %+v (%v), want a request whose client is gone", kind, entries, err)
		}
	}
}

// ask builds a request the way legwork's prompts look.
func ask(system, user string, tools ...string) llmfake.Request {
	r := llmfake.Request{Messages: []llmfake.Message{{Role: "system", Content: system}, {Role: "user", Content: user}}}
	for _, name := range tools {
		r.Tools = append(r.Tools, llmfake.Tool{Name: name, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)})
	}
	return r
}

func TestBrain(t *testing.T) {
	const groups = "The groups:\n- lookup: finds\n- book: books\n"
	result := func(id, text string) string {
		return fmt.Sprintf("<result id=%q group=\"lookup\" state=\"done\">\n%s\n</result>", id, text)
	}
	worked := ask("", "<task>q7 lookup alpha</task>", "lookup_find")
	worked.Messages = append(
		worked.Messages,
		llmfake.Message{Role: "assistant", ToolCalls: []llmfake.ToolCall{{ID: "c", Name: "lookup_find"}}},
		llmfake.Message{Role: "tool", ToolCallID: "c", Content: "found alpha"},
	)
	tests := []struct {
		name    string
		request llmfake.Request
		step    llmfake.Step
		want    string // text, or name and arguments of the call
	}{
		{"plain", ask(groups, "<goal>q1: hello</goal>", "plan"), llmfake.StepPlan, "[q1] answers: q1: hello"},
		{
			"first round", ask(groups, "<goal>old: lookup x</goal>\n<goal>q7: lookup alpha; lookup beta | book gamma</goal>", "plan"), llmfake.StepPlan,
			`plan {"plan":[{"id":"a","name":"lookup","description":"q7 lookup alpha"},{"id":"b","name":"lookup","description":"q7 lookup beta"}]}`,
		},
		{
			"second round", ask(groups, "<goal>q7: lookup alpha | book gamma</goal>"+result("1/a", "found"), "plan"), llmfake.StepReview,
			`plan {"plan":[{"id":"a","name":"book","description":"q7 book gamma"}]}`,
		},
		{"enough, empty plan", ask(groups, "<goal>q8: lookup alpha</goal>"+result("1/a", "found"), "plan"), llmfake.StepReview, `plan {"plan": []}`},
		{"enough, answer", ask(groups, "<goal>q7: lookup alpha</goal>"+result("1/a", "found"), "plan"), llmfake.StepReview, "[q7] \n- found"},
		{"call", ask("", "<task>q7 lookup alpha</task>", "lookup_find", "update_state"), llmfake.StepWork, `lookup_find {"text":"q7 lookup alpha"}`},
		{"report", worked, llmfake.StepWork, "[q7] q7 lookup alpha => found alpha"},
		{"think", ask("", "<task>q7 llm_tool x</task>", "update_state"), llmfake.StepWork, "[q7] q7 llm_tool x => thought about it"},
		{
			"answer", ask("", "<goal>q7: lookup alpha</goal>"+result("1/a", "A")+result("1/b", "B")+"<guidance>be brief</guidance>\n<guidance>be quick</guidance>"), llmfake.StepAnswer,
			"[q7] \n- A\n- B\n- guidance: be brief\n- guidance: be quick",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			step, _ := llmfake.StepOf(test.request)
			response := llmfake.Brain{}.Respond(test.request)
			got := response.Text
			for _, c := range response.ToolCalls {
				got += c.Name + " " + c.Arguments
			}
			if step != test.step || got != test.want {
				t.Errorf("got %s %q for %+v, want %s %q", step, got, test.request.Messages, test.step, test.want)
			}
		})
	}
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	s := llmfake.New(t, llmfake.Options{Log: path})
	for _, text := range []string{"a: one", "b: two"} {
		if _, body, err := post(t, s, `{"model":"m","messages":[{"role":"user","content":"<goal>`+text+`</goal>"}]}`); err != nil {
			t.Fatal(body, err)
		}
	}
	entries, err := llmfake.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		line := fmt.Sprint(e.Seq, " ", e.Event)
		if e.Request != nil {
			line += " " + e.Request.Messages[0].Content
		}
		if e.Reply != nil {
			line += " " + e.Reply.Text
		}
		got = append(got, line)
	}
	want := []string{"1 request <goal>a: one</goal>", "1 reply [a] answers: a: one", "2 request <goal>b: two</goal>", "2 reply [b] answers: b: two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wire log (-want +got):\n%s", diff)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("got %d requests, want 2", n)
	}
}
