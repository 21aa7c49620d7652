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

// Change is a tool whose definition is not the one that was agreed to: the one
// of its server at first sight, or the last that an admin accepted.
type Change struct {
	ID         string // short; names the tool and the new definition
	Tool       string // "server.tool"
	Difference string // in the form of a unified diff; characters that cannot be seen are written as escapes
}

// tellAgain is how long a tool whose change was told is left alone, although
// its server changed it again.
const tellAgain = time.Hour

// Changes are the tools of the newest snapshot that are held back, by name.
func (m *Manager) Changes(ctx context.Context) []Change {
	var list []Change
	for _, s := range m.Set().servers {
		v := s.view()
		if v == nil {
			continue
		}
		for tool, d := range v.held {
			list = append(list, m.change(ctx, s, tool, d))
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
			c := m.change(ctx, s, tool, d)
			if err := m.ledger.agree(ctx, s.Name(), tool, d); err != nil {
				return Change{}, fmt.Errorf("accepting the change of %s: %w", c.Tool, err)
			}
			m.o.Log.InfoContext(ctx, "the change of a tool was accepted", "tool", c.Tool, "change", id)
			return c, nil
		}
	}
	return Change{}, fmt.Errorf("accepting a change of a tool: there is no change %q; look at the list again, as the tool may have changed since", id)
}

func (m *Manager) change(ctx context.Context, s *member, tool string, d *client.Definition) Change {
	return Change{
		ID: changeID(s.full(tool), d), Tool: s.full(tool),
		Difference: difference(s.full(tool), m.ledger.agreed(ctx, s.Name(), tool), d.Raw),
	}
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
		if v == nil || len(v.held) == 0 {
			continue
		}
		for _, tool := range m.ledger.untold(name, v.held) {
			full := s.full(tool)
			if last, ok := m.lastTold[full]; ok && time.Since(last) < tellAgain || ctx.Err() != nil {
				continue
			}
			m.lastTold[full] = time.Now()
			c := m.change(ctx, s, tool, v.held[tool])
			m.o.Log.Warn("a tool is held back, because its server has changed it", "tool", full, "change", c.ID)
			if m.o.OnChange != nil {
				m.o.OnChange(c)
			}
			m.ledger.told(name, tool, v.held[tool].Hash)
		}
	}
}
