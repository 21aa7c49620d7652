package offline_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/conf"
	"legwork/llm"
	"legwork/tools/builtin"
)

// env is the groups of the demo: for a plan, and their tools.
type env struct {
	groups  string
	tools   map[string][]llm.Tool // by group
	clients map[string]*mcpclient.Client
}

func newEnv(t *testing.T, now time.Time) env {
	t.Helper()
	d := env{"# Agents\n", map[string][]llm.Tool{}, map[string]*mcpclient.Client{}}
	path, err := conf.WriteDemo(t.TempDir(), "UTC")
	if err != nil {
		t.Fatal(err)
	}
	config, err := conf.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Tools.Servers)) {
		from := config.Tools.Servers[name]
		s, err := builtin.New(from.Builtin, from.Options, builtin.Env{Base: config.DataDir, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		c, err := mcpclient.NewInProcessClient(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		about, err := c.Initialize(t.Context(), mcp.InitializeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			if offered := config.Tools.Groups[name].Tools; len(offered) == 0 || slices.Contains(offered, tool.Name) {
				d.tools[name] = append(d.tools[name], llm.Tool{Name: name + "__" + tool.Name, Description: tool.Description, Schema: schema})
			}
		}
		d.groups += "- " + name + ": " + cmp.Or(config.Tools.Groups[name].Description, about.Instructions) + "\n"
		d.clients[name] = c
	}
	d.groups += "- llm_tool: The model alone, without tools.\n"
	return d
}

// ask has a question planned and its one sub-task worked on, and returns the
// tool that is called and its result, or what is said instead.
func (d env) ask(t *testing.T, question string) (tool, said string) {
	t.Helper()
	const person = "The person's time zone is Europe/Vienna.\n\n"
	plan := planned(t, ask(t, llm.Request{Role: llm.RolePlan, Tools: planTool(), Messages: []llm.Message{
		{Role: llm.System, Content: d.groups}, {Role: llm.User, Content: person + "<goal>\n" + question + "\n</goal>"},
	}}))
	group, task, ok := strings.Cut(plan, ": ")
	if !ok || strings.Contains(task, "\n") {
		return "", plan
	}
	reply := ask(t, llm.Request{Role: llm.RoleWork, Tools: d.tools[group], Messages: []llm.Message{
		{Role: llm.System, Content: "You work."}, {Role: llm.User, Content: person + "<task>\n" + task + "\n</task>"},
	}})
	if len(reply.ToolCalls) != 1 {
		return "", reply.Text
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(reply.ToolCalls[0].Arguments), &args); err != nil {
		t.Fatalf("arguments %q: %v", reply.ToolCalls[0].Arguments, err)
	}
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = strings.TrimPrefix(reply.ToolCalls[0].Name, group+"__"), args
	result, err := d.clients[group].CallTool(t.Context(), r)
	if err != nil {
		t.Fatalf("calling %s with %v: %v", r.Params.Name, args, err)
	}
	for _, c := range result.Content {
		if text, ok := c.(mcp.TextContent); ok {
			said += text.Text
		}
	}
	return r.Params.Name, said
}

func TestTheBuiltInToolsAreUsedAsTheyAre(t *testing.T) {
	d := newEnv(t, time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)) // the 21st in Vienna
	for _, c := range []struct{ question, tool, want string }{
		{"What is 2+2?", "calculate", "4"},
		{"What time is it?", "time_in", "00:30:00 on Saturday, 21 November 2026 (Europe/Vienna"},
		{"Could you tell me what time it is, please?", "time_in", "(Europe/Vienna"},
		{"What time is it in Tokyo today?", "time_in", "Tokyo: 08:30:00"},
		{"What time is it in 东京?", "time_in", "08:30:00"},
		{"东京现在几点", "time_in", "东京: 08:30:00"},
		{"现在东京几点？", "time_in", "东京: 08:30:00"},
		{"東京現在幾點", "time_in", "東京: 08:30:00"},
		{"請問東京的時間？", "time_in", "東京: 08:30:00"},
		{"Который сейчас час?", "time_in", "(Europe/Vienna"},
		{"convert 15:00 Berlin time to Tokyo", "convert_time", "Tokyo: 23:00:00"},
		{"Convert 3:30 pm from New York to London", "convert_time", "London: 20:30:00"},
		{"Convert 15:00 to Tokyo time", "convert_time", "Europe/Vienna: 15:00:00"},
		{"Convert 15:00 from Tokyo to my time", "convert_time", "Vienna: 07:00:00"},
		{"What day is it?", "calendar", "2026-11-21: Saturday"},
		{"What day is it tomorrow?", "calendar", "2026-11-22: Sunday"},
		{"Which day is 24 December 2026?", "calendar", "2026-12-24: Thursday"},
		{"How many days until December 25, 2026?", "date_diff", "- 34 days"},
		{"How much time is there between 2026-01-01 and 2026-03-01?", "date_diff", "- 59 days"},
		{"Which date is 3 weeks after 2026年11月20日?", "date_add", "11 December 2026"},

		{"Save a note: buy milk", "append", "Added 9 bytes to notes.md, which has 9 now."},
		{"Please save this as a note: what is 17*23, and call Ann", "append", "to notes.md, which has 37 now."},
		{`Save "Buy bread" in shopping.txt`, "append", "Added 9 bytes to shopping.txt"},
		{"What is in notes.md?", "read", "what is 17*23, and call Ann"},
		{"Запиши заметку: купить молоко", "append", "Added 26 bytes to notes.md"},
		{"记一条笔记：买牛奶", "append", "Added 10 bytes to notes.md"},

		{"tell me a joke", "", "cannot do this: Tell me a joke"},
		{"Tell me a story about time", "", "cannot do this: Tell me a story about time"},
		{"How many days until Christmas?", "", "cannot do this: How many days until Christmas"},
		{"What day is Christmas?", "", "cannot do this: What day is Christmas"},
		{"convert 15:00 berlin time to tokyo", "", "cannot do this: Convert 15:00"},
	} {
		tool, said := d.ask(t, c.question)
		if tool != c.tool || !strings.Contains(said, c.want) {
			t.Errorf("%q: tool %q, %q, want %q, %q", c.question, tool, said, c.tool, c.want)
		}
	}
}
