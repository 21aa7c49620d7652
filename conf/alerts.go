package conf

import (
	"maps"
	"slices"
	"strconv"

	"legwork/tasks/alerts"
)

// ownAlerts lists the mistakes in who is told of what.
func (c *Config) ownAlerts(l *issues) {
	for _, i := range c.Alerts.Validate() {
		l.add("alerts."+i.Path, "%s", i.Problem)
	}
	kinds := alerts.Kinds()
	for _, name := range slices.Sorted(maps.Keys(c.Alerts.Webhooks)) {
		for i, kind := range c.Alerts.Webhooks[name].Kinds {
			if !alerts.Known(kind) {
				l.known("alerts.webhooks."+name+".kinds["+strconv.Itoa(i)+"]", "kind", kind, kinds)
			}
		}
	}
}
