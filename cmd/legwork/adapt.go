package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/llm"
	"legwork/tasks"
	"legwork/tools"
	"legwork/tools/builtin"
)

// toolbox shows the tool groups of the moment to package tasks.
type toolbox struct{ manager *tools.Manager }

var _ tasks.Toolbox = toolbox{}

func (t toolbox) Groups(context.Context) []tasks.Group {
	groups := t.manager.Set().Groups()
	list := make([]tasks.Group, 0, len(groups))
	for _, g := range groups {
		list = append(list, tasks.Group{
			Name: g.Name, Description: g.Description, Instructions: g.Instructions, Model: g.Model, Allow: g.Allow, ReadOnly: g.ReadOnly,
		})
	}
	return list
}

func (t toolbox) Tools(ctx context.Context, group string) ([]tasks.Tool, error) {
	found, err := t.manager.Set().Tools(ctx, group)
	list := make([]tasks.Tool, 0, len(found))
	for _, f := range found {
		list = append(list, tasks.Tool{Name: f.Name, Exposed: f.Exposed, Description: f.Description, Schema: f.Schema})
	}
	return list, err
}

func (t toolbox) Verdict(group, tool string) tasks.Verdict {
	v, refusal := t.manager.Set().Verdict(group, tool)
	return tasks.Verdict{Refusal: refusal, Repeatable: v.Repeatable}
}

func (t toolbox) Call(ctx context.Context, group, tool string, arguments json.RawMessage) (tasks.ToolResult, error) {
	r, err := t.manager.Set().Call(ctx, group, tool, arguments)
	return tasks.ToolResult{Text: r.Text, Failed: r.Failed, Unknown: r.Unknown, Bytes: r.Bytes, Show: r.Show}, err
}

// inboxRules are what a config says about messages: what may be asked, and by
// whom.
func inboxRules(c *conf.Config) tasks.Rules {
	return tasks.Rules{
		Limits: c.Limits.Task(), Language: c.Language, Timezone: c.Timezone, Models: slices.Sorted(maps.Keys(c.LLM.Models)),
		Access: tasks.Access{Admins: c.Access.Admins, Doors: map[string]tasks.Door{
			telegram.Name: {Users: c.Access.Telegram.Users, Chats: c.Access.Telegram.Chats},
			slack.Name: {
				Users: c.Access.Slack.Users, Chats: c.Access.Slack.Channels, Teams: c.Access.Slack.Teams, External: c.Access.Slack.External,
			},
		}},
	}
}

// promptRules are what a config says about prompts.
func promptRules(c *conf.Config, model llm.Model) tasks.PromptRules {
	return tasks.PromptRules{
		Instructions: c.Instructions, ChatSettings: chatSettings(c), Models: slices.Sorted(maps.Keys(c.LLM.Models)), PromptBytes: promptBytes(model),
	}
}

func chatSettings(c *conf.Config) map[string]tasks.ChatSettings {
	settings := make(map[string]tasks.ChatSettings, len(c.Chats))
	for key, chat := range c.Chats {
		settings[key] = tasks.ChatSettings{Instructions: chat.Instructions, Groups: chat.Groups, Model: chat.Model}
	}
	return settings
}

// promptBytes bounds prompts by the context of the models that get them; nil
// when it is not known.
func promptBytes(model llm.Model) func(role string) int {
	models, ok := model.(interface{ PromptBytes(role string) int })
	if !ok {
		return nil
	}
	return models.PromptBytes
}

// zones finds time zones by the names of places, for /timezone.
func zones() func(name string) ([]string, string) {
	z := builtin.NewZones()
	return func(name string) ([]string, string) { return z.Find(name, time.Now()) }
}
