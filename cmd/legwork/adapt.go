package main

import (
	"maps"
	"slices"
	"time"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/llm"
	"legwork/tasks"
	"legwork/tools/builtin"
)

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
		ChatSettings: chatSettings(c), Approvals: approvals(c), Budget: budget(c),
	}
}

// approvals are how people are asked about calls.
func approvals(c *conf.Config) tasks.Approvals {
	return tasks.Approvals{Expire: c.Approvals.Expire, Grants: c.Approvals.Grants, Private: c.Approvals.ShowIn == conf.ShowInPrivate}
}

// promptRules are what a config says about prompts.
func promptRules(c *conf.Config, model llm.Model) tasks.PromptRules {
	return tasks.PromptRules{
		Instructions: c.Instructions, ChatSettings: chatSettings(c), Models: slices.Sorted(maps.Keys(c.LLM.Models)), PromptBytes: promptBytes(model),
		Sees: c.LLM.Roles[llm.RoleVision] != "", Admins: c.Access.Admins, Approvals: approvals(c), Budget: budget(c), Deciders: deciders(c),
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
