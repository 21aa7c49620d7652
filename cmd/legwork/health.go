package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/alerts"
	"legwork/web"
)

// health says of each part what is wrong with it; nil for nothing. What stops
// legwork from hearing or keeping anything makes it not ready; what it can work
// without, or what people can change through it, only degraded.
func (d *daemon) health() map[string]error {
	parts := map[string]error{"store": d.storeHealth(), "disk": d.diskHealth(), "work": d.workHealth()}
	for _, p := range d.platforms {
		parts[p.Name()] = p.Ready()
	}
	if list := d.modelHealth(); len(list) > 0 {
		parts["models"] = d.fallen(list)
	}
	if list := d.servers(); len(list) > 0 {
		parts["servers"] = d.fallen(list)
	}
	return parts
}

func (d *daemon) storeHealth() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := d.app.store.Unsound(); err != nil {
		return err
	}
	_, err := d.app.store.Setting(ctx, "legwork", "admins")
	return err
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
