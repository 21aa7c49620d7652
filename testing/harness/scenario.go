package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The names of the tools and of their groups.
const (
	lookup = "lookup" // can be called again
	book   = "book"   // must never be called again
)

var words = []string{"alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"}

// Scenario makes the inputs of a run: a few conversations side by side, each
// with plain and planned questions and some guidance.
func Scenario(r *rand.Rand) []Input {
	chats := 1 + r.IntN(3)
	var inputs []Input
	for range 2 + r.IntN(5) {
		chat := fmt.Sprintf("c%d", 1+r.IntN(chats))
		id, gate := fmt.Sprintf("q%d", len(inputs)+1), ""
		if len(inputs) > 0 && inputs[len(inputs)-1].Kind != Guidance && r.IntN(4) == 0 {
			gate = inputs[len(inputs)-1].ID
		}
		if r.IntN(3) == 0 {
			inputs = append(inputs, Input{Kind: Plain, ID: id, Chat: chat, Gate: gate, Text: id + ": say " + words[r.IntN(len(words))]})
			continue
		}
		inputs = append(inputs, Input{Kind: Planned, ID: id, Chat: chat, Gate: gate, Text: id + ": " + parts(r)})
		if r.IntN(3) == 0 {
			note := fmt.Sprintf("g%d", len(inputs)+1)
			inputs = append(inputs, Input{Kind: Guidance, ID: note, Chat: chat, Text: "note " + note + " " + words[r.IntN(len(words))], Gate: id})
		}
	}
	return inputs
}

// parts is one to two rounds of one to three sub-tasks, all different. A single
// sub-task alone is never followed by a round: its report is the answer.
func parts(r *rand.Rand) string {
	free := slices.Clone(words)
	r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	var rounds []string
	count := 1 + r.IntN(2)
	for range count {
		var list []string
		for range count + r.IntN(4-count) {
			tool := lookup
			if r.IntN(3) == 0 {
				tool = book
			}
			list = append(list, tool+" "+free[0])
			free = free[1:]
		}
		rounds = append(rounds, strings.Join(list, "; "))
	}
	return strings.Join(rounds, " | ")
}
