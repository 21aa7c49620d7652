package alerts

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
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
func (o outages) look(kind string, parts []Health, patience time.Duration, now time.Time) (changes []change) {
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
		case p.Down && !was.Told && now.Sub(was.Since) >= patience:
			o[name] = outage{was.Since, true}
			changes = append(changes, change{p, was.Since})
		}
	}
	maps.DeleteFunc(o, func(name string, _ outage) bool {
		return strings.HasPrefix(name, kind+" ") && !there[name]
	})
	return changes
}

// watchParts tells of servers and models that are down, and up again, until ctx
// ends.
func (a *Alerts) watchParts(ctx context.Context) {
	seen := outages{}
	if err := a.read(ctx, settingOutage, &seen); err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "outages that were told of may be told of again", "cause", err)
	}
	ticker := time.NewTicker(a.Pace.Look)
	defer ticker.Stop()
	for {
		if err := a.lookAtParts(ctx, seen); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "an outage could not be told", "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (a *Alerts) lookAtParts(ctx context.Context, seen outages) error {
	before := maps.Clone(seen)
	now := a.Now()
	if a.Servers != nil {
		for _, c := range seen.look("server", a.Servers(), a.Pace.Outage, now) {
			part := &Part{Name: c.Name, Problem: c.Problem, Hint: c.Hint, Since: c.since.UTC()}
			if err := a.tellPart(ctx, c, ServerDown, ServerUp, "The tool server", Data{Server: part}); err != nil {
				return restore(seen, before, err)
			}
		}
	}
	if a.Models != nil {
		for _, c := range seen.look("model", a.Models(), 0, now) {
			part := &Part{Name: c.Name, Problem: c.Problem, Hint: c.Hint, Since: c.since.UTC()}
			if err := a.tellPart(ctx, c, ModelDown, ModelUp, "The language model", Data{Model: part}); err != nil {
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
func (a *Alerts) tellPart(ctx context.Context, c change, down, up, what string, d Data) error {
	kind := down
	d.Summary = fmt.Sprintf("%s %s does not work.", what, c.Name)
	if c.Up {
		kind, d.Summary = up, fmt.Sprintf("%s %s works again.", what, c.Name)
	}
	return a.queue(ctx, a.deliveries(occasion{kind: kind, id: fmt.Sprintf("%s-%d", c.Name, c.since.UnixMilli()), data: d}))
}
