package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/llm"
)

// textConfig is a model without tool calling.
func textConfig(f *fake) llm.Config {
	c := f.model()
	c.ToolCalls = llm.ToolCallsText
	return llm.Config{Models: map[string]llm.ModelConfig{"main": c}}
}

func textRequest() llm.Request {
	return llm.Request{
		Role: llm.RoleWork, TextTools: "Write calls as JSON.",
		Tools: []llm.Tool{
			{Name: "time_in", Description: "Tells the <time>.", Schema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}}}`)},
			{Name: "now"},
		},
		Messages: []llm.Message{
			{Role: llm.System, Content: "You work."},
			{Role: llm.User, Content: "Time in Tokyo?"},
			{Role: llm.Assistant, Content: "Looking.", ToolCalls: []llm.ToolCall{
				{ID: "1", Name: "time_in", Arguments: `{"place":"Tokyo"}`}, {ID: "2", Name: "now", Arguments: ``},
			}},
			{Role: llm.ToolRole, ToolCallID: "1", Content: "12:00 \"JST\""},
			{Role: llm.ToolRole, ToolCallID: "2", Content: "03:00"},
			{Role: llm.User, Content: "And now?"},
		},
	}
}

func TestTextToolsOnTheWire(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	m, _ := open(t, textConfig(f))
	if _, err := m.Call(t.Context(), textRequest(), nil); err != nil {
		t.Fatal(err)
	}
	type message struct{ Role, Content string }
	var got struct {
		Messages []message
		Tools    any
	}
	if err := json.Unmarshal([]byte(f.requests()[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := []message{
		{"system", "You work.\n\nWrite calls as JSON.\n\n" +
			`{"name":"time_in","description":"Tells the <time>.","parameters":{"type":"object","properties":{"place":{"type":"string"}}}}` + "\n" +
			`{"name":"now","parameters":{"type":"object","properties":{}}}`},
		{"user", "Time in Tokyo?"},
		{"assistant", "Looking.\n\n" + `{"tool_calls":[{"name":"time_in","arguments":{"place":"Tokyo"}},{"name":"now","arguments":{}}]}`},
		{"user", `{"tool":"time_in","result":"12:00 \"JST\""}` + "\n\n" + `{"tool":"now","result":"03:00"}` + "\n\nAnd now?"},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" || got.Tools != nil {
		t.Errorf("messages (-want +got):\n%s\ntools %v, want none", diff, got.Tools)
	}
}

func TestTextCallsAreRead(t *testing.T) {
	t.Parallel()
	tokyo := llm.ToolCall{ID: "call_1", Name: "time_in", Arguments: `{"place":"Tokyo"}`}
	tests := []struct {
		name, text string
		calls      []llm.ToolCall
		rest       string
	}{
		{"asked for", `{"tool_calls":[{"name":"time_in","arguments":{"place":"Tokyo"}}]}`, []llm.ToolCall{tokyo}, ""},
		{"one tool", `{"tool":"time_in","arguments":{"place":"Tokyo"}}`, []llm.ToolCall{tokyo}, ""},
		{"fenced, with prose", "Let me look.\n```json\n{'tool': 'time_in', 'arguments': {'place': 'Tokyo'},}\n```\n", []llm.ToolCall{tokyo}, "Let me look."},
		{"only fenced", "```json\n{\"tool\":\"time_in\",\"arguments\":{\"place\":\"Tokyo\"}}\n```", []llm.ToolCall{tokyo}, ""},
		{"of the protocol", `{"tool_calls":[{"id":"9","type":"function","function":{"name":"time_in","arguments":"{\"place\":\"Tokyo\"}"}}]}`, []llm.ToolCall{tokyo}, ""},
		{"in tags", "<tool_call>\n{\"name\":\"time_in\",\"arguments\":{\"place\":\"Tokyo\"}}\n</tool_call>", []llm.ToolCall{tokyo}, ""},
		{"two, the second without arguments", `{"tool":"time_in","arguments":{"place":"Tokyo"}} {"tool":"now"}`, []llm.ToolCall{tokyo, {ID: "call_2", Name: "now", Arguments: "{}"}}, ""},
		{"after thinking about another", "<think>{\"tool\":\"now\"}?</think>{\"tool\":\"time_in\",\"arguments\":{\"place\":\"Tokyo\"}}", []llm.ToolCall{tokyo}, ""},
		{"an unknown tool is still a call", `{"tool":"fly","arguments":{}}`, []llm.ToolCall{{ID: "call_1", Name: "fly", Arguments: "{}"}}, ""},
		{"of type function", `{"type":"function","name":"time_in","parameters":{"place":"Tokyo"}}`, []llm.ToolCall{tokyo}, ""},
		{"mistral", `[TOOL_CALLS][{"name":"time_in","arguments":{"place":"Tokyo"}}]`, []llm.ToolCall{tokyo}, ""},
		{"llama", `<|python_tag|>{"name":"time_in","parameters":{"place":"Tokyo"}}`, []llm.ToolCall{tokyo}, ""},
		{"gemma", "```tool_code\ntime_in(place='Tokyo')\n```", []llm.ToolCall{tokyo}, ""},
		{"an answer", "It is 12:00.", nil, "It is 12:00."},
		{"other JSON", `{"name":"Anna","arguments":"none"}`, nil, `{"name":"Anna","arguments":"none"}`},
		{"a plan", `{"plan":[{"name":"clock","description":"x"}]}`, nil, `{"plan":[{"name":"clock","description":"x"}]}`},
	}
	for _, tt := range tests {
		for _, mode := range []string{llm.ToolCallsText, llm.ToolCallsNative} {
			f := newFake(t, sse(says(tt.text)+ends("stop")+done))
			config := f.model()
			config.ToolCalls = mode
			m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": config}})
			got, err := m.Call(t.Context(), textRequest(), nil)
			if err != nil {
				t.Errorf("%s, %s: %v", tt.name, mode, err)
				continue
			}
			if diff := cmp.Diff(tt.calls, got.ToolCalls); diff != "" || got.Text != tt.rest {
				t.Errorf("%s, %s: text %q, want %q; calls (-want +got):\n%s\ninput: %s", tt.name, mode, got.Text, tt.rest, diff, tt.text)
			}
		}
	}
}

