package planner

import (
	"fmt"
	"strings"
	"unicode"
)

// Qualify turns the checked entries of a round's plan into sub-tasks: ids with
// the number of the round, known being those of earlier rounds, and After with
// everything that a sub-task waits for. An entry without "after" waits for
// nothing when its group can only read; other groups and LLMTool wait for all
// entries before it, except those that themselves wait for it. What After names
// and nobody has is left out.
func Qualify(entries []Entry, round int, known []string, readOnly func(group string) bool) []Subtask {
	list, index := make([]Subtask, len(entries)), make(map[string]int, len(entries))
	taken := make(map[string]bool, len(entries))
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

// unique takes an id, with a number behind it when it is taken.
func unique(id string, taken map[string]bool) string {
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	taken[free] = true
	return free
}
