package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/internal/test/fakes/llmfake"
	"legwork/tools"
)

// Sixty tools in eight groups: what a task of three sub-tasks has in its prompts.
const (
	manyGroups = 8
	manyTools  = 60
	manyServer = "LEGWORK_BENCH_SERVER" // the number of the server that this process is to be
)

// measureMany counts the bytes of prompts with tools by group, against the same
// prompts with all tools in each.
func measureMany(ctx context.Context, dir string) ([]figure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg := tools.Config{Servers: map[string]tools.ServerConfig{}, Groups: map[string]tools.GroupConfig{}}
	all := 0
	for i := range manyGroups {
		name := fmt.Sprintf("desk%d", i)
		cfg.Servers[name] = tools.ServerConfig{Command: self, Env: map[string]string{manyServer: fmt.Sprint(i)}}
		cfg.Groups[name] = tools.GroupConfig{Description: fmt.Sprintf("Looks after the papers of desk %d.", i), ReadOnly: []string{"*"}}
		for _, t := range paperTools(i) {
			all += len("desk0__") + len(t.Name) + len(t.Description) + len(t.RawInputSchema)
		}
	}
	r, err := newEngineEnvOf(cfg, dir, askDesks, 0)
	if err != nil {
		return nil, err
	}
	if _, answer, err := r.ask(ctx, "compare three desks"); err != nil || strings.Count(answer, "found") != 3 {
		return nil, fmt.Errorf("the answer is %q, %w", answer, err)
	}
	got, whole := 0, 0
	for _, request := range r.fake.Requests() {
		size, own := promptBytes(request), 0
		for _, t := range request.Tools {
			if strings.HasPrefix(t.Name, "desk") {
				own += len(t.Name) + len(t.Description) + len(t.Schema)
			}
		}
		got, whole = got+size, whole+size-own+all
	}
	share := float64(got) / float64(whole) * 100
	return []figure{{
		name: "prompts of a task with 60 tools in 8 groups", measured: fmt.Sprintf("%.0f %%", share), limit: "35 % of all tools in each",
		machine: fmt.Sprintf("%d of %d B", got, whole), ok: share <= 35,
	}}, r.close()
}

// paperTools are the tools of one group, described as real servers do.
func paperTools(group int) []mcp.Tool {
	n := manyTools / manyGroups
	if group < manyTools%manyGroups {
		n++
	}
	list := make([]mcp.Tool, n)
	for i := range list {
		list[i] = mcp.NewToolWithRawSchema(fmt.Sprintf("search_papers_%d_%d", group, i),
			"Searches the papers of the desk by words, people and dates, the newest first. Returns at most limit of them with title, author, date and a summary; use cursor for the next page.",
			json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words that the paper holds"},"author":{"type":"string","description":"full name of who wrote it"},"since":{"type":"string","format":"date","description":"only papers from this day on"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20},"cursor":{"type":"string","description":"from the page before"}},"required":["query"]}`))
	}
	return list
}

// askDesks is a model that asks three desks, each with one call, and counts what
// they found.
func askDesks(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	switch step {
	case llmfake.StepPlan:
		return llmfake.Call("plan", `{"plan":[{"id":"a","name":"desk0","description":"Find the newest paper"},{"id":"b","name":"desk3","description":"Find the newest paper"},{"id":"c","name":"desk7","description":"Find the newest paper"}]}`)
	case llmfake.StepWork:
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return llmfake.Say(content(last.Content))
		}
		return llmfake.Call(r.Tools[0].Name, `{"query":"newest"}`)
	}
	count := 0
	for _, m := range r.Messages {
		count += strings.Count(m.Content, "found one")
	}
	return llmfake.Say(strings.Repeat("found ", count))
}

// servePapers makes this process one of the servers of measureMany.
func servePapers(number string) error {
	group, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("reading %s: %w", manyServer, err)
	}
	s := server.NewMCPServer("desk", "1")
	for _, t := range paperTools(group) {
		s.AddTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("found one"), nil
		})
	}
	return server.ServeStdio(s)
}
