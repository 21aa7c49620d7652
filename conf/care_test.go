package conf_test

import (
	"strings"
	"testing"
	"time"

	"legwork/conf"
)

// TestCare: what the config says about the care of the data, days among it.
func TestCare(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text      string
		retention conf.Retention
		backup    conf.Backup
		problem   string
	}{
		{"", conf.Retention{Tasks: 90 * day, History: 365 * day}, conf.Backup{Every: day, Keep: 7}, ""},
		{
			"retention: {tasks: 30d, history: 1.5d12h}\n",
			conf.Retention{},
			conf.Backup{},
			"retention.tasks: a task cannot be kept for longer than its question and answer; allowed: up to 48h",
		},
		{"retention: {tasks: 2d12h, history: 0d}\nbackup: {every: 6h, keep: 2}\n", conf.Retention{Tasks: 60 * time.Hour}, conf.Backup{Every: 6 * time.Hour, Keep: 2}, ""},
		{"retention: {tasks: 1h}\n", conf.Retention{}, conf.Backup{}, "retention.tasks: 1h is out of range; allowed: 0 for ever, or 24h to 876000h"},
		{"retention: {history: 40d, tasks: 0d}\n", conf.Retention{}, conf.Backup{}, "retention.tasks: a task cannot be kept"},
		{"backup: {every: 10s}\n", conf.Retention{}, conf.Backup{}, "backup.every: 10s is out of range; allowed: 0 for none, or 1m to 8760h"},
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
