package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// knownIDs are the sub-tasks of earlier rounds.
type knownIDs struct {
	list   []string
	exact  map[string]bool
	latest map[string]string // by the id without its round
	round  int               // the last one
}

func newKnown(ids []string) *knownIDs {
	k := &knownIDs{list: ids, exact: map[string]bool{}, latest: map[string]string{}}
	rounds := map[string]int{}
	for _, id := range ids {
		k.exact[id] = true
		round, short := splitRound(id)
		if round >= rounds[short] {
			rounds[short], k.latest[short] = round, id
		}
		k.round = max(k.round, round)
	}
	return k
}

// find resolves an id of an earlier round, in full or without the round.
func (k *knownIDs) find(ref string) (string, bool) {
	if k.exact[ref] {
		return ref, true
	}
	if id, ok := k.latest[ref]; ok {
		return id, true
	}
	id, ok := k.latest[plainID(ref)]
	return id, ok
}

// splitRound takes a qualified id apart; the round is 0 where there is none.
func splitRound(id string) (round int, short string) {
	before, after, ok := strings.Cut(id, "/")
	if n, err := strconv.Atoi(before); ok && err == nil && n > 0 && after != "" {
		return n, after
	}
	return 0, id
}

// planIDs finds the entries of a plan by id.
type planIDs struct {
	written map[string]int // as written, and without the round
	given   map[string]int // by the parser
	folded  map[string]int // in lower case; -1: several
	named   map[string]int // by the name of the group; -1: several
}

// giveIDs fills in missing ids: a, b, c and so on, leaving out those that the
// plan or an earlier round has.
func giveIDs(plan []Entry, known *knownIDs, wrong *mistakes) planIDs {
	ids := planIDs{written: map[string]int{}, given: map[string]int{}, folded: map[string]int{}, named: map[string]int{}}
	first := map[string]int{}
	for i, e := range plan {
		if e.ID == "" {
			continue
		}
		_, short := splitRound(e.ID)
		if j, there := first[short]; there {
			wrong.add(RepeatedID, func() string { return fmt.Sprintf("sub-tasks %d and %d have the same id %s", j+1, i+1, cited(e.ID)) })
			continue
		}
		first[short] = i
		ids.written[e.ID], ids.written[short] = i, i
	}
	next := 0
	for i := range plan {
		e := &plan[i]
		for e.ID == "" {
			id := letters(next)
			next++
			_, taken := first[id]
			if _, earlier := known.latest[id]; !taken && !earlier {
				e.ID = id
				ids.given[id] = i
			}
		}
		note(ids.folded, strings.ToLower(e.ID), i)
		note(ids.named, foldName(e.Name), i)
	}
	return ids
}

// note notes an index, or -1 where the key has one already.
func note(index map[string]int, key string, i int) {
	if _, there := index[key]; there {
		i = -1
	}
	index[key] = i
}

// letters counts a, b, …, z, aa, ab, …
func letters(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('a'+(n-1)%26)) + s
	}
	return s
}

// find resolves an id in an "after": an id of this plan, with or without the number
// of this round, then one of an earlier round, then one that the parser gave, then the
// name of a group that one entry alone has.
func (ids planIDs) find(ref string, known *knownIDs) (index int, earlier string, ok bool) {
	if i, ok := ids.written[ref]; ok && !known.exact[ref] {
		return i, "", true
	}
	if known.exact[ref] {
		return -1, ref, true
	}
	round, short := splitRound(ref)
	if round > known.round {
		if i, ok := ids.written[short]; ok {
			return i, "", true
		}
	}
	if id, ok := known.find(ref); ok {
		return -1, id, true
	}
	if round > known.round {
		ref = short
	}
	if i, ok := ids.given[ref]; ok {
		return i, "", true
	}
	if i, ok := ids.folded[strings.ToLower(ref)]; ok && i >= 0 {
		return i, "", true
	}
	if i, ok := ids.named[foldName(ref)]; ok && i >= 0 {
		return i, "", true
	}
	return -1, "", false
}

// noID are texts that stand for no id, in lower case.
var noID = []string{"none", "null", "nil", "n/a", "-"}

// resolveAfter replaces the ids of each After by entries' ids and qualified earlier
// ids, each once.
func resolveAfter(plan []Entry, ids planIDs, known *knownIDs, wrong *mistakes) {
	for i := range plan {
		e := &plan[i]
		if e.After == nil {
			continue
		}
		resolved, seen := make([]string, 0, len(e.After)), make(map[string]bool, len(e.After))
		for _, ref := range e.After {
			j, id, ok := ids.find(ref, known)
			if !ok && slices.Contains(noID, strings.ToLower(ref)) {
				continue
			}
			if !ok {
				wrong.add(DanglingAfter, func() string {
					return fmt.Sprintf("%s comes after %s, which is no sub-task", subtask(i, e.ID), cited(ref))
				})
				wrong.hint(existing(plan, known))
				continue
			}
			if j >= 0 {
				id = plan[j].ID
			}
			if !seen[id] {
				seen[id] = true
				resolved = append(resolved, id)
			}
		}
		e.After = resolved
	}
}

