package conf

import "time"

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
