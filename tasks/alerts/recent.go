package alerts

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"legwork/tasks/api"
)

// maxRecent bounds the alerts that are kept in memory for people who look.
const maxRecent = 50

// recent are the newest alerts since the start of the process, the newest last.
type recent struct {
	mu   sync.Mutex
	list []recentAlert
}

type recentAlert struct {
	id string // tells a repetition, as after an error of the store
	api.Alert
}

func (r *recent) add(o alert, payload []byte, at time.Time) {
	var hidden Payload // has no secrets
	if json.Unmarshal(payload, &hidden) != nil {
		return
	}
	problem := hidden.Data.Problem
	for _, part := range []*Part{hidden.Data.Server, hidden.Data.Model, hidden.Data.Platform, hidden.Data.Webhook} {
		if part != nil {
			problem = part.Problem
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := o.kind + "-" + o.id
	if slices.ContainsFunc(r.list, func(a recentAlert) bool { return a.id == id }) {
		return
	}
	r.list = append(r.list, recentAlert{id, api.Alert{At: api.Time{Time: at}, Kind: o.kind, Task: string(o.task), Summary: hidden.Data.Summary, Problem: problem}})
	r.list = slices.Clone(r.list[max(0, len(r.list)-maxRecent):])
}

// Recent returns the newest alerts since the start of the process, the newest first.
// Those of nil Alerts are none.
func (a *Alerts) Recent() []api.Alert {
	list := []api.Alert{}
	if a == nil {
		return list
	}
	a.recent.mu.Lock()
	defer a.recent.mu.Unlock()
	for _, one := range slices.Backward(a.recent.list) {
		list = append(list, one.Alert)
	}
	return list
}
