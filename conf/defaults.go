package conf

import (
	"time"

	"legwork/planner"
	"legwork/tasks/alerts"
	"legwork/tools"
)

// Default is the config before anything was read: every key of this package
// with its default, and no models, servers or groups.
func Default() *Config {
	task := planner.DefaultLimits()
	return &Config{
		Language: "en",
		Timezone: "UTC",
		DataDir:  "data",
		Log:      Log{Level: "info", Format: "text"},
		Limits: Limits{
			Rounds:          task.Rounds,
			Subtasks:        task.Subtasks,
			Parallel:        task.Parallel,
			Turns:           task.Turns,
			TaskTimeout:     task.TaskTimeout,
			ContextIdle:     task.IdleTimeout,
			ConcurrentTasks: 32,
		},
		Budget:    defaultBudget(),
		Approvals: Approvals{Expire: 72 * time.Hour, ShowIn: ShowInChat, Grants: 30 * 24 * time.Hour},
		Platforms: Platforms{HTTP: HTTP{Listen: DefaultListen, Rate: defaultRate}},
		Retention: Retention{Tasks: 90 * day, History: 365 * day},
		Alerts:    alerts.Config{After: 10 * time.Minute, Chat: true},
		Telemetry: Telemetry{Sample: 1},
		Backup:    Backup{Every: day, Keep: 7},
		Engine:    Engine{Type: "local"},
		Store:     Store{Type: "bolt"},
		folder:    ".",
	}
}

// Demo is the config of the offline demo: the built-in servers, no network and
// no models, because the caller brings the offline stand-in.
func Demo(dataDir string) *Config {
	config := Default()
	config.DataDir = dataDir
	config.Tools = builtinTools()
	config.Backup.Every = 0 // nobody misses the data of a demo
	return config
}

// builtinTools are the tool groups that need neither keys nor network. Each
// server is a group of its own.
func builtinTools() tools.Config {
	return tools.Config{Servers: map[string]tools.ServerConfig{
		"clock": {Builtin: "clock"},
		"math":  {Builtin: "math"},
	}}
}

// envTools are the tool groups of a config without a file: the built-in ones,
// reading web pages, and searching when there is an endpoint for it.
func envTools(searchURL string) tools.Config {
	config := builtinTools()
	config.Servers["web"] = tools.ServerConfig{Builtin: "web"}
	if searchURL != "" {
		config.Servers["search"] = tools.ServerConfig{Builtin: "search", Options: map[string]any{"url": searchURL}}
	}
	return config
}
