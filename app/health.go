package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"legwork/internal/fsutil"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/web"
)

// health returns the problem of each part, nil when it works. legwork is not ready
// when it can hear or store nothing. It is only degraded by a part that it can work
// without or that people can repair through it; an unreachable platform only
// degrades it when programs have tokens, because they must still be served. Anybody
// who reaches the address can read this, so addresses and paths are only in the log.
func (d *daemon) health() map[string]error {
	parts := map[string]error{"store": d.storeHealth(), "disk": d.diskHealth(), "work": d.workHealth()}
	for _, p := range d.platforms {
		err := withoutAddress(p.Ready())
		if err != nil && d.hasTokens.Load() {
			err = web.Degraded(err)
		}
		parts[p.Name()] = err
	}
	if list := d.modelHealth(); len(list) > 0 {
		parts["models"] = downParts(list)
	}
	if list := d.serverHealth(); len(list) > 0 {
		parts["servers"] = downParts(list)
	}
	return parts
}

// withoutAddress removes the unreachable address from an error.
func withoutAddress(err error) error {
	var failed error
	if u, ok := errors.AsType[*url.Error](err); ok {
		failed = u
	} else if n, ok := errors.AsType[net.Error](err); ok {
		failed = n
	}
	if failed == nil {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), failed.Error(), "it cannot be reached"))
}

func (d *daemon) storeHealth() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if d.core.store.Corruption() != nil {
		return errors.New("the data file is damaged; restart legwork to repair it")
	}
	switch err := d.storeFailing(ctx); {
	case errors.Is(err, tasks.ErrFull):
		return errors.New("the disk is full")
	case err != nil:
		return errors.New("writing fails; the log says why")
	}
	if _, err := d.core.store.Setting(ctx, "legwork", "admins"); err != nil {
		return errors.New("reading fails")
	}
	return nil
}

// storeRetry is how often a failing store is tried again.
const storeRetry = 5 * time.Second

// storeFailing is the reason why the store cannot write. From time to time it
// writes something itself: without new tasks it would not find out that the
// store works again.
func (d *daemon) storeFailing(ctx context.Context) error {
	err := d.core.store.WriteFailure()
	if err == nil {
		return nil
	}
	now, last := time.Now(), d.storeTried.Load()
	if now.UnixNano()-last < int64(storeRetry) || !d.storeTried.CompareAndSwap(last, now.UnixNano()) {
		return err
	}
	return d.core.store.PutSetting(ctx, "legwork", "store_tried", now.UTC().Format(time.RFC3339Nano))
}

func (d *daemon) diskHealth() error {
	if fsutil.IsLow(d.core.config.DataDir) {
		return web.Degraded(errors.New("nearly full: new tasks are refused until there is room; running tasks continue"))
	}
	return nil
}

// workHealth reports a pause. Messages are still read, because one of them may
// resume the work.
func (d *daemon) workHealth() error {
	if by, on := d.core.pause.State(); on {
		return web.Degraded(fmt.Errorf("paused since %s; an admin can resume with /resume or \"legwork resume\"", by.At.UTC().Format(time.RFC3339)))
	}
	return nil
}

// downParts names the parts that are down. The reasons are only in the log, because
// anybody may ask.
func downParts(list []alerts.Health) error {
	var down []string
	for _, h := range list {
		if h.Down {
			down = append(down, h.Name)
		}
	}
	if len(down) == 0 {
		return nil
	}
	return web.Degraded(errors.New("down: " + strings.Join(down, ", ")))
}
