package planner_test

import (
	"testing"

	"legwork/planner"
)

// TestStreamablePrefix: the part of a growing reply that people may see.
func TestStreamablePrefix(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"The answer", ""}, // too short to tell
		{"The answer is a long sentence.", "The answer is a long sentence."},
		{"\n  The answer is a long sentence.", "The answer is a long sentence."},
		{`{"plan": [{"name": "web", "description": "x"}]}`, ""},
		{"```json\n{\"plan\": []}\n```", ""},
		{"Here is the plan that I made:\n{\"plan\": [", "Here is the plan that I made:"},
		{"Here is the plan that I made: {\"plan\": [", "Here is the plan that I made: "},
		{"Here is the plan:\n```json\n{\"pl", "Here is the plan:\n"},
		{"Here is the plan that I made: { \n \"plan\" : [", "Here is the plan that I made: "},
		{"Here is the plan that I made: {\"pl", "Here is the plan that I made: "},
		{"Here is the plan that I made: {", "Here is the plan that I made: "},
		{"I look it up for you right now: {\"tool_calls\": [", "I look it up for you right now: "},
		{"Here is the plan that I made: {\"thought\": \"two", "Here is the plan that I made: "},
		{"Write {name} where the name of the person goes.", "Write {name} where the name of the person goes."},
		{"<think>The person wants to know the time", ""},
		{"<think>the time</think>It is five past eight in Tokyo.", "It is five past eight in Tokyo."},
		{"<thi", ""},
		{"I should look it up, shouldn't I?\n</thi", "I should look it up, shouldn't I?"},
		{"I should look it up, shouldn't I?\n</think>\n{\"plan\": [", ""},
		{"I should look it up, shouldn't I?\n</think>\nIt is five past eight in Tokyo.", "It is five past eight in Tokyo."},
		{"<tool_call>\n{\"name\": \"plan\", \"arguments\"", ""},
		{"<function=plan>\n<parameter=plan>\n[{\"name\"", ""},
		{"<|python_tag|>plan.call(plan=[{\"name\"", ""},
		{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function", ""},
		{"[TOOL_CALLS]plan[ARGS]{\"plan\": [", ""},
		{"[TOOL_CALLS][{\"name\": \"plan\", \"arg", ""},
		{"functools[{\"name\": \"plan\", \"arguments\":", ""},
		{">>>plan\n{\"plan\": [{\"name\": \"web\"", ""},
		{"[plan(plan=[{\"name\": \"web\", \"descrip", ""},
		{"plan(plan=[{\"name\": \"web\", \"descrip", ""},
		{"```tool_code\nprint(default_api.plan(", ""},
		{"plan:\n  - name: web\n    description: Find", ""},
		{"- name: web\n  description: Find the date of", ""},
		{"I will call the tool right now.\n<tool_call>{\"na", "I will call the tool right now."},
		{"I will call the tool right now.\n<tool", "I will call the tool right now."},
		{"I will call the tool right now.\n```tool_code\npl", "I will call the tool right now."},
		{"I will call the tool right now. {\"name\": \"plan\"", "I will call the tool right now. "},
		{"I will call the tool right now. {\"type\": \"func", "I will call the tool right now. "},
		{"Thought: I have to look.\nAction: plan\nAction Inp", "Thought: I have to look."},
		{"I will call the tool right now.\n<tool_use>{\"na", "I will call the tool right now."},
		{"I will call the tool right now.\n&lt;tool_call&gt;{", "I will call the tool right now."},
		{"I will call the tool right now.\n&lt;to", "I will call the tool right now."},
		{"I will call the tool right now.\nTool: plan\nArguments:", "I will call the tool right now."},
		{"Tool: plan\nArguments: {\"plan\":", ""},
		{"The tool for this & that is a hammer.\nTo use it, &lt; is a sign.", "The tool for this & that is a hammer.\nTo use it, &lt; is a sign."},
		{"Hermes models write `<tool_call>` before a call.", "Hermes models write `<tool_call>` before a call."},
		{"One <b>bold</b> word and a > b and a < b.", "One <b>bold</b> word and a > b and a < b."},
		{"[{\"name\": \"web\", \"description\": \"look\"}]", ""},
		{"[                              ", ""},
		{"[Go 1.26](https://go.dev) was released in February.", "[Go 1.26](https://go.dev) was released in February."},
		{"[1] says that it was released in February.", "[1] says that it was released in February."},
		{"`go fmt` formats the code of a package.", "`go fmt` formats the code of a package."},
		{"```go\nfunc main() { println() }\n```", "```go\nfunc main() { println() }\n```"},
		{"```\n{\"plan\": [{\"name\": \"web\"}]}", ""},
		{"``` JSON\n{\"plan\": [{\"name\": \"web\"}]}", ""},
		{"```some language without its end", ""},
		{"This is how a block looks in C:\n```c\nint main()\n{\n  return 0;\n}\n```", "This is how a block looks in C:\n```c\nint main()\n{\n  return 0;\n}\n```"},
		{"This is how a block looks in C:\n```c\nint main()\n{", "This is how a block looks in C:\n```c\nint main()"},
		{"These are the steps that I made:\n{ \"steps\": [", "These are the steps that I made:"},
	} {
		if got := planner.StreamablePrefix(c.text); got != c.want {
			t.Errorf("StreamablePrefix(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
