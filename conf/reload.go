package conf

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must stay unchanged before a change counts, because
// editors and copies write in several steps.
const settle = 300 * time.Millisecond

// Watcher notices changes of files. Its methods are safe for concurrent use.
type Watcher struct {
	watcher *fsnotify.Watcher
	log     *slog.Logger
	work    sync.WaitGroup

	mu    sync.Mutex
	own   string          // the config file
	files map[string]bool // that matter, from the root
}

// Watch sends on changed, without blocking, when the config file or the EnvFile
// beside it has changed and then stays unchanged for a moment. It watches the
// folder, so that it also sees files that are replaced.
func Watch(path string, log *slog.Logger, changed chan<- struct{}) (*Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	w := &Watcher{watcher: watcher, log: log, own: path, files: map[string]bool{}}
	if err := w.add(path); err != nil {
		_ = watcher.Close() // nothing was watched
		return nil, err
	}
	w.work.Go(func() { w.run(changed) })
	return w, nil
}

// Also watches the imported files in place of those of the previous call. It logs a
// file that cannot be watched. A folder stays watched, but changes of its other files
// do not count.
func (w *Watcher) Also(files ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = map[string]bool{}
	for _, file := range append(files, w.own) {
		if err := w.add(file); err != nil {
			w.log.Warn("watching a file failed; send SIGHUP after changing it", "file", file, "cause", err)
		}
	}
}

// Close stops watching and waits until that is over.
func (w *Watcher) Close() {
	_ = w.watcher.Close() // ends run
	w.work.Wait()
}

func (w *Watcher) add(file string) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("watching %s: %w", file, err)
	}
	if err := w.watcher.Add(filepath.Dir(full)); err != nil {
		return fmt.Errorf("watching folder %s: %w", filepath.Dir(full), err)
	}
	w.files[full] = true
	return nil
}

func (w *Watcher) run(changed chan<- struct{}) {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case e, open := <-w.watcher.Events:
			if !open {
				return
			}
			if w.concerns(e) {
				quiet.Reset(settle)
			}
		case err, open := <-w.watcher.Errors:
			if !open {
				return
			}
			w.log.Warn("watching the config failed; send SIGHUP after changing it", "cause", err)
		case <-quiet.C:
			select {
			case changed <- struct{}{}:
			default: // one is waiting already
			}
		}
	}
}

// concerns reports whether an event may be a change of the config: of its files, of
// an EnvFile beside them, or of the link ..data by which Kubernetes replaces mounted
// files.
func (w *Watcher) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	base := filepath.Base(e.Name)
	return w.files[e.Name] || base == EnvFile || base == "..data"
}

// Changed lists the keys in which two configs differ, sorted: keys of the top level,
// and those of the level below that NeedsRestart names.
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

// Restart lists the changed keys that need a restart.
func Restart(before, after *Config) []string {
	fixed := NeedsRestart()
	return slices.DeleteFunc(Changed(before, after), func(key string) bool { return !slices.Contains(fixed, key) })
}

// NeedsRestart lists the keys that a running process cannot change.
func NeedsRestart() []string {
	return []string{
		"backup", "data_dir", "engine", "http.listen", "http.public_url", "http.webhook_listen", "limits.concurrent_tasks", "log", "retention", "sealing_key", "slack", "store", "telegram", "telemetry", "texts_dir",
	}
}

// parts returns the values of a config by key, with defaults filled in: writing a
// default down is not a change.
func (c *Config) parts() map[string]any {
	models := c.LLM.WithDefaults()
	limits := c.Limits
	limits.ConcurrentTasks = 0
	parts := map[string]any{
		"language": c.Language, "timezone": c.Timezone, "data_dir": c.DataDir, "instructions": c.Instructions,
		"texts_dir": c.TextsDir, "log": c.Log, "models": models.Models, "roles": models.Roles,
		"http":        []any{c.HTTP.Proxies, c.HTTP.Rate, c.HTTP.Tokens, c.HTTP.OIDC},
		"http.listen": c.HTTP.Listen, "http.public_url": c.HTTP.PublicURL, "http.webhook_listen": c.HTTP.WebhookListen,
		"access": c.Access, "chats": c.Chats, "servers": c.Tools.Servers, "groups": c.Tools.Groups,
		"approvals": c.Approvals, "schedules": c.Schedules, "import_servers": c.ImportServers,
		"limits": limits, "limits.concurrent_tasks": c.Limits.ConcurrentTasks, "engine": c.Engine, "store": c.Store,
		"retention": c.Retention, "backup": c.Backup, "files": c.Files, "budget": c.Budget, "alerts": c.Alerts, "telemetry": c.Telemetry,
		"sealing_key": c.SealingKey,
		"telegram":    nil, "slack": nil,
	}
	if c.Telegram != nil {
		parts["telegram"] = c.Telegram.WithDefaults()
	}
	if c.Slack != nil {
		parts["slack"] = c.Slack.WithDefaults()
	}
	return parts
}