// existing lists ids that an "after" may name, the first ones of a long plan.
func existing(plan []Entry, known *knownIDs) string {
	const most = 20
	var list []string
	for i := 0; i < len(plan) && i < most; i++ {
		list = append(list, cited(plan[i].ID))
	}
	for i := 0; i < len(known.list) && i < most; i++ {
		list = append(list, cited(known.list[i]))
	}
	return `"after" may name ` + strings.Join(list, ", ") + "."
}

// findCycles looks for entries that wait for themselves.
func findCycles(plan []Entry, wrong *mistakes) {
	index := make(map[string]int, len(plan))
	for i, e := range plan {
		index[e.ID] = i
	}
	const entered, left = 1, 2
	state := make([]byte, len(plan))
	var path []int
	var visit func(i int)
	visit = func(i int) {
		state[i] = entered
		path = append(path, i)
		for _, id := range plan[i].After {
			j, here := index[id]
			switch {
			case here && state[j] == 0:
				visit(j)
			case here && state[j] == entered:
				wrong.add(CyclicPlan, func() string { return "the sub-tasks wait for each other: " + circle(plan, path, j) })
			}
		}
		path = path[:len(path)-1]
		state[i] = left
	}
	for i := range plan {
		if state[i] == 0 {
			visit(i)
		}
	}
}

// circle writes the part of a path that begins and ends at one entry.
func circle(plan []Entry, path []int, start int) string {
	const most = 8
	from := len(path) - 1
	for path[from] != start {
		from--
	}
	var names []string
	for _, i := range path[from:] {
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, cited(plan[i].ID))
	}
	return strings.Join(append(names, cited(plan[start].ID)), " after ")
}

// Qualify turns the checked entries of a round's plan into sub-tasks: ids with
// the number of the round, known being those of earlier rounds, and After with
// everything that a sub-task waits for. An entry without "after" waits for
// nothing when its group can only read; other groups and LLMTool wait for all
// entries before it, except those that themselves wait for it. Qualify leaves
// out unknown ids in After.
func Qualify(entries []Entry, round int, known []string, readOnly func(group string) bool) []Subtask {
	list, index := make([]Subtask, len(entries)), make(map[string]int, len(entries))
	taken := make(map[string]int, len(entries))
	for i, e := range entries {
		_, short := splitRound(e.ID)
		list[i] = Subtask{ID: fmt.Sprintf("%d/%s", round, unique(plainID(short), taken)), Name: e.Name, Description: e.Description}
		index[e.ID] = i
	}
	earlier := newKnown(known)
	waits := make([][]int, len(entries)) // for entries of this plan, by index
	ahead := false                       // one waits for a later one
	for i, e := range entries {
		for _, ref := range e.After {
			if j, here := index[ref]; here && !earlier.exact[ref] {
				waits[i] = append(waits[i], j)
				list[i].After = append(list[i].After, list[j].ID)
				ahead = ahead || j > i
			} else if id, ok := earlier.find(ref); ok {
				list[i].After = append(list[i].After, id)
			}
		}
	}
	for i, e := range entries {
		if e.After != nil || e.Name != LLMTool && readOnly(e.Name) {
			continue
		}
		later := make([]bool, i)
		if ahead {
			later = waiting(waits, i)
		}
		for j := range i {
			if !later[j] {
				waits[i] = append(waits[i], j)
				list[i].After = append(list[i].After, list[j].ID)
			}
		}
	}
	return list
}

// waiting marks the entries before i that wait for i, directly or through
// others.
func waiting(waits [][]int, i int) []bool {
	const unseen, no, yes = 0, 1, 2
	state := make([]byte, len(waits))
	state[i] = yes
	var visit func(j int) byte
	visit = func(j int) byte {
		if state[j] != unseen {
			return state[j]
		}
		state[j] = no
		for _, k := range waits[j] {
			if visit(k) == yes {
				state[j] = yes
				break
			}
		}
		return state[j]
	}
	later := make([]bool, i)
	for j := range i {
		later[j] = visit(j) == yes
	}
	return later
}

// plainID is an id that is safe in prompts, callbacks and other ids: letters,
// digits, dots, dashes and underscores, and not long.
func plainID(id string) string {
	const most = 32
	n := 0
	id = strings.Map(func(c rune) rune {
		if n++; n > most {
			return -1
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("._-", c) {
			return c
		}
		return '-'
	}, id)
	if id == "" {
		return "x"
	}
	return id
}

// unique takes an id, with a number behind it when it is taken. The values of taken
// are the last numbers, 1 for ids without one.
func unique(id string, taken map[string]int) string {
	free := id
	for taken[free] > 0 {
		taken[id]++
		free = fmt.Sprintf("%s-%d", id, taken[id])
	}
	taken[free] = 1
	return free
}
