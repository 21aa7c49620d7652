package conf

import (
	"maps"
	"reflect"
	"slices"
)

// Changed lists, in alphabetical order, the keys in which two configs differ:
// those of the file's top level, and those one below it that NeedsRestart
// names.
func Changed(before, after *Config) []string {
	old, young := before.parts(), after.parts()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if !reflect.DeepEqual(old[key], young[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Restart lists those of the changed keys that take effect only when the
// process is started again.
func Restart(before, after *Config) []string {
	fixed := NeedsRestart()
	return slices.DeleteFunc(Changed(before, after), func(key string) bool { return !slices.Contains(fixed, key) })
}

// NeedsRestart lists the keys that a running process cannot change.
func NeedsRestart() []string {
	return []string{
		"backup", "data_dir", "engine", "http.listen", "http.public_url", "http.webhook_listen", "limits.concurrent_tasks", "log", "retention", "slack", "store", "telegram", "telemetry", "texts_dir",
	}
}

// parts are the values of a config by their keys, with defaults filled in, so
// that writing a default down is no change.
func (c *Config) parts() map[string]any {
	models := c.LLM.WithDefaults()
	limits := c.Limits
	limits.ConcurrentTasks = 0
	parts := map[string]any{
		"language": c.Language, "timezone": c.Timezone, "data_dir": c.DataDir, "instructions": c.Instructions,
		"texts_dir": c.TextsDir, "log": c.Log, "models": models.Models, "roles": models.Roles,
		"http":        []any{c.HTTP.Proxies, c.HTTP.Rate, c.HTTP.Tokens},
		"http.listen": c.HTTP.Listen, "http.public_url": c.HTTP.PublicURL, "http.webhook_listen": c.HTTP.WebhookListen,
		"access": c.Access, "chats": c.Chats, "servers": c.Tools.Servers, "groups": c.Tools.Groups,
		"approvals": c.Approvals, "schedules": c.Schedules, "import_servers": c.ImportServers,
		"limits": limits, "limits.concurrent_tasks": c.Limits.ConcurrentTasks, "engine": c.Engine, "store": c.Store,
		"retention": c.Retention, "backup": c.Backup, "budget": c.Budget, "alerts": c.Alerts, "telemetry": c.Telemetry,
		"telegram": nil, "slack": nil,
	}
	if c.Telegram != nil {
		parts["telegram"] = c.Telegram.WithDefaults()
	}
	if c.Slack != nil {
		parts["slack"] = c.Slack.WithDefaults()
	}
	return parts
}
