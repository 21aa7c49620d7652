package alerts

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"legwork/tasks/api"
)

// outage is something that does not work.
type outage struct {
	Since time.Time `json:"since"`
	Told  bool      `json:"told,omitempty"`
}

// outages are those of all parts, by kind and name.
type outages map[string]outage

// change is that a part is told to be down, or up again.
type change struct {
	Health
	since time.Time
}

// look notes how the parts of a kind stand and returns what is to be told: what was
// down for so long, and what is up again. It is never told at the look that finds
// it: when it began, which names the occasion, is stored first, so that another
// life tells of the same one. Parts that are no longer there are forgotten.
// Whether a part was up while nobody looked is not known, so it must also have
// been down for so long in this life, which has begun then.
func (o outages) look(kind string, parts []Health, patience time.Duration, begun, now time.Time) (changes []change) {
	there := map[string]bool{}
	for _, p := range parts {
		name := kind + " " + p.Name
		there[name] = true
		was, known := o[name]
		switch {
		case p.Up && known:
			delete(o, name)
			if was.Told {
				changes = append(changes, change{p, was.Since})
			}
		case p.Down && !known:
			o[name] = outage{Since: now}
		case p.Down && !was.Told && min(now.Sub(was.Since), now.Sub(begun)) >= patience:
			o[name] = outage{was.Since, true}
			changes = append(changes, change{p, was.Since})
		}
	}
	maps.DeleteFunc(o, func(name string, _ outage) bool {
		return strings.HasPrefix(name, kind+" ") && !there[name]
	})
	return changes
}

// watchParts tells of servers, models and platforms that are down, and up again, until ctx
// ends.
func (a *Alerts) watchParts(ctx context.Context) {
	seen := outages{}
	if err := a.read(ctx, settingOutage, &seen); err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "outages that were told of may be told of again", "cause", err)
	}
	begun := a.Now()
	ticker := time.NewTicker(a.Pace.Look)
	defer ticker.Stop()
	for {
		if err := a.lookAtParts(ctx, seen, begun); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "an outage could not be told", "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// partKind is what there is to know about a kind of parts.
type partKind struct {
	name, words string
	list        func() []Health
	patience    time.Duration
	down, up    string
	field       func(*Data) **Part
}

// parts are the kinds of parts that are watched. Models have patience of their own.
func (a *Alerts) parts() []partKind {
	return []partKind{
		{"server", "tool server", a.Servers, a.Pace.Outage, ServerDown, ServerUp, func(d *Data) **Part { return &d.Server }},
		{"model", "language model", a.Models, 0, ModelDown, ModelUp, func(d *Data) **Part { return &d.Model }},
		{"platform", "connection to", a.Platforms, a.Pace.Outage, PlatformDown, PlatformUp, func(d *Data) **Part { return &d.Platform }},
	}
}

func (a *Alerts) lookAtParts(ctx context.Context, seen outages, begun time.Time) error {
	before := maps.Clone(seen)
	now := a.Now()
	for _, k := range a.parts() {
		if k.list == nil {
			continue
		}
		for _, c := range seen.look(k.name, k.list(), k.patience, begun, now) {
			if err := a.tellPart(ctx, k, c); err != nil {
				return restore(seen, before, err)
			}
		}
	}
	if maps.Equal(before, seen) {
		return nil
	}
	if err := a.write(ctx, settingOutage, seen); err != nil {
		return restore(seen, before, err)
	}
	return nil
}

// restore puts back what was known, so that it is told the next time.
func restore(seen, before outages, err error) error {
	clear(seen)
	maps.Copy(seen, before)
	return err
}

// tellPart queues that a part is down or up again. The id of the occasion holds
// when it went down, so that it is told once.
func (a *Alerts) tellPart(ctx context.Context, k partKind, c change) error {
	kind, verb := k.down, "does not work"
	if c.Up {
		kind, verb = k.up, "works again"
	}
	d := Data{Summary: fmt.Sprintf("The %s %s %s.", k.words, c.Name, verb)}
	*k.field(&d) = &Part{Name: c.Name, Problem: c.Problem, Hint: c.Hint, Since: api.Time{Time: c.since}}
	return a.queue(ctx, a.deliveries(occasion{kind: kind, id: fmt.Sprintf("%s-%d", c.Name, c.since.UnixMilli()), data: d}))
}
