package planner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/llm/lenient"
)

// shownMistakes is how many mistakes a reason spells out.
const shownMistakes = 12

// mistakes collects the mistakes of a plan.
type mistakes struct {
	list  []string
	count int
	code  string // of the first
	hints []string
}

// add notes a mistake; text is called only when the mistake will be shown.
func (m *mistakes) add(code string, text func() string) {
	if m.count++; m.count == 1 {
		m.code = code
	}
	if len(m.list) < shownMistakes {
		m.list = append(m.list, text())
	}
}

// hint adds a sentence, once.
func (m *mistakes) hint(s string) {
	if !slices.Contains(m.hints, s) {
		m.hints = append(m.hints, s)
	}
}

func (m *mistakes) err() error {
	if m.count == 0 {
		return nil
	}
	text := "Mistakes in the plan: " + strings.Join(m.list, "; ")
	if more := m.count - len(m.list); more > 0 {
		text += fmt.Sprintf("; and %d more mistakes", more)
	}
	return &PlanError{Code: m.code, Reason: strings.Join(append([]string{text + "."}, m.hints...), " ") + again}
}

// parseEntries reads and checks the entries of a plan.
func parseEntries(list []any, o ParseOptions, groups *groupNames) (Parsed, error) {
	if o.Max > 0 && len(list) > o.Max {
		return Parsed{}, tooMany(list, o.Max, groups)
	}
	var wrong mistakes
	plan := make([]Entry, len(list))
	for i, e := range list {
		f, ok := e.(map[string]any)
		if text, _ := e.(string); !ok {
			f, ok = groups.line(text)
		}
		if !ok {
			wrong.add(UnreadablePlan, func() string { return fmt.Sprintf("sub-task %d is not an object", i+1) })
			wrong.hint(`An entry is {"name": "GROUP", "description": "TEXT", "id": "a", "after": []}.`)
			continue
		}
		plan[i] = readEntry(i, f, groups, &wrong)
	}
	known := newKnown(o.Known)
	given := giveIDs(plan, known, &wrong)
	resolveAfter(plan, given, known, &wrong)
	findCycles(plan, &wrong)
	if err := wrong.err(); err != nil {
		return Parsed{}, err
	}
	return Parsed{IsPlan: true, Plan: plan}, nil
}

