package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/web"
)

// health says of each part what is wrong with it; nil for nothing. What stops
// legwork from hearing or keeping anything makes it not ready; what it can work
// without, or what people can change through it, only degraded: a chat service that
// is away is that where programs have tokens, which must go on being served. Everybody
// who reaches the address can read it, so addresses and paths are in the log alone.
func (d *daemon) health() map[string]error {
	parts := map[string]error{"store": d.storeHealth(), "disk": d.diskHealth(), "work": d.workHealth()}
	for _, p := range d.platforms {
		err := discreet(p.Ready())
		if err != nil && d.programs.Load() {
			err = web.Degraded(err)
		}
		parts[p.Name()] = err
	}
	if list := d.modelHealth(); len(list) > 0 {
		parts["models"] = d.fallen(list)
	}
	if list := d.servers(); len(list) > 0 {
		parts["servers"] = d.fallen(list)
	}
	return parts
}

// discreet is an error without the addresses of what could not be reached.
func discreet(err error) error {
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
	if d.app.store.Unsound() != nil {
		return errors.New("the data file is damaged; start legwork again, which puts it together anew")
	}
	switch err := d.storeFailing(ctx); {
	case errors.Is(err, tasks.ErrFull):
		return errors.New("there is no room to store anything")
	case err != nil:
		return errors.New("nothing can be stored; the log says why")
	}
	if _, err := d.app.store.Setting(ctx, "legwork", "admins"); err != nil {
		return errors.New("it cannot be read")
	}
	return nil
}

// storeRetry is how often a store that could not write is tried.
const storeRetry = 5 * time.Second

// storeFailing is why nothing can be stored. It finds out, now and then, whether that
// is over: nobody else may want to store anything.
func (d *daemon) storeFailing(ctx context.Context) error {
	err := d.app.store.Failing()
	if err == nil {
		return nil
	}
	now, last := time.Now(), d.storeTried.Load()
	if now.UnixNano()-last < int64(storeRetry) || !d.storeTried.CompareAndSwap(last, now.UnixNano()) {
		return err
	}
	return d.app.store.PutSetting(ctx, "legwork", "store_tried", now.UTC().Format(time.RFC3339Nano))
}

func (d *daemon) diskHealth() error {
	if d.app.full(d.started.DataDir)() {
		return web.Degraded(errors.New("nearly full: new work is refused until there is room; what has begun goes on"))
	}
	return nil
}

// workHealth says that nothing is worked on. Messages are heard all the same: one
// of them may be what lets everything go on.
func (d *daemon) workHealth() error {
	if by, on := d.app.pause.State(); on {
		return web.Degraded(fmt.Errorf("paused since %s; an admin lets it go on with /resume or \"legwork resume\"", by.At.UTC().Format(time.RFC3339)))
	}
	return nil
}

// fallen names those that are down. Why is in the log: who asks may be a stranger.
func (d *daemon) fallen(list []alerts.Health) error {
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
