// Package toolbox shows the tool groups of package tools to package tasks.
package toolbox

import (
	"context"
	"encoding/json"

	"legwork/llm"
	"legwork/tasks"
	"legwork/tools"
	"legwork/tools/client"
)

// Toolbox gives tasks the groups of a Manager as they are at the moment.
type Toolbox struct{ manager *tools.Manager }

var _ tasks.Toolbox = Toolbox{}

// New makes a Toolbox of the manager's newest snapshots.
func New(m *tools.Manager) Toolbox { return Toolbox{m} }

// Groups implements tasks.Toolbox.
func (t Toolbox) Groups(context.Context) []tasks.Group {
	groups := t.manager.Set().Groups()
	list := make([]tasks.Group, 0, len(groups))
	for _, g := range groups {
		list = append(list, tasks.Group{
			Name: g.Name, Description: g.Description, Instructions: g.Instructions, Model: g.Model, Allow: g.Allow, ReadOnly: g.ReadOnly,
		})
	}
	return list
}

// Tools implements tasks.Toolbox.
func (t Toolbox) Tools(ctx context.Context, group string) ([]tasks.Tool, error) {
	found, err := t.manager.Set().Tools(ctx, group)
	list := make([]tasks.Tool, 0, len(found))
	for _, f := range found {
		list = append(list, tasks.Tool{Name: f.Name, Exposed: f.Exposed, Description: f.Description, Schema: f.Schema})
	}
	return list, err
}

// Find implements tasks.Toolbox.
func (t Toolbox) Find(ctx context.Context, group, query string) ([]string, error) {
	return t.manager.Set().Find(ctx, group, query)
}

// Verdict implements tasks.Toolbox.
func (t Toolbox) Verdict(ctx context.Context, group, tool string, arguments json.RawMessage) tasks.Verdict {
	set := t.manager.Set()
	v := set.Verdict(ctx, group, tool)
	if v.Refusal == "" {
		v.Refusal = set.Misfit(group, tool, arguments)
	}
	return tasks.Verdict{
		Refusal: v.Refusal, Ask: v.Ask, Never: v.Never, Repeatable: v.Repeatable, Trusted: v.Trusted, Sources: v.Sources, Definition: v.Definition,
	}
}

// Call implements tasks.Toolbox.
func (t Toolbox) Call(ctx context.Context, c tasks.ToolCall) (tasks.ToolResult, error) {
	call := tools.Call{
		Call: client.Call{Tool: c.Tool, Arguments: c.Arguments, Definition: c.Definition, Ask: c.Ask, Whom: c.Chat + " " + c.Person},
		Chat: c.Chat, Person: c.Person, Private: c.Private, Hops: c.Hops,
	}
	if c.Progress != nil {
		call.Progress = func(p client.Progress) { c.Progress(tasks.Progress(p)) }
	}
	if c.Resume != nil {
		call.Resume = &client.Resume{State: c.Resume.State, Answer: c.Resume.Answer}
	}
	if c.Sample != nil {
		call.Sample = func(ctx context.Context, s client.Sampling) (client.Sampled, error) {
			reply, err := c.Sample(ctx, sampling(s))
			return client.Sampled(reply), err
		}
	}
	r, err := t.manager.Set().Call(ctx, c.Group, call)
	result := tasks.ToolResult{
		Text: r.Text, Failed: r.Failed, Unknown: r.Unknown, Bytes: r.Bytes, Show: r.Show, Question: r.Question, State: r.State,
	}
	for _, i := range r.Images {
		result.Images = append(result.Images, llm.Image(i))
	}
	return result, err
}

func sampling(s client.Sampling) tasks.Sampling {
	list := make([]llm.Message, len(s.Messages))
	for i, m := range s.Messages {
		list[i] = llm.Message{Role: m.Role, Content: m.Text}
	}
	return tasks.Sampling{Server: s.Server, System: s.System, Messages: list, MaxTokens: s.MaxTokens}
}

// Prompts implements tasks.Toolbox.
func (t Toolbox) Prompts(ctx context.Context, group string) ([]tasks.ServerPrompt, error) {
	found, err := t.manager.Set().Prompts(ctx, group)
	list := make([]tasks.ServerPrompt, 0, len(found))
	for _, p := range found {
		prompt := tasks.ServerPrompt{Name: p.Server + "/" + p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, tasks.PromptArgument(a))
		}
		list = append(list, prompt)
	}
	return list, err
}

// Prompt implements tasks.Toolbox.
func (t Toolbox) Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error) {
	return t.manager.Set().Prompt(ctx, group, name, arguments)
}

// Changes implements tasks.Toolbox.
func (t Toolbox) Changes(ctx context.Context) []tasks.ToolChange {
	changes := t.manager.Changes(ctx)
	list := make([]tasks.ToolChange, len(changes))
	for i, c := range changes {
		list[i] = tasks.ToolChange(c)
	}
	return list
}

// Accept implements tasks.Toolbox.
func (t Toolbox) Accept(ctx context.Context, change string) (tasks.ToolChange, error) {
	c, err := t.manager.Accept(ctx, change)
	return tasks.ToolChange(c), err
}

var _ tasks.Inventory = Toolbox{}

// Inventory implements tasks.Inventory.
func (t Toolbox) Inventory(context.Context) []tasks.GroupStatus {
	groups := t.manager.Inventory()
	list := make([]tasks.GroupStatus, len(groups))
	for i, g := range groups {
		list[i] = tasks.GroupStatus{Name: g.Name, Description: g.Description, Approve: g.Approve}
		for _, s := range g.Servers {
			server := tasks.ServerStatus{Name: s.Name, Problem: s.Problem}
			for _, tool := range s.Tools {
				server.Tools = append(server.Tools, tasks.ToolStatus(tool))
			}
			list[i].Servers = append(list[i].Servers, server)
		}
	}
	return list
}
