package lenient_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/llm/lenient"
)

func TestCallsAreFoundInTheFormsThatModelsWrite(t *testing.T) {
	known := func(name string) bool { return name == "plan" || name == "look_up" }
	const call = `look_up {"q":"x"}`
	for name, c := range map[string]struct{ text, calls, rest string }{
		"asked for":                {`{"tool_calls": [{"name": "look_up", "arguments": {"q": "x"}}]}`, call, ""},
		"of the protocol":          {`{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{\"q\": \"x\"}"}}]}`, call, ""},
		"type function":            {`{"type": "function", "name": "look_up", "parameters": {"q": "x"}}`, call, ""},
		"type function, nested":    {`{"type": "function", "function": {"name": "functions.look_up", "parameters": {"q": "x"}}}`, call, ""},
		"tool_use":                 {`{"type": "tool_use", "id": "t", "name": "look_up", "input": {"q": "x"}}`, call, ""},
		"function_call":            {`{"function_call": {"name": "look_up", "arguments": {"q": "x"}}}`, call, ""},
		"tool_uses":                {`{"tool_uses": [{"recipient_name": "functions.look_up", "parameters": {"q": "x"}}]}`, call, ""},
		"react":                    {"Thought: I need it.\nAction: look_up\nAction Input: {\"q\": \"x\"}", call, "Thought: I need it."},
		"react in JSON":            {"```json\n{\"action\": \"look_up\", \"action_input\": {\"q\": \"x\"}}\n```", call, ""},
		"python_tag":               {`<|python_tag|>{"name": "look_up", "parameters": {"q": "x"}}<|eom_id|>`, call, ""},
		"python_tag, code":         {`<|python_tag|>look_up.call(q="x")`, call, ""},
		"hermes":                   {"<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>", call, ""},
		"hermes, no end":           {"<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"q\": \"x\"}}", call, ""},
		"hermes, with words":       {"Let me see.\n<tool_call>{\"name\": \"look_up\", \"arguments\": {\"q\": \"x\"}}</tool_call>", call, "Let me see."},
		"hermes, two":              {"<tool_call>{\"name\": \"look_up\", \"arguments\": {\"q\": \"x\"}}</tool_call>\n<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>", call + "; fly {}", ""},
		"mistral":                  {`[TOOL_CALLS][{"name": "look_up", "arguments": {"q": "x"}}]`, call, ""},
		"mistral, newer":           {`[TOOL_CALLS]look_up[CALL_ID]a1[ARGS]{"q": "x"}`, call, ""},
		"llama function":           {`<function=look_up>{"q": "x"}</function>`, call, ""},
		"qwen coder":               {"<tool_call>\n<function=look_up>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>", call, ""},
		"invoke":                   {"<function_calls>\n<invoke name=\"look_up\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</function_calls>", call, ""},
		"glm":                      {"<tool_call>look_up\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>", call, ""},
		"deepseek":                 {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look_up\n```json\n{\"q\": \"x\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", call, ""},
		"deepseek, newer":          {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{\"q\": \"x\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", call, ""},
		"functionary":              {">>>look_up\n{\"q\": \"x\"}", call, ""},
		"functionary 2":            {"<|from|>assistant\n<|recipient|>look_up\n<|content|>{\"q\": \"x\"}", call, "assistant"},
		"gpt-oss":                  {`<|channel|>commentary to=functions.look_up <|constrain|>json<|message|>{"q": "x"}<|call|>`, call, ""},
		"kimi":                     {`<|tool_calls_section_begin|><|tool_call_begin|>functions.look_up:0<|tool_call_argument_begin|>{"q": "x"}<|tool_call_end|><|tool_calls_section_end|>`, call, ""},
		"phi":                      {`<|tool_call|>[{"name": "look_up", "arguments": {"q": "x"}}]<|/tool_call|>`, call, ""},
		"phi functools":            {`functools[{"name": "look_up", "arguments": {"q": "x"}}]`, call, ""},
		"command r":                {"<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"look_up\", \"parameters\": {\"q\": \"x\"}}]<|END_ACTION|>", call, ""},
		"command r, older":         {"Action: ```json\n[{\"tool_name\": \"look_up\", \"parameters\": {\"q\": \"x\"}}]\n```", call, "Action:"},
		"gemma":                    {"```tool_code\nprint(default_api.look_up(q='x'))\n```", call, ""},
		"function gemma":           {`<start_function_call>call:look_up{q:<escape>x<escape>}<end_function_call>`, call, ""},
		"gemma 4":                  {`<|tool_call>call:look_up{q:<|"|>x<|"|>}<tool_call|>`, call, ""},
		"deepseek 3.2":             {"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"look_up\">\n<｜DSML｜parameter name=\"q\" string=\"true\">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", call, ""},
		"react with a text":        {"Thought: I need it.\nAction: look_up\nAction Input: it, please\nObservation: found", `look_up "it, please"`, "Thought: I need it.\n\nObservation: found"},
		"a name before arguments":  {"look_up\n{\"q\": \"x\"}", call, ""},
		"a name and a fence":       {"**Tool call:** look_up\n```json\n{\"q\": \"x\"}\n```", call, ""},
		"tool and input":           {"Tool: look_up\nInput: {\"q\": \"x\"}", call, ""},
		"a name in a sentence":     {`What look_up found: {"q": "x"}`, "", `What look_up found: {"q": "x"}`},
		"a name and marks":         {`{"name": "look_up<|channel|>commentary", "arguments": {"q": "x"}}`, call, ""},
		"pythonic":                 {`[look_up(q="x"), look_up(q='it (is)')]`, call + `; look_up {"q":"it (is)"}`, ""},
		"lfm":                      {`<|tool_call_start|>[look_up(q="x")]<|tool_call_end|>`, call, ""},
		"one call as code":         {`look_up(q="x")`, call, ""},
		"code, one value":          {`plan([{"name": "web"}])`, `plan [{"name":"web"}]`, ""},
		"comments, commas":         {"{\n // now\n 'name': 'look_up', 'arguments': {'q': 'x',},\n}", call, ""},
		"a list":                   {`[{"name": "look_up", "arguments": {"q": "x"}}]`, call, ""},
		"after thinking":           {`<think>{"name": "plan", "arguments": {}}?</think>{"name": "look_up", "arguments": {"q": "x"}}`, call, ""},
		"no arguments":             {`{"tool": "now"}`, "now {}", ""},
		"null for arguments":       {`{"name": "look_up", "arguments": null}`, "look_up {}", ""},
		"an unknown tool alone":    {`{"name": "fly", "parameters": {"to": "Rome"}}`, `fly {"to":"Rome"}`, ""},
		"words":                    {"It is 12:00.", "", "It is 12:00."},
		"a person":                 {`{"name": "Anna", "arguments": "none"}`, "", `{"name": "Anna", "arguments": "none"}`},
		"a thing with an input":    {`{"name": "pump", "input": {"volts": 12}}`, "", `{"name": "pump", "input": {"volts": 12}}`},
		"a thing with parameters":  {`{"name": "pump", "parameters": {"volts": 12}, "maker": "x", "price": 9}`, "", `{"name": "pump", "parameters": {"volts": 12}, "maker": "x", "price": 9}`},
		"react, an unknown tool":   {`{"action": "fly", "action_input": {"to": "Rome"}}`, `fly {"to":"Rome"}`, ""},
		"a plan":                   {`{"plan": [{"name": "web", "description": "x"}]}`, "", `{"plan": [{"name": "web", "description": "x"}]}`},
		"a quoted example":         {"OpenAI sends this:\n```json\n{\"type\": \"function\", \"function\": {\"name\": \"fly\", \"arguments\": \"{}\"}}\n```\nThat is all.", "", "OpenAI sends this:\n```json\n{\"type\": \"function\", \"function\": {\"name\": \"fly\", \"arguments\": \"{}\"}}\n```\nThat is all."},
		"an answer with code":      {"Call look_up(q=\"x\") in Python.", "", "Call look_up(q=\"x\") in Python."},
		"an answer that has a tag": {"Hermes writes `<tool_call>` before a call.", "", "Hermes writes `<tool_call>` before a call."},
	} {
		t.Run(name, func(t *testing.T) {
			got := lenient.FindCalls(c.text, known)
			var calls []string
			for _, call := range got.List {
				calls = append(calls, call.Name+" "+compact(t, call.Arguments))
			}
			if diff := cmp.Diff([]string{c.calls, c.rest}, []string{strings.Join(calls, "; "), got.Rest}); diff != "" || got.Unreadable() {
				t.Errorf("FindCalls(%q), unreadable %v: want-, got+\n%s", c.text, got.Unreadable(), diff)
			}
		})
	}
}

func TestACallThatCannotBeReadIsReported(t *testing.T) {
	known := func(name string) bool { return name == "look_up" }
	for _, text := range []string{
		`{"tool_calls": [{"name": "look_up", "arg`,
		`{"name": "look_up", "arguments": {"q"`,
		`<tool_call>{"name": "look_up", `,
		`<tool_call>look_up please</tool_call>`,
		`{"tool_calls": [{"name": "look_up", "q": "x"}]}`,
		"```json\n{\"tool_calls\": []}\n```",
		`[TOOL_CALLS]look_up{"q": `,
		`<function=look_up>{"q": "x`,
		"<function=look_up>\n<parameter=q>\nx",
		`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{"q"`,
		"One moment.\n<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"q\": \"x\"",
		"```tool_code\nprint(look_up(q=",
		`<|python_tag|>look_up.call(q="x"`,
		`<start_function_call>call:look_up{q`,
		`&lt;tool_call&gt;{&quot;name&quot;: &quot;look_up&quot;}&lt;/tool_call&gt;`,
	} {
		if got := lenient.FindCalls(text, known); !got.Unreadable() {
			t.Errorf("FindCalls(%q) = %+v, want an unreadable call", text, got)
		}
	}
}

func TestCallsInHostileTextTakeLinearTime(t *testing.T) {
	pieces := []string{`{"tool":"x"}`, `{"tool":"x"} a `, "<function=a>", "<tool_call>", "<｜a｜>", "plan(", "[plan(", "```tool_code\nplan(", "plan(a=1)", "```tool_code\nplan(a=[", "<parameter=a>", "to=", ">>>a\n{}", "[TOOL_CALLS]a[ARGS]", "<tool_call>a<arg_key>", "<plan>", "<plan a=\"", "<plan/>", "- plan: x\n", " x\n", "- a: plan\n  b: c\n"}
	texts := func(size int) map[string]string {
		all := hostile(size)
		for _, piece := range pieces {
			all[piece] = strings.Repeat(piece, size/len(piece))
		}
		return all
	}
	known := func(name string) bool { return name == "plan" }
	wantLinear(t, texts, 64<<10, func(text string) {
		lenient.FindCalls(text, known)
		lenient.FindNamed(text, known)
	})
}

func FuzzFindCalls(f *testing.F) {
	for _, text := range hostile(64) {
		f.Add(text)
	}
	f.Add("<tool_call>\n<function=plan>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>")
	f.Add("```tool_code\nprint(default_api.plan(plan=[{'name': 'web'}]))\n```")
	f.Add(`[TOOL_CALLS]plan[CALL_ID]a1[ARGS]{"q": "x"} functools[{"name": "plan", "arguments": null}]`)
	f.Add("<plan>\n<task agent=\"plan\">x</task>\n</plan>")
	f.Add("```yaml\n- agent: plan\n  task: [a, b]\n  after:\n  - c\n```")
	f.Fuzz(func(t *testing.T, text string) {
		known := func(name string) bool { return name == "plan" }
		for _, c := range lenient.FindNamed(text, known).Calls {
			if c.Name == "" || !json.Valid(c.Arguments) {
				t.Fatalf("FindNamed(%q) has %q with the arguments %q", text, c.Name, c.Arguments)
			}
		}
		got := lenient.FindCalls(text, known)
		if len(got.Rest) > len(text) {
			t.Fatalf("FindCalls(%q).Rest = %q, which is longer", text, got.Rest)
		}
		for _, c := range got.List {
			if c.Name == "" || !json.Valid(c.Arguments) || !strings.ContainsRune("{[\"", rune(c.Arguments[0])) {
				t.Fatalf("FindCalls(%q) has %q with the arguments %q", text, c.Name, c.Arguments)
			}
		}
	})
}