// tooMany refuses a plan with more sub-tasks than a round may have, and says how to
// merge them.
func tooMany(list []any, most int, groups *groupNames) *PlanError {
	count := map[string]int{}
	for _, e := range list {
		f, _ := e.(map[string]any)
		if name, ok := groups.find(fieldText(f, "name")); ok {
			count[name]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	var largest []string
	for _, name := range names[:min(3, len(names))] {
		if count[name] > 1 {
			largest = append(largest, fmt.Sprintf("%s has %d", cited(name), count[name]))
		}
	}
	merge := ""
	if len(largest) > 0 {
		merge = fmt.Sprintf(" (%s)", strings.Join(largest, ", "))
	}
	return &PlanError{Code: TooManySubtasks, Reason: fmt.Sprintf("The plan has %d sub-tasks and may have %d at most: %d too many. "+
		"Merge sub-tasks of the same agent%s: one description can list several things to find or do. "+
		"Leave for a later round the sub-tasks whose results are not needed first.", len(list), most, len(list)-most, merge) + again}
}

// readEntry reads one entry; its After is as the model wrote it.
func readEntry(i int, f map[string]any, groups *groupNames, wrong *mistakes) Entry {
	e := Entry{ID: fieldText(f, "id"), Name: fieldText(f, "name"), Description: fieldText(f, "description")}
	who := func() string { return subtask(i, e.ID) }
	switch name, ok := groups.find(e.Name); {
	case e.Name == "":
		wrong.add(MissingName, func() string { return who() + ` has no "name"` })
		wrong.hint(groups.allowed())
	case !ok:
		wrong.add(UnknownGroup, func() string {
			return fmt.Sprintf("%s names the unknown group %s%s", who(), cited(e.Name), groups.suggest(e.Name))
		})
		wrong.hint(groups.allowed())
	default:
		e.Name = name
	}
	if e.Description == "" {
		wrong.add(MissingDescription, func() string { return who() + ` has no "description"` })
	}
	var ok bool
	if e.After, ok = readAfter(f); !ok {
		wrong.add(UnreadablePlan, func() string { return who() + ` has an "after" that is not a list of ids` })
	}
	return e
}

// readAfter reads a list of ids, one id, or several with commas between them.
// Nil stands for an absent one, also written null or "".
func readAfter(f map[string]any) (ids []string, ok bool) {
	v, _ := field(f, "after")
	if v == nil {
		return nil, true
	}
	if s, one := scalar(v); one {
		for id := range strings.SplitSeq(s, ",") {
			if id = strings.TrimSpace(id); id != "" {
				ids = append(ids, id)
			}
		}
		return ids, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	ids = make([]string, 0, len(list))
	for _, e := range list {
		id, one := scalar(e)
		if !one && e != nil {
			return nil, false
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, true
}

// subtask names an entry to the model.
func subtask(i int, id string) string {
	if id == "" {
		return fmt.Sprintf("sub-task %d", i+1)
	}
	return fmt.Sprintf("sub-task %d (%s)", i+1, cited(id))
}

// cited quotes the beginning of a text that a model wrote.
func cited(s string) string {
	return strconv.Quote(clip.Marked(s, 60))
}

// groupNames are the names that an entry may have.
type groupNames struct {
	any    bool
	list   []string          // in the order of the config, LLMTool last
	folded map[string]string // by the name in lower case, signs between words alike
}

func newGroups(names []string) *groupNames {
	g := &groupNames{any: names == nil, folded: map[string]string{}}
	for _, name := range append(append([]string{}, names...), LLMTool) {
		if _, there := g.folded[foldName(name)]; !there {
			g.folded[foldName(name)] = name
			g.list = append(g.list, name)
		}
	}
	return g
}

var wordSigns = strings.NewReplacer("-", "_", " ", "_")

func foldName(s string) string {
	return wordSigns.Replace(strings.ToLower(strings.TrimSpace(s)))
}

// find returns the group's own spelling of a name.
func (g *groupNames) find(name string) (string, bool) {
	if slices.Contains(g.list, name) {
		return name, true
	}
	if own, ok := g.folded[foldName(name)]; ok {
		return own, true
	}
	return name, g.any && name != ""
}

// line reads an entry that a model wrote as one text: "GROUP: what to do".
func (g *groupNames) line(text string) (entry map[string]any, ok bool) {
	name, description, _ := strings.Cut(text, ":")
	if name, ok = g.find(strings.TrimSpace(name)); !ok || g.any {
		return nil, false
	}
	return map[string]any{"name": name, "description": description}, true
}

func (g *groupNames) allowed() string {
	if g.any {
		return `"name" is a tool group or ` + LLMTool + "."
	}
	return "Allowed names: " + strings.Join(g.list, ", ") + "."
}

// suggest names the group that the model probably meant.
func (g *groupNames) suggest(name string) string {
	folded, near := foldName(name), ""
	if folded == "" {
		return ""
	}
	for _, own := range g.list {
		if f := foldName(own); strings.HasPrefix(folded, f) || strings.HasPrefix(f, folded) {
			near = own
			break
		}
	}
	if near = cmp.Or(near, g.folded[nearest.Typo(folded, slices.Collect(maps.Keys(g.folded)))]); near == "" {
		return ""
	}
	return " (did you mean " + cited(near) + "?)"
}

// field finds a key, if need be in another case or with blanks around it.
func field(f map[string]any, key string) (any, bool) {
	if v, ok := f[key]; ok {
		return v, true
	}
	best, found := "", false
	for k := range f {
		if strings.EqualFold(strings.TrimSpace(k), key) && (!found || k < best) {
			best, found = k, true
		}
	}
	if !found {
		return nil, false
	}
	return f[best], true
}

// fieldText returns a text or a number under a key, trimmed, or "".
func fieldText(f map[string]any, key string) string {
	v, _ := field(f, key)
	s, _ := scalar(v)
	return s
}

// scalar reads a text or a number as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// unquoted returns the list or object that a text holds, "" for any other text, and
// other values unchanged.
func unquoted(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if s = strings.TrimSpace(s); s == "[]" {
		return []any{}
	}
	for _, o := range lenient.Values(s) {
		if o.Start == 0 && o.Raw != nil {
			return lenient.Decode(o.Raw)
		}
	}
	return ""
}