func TestArgumentsWithSmallMistakesAreMended(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`{"place": "Tokyo",}`:        `{"place":"Tokyo"}`,
		`{'place': 'Tokyo'} `:        `{"place":"Tokyo"}`,
		`{"place": "Tokyo" /* x */}`: `{"place":"Tokyo"}`,
		`{"n": 1.50}`:                `{"n": 1.50}`,
		`Tokyo`:                      `Tokyo`,
		`{"place": "Tok`:             `{"place": "Tok`,
	} {
		quoted, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		f := newFake(t, sse(delta(`"tool_calls":[{"index":0,"id":"1","function":{"name":"time_in","arguments":`+string(quoted)+`}}]`)+ends("tool_calls")+done))
		m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": f.model()}})
		got, err := m.Call(t.Context(), textRequest(), nil)
		if err != nil || len(got.ToolCalls) != 1 || got.ToolCalls[0].Arguments != want {
			t.Errorf("arguments %s: got %+v, error %v, want %s", written, got.ToolCalls, err, want)
		}
	}
}

// A text that holds a call and the beginning of another one stays whole in both modes: its
// reader gives it back to the model.
func TestTextCallThatIsCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"tool_calls":[{"name":"time_in","arg`,
		`{"name":"now","arguments":{}} {"name":"time_in","arguments":{"pl`,
	} {
		for _, mode := range []string{llm.ToolCallsText, llm.ToolCallsNative} {
			f := newFake(t, sse(says(text)+ends("stop")+done))
			config := f.model()
			config.ToolCalls = mode
			m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": config}})
			got, err := m.Call(t.Context(), textRequest(), nil)
			if err != nil || got.Text != text || len(got.ToolCalls) != 0 {
				t.Errorf("%s: reply %+v, error %v, want the text %s alone", mode, got, err, text)
			}
		}
	}
}

// Without tools, JSON in a text is the answer's.
func TestTextWithoutToolsIsLeftAlone(t *testing.T) {
	t.Parallel()
	const text = `{"tool":"hammer"}`
	f := newFake(t, sse(says(text)+ends("stop")+done))
	m, _ := open(t, textConfig(f))
	got, err := m.Call(t.Context(), ask(), nil)
	if err != nil || got.Text != text || got.ToolCalls != nil {
		t.Errorf("reply %+v, error %v, want the text %s", got, err, text)
	}
}
