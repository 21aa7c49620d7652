package app

import (
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/llm"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/executor"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tasks/scheduler"
	"legwork/tools/builtin"
	"legwork/web"
)

// inboxRules are the parts of a config that the inbox needs.
func inboxRules(c *conf.Config) inbox.Rules {
	return inbox.Rules{
		Limits: c.Limits.Task(), Language: c.Language, Timezone: c.Timezone, Models: slices.Sorted(maps.Keys(c.LLM.Models)),
		ModelIDs: modelIDs(c.LLM), Usual: c.LLM.WithDefaults().Roles[llm.RoleAnswer],
		Access: policy.Access{Admins: c.Access.Admins, Owners: owners(c), Platforms: map[string]policy.PlatformAccess{
			telegram.Name: {Users: c.Access.Telegram.Users, Chats: c.Access.Telegram.Chats},
			slack.Name: {
				Users: c.Access.Slack.Users, Chats: c.Access.Slack.Channels, Teams: c.Access.Slack.Teams, External: c.Access.Slack.External,
			},
		}, Tokens: signInTokens(c), Provider: web.OIDC{Issuer: c.HTTP.OIDC.Issuer}.Host()},
		ChatSettings: chatSettings(c), Approvals: approvals(c), Budget: budget(c), Files: fileLimits(c),
	}
}

// fileLimits are the limits of files.
func fileLimits(c *conf.Config) tasks.FileLimits {
	return tasks.FileLimits{File: c.Files.MaxBytes, Message: c.Files.MessageBytes, Chat: c.Files.ChatBytes, All: c.Files.TotalBytes}
}

// modelIDs are what the endpoints call the models.
func modelIDs(c llm.Config) map[string]string {
	ids := map[string]string{}
	for name, m := range c.WithDefaults().Models {
		ids[name] = m.Model
	}
	return ids
}

// owner is the key of the person at this machine's terminal, who owns the data.
func owner() string { return bot.Person{Platform: terminal.Name, ID: terminal.Login()}.Key() }

// owners are the keys of the admins who get no notices: the person at this machine's
// terminal, and those who sign in at the page with a token of role admin.
func owners(c *conf.Config) []string {
	keys := []string{owner()}
	for _, t := range c.HTTP.Tokens {
		if t.Role == conf.RoleAdmin {
			keys = append(keys, bot.Person{Platform: tasks.PlatformWeb, ID: t.Name}.Key())
		}
	}
	return keys
}

