package conf

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/tasks/alerts"
	"legwork/tools/registry"
)

// Budget limits the cost of tasks. Zero means no limit. Budgets in money count the
// models whose price is known.
type Budget struct {
	// TaskTokens is what one task may use, prompts and replies together.
	TaskTokens int64 `yaml:"task_tokens,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// TaskUSD is what one task may cost, in US dollars.
	TaskUSD float64 `yaml:"task_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// UserDayUSD is what the tasks of one person may cost in a day.
	UserDayUSD float64 `yaml:"user_day_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// ChatDayUSD is what the tasks of one chat may cost in a day.
	ChatDayUSD float64 `yaml:"chat_day_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// DayUSD is what all tasks together may cost in a day.
	DayUSD float64 `yaml:"day_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// DayTokens is what all tasks together may use in a day. Unset: 2,000,000 where a model has no price, otherwise no limit.
	DayTokens int64 `yaml:"day_tokens,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// Extend sets who may extend a budget that was reached: only admins, or the person who asked too.
	Extend string `yaml:"extend,omitempty" jsonschema:"enum=admins,enum=asker"`
}

// The values of Budget.Extend.
const (
	ExtendAdmins = "admins"
	ExtendAsker  = "asker"
)

// defaultBudget is the budget of a config that sets none.
func defaultBudget() Budget {
	return Budget{TaskTokens: 1_000_000, TaskUSD: 1, UserDayUSD: 1, ChatDayUSD: 2, DayUSD: 5, Extend: ExtendAdmins}
}

// unpricedDayTokens is the default of day_tokens where a model has no price.
const unpricedDayTokens = 2_000_000

// money lists the budgets in US dollars by their keys.
func (b Budget) money() map[string]float64 {
	return map[string]float64{
		"task_usd": b.TaskUSD, "user_day_usd": b.UserDayUSD, "chat_day_usd": b.ChatDayUSD, "day_usd": b.DayUSD,
	}
}

// missingPrices warns about prices of pictures, audio and speech that budgets in US
// dollars need.
func (d *decoder) missingPrices(c *Config) {
	for _, usd := range c.Budget.money() {
		if usd > 0 {
			for _, missing := range c.LLM.MissingPrices() {
				d.warn(c, missing.Path, "%s", missing.Problem)
			}
			return
		}
	}
}

// unpriced limits the tokens of a day when models have no price, and warns about
// budgets in money, because these do not count the models.
func (d *decoder) unpriced(c *Config) {
	models := c.LLM.Unpriced()
	if len(models) == 0 {
		return
	}
	if _, written := d.places["budget.day_tokens"]; !written {
		c.Budget.DayTokens = unpricedDayTokens
	}
	problem := "no model has a price, so budgets in US dollars count nothing; set models.NAME.price, or task_tokens and day_tokens"
	if len(models) < len(c.LLM.Models) {
		problem = "no price: " + strings.Join(models, ", ") + "; budgets in US dollars count nothing for these models; set models.NAME.price, or task_tokens and day_tokens"
	}
	var keys []string
	for key, usd := range c.Budget.money() {
		if _, written := d.places["budget."+key]; written && usd > 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	d.warn(c, "budget", "%s: %s", strings.Join(keys, ", "), problem)
}

// Retention sets how long finished tasks, the history and files are kept.
type Retention struct {
	// Tasks is how long finished tasks are kept: their steps, and the results that later tasks of their chat can read. 0: forever.
	Tasks time.Duration `yaml:"tasks,omitempty"`
	// History is how long questions, answers, their summaries and the usage are kept. 0: forever.
	History time.Duration `yaml:"history,omitempty"`
	// Files is how long files are kept after the end of the last task that uses them. 0: as long as their tasks.
	Files time.Duration `yaml:"files,omitempty"`
}

// Files limits the files that people send and that are made for them. Zero means no limit.
type Files struct {
	// MaxBytes is what one file may have.
	MaxBytes int64 `yaml:"max_bytes,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// MessageBytes is what all files of a message may have together.
	MessageBytes int64 `yaml:"message_bytes,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// ChatBytes is what is kept for one chat, or for one token.
	ChatBytes int64 `yaml:"chat_bytes,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// TotalBytes is what is kept in all.
	TotalBytes int64 `yaml:"total_bytes,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"`
	// Fonts are folders with fonts for PDFs, beside those of the system.
	Fonts []string `yaml:"fonts,omitempty"`
	// AnswerMessages is how many messages an answer may have. Of a longer one the chat gets the first message, and a file with all of it.
	AnswerMessages int `yaml:"answer_messages,omitempty" jsonschema:"minimum=0,maximum=100"`
}

// defaultFiles are the limits of a config that sets none.
func defaultFiles() Files {
	return Files{MaxBytes: 20 << 20, MessageBytes: 50 << 20, ChatBytes: 200 << 20, TotalBytes: 10 << 30, AnswerMessages: 5}
}

// Backup sets how often the data is backed up to the folder backups of data_dir.
type Backup struct {
	// Every is the time between two backups. 0: no backups.
	Every time.Duration `yaml:"every,omitempty"`
	// Keep is how many backups are kept; the oldest are deleted.
	Keep int `yaml:"keep,omitempty" jsonschema:"minimum=1,maximum=1000"`
}

const day = 24 * time.Hour

func (c *Config) ownCare(l *issues) {
	if c.Registry != "" {
		l.Unless("registry", registry.AddressProblem(c.Registry))
	}
	switch url := c.Store.URL; {
	case c.Store.Type == "postgres" && url == "":
		l.Add("store.url", "is missing; it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE")
	case c.Store.Type == "postgres" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		l.Add("store.url", "is not the URL of a Postgres database; it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE")
	case c.Store.Type != "postgres" && url != "":
		l.Add("store.url", "belongs to type: postgres; with type: bolt the data is a file in data_dir. Name one of them")
	}
	l.zeroOr("retention.tasks", "forever", c.Retention.Tasks, day, 100*365*day)
	l.zeroOr("retention.history", "forever", c.Retention.History, day, 100*365*day)
	l.zeroOr("retention.files", "for files to be kept as long as their tasks", c.Retention.Files, day, 100*365*day)
	if c.Retention.History != 0 && (c.Retention.Tasks == 0 || c.Retention.Tasks > c.Retention.History) {
		l.Add("retention.tasks", "a task cannot be kept for longer than its question and answer; allowed: up to %s", brief(c.Retention.History))
	}
	l.zeroOr("backup.every", "for none", c.Backup.Every, time.Minute, 365*day)
}

// ownAlerts lists the mistakes in alerts.
func (c *Config) ownAlerts(l *issues) {
	l.Include("alerts.", c.Alerts.Validate())
	kinds := alerts.Kinds()
	for _, name := range slices.Sorted(maps.Keys(c.Alerts.Webhooks)) {
		for i, kind := range c.Alerts.Webhooks[name].Kinds {
			if !alerts.Known(kind) {
				l.known("alerts.webhooks."+name+".kinds["+strconv.Itoa(i)+"]", "kind", kind, kinds)
			}
		}
	}
}
