package alerts

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"legwork/tasks/api"
)

// outage is a part that is down.
type outage struct {
	Since   time.Time `json:"since"`
	Alerted bool      `json:"alerted,omitempty"`
}

// outages are the parts that are down, by kind and name.
type outages map[string]outage

// change is a part that is now known to be down, or up again.
type change struct {
	Health
	since time.Time
}

// update records the health of the parts of a kind, and returns the parts to alert
// about: parts that have been down for the time patience, and parts that are up
// again. The update that finds a part down never reports it: the time of that
// update identifies the alert and must be stored first, so that the alert is the
// same after a restart. A part may have been up while legwork was not running, so
// it must also have been down for patience since legwork's start, begun. Parts
// that no longer exist are forgotten.
func (o outages) update(kind string, parts []Health, patience time.Duration, begun, now time.Time) (changes []change) {
	there := map[string]bool{}
	for _, p := range parts {
		name := kind + " " + p.Name
		there[name] = true
		was, known := o[name]
		switch {
		case p.Up && known:
			delete(o, name)
			if was.Alerted {
				changes = append(changes, change{p, was.Since})
			}
		case p.Down && !known:
			o[name] = outage{Since: now}
		case p.Down && !was.Alerted && min(now.Sub(was.Since), now.Sub(begun)) >= patience:
			o[name] = outage{was.Since, true}
			changes = append(changes, change{p, was.Since})
		}
	}
	maps.DeleteFunc(o, func(name string, _ outage) bool {
		return strings.HasPrefix(name, kind+" ") && !there[name]
	})
	return changes
}

// watchParts sends alerts about servers, models and platforms until ctx ends.
func (a *Alerts) watchParts(ctx context.Context) {
	seen := outages{}
	if err := a.readSetting(ctx, settingOutage, &seen); err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "outages not read, alerts may repeat", "cause", err)
	}
	begun := a.Now()
	ticker := time.NewTicker(a.Timing.Look)
	defer ticker.Stop()
	for {
		var err error
		if seen, err = a.checkParts(ctx, seen, begun); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "alert about outage not queued", "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// partKind describes a kind of parts.
type partKind struct {
	name, words string
	list        func() []Health
	patience    time.Duration
	down, up    string
	field       func(*Data) **Part
}

// parts returns the kinds of parts that are watched. A model is reported as down
// only after several failures, so models need no patience here.
func (a *Alerts) parts() []partKind {
	return []partKind{
		{"server", "tool server", a.Servers, a.Timing.Outage, ServerDown, ServerUp, func(d *Data) **Part { return &d.Server }},
		{"model", "language model", a.Models, 0, ModelDown, ModelUp, func(d *Data) **Part { return &d.Model }},
		{"platform", "connection to", a.Platforms, a.Timing.Outage, PlatformDown, PlatformUp, func(d *Data) **Part { return &d.Platform }},
	}
}

// checkParts queues alerts about changes since the last check, and returns the new
// outages. After an error it returns the old ones, so that the next check tries
// again. The end of ctx does not come between an alert and its record: a part
// whose alert is not recorded would be up again without an alert.
func (a *Alerts) checkParts(ctx context.Context, seen outages, begun time.Time) (outages, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeRetry)
	defer cancel()
	next, now := maps.Clone(seen), a.Now()
	for _, k := range a.parts() {
		if k.list == nil {
			continue
		}
		for _, c := range next.update(k.name, k.list(), k.patience, begun, now) {
			if err := a.alertPart(ctx, k, c); err != nil {
				return seen, err
			}
		}
	}
	if !maps.Equal(seen, next) {
		if err := a.writeSetting(ctx, settingOutage, next); err != nil {
			return seen, err
		}
	}
	return next, nil
}

// alertPart queues an alert about a part. The id of the alert contains the time
// when the part went down, so a repeated alert is sent once.
func (a *Alerts) alertPart(ctx context.Context, k partKind, c change) error {
	kind, verb := k.down, "does not work"
	if c.Up {
		kind, verb = k.up, "works again"
	}
	d := Data{Summary: fmt.Sprintf("The %s %s %s.", k.words, c.Name, verb)}
	*k.field(&d) = &Part{Name: c.Name, Problem: c.Problem, Hint: c.Hint, Since: api.Time{Time: c.since}}
	return a.queue(ctx, a.deliveries(alert{kind: kind, id: fmt.Sprintf("%s-%d", c.Name, c.since.UnixMilli()), data: d}))
}
