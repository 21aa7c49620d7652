package conf

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must stay as it is before a change counts: editors
// and copies write in several steps.
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

// Watch sends on changed, without ever waiting, when the config file or the
// EnvFile beside it has changed and stays so for a moment. It watches the
// folder, so that files which are replaced as a whole are seen, too.
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

// Also watches further files from now on, in place of those of the call before:
// what the config imports. One that cannot be watched is logged.
func (w *Watcher) Also(files ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.folders()
	w.files = map[string]bool{}
	for _, file := range append(files, w.own) {
		if err := w.add(file); err != nil {
			w.log.Warn("a file is not watched; send SIGHUP after changing it", "file", file, "cause", err)
		}
	}
	for folder := range before {
		if !w.folders()[folder] {
			_ = w.watcher.Remove(folder) // it may be gone
		}
	}
}

// Close ends the watching and waits for it.
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

func (w *Watcher) folders() map[string]bool {
	folders := map[string]bool{}
	for file := range w.files {
		folders[filepath.Dir(file)] = true
	}
	return folders
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

// concerns reports that an event may be a change of the config: of its files, of
// an EnvFile beside them, or of the link by which mounted files are replaced.
func (w *Watcher) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	base := filepath.Base(e.Name)
	return w.files[e.Name] || base == EnvFile || base == "..data"
}
