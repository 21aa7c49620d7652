package conf_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/conf"
	"legwork/tasks/alerts"
)

// TestBudgetWithoutPrice: a budget in money is reported when a person wrote it
// down and no model counts for it; the default ones are not.
func TestBudgetWithoutPrice(t *testing.T) {
	const priced = "models: {main: {model: m, price: {input: 1, output: 2}}}\n"
	const plain = "models: {main: {model: m}}\n"
	for _, c := range []struct{ text, want string }{
		{plain, ""},
		{plain + "budget: {task_tokens: 5, day_usd: 0}\n", ""},
		{plain + "budget: {day_usd: 3, task_usd: 0.25}\n", ":2:1: budget: day_usd, task_usd: no model has a price"},
		{priced + "budget: {day_usd: 3}\n", ""},
		{"models: {main: {model: m, price: {}}, spare: {model: s}}\nbudget: {day_usd: 3}\n", ":2:1: budget: day_usd: no price: spare; budgets in US dollars count nothing for these models"},
		{"models: {main: {model: m}, rules: {offline: true}}\nbudget: {day_usd: 3}\n", ":2:1: budget: day_usd: no price: main; "},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		writeFile(t, path, []byte(c.text))
		config, err := conf.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("loading %q: %v", c.text, err)
		}
		if got := config.Warnings().Error(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("warnings of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestMissingPrices: a role whose calls budgets in money cannot count is reported, with
// each fallback; an empty price is free of charge.
func TestMissingPrices(t *testing.T) {
	const models = "models: {main: {model: m, price: {input: 1, output: 2}}, ears: {model: e, price: {audio_minute: 1}, fallback: [main]}, free: {model: f, price: {}}}\n"
	const none = "budget: {task_usd: 0, user_day_usd: 0, chat_day_usd: 0, day_usd: 0}\n"
	for _, c := range []struct{ text, want string }{
		{models, ""},
		{models + "roles: {vision: main, image: free, speech: free}\n", ""},
		{models + "roles: {transcribe: ears}\n", ":1:27: models.main.price.audio_minute: missing; budgets in US dollars do not count the minutes of audio of roles.transcribe"},
		{models + "roles: {image: main}\n", ":1:27: models.main.price.image: missing; budgets in US dollars do not count the pictures of roles.image"},
		{models + "roles: {speech: main}\n", ":1:27: models.main.price.speech_1k: missing; budgets in US dollars do not count the spoken characters of roles.speech"},
		{models + "roles: {speech: main}\n" + none, ""},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		writeFile(t, path, []byte(c.text))
		config, err := conf.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("loading %q: %v", c.text, err)
		}
		if got := config.Warnings().Error(); strings.TrimPrefix(got, path) != c.want {
			t.Errorf("warnings of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestBudgetDefaults: a missing budget has its default, and 0 is no limit.
func TestBudgetDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, path, []byte("models: {main: {model: m}}\nbudget: {task_usd: 0, day_tokens: 7, extend: asker}\n"))
	config, err := conf.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	want := conf.Budget{TaskTokens: 1000000, UserDayUSD: 1, ChatDayUSD: 2, DayUSD: 5, DayTokens: 7, Extend: conf.ExtendAsker}
	if config.Budget != want {
		t.Errorf("budget = %+v, want %+v", config.Budget, want)
	}
}

// TestDayTokensWithoutPrice: the tokens of a day have a limit where a model has no
// price, unless the config sets one.
func TestDayTokensWithoutPrice(t *testing.T) {
	const priced = "models: {main: {model: m, price: {input: 1, output: 2}}}\n"
	for text, want := range map[string]int64{
		"models: {main: {model: m}}\n":                               2_000_000,
		"models: {main: {model: m, price: {}}, spare: {model: s}}\n": 2_000_000,
		"models: {main: {model: m}}\nbudget: {day_tokens: 0}\n":      0,
		"models: {main: {model: m}}\nbudget: {day_tokens: 7}\n":      7,
		"models: {main: {offline: true}}\n":                          0,
		priced:                                                       0,
		priced + "budget: {day_tokens: 7}\n":                         7,
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		writeFile(t, path, []byte(text))
		config, err := conf.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("loading %q: %v", text, err)
		}
		if got := config.Budget.DayTokens; got != want {
			t.Errorf("day_tokens of %q = %d, want %d", text, got, want)
		}
	}
}

// TestRetentionAndBackup: what the config says about the care of the data, days among it.
func TestRetentionAndBackup(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text      string
		retention conf.Retention
		backup    conf.Backup
		problem   string
	}{
		{"", conf.Retention{Tasks: 90 * day, History: 365 * day, Files: 90 * day}, conf.Backup{Every: day, Keep: 7}, ""},
		{
			"retention: {tasks: 30d, history: 1.5d12h}\n",
			conf.Retention{},
			conf.Backup{},
			"retention.tasks: a task cannot be kept for longer than its question and answer; allowed: up to 2d",
		},
		{"retention: {tasks: 2d12h, history: 0d}\nbackup: {every: 6h, keep: 2}\n", conf.Retention{Tasks: 60 * time.Hour, Files: 90 * day}, conf.Backup{Every: 6 * time.Hour, Keep: 2}, ""},
		{"retention: {tasks: 1h}\n", conf.Retention{}, conf.Backup{}, "retention.tasks: 1h is out of range; allowed: 0 forever, or 1d to 36500d"},
		{"retention: {history: 40d, tasks: 0d}\n", conf.Retention{}, conf.Backup{}, "retention.tasks: a task cannot be kept"},
		{"backup: {every: 10s}\n", conf.Retention{}, conf.Backup{}, "backup.every: 10s is out of range; allowed: 0 for none, or 1m to 365d"},
		{"backup: {keep: 0}\n", conf.Retention{}, conf.Backup{}, "backup.keep: 0 is out of range; allowed: 1 to 1000"},
		{"backup: {every: 7 days}\n", conf.Retention{}, conf.Backup{}, "backup.every: "},
	} {
		config, err := conf.Load(write(t, "models: {main: {base_url: https://example.com/v1, model: m}}\n"+c.text), variables(nil))
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%q: got %v, want %q", c.text, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if config.Retention != c.retention || config.Backup != c.backup {
			t.Errorf("%q: got %+v %+v, want %+v %+v", c.text, config.Retention, config.Backup, c.retention, c.backup)
		}
	}
}

func TestAlerts(t *testing.T) {
	const secret, address = "0123456789-0123456789-0123456789", "https://ops.example.com/hook/private-part"
	path := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string) *conf.Config {
		if err := os.WriteFile(path, []byte("models: {main: {model: m}}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := conf.Load(path, variables(map[string]string{"HOOK": secret, "WHERE": address}))
		if err != nil {
			t.Fatalf("loading %q: %v", text, err)
		}
		return c
	}
	usual := load("")
	if diff := cmp.Diff(alerts.Config{After: 10 * time.Minute, Chat: true}, usual.Alerts); diff != "" {
		t.Errorf("without the section (-want +got):\n%s", diff)
	}
	set := load("alerts: {after: 0s, chat: false, webhooks: {ops: {url: \"${WHERE}\", secret: \"${HOOK}\", kinds: [task.failed]}}}")
	want := alerts.Config{Webhooks: map[string]alerts.Webhook{"ops": {URL: address, Secret: secret, Kinds: []string{"task.failed"}}}}
	if diff := cmp.Diff(want, set.Alerts); diff != "" {
		t.Errorf("with the section (-want +got):\n%s", diff)
	}
	for _, hidden := range []string{secret, address} {
		if !slices.Contains(set.Secrets(), hidden) {
			t.Errorf("Secrets() lacks %q", hidden)
		}
	}
	if got := conf.Changed(usual, set); !slices.Equal(got, []string{"alerts"}) {
		t.Errorf("Changed = %v, want alerts", got)
	}
	if got := conf.Restart(usual, set); len(got) != 0 {
		t.Errorf("Restart = %v, want nothing: a reload changes it", got)
	}
}
