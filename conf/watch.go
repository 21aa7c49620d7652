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

// Watch sends on changed, without ever waiting, when the config file or the
// EnvFile beside it has changed and stays so for a moment. It watches the
// folder, so that files which are replaced as a whole are seen, too. stop ends
// it and waits.
func Watch(path string, log *slog.Logger, changed chan<- struct{}) (stop func(), err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", path, err)
	}
	folder := filepath.Dir(path)
	if err := watcher.Add(folder); err != nil {
		_ = watcher.Close() // nothing was watched
		return nil, fmt.Errorf("watching folder %s: %w", folder, err)
	}
	var work sync.WaitGroup
	work.Go(func() { watch(watcher, filepath.Base(path), log, changed) })
	return func() {
		_ = watcher.Close() // ends watch
		work.Wait()
	}, nil
}

func watch(watcher *fsnotify.Watcher, name string, log *slog.Logger, changed chan<- struct{}) {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case e, open := <-watcher.Events:
			if !open {
				return
			}
			if concerns(e, name) {
				quiet.Reset(settle)
			}
		case err, open := <-watcher.Errors:
			if !open {
				return
			}
			log.Warn("watching the config failed; send SIGHUP after changing it", "cause", err)
		case <-quiet.C:
			select {
			case changed <- struct{}{}:
			default: // one is waiting already
			}
		}
	}
}

// concerns reports that an event may be a change of the config: of its file, of
// the EnvFile, or of the link by which mounted files are replaced.
func concerns(e fsnotify.Event, name string) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	base := filepath.Base(e.Name)
	return base == name || base == EnvFile || base == "..data"
}
