package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"legwork/tools/client"
)

// A server that changes its tools again and again, or many at once, must not
// drown the admins.
const (
	tellAgain = time.Hour // before a tool is told of again that its server changed once more
	tellMost  = 10        // changes of one server in that time; the others are logged, and in Changes
)

// Changes are the tools of the newest snapshot that are held back, by name.
func (m *Manager) Changes(ctx context.Context) []Change {
	var list []Change
	for _, s := range m.Set().servers {
		v := s.view()
		if v == nil {
			continue
		}
		if len(v.held) == 0 {
			continue
		}
		before := m.ledger.agreed(ctx, s.Name())
		for tool, d := range v.held {
			list = append(list, change(s, tool, before, d))
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Tool, b.Tool) })
	return list
}

// Accept agrees to a change: its tool is used again at once, as it is now. A
// change that is no longer there, because the tool changed again or back, is an
// error.
func (m *Manager) Accept(ctx context.Context, id string) (Change, error) {
	for _, s := range m.Set().servers {
		v := s.view()
		if v == nil {
			continue
		}
		for tool, d := range v.held {
			if changeID(s.full(tool), d) != id {
				continue
			}
			c := change(s, tool, m.ledger.agreed(ctx, s.Name()), d)
			if err := m.ledger.agree(ctx, s.Name(), tool, d); err != nil {
				return Change{}, fmt.Errorf("accepting the change of %s: %w", c.Tool, err)
			}
			m.o.Log.InfoContext(ctx, "the change of a tool was accepted", "tool", c.Tool, "change", id)
			return c, nil
		}
	}
	return Change{}, fmt.Errorf("accepting a change of a tool: there is no change %q; look at the list again, as the tool may have changed since", id)
}

// change is how a tool differs from what was agreed to before.
func change(s *member, tool string, before page, d *client.Definition) Change {
	full := s.full(tool)
	return Change{ID: changeID(full, d), Tool: full, Difference: difference(full, before[tool].Raw, d.Raw)}
}

func changeID(full string, d *client.Definition) string {
	sum := sha256.Sum256([]byte(full + "\x00" + d.Hash))
	return hex.EncodeToString(sum[:8])
}

// tellChanges tells of the changes that nobody was told of. It is called by one
// goroutine.
func (m *Manager) tellChanges(ctx context.Context) {
	servers := m.Set().servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		v := s.view()
		if v == nil || len(v.held) == 0 || ctx.Err() != nil {
			continue
		}
		if m.lastTold[name] == nil {
			m.lastTold[name] = map[string]time.Time{}
		}
		recent := m.lastTold[name]
		maps.DeleteFunc(recent, func(_ string, at time.Time) bool { return time.Since(at) > tellAgain })
		untold := without(m.ledger.untold(name, v.held), slices.Collect(maps.Keys(recent)))
		if len(untold) == 0 {
			continue
		}
		before, now := m.ledger.agreed(ctx, name), map[string]string{}
		for _, tool := range untold {
			now[tool] = v.held[tool].Hash
			m.o.Log.Warn("a tool is held back, because its server has changed it", "tool", s.full(tool), "change", changeID(s.full(tool), v.held[tool]))
			if m.o.OnChange != nil && len(recent) < tellMost {
				m.o.OnChange(change(s, tool, before, v.held[tool]))
			}
			recent[tool] = time.Now()
		}
		m.ledger.told(name, now)
	}
}
