package conf

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/internal/schedule"
)

// Schedule is a question that legwork asks itself at set times. People in its chat
// see it with /schedule; admins can pause it there.
type Schedule struct {
	// Name of the schedule: letters, digits, - and _.
	Name string `yaml:"name"`
	// When it runs, as in /schedule: "every weekday 9:00", "every 2 hours", "0 9 * * 1-5". In English, Russian or Chinese.
	When string `yaml:"when"`
	// Text is the question or order.
	Text string `yaml:"text"`
	// Chat gets the answers: its platform and id, and after a slash a topic or thread.
	Chat string `yaml:"chat"`
	// As is the person whose rights and budgets apply, as PLATFORM:ID. Default: the first admin on the chat's platform.
	As string `yaml:"as,omitempty"`
	// Timezone of its times. Default: that of the config.
	Timezone string `yaml:"timezone,omitempty"`
	// Language of the texts that legwork itself writes. Default: that of the config.
	Language string `yaml:"language,omitempty"`
	// CatchUp runs a missed schedule later, however late. By default it runs only when it was missed by less than an hour.
	CatchUp bool `yaml:"catch_up,omitempty"`
}

// maxScheduleText is the longest text of a schedule, in bytes.
const maxScheduleText = 64 << 10

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// Person is the person whose rights a schedule has; empty when the config
// names none.
func (c *Config) Person(s Schedule) string {
	if s.As != "" {
		return s.As
	}
	platform, _, _ := strings.Cut(s.Chat, ":")
	for _, admin := range c.Access.Admins {
		if strings.HasPrefix(admin, platform+":") {
			return admin
		}
	}
	return ""
}

// ScheduleZone is the time zone of a schedule.
func (c *Config) ScheduleZone(s Schedule) string { return cmp.Or(s.Timezone, c.Timezone) }

// ScheduleLanguage is the language of a schedule.
func (c *Config) ScheduleLanguage(s Schedule) string { return cmp.Or(s.Language, c.Language) }

func (c *Config) ownSchedules(l *issues, languages []string) {
	names := map[string]bool{}
	for i, s := range c.Schedules {
		path := fmt.Sprintf("schedules[%d]", i)
		switch {
		case !scheduleName.MatchString(s.Name):
			l.Add(path+".name", "%s is not a name; allowed: 1 to 40 letters, digits, - and _", shown(s.Name))
		case names[s.Name]:
			l.Add(path+".name", "there is another schedule named %s", shown(s.Name))
		}
		names[s.Name] = true
		switch text := strings.TrimSpace(s.Text); {
		case text == "":
			l.Add(path+".text", "is missing; write the question or order")
		case len(text) > maxScheduleText:
			l.Add(path+".text", "has %d bytes; allowed: %d", len(text), maxScheduleText)
		}
		if s.Language != "" {
			l.oneOf(path+".language", s.Language, languages)
		}
		c.ownScheduleTime(l, path, s)
		c.ownSchedulePlace(l, path, s)
	}
}

func (c *Config) ownScheduleTime(l *issues, path string, s Schedule) {
	zone, err := time.LoadLocation(c.ScheduleZone(s))
	if err != nil || s.Timezone == "Local" {
		if s.Timezone != "" {
			l.Add(path+".timezone", "%s", zoneProblem(s.Timezone))
		}
		zone = time.UTC
	}
	if _, err := schedule.ParseAgain(s.When, time.Now(), zone); err != nil {
		l.Add(path+".when", "%s", err)
	}
}

func (c *Config) ownSchedulePlace(l *issues, path string, s Schedule) {
	platform, id, _ := strings.Cut(s.Chat, ":")
	switch {
	case !slices.Contains([]string{"telegram", "slack"}, platform) || strings.Trim(id, "/") == "":
		l.Add(path+".chat", "%s is not a chat; allowed: telegram: or slack: and the id of the chat, such as slack:C012AB3CD", shown(s.Chat))
		return
	case chatKeyProblem(s.Chat) != "":
		l.Add(path+".chat", "%s", chatKeyProblem(s.Chat))
		return
	case platform == "telegram" && c.Telegram == nil, platform == "slack" && c.Slack == nil:
		l.Add(path+".chat", "needs the platform's section; add %s to the config", platform)
	case s.As == "" && c.Person(s) == "":
		l.Add(path+".as", "must name the person whose rights apply, such as %s:ID, because access.admins lists no person of that platform", platform)
	case s.As != "" && (!strings.HasPrefix(s.As, platform+":") || len(s.As) == len(platform)+1):
		l.Add(path+".as", "%s is not a person on the chat's platform; allowed: %s: and the id of a person", shown(s.As), platform)
	}
}
