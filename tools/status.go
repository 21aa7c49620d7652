package tools

import (
	"cmp"
	"slices"

	"legwork/tools/client"
)

// Status is the health of the servers of the newest snapshot, by name.
func (m *Manager) Status() []client.Status {
	var list []client.Status
	for _, s := range m.Set().servers {
		list = append(list, s.Status())
	}
	slices.SortFunc(list, func(a, b client.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
