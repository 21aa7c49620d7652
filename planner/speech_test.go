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
		{"Write {name} where the name of the person goes.", "Write {name} where the name of the person goes."},
		{"<think>The person wants to know the time", ""},
		{"<think>the time</think>It is five past eight in Tokyo.", "It is five past eight in Tokyo."},
		{"<thi", ""},
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
			t.Errorf("Utterance(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
