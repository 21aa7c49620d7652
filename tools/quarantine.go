package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/tools/client"
)

// A server that changes its tools again and again, or many at once, must not
// drown the admins.
const (
	reportAgainAfter = time.Hour // before another change of the same tool is reported
	maxReports       = 10        // of one server in that time; Changes and the log hold the others
)

// Changes are the quarantined tools of the newest snapshot, by name.
func (m *Manager) Changes(context.Context) []Change {
	var list []Change
	for _, s := range m.Set().servers {
		if v := s.view(); v != nil {
			for tool := range v.quarantined {
				list = append(list, m.change(s, v, tool))
			}
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Tool, b.Tool) })
	return list
}

// Accept accepts a change: the tool is used again at once, as it is now. An id
// that is gone, because the tool changed again or back, is an error.
func (m *Manager) Accept(ctx context.Context, id string) (Change, error) {
	for _, s := range m.Set().servers {
		v := s.view()
		if v == nil {
			continue
		}
		for tool, d := range v.quarantined {
			if changeID(s.full(tool), d) != id {
				continue
			}
			c := m.change(s, v, tool)
			if err := m.definitions.accept(ctx, s.Name(), tool, d); err != nil {
				return Change{}, fmt.Errorf("accepting the change of %s: %w", c.Tool, err)
			}
			m.o.Log.InfoContext(ctx, "tool change accepted", "tool", c.Tool, "change", id)
			return c, nil
		}
	}
	return Change{}, fmt.Errorf("accepting a change of a tool: there is no change %q; look at the list again, as the tool may have changed since", id)
}

// change is the difference between a quarantined tool and its accepted definition, or
// the whole of a new tool.
func (m *Manager) change(s *member, v *view, tool string) Change {
	full, d := s.full(tool), v.quarantined[tool]
	if v.fresh[tool] {
		return Change{ID: changeID(full, d), Tool: full, New: true, Difference: udiff.Unified("no accepted definition", full+" now", "", readableDefinition(d.Raw))}
	}
	before := m.definitions.accepted(s.Name(), tool)
	return Change{ID: changeID(full, d), Tool: full, Parts: changedParts(before, d.Raw), Difference: definitionDiff(full, before, d.Raw)}
}

// changedParts are the keys of two definitions whose values differ, sorted; none when one
// of both cannot be read.
func changedParts(before, after json.RawMessage) string {
	var keys []string
	var old, young map[string]any
	if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &young) != nil {
		return ""
	}
	for key, value := range old {
		if !reflect.DeepEqual(value, young[key]) {
			keys = append(keys, key)
		}
	}
	for key := range young {
		if _, ok := old[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

func changeID(full string, d *client.Definition) string {
	sum := sha256.Sum256([]byte(full + "\x00" + d.Hash))
	return hex.EncodeToString(sum[:8])
}

// reportChanges logs new changes and calls OnChange for them. Only watchCatalogs
// calls it.
func (m *Manager) reportChanges(ctx context.Context) {
	servers := m.Set().servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		v := s.view()
		if v == nil || len(v.quarantined) == 0 || ctx.Err() != nil {
			continue
		}
		if m.lastReported[name] == nil {
			m.lastReported[name] = map[string]time.Time{}
		}
		recent := m.lastReported[name]
		maps.DeleteFunc(recent, func(_ string, at time.Time) bool { return time.Since(at) > reportAgainAfter })
		reported := map[string]string{}
		for _, tool := range without(m.definitions.unreported(name, v.quarantined), slices.Collect(maps.Keys(recent))) {
			reported[tool] = v.quarantined[tool].Hash
			c := m.change(s, v, tool)
			m.o.Log.Warn("tool quarantined", "tool", c.Tool, "change", c.ID)
			if m.o.OnChange != nil && len(recent) < maxReports {
				m.o.OnChange(c)
			}
			recent[tool] = time.Now()
		}
		if len(reported) > 0 {
			m.definitions.markReported(name, reported)
		}
	}
}

// maxRendered bounds what is compared of a definition.
const maxRendered = 64 << 10

// definitionDiff shows how a tool changed, to people.
func definitionDiff(tool string, before, after json.RawMessage) string {
	old, young := "(the accepted definition is not kept)\n", readableDefinition(after)
	if len(before) > 0 {
		old = readableDefinition(before)
	}
	if old == young {
		return "(beyond what is shown of long definitions)\n"
	}
	return udiff.Unified(tool+" as accepted", tool+" now", old, young)
}

// readableDefinition is a definition as people read it.
func readableDefinition(raw json.RawMessage) string {
	text := orderedDefinition(raw)
	if short := clip.Bytes(text, maxRendered); len(short) < len(text) {
		text = fmt.Sprintf("%s\n(%d bytes more)\n", short, len(text)-len(short))
	}
	return bot.Visible(strings.ReplaceAll(text, "\t", "  "))
}

// orderedDefinition lists the parts of a definition in a fixed order, the ones for
// people first. A definition with a repeated key stays as it came, because the
// list would leave out a value.
func orderedDefinition(raw json.RawMessage) string {
	if _, again := plainjson.SimilarKey(raw); again {
		return bot.VisibleJSON(raw) + "\n"
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return string(raw) + "\n"
	}
	delete(parts, "name")
	var b strings.Builder
	first := []string{"title", "description", "annotations", "inputSchema", "outputSchema"}
	for _, key := range slices.Concat(first, without(slices.Sorted(maps.Keys(parts)), first)) {
		if part, ok := parts[key]; ok {
			fmt.Fprintf(&b, "%s:\n%s\n", key, readable(part))
		}
	}
	return b.String()
}

// readable writes a text as it is and everything else as JSON with sorted keys.
func readable(part json.RawMessage) string {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return text
	}
	decoder := json.NewDecoder(bytes.NewReader(part))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(part)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return string(part)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func without(list, others []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(others, s) })
}

// quarantineNote tells the group's models which tools are quarantined, so that they
// can explain to a person why a tool is missing. Empty: none is.
func (g *group) quarantineNote() string {
	const most = 20
	var changed, fresh []string
	for _, s := range g.servers {
		v := s.view()
		if v == nil {
			continue
		}
		for tool := range v.quarantined {
			name := strconv.Quote(s.full(modelName(tool)))
			switch {
			case !g.has(s, tool):
			case v.fresh[tool]:
				fresh = append(fresh, name)
			default:
				changed = append(changed, name)
			}
		}
	}
	var notes []string
	note := func(names []string, why, what string) {
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		more := ""
		if len(names) > most {
			names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
		}
		notes = append(notes, fmt.Sprintf("Quarantined, because %s: %s%s. They cannot be called until an admin accepts %s. When the work needs one of them, say so in the result.", why, strings.Join(names, ", "), more, what))
	}
	note(changed, "their server has changed their definitions", "the change")
	note(fresh, "they are new", "them")
	return strings.Join(notes, " ")
}