// signInTokens are the names of the tokens whose holders have conversations in the page.
func signInTokens(c *conf.Config) (names []string) {
	for _, t := range c.HTTP.Tokens {
		if chats(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

// chats reports whether the holder of a token has conversations in the page.
func chats(t conf.Token) bool { return t.Role == conf.RoleOperator || t.Role == conf.RoleAdmin }

// approvals say how people are asked to approve calls.
func approvals(c *conf.Config) tasks.Approvals {
	return tasks.Approvals{Expire: c.Approvals.Expire, Grants: c.Approvals.Grants, Private: c.Approvals.ShowIn == conf.ShowInPrivate}
}

// promptRules are the parts of a config that the executor needs.
func promptRules(c *conf.Config, model llm.Model) tasks.PromptRules {
	return tasks.PromptRules{
		Instructions: c.Instructions, ChatSettings: chatSettings(c), Models: slices.Sorted(maps.Keys(c.LLM.Models)), PromptBytes: promptBytes(model),
		HasVision: c.LLM.Roles[llm.RoleVision] != "", HasHearing: c.LLM.Roles[llm.RoleTranscribe] != "",
		Files: fileLimits(c), Admins: append(slices.Clip(c.Access.Admins), owners(c)...), Approvals: approvals(c), Budget: budget(c), Deciders: deciders(c),
		Makes: executor.Makes(c.LLM.Roles[llm.RoleImage] != "", c.LLM.Roles[llm.RoleSpeech] != ""), Fonts: c.Files.Fonts, AnswerMessages: c.Files.AnswerMessages,
		Trust: tasks.Trust(c.Trust), SharedState: c.AgentTools.SharedState, Delegate: c.AgentTools.Delegate,
	}
}

func chatSettings(c *conf.Config) map[string]tasks.ChatSettings {
	settings := make(map[string]tasks.ChatSettings, len(c.Chats))
	for key, chat := range c.Chats {
		settings[key] = tasks.ChatSettings{Instructions: chat.Instructions, Groups: chat.Groups, Model: chat.Model}
	}
	return settings
}

// promptBytes is the limit of a prompt by the context of the model of a role; nil
// when that is unknown.
func promptBytes(model llm.Model) func(role string) int {
	models, ok := model.(interface{ PromptBytes(role string) int })
	if !ok {
		return nil
	}
	return models.PromptBytes
}

// zones finds the time zone of a place, for /timezone.
func zones() func(name string) ([]string, string) {
	z := builtin.NewZones()
	return func(name string) ([]string, string) { return z.Find(name, time.Now()) }
}

// budget is the cost limit of tasks.
func budget(c *conf.Config) tasks.BudgetRules {
	micros := func(usd float64) int64 { return int64(math.Round(usd * 1e6)) }
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		zone = time.UTC
	}
	b := c.Budget
	return tasks.BudgetRules{
		Budgets: tasks.Budgets{
			TaskTokens: b.TaskTokens, TaskUSD: micros(b.TaskUSD), UserDayUSD: micros(b.UserDayUSD),
			ChatDayUSD: micros(b.ChatDayUSD), DayUSD: micros(b.DayUSD), DayTokens: b.DayTokens,
		},
		Zone: zone, AskerExtends: b.Extend == conf.ExtendAsker,
	}
}

// configSchedules are the schedules of a config.
func configSchedules(c *conf.Config) []scheduler.ConfigSchedule {
	list := make([]scheduler.ConfigSchedule, 0, len(c.Schedules))
	for _, s := range c.Schedules {
		platform, id, _ := strings.Cut(c.Person(s), ":")
		list = append(list, scheduler.ConfigSchedule{
			Name: s.Name, When: s.When, Goal: strings.TrimSpace(s.Text), Chat: chatOf(s.Chat), As: bot.Person{Platform: platform, ID: id},
			Timezone: c.ScheduleZone(s), Language: c.ScheduleLanguage(s), CatchUp: s.CatchUp,
		})
	}
	return list
}

// chatOf is the chat of a key. Its id shows whether it is private: Telegram's
// groups have negative ids, Slack's direct messages have ids that begin with D.
func chatOf(key string) bot.Chat {
	platform, rest, _ := strings.Cut(key, ":")
	id, thread, _ := strings.Cut(rest, "/")
	private := platform == "telegram" && !strings.HasPrefix(id, "-") || platform == "slack" && strings.HasPrefix(id, "D")
	return bot.Chat{Platform: platform, ID: id, Thread: thread, Private: private}
}

// access says who may call the API. The config was validated before.
func access(config *conf.Config) web.Access {
	a := web.Access{Rate: config.HTTP.Rate}
	for _, t := range config.HTTP.Tokens {
		token := web.Token{Principal: api.Principal{Name: t.Name, Role: policy.Role(t.Role), Chats: t.Visible(), Groups: t.Groups, Webhooks: t.Notifies()}}
		if chats(t) {
			token.Person = bot.Person{Platform: tasks.PlatformWeb, ID: t.Name, Name: t.Name}
		}
		if hash, err := hex.DecodeString(t.SHA256); err == nil && len(hash) == len(token.Hash) {
			copy(token.Hash[:], hash)
			a.Tokens = append(a.Tokens, token)
		}
	}
	if o := config.HTTP.OIDC; o.Issuer != "" {
		a.OIDC = web.OIDC{Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Audience: o.Audience, Roles: map[policy.Role][]string{}}
		for role, claims := range o.Roles {
			a.OIDC.Roles[policy.Role(role)] = claims
		}
	}
	for _, proxy := range config.HTTP.Proxies {
		if network, err := conf.ParseProxy(proxy); err == nil {
			a.Proxies = append(a.Proxies, network)
		}
	}
	return a
}

// deciders are the keys of the programs whose tokens may approve calls.
func deciders(config *conf.Config) []string {
	var keys []string
	for _, t := range config.HTTP.Tokens {
		if t.Role == conf.RoleOperator || t.Role == conf.RoleAdmin {
			keys = append(keys, api.Principal{Name: t.Name, Role: policy.Role(t.Role)}.Key())
		}
	}
	return keys
}
