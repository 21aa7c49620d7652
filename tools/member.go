package tools

import (
	"fmt"
	"sync/atomic"

	"legwork/tools/client"
)

// member is a server of a Set as its groups see it: through what the ledger
// makes of each of its catalogs.
type member struct {
	*client.Server
	builtin string // which built-in server it is; empty: none
	trusted bool   // its annotations are believed
	ledger  *ledger
	last    atomic.Pointer[view]
}

// view is a catalog without the tools that are held back. It is never changed.
type view struct {
	catalog *client.Catalog
	tools   map[string]*client.Definition // that may be used, by the server's names
	held    map[string]*client.Definition // changed since they were agreed to
	round   int64                         // of the ledger
	problem error                         // the ledger cannot be read: nothing may be used
}

// view is the newest catalog as it may be used; nil before there is one.
func (m *member) view() *view {
	cat := m.Catalog()
	if cat == nil {
		return nil
	}
	if v := m.last.Load(); v != nil && v.catalog == cat && v.problem == nil && v.round == m.ledger.round.Load() {
		return v
	}
	v := m.ledger.judge(m.Server, cat)
	m.last.Store(v)
	return v
}

// full is a tool's name among all servers.
func (m *member) full(tool string) string { return m.Name() + "." + tool }

// refusal says why a tool of the view cannot be called; empty when it can.
func (v *view) refusal(full, tool string) string {
	switch {
	case v.problem != nil:
		return fmt.Sprintf("The tool %s cannot be called now, because what was agreed to about it cannot be read. Try other tools, or go on without it.", full)
	case v.held[tool] != nil:
		return fmt.Sprintf("The tool %s is held back: its server has changed what it says about it, and an admin has to look at that first. Try other tools, or go on without it.", full)
	}
	return ""
}
