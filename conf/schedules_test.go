package conf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/conf"
)

// scheduled loads a config with one schedule, or more, as YAML flow entries.
func scheduled(t *testing.T, admins, entries string) (*conf.Config, error) {
	t.Helper()
	slack := "slack: {bot_token: xoxb-1-2-a, app_token: xapp-1-A1-2-a}\n"
	if strings.Contains(entries, "nowhere") {
		slack = ""
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := "models: {main: {model: m, base_url: http://127.0.0.1:1/v1}}\ntelegram: {token: \"" + botToken + "\"}\n" + slack + "timezone: Europe/Berlin\naccess: {admins: [" + admins + "]}\nschedules:\n" + entries
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf.Load(path, variables(nil))
}

func TestSchedules(t *testing.T) {
	c, err := scheduled(t, `"telegram:7", "slack:U1"`, `
  - {name: news, when: every weekday 9:00, text: news, chat: "slack:C1"}
  - {name: late, when: 每天9点, text: news, chat: "telegram:-1005/3", as: "telegram:9", timezone: Asia/Shanghai, language: zh, catch_up: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"slack:U1 Europe/Berlin en", "telegram:9 Asia/Shanghai zh"} {
		s := c.Schedules[i]
		if got := c.Person(s) + " " + c.ScheduleZone(s) + " " + c.ScheduleLanguage(s); got != want {
			t.Errorf("schedule %s is %s, want %s", s.Name, got, want)
		}
	}
}

func TestScheduleMistakes(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{`{name: "a b", when: "@daily", text: x, chat: "slack:C1"}`, `schedules[0].name: "a b" is not a name`},
		{`{name: a, when: sometimes, text: x, chat: "slack:C1"}`, "schedules[0].when: \"sometimes\" does not begin with a time"},
		{`{name: a, when: every day, text: x, chat: "slack:C1"}`, "has no time of the day"},
		{`{name: a, when: tomorrow 9:00, text: x, chat: "slack:C1"}`, "comes only once"},
		{`{name: a, when: every day 9:00 news, text: x, chat: "slack:C1"}`, `"news" is not part of a time`},
		{`{name: a, when: 0 0 30 2 *, text: x, chat: "slack:C1"}`, "never comes"},
		{`{name: a, when: "@daily", text: " ", chat: "slack:C1"}`, "schedules[0].text: is missing"},
		{`{name: a, when: "@daily", text: x, chat: "terminal:main"}`, "schedules[0].chat"},
		{`{name: nowhere, when: "@daily", text: x, chat: "slack:C1"}`, "schedules[0].chat: needs the platform's section"},
		{`{name: a, when: "@daily", text: x, chat: C1}`, "schedules[0].chat"},
		{`{name: a, when: "@daily", text: x, chat: "telegram:12"}`, "schedules[0].as: must name the person whose rights"},
		{`{name: a, when: "@daily", text: x, chat: "slack:C1", as: "telegram:7"}`, "not a person on the chat's platform"},
		{`{name: a, when: "@daily", text: x, chat: "slack:C1", timezone: Mars}`, "schedules[0].timezone: unknown time zone"},
		{`{name: a, when: "@daily", text: x, chat: "slack:C1", language: fr}`, "schedules[0].language"},
		{`{name: a, whne: "@daily", text: x, chat: "slack:C1"}`, "whne"},
		{"{name: a, when: \"@daily\", text: x, chat: \"slack:C1\"}\n  - {name: a, when: \"@daily\", text: x, chat: \"slack:C1\"}", "schedules[1].name: there is another"},
	} {
		_, err := scheduled(t, `"slack:U1"`, "  - "+c.entry+"\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.entry, err, c.want)
		}
	}
}
