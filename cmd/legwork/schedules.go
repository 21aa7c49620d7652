package main

import (
	"strings"

	"legwork/bot"
	"legwork/conf"
	"legwork/tasks"
)

// configSchedules are the schedules of a config as the inbox takes them.
func configSchedules(c *conf.Config) []tasks.ConfigSchedule {
	list := make([]tasks.ConfigSchedule, 0, len(c.Schedules))
	for _, s := range c.Schedules {
		platform, id, _ := strings.Cut(c.Person(s), ":")
		list = append(list, tasks.ConfigSchedule{
			Name: s.Name, When: s.When, Goal: strings.TrimSpace(s.Text), Chat: chatOf(s.Chat), As: bot.Person{Platform: platform, ID: id},
			Timezone: c.Zone(s), Language: c.Tongue(s), CatchUp: s.CatchUp,
		})
	}
	return list
}

// chatOf is the chat of a key. What it looks like says whether only one person is
// in it: Telegram's groups have negative numbers, Slack's direct messages ids that
// begin with D.
func chatOf(key string) bot.Chat {
	platform, rest, _ := strings.Cut(key, ":")
	id, thread, _ := strings.Cut(rest, "/")
	private := platform == "telegram" && !strings.HasPrefix(id, "-") || platform == "slack" && strings.HasPrefix(id, "D")
	return bot.Chat{Platform: platform, ID: id, Thread: thread, Private: private}
}
