package conf

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/tasks/alerts"
)

// Budget limits what tasks may cost. Zero means no limit. Budgets in money
// count the models whose price is known.
type Budget struct {
	// TaskTokens is what one task may use, prompts and replies together.
	TaskTokens int64 `yaml:"task_tokens,omitempty" jsonschema:"minimum=0"`
	// TaskUSD is what one task may cost, in US dollars.
	TaskUSD float64 `yaml:"task_usd,omitempty" jsonschema:"minimum=0"`
	// UserDayUSD is what the tasks of one person may cost in a day.
	UserDayUSD float64 `yaml:"user_day_usd,omitempty" jsonschema:"minimum=0"`
	// ChatDayUSD is what the tasks of one chat may cost in a day.
	ChatDayUSD float64 `yaml:"chat_day_usd,omitempty" jsonschema:"minimum=0"`
	// DayUSD is what all tasks together may cost in a day.
	DayUSD float64 `yaml:"day_usd,omitempty" jsonschema:"minimum=0"`
	// DayTokens is what all tasks together may use in a day.
	DayTokens int64 `yaml:"day_tokens,omitempty" jsonschema:"minimum=0"`
	// Extend says who may extend a budget that is reached: admins, or the person who asked as well.
	Extend string `yaml:"extend,omitempty" jsonschema:"enum=admins,enum=asker"`
}

// Who may extend a budget that is reached.
const (
	ExtendAdmins = "admins"
	ExtendAsker  = "asker"
)

// What a budget can be at most: a million dollars, and more tokens than those
// buy.
const (
	maxBudgetUSD    = 1e6
	maxBudgetTokens = int64(1e15)
)

// defaultBudget is that of a config which names none.
func defaultBudget() Budget {
	return Budget{TaskTokens: 1_000_000, TaskUSD: 1, UserDayUSD: 1, ChatDayUSD: 2, DayUSD: 5, Extend: ExtendAdmins}
}

// money lists the budgets in US dollars by their keys.
func (b Budget) money() map[string]float64 {
	return map[string]float64{
		"task_usd": b.TaskUSD, "user_day_usd": b.UserDayUSD, "chat_day_usd": b.ChatDayUSD, "day_usd": b.DayUSD,
	}
}

func (c *Config) ownBudget(l *issues) {
	for key, usd := range c.Budget.money() {
		if usd < 0 || usd > maxBudgetUSD || math.IsNaN(usd) {
			l.add("budget."+key, "%s is out of range; allowed: 0 for no limit, or US dollars up to %d", strconv.FormatFloat(usd, 'f', -1, 64), int(maxBudgetUSD))
		}
	}
	for key, tokens := range map[string]int64{"task_tokens": c.Budget.TaskTokens, "day_tokens": c.Budget.DayTokens} {
		if tokens < 0 || tokens > maxBudgetTokens {
			l.add("budget."+key, "%d is out of range; allowed: 0 for no limit, or tokens up to %d", tokens, maxBudgetTokens)
		}
	}
	l.oneOf("budget.extend", c.Budget.Extend, []string{ExtendAdmins, ExtendAsker})
}

// unpriced warns of budgets in money that were written down while no model has a
// price: they would never be reached.
func (d *decoder) unpriced(c *Config) {
	for _, m := range c.LLM.Models {
		if m.Price != nil {
			return
		}
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
	at := d.places["budget"]
	c.warnings = append(c.warnings, Error{
		File: d.file, Line: at.line, Column: at.column, Key: "budget",
		Problem: strings.Join(keys, ", ") + ": no model has a price, so budgets in US dollars count nothing; set models.NAME.price, or task_tokens and day_tokens",
	})
}

// Retention says how long what is over is kept.
type Retention struct {
	// Tasks is how long the journals of finished tasks are kept, after their end: what they did, and the results that later tasks of their chat can read. 0: for ever.
	Tasks time.Duration `yaml:"tasks,omitempty"`
	// History is how long questions and answers are kept, summaries of them, and what was spent. 0: for ever.
	History time.Duration `yaml:"history,omitempty"`
}

// Backup says how the data is backed up, into the folder backups of data_dir.
type Backup struct {
	// Every is the time between two backups. 0: none are made.
	Every time.Duration `yaml:"every,omitempty"`
	// Keep is how many backups are kept; the oldest go first.
	Keep int `yaml:"keep,omitempty" jsonschema:"minimum=1,maximum=1000"`
}

const day = 24 * time.Hour

func (c *Config) ownCare(l *issues) {
	l.zeroOr("retention.tasks", "for ever", c.Retention.Tasks, day, 100*365*day)
	l.zeroOr("retention.history", "for ever", c.Retention.History, day, 100*365*day)
	if c.Retention.History != 0 && (c.Retention.Tasks == 0 || c.Retention.Tasks > c.Retention.History) {
		l.add("retention.tasks", "a task cannot be kept for longer than its question and answer; allowed: up to %s", brief(c.Retention.History))
	}
	l.zeroOr("backup.every", "for none", c.Backup.Every, time.Minute, 365*day)
	l.upTo("backup.keep", c.Backup.Keep, 1000)
}

// ownAlerts lists the mistakes in who is told of what.
func (c *Config) ownAlerts(l *issues) {
	for _, i := range c.Alerts.Validate() {
		l.add("alerts."+i.Path, "%s", i.Problem)
	}
	kinds := alerts.Kinds()
	for _, name := range slices.Sorted(maps.Keys(c.Alerts.Webhooks)) {
		for i, kind := range c.Alerts.Webhooks[name].Kinds {
			if !alerts.Known(kind) {
				l.known("alerts.webhooks."+name+".kinds["+strconv.Itoa(i)+"]", "kind", kind, kinds)
			}
		}
	}
}
