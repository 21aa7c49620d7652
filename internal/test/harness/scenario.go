package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"legwork/internal/test/fakes/llmfake"
)

// The groups, which have one tool each, of the same name where no other is
// given.
const (
	lookup  = "lookup"  // can be called again
	book    = "book"    // must never be called again
	pay     = "pay"     // likewise, and a person must have allowed it
	ask     = "ask"     // choose: its server asks a person in the midst of the call
	inquire = "inquire" // choose: its server returns a question, and is called again with the answer
)

var tools = []string{lookup, book, pay, ask, inquire}

// choose is the tool of ask and inquire.
const choose = "choose"

var words = []string{"alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"}

// Scenario makes the inputs of a run: a few conversations side by side, each
// with plain and planned questions and some guidance.
func Scenario(r *rand.Rand) []Input {
	chats := 1 + r.IntN(3)
	talks := r.IntN(1 << chats) // of the chats, those where servers ask and nobody guides
	var inputs []Input
	cards := deck{r: r}
	for range 2 + r.IntN(5) {
		at := r.IntN(chats)
		chat, talk := fmt.Sprintf("c%d", 1+at), talks>>at&1 == 1
		id, gate := fmt.Sprintf("q%d", len(inputs)+1), ""
		if len(inputs) > 0 && inputs[len(inputs)-1].question() && r.IntN(4) == 0 {
			gate = inputs[len(inputs)-1].ID
		}
		if r.IntN(3) == 0 {
			inputs = append(inputs, Input{Kind: Plain, ID: id, Chat: chat, Gate: gate, Text: id + ": say " + words[r.IntN(len(words))]})
			continue
		}
		inputs = decisions(append(inputs, Input{Kind: Planned, ID: id, Chat: chat, Gate: gate, Text: id + ": " + cards.parts(talk)}))
		if !talk && r.IntN(3) == 0 {
			note := fmt.Sprintf("g%d", len(inputs)+1)
			inputs = append(inputs, Input{Kind: Guidance, ID: note, Chat: chat, Text: "note " + note + " " + words[r.IntN(len(words))], Gate: id})
		}
	}
	return inputs
}

// decisions adds what the person who asked last has to decide about.
func decisions(inputs []Input) []Input {
	asked := inputs[len(inputs)-1]
	for _, round := range llmfake.ReadQuestion(asked.Text).Rounds {
		for _, part := range round {
			if tool, _, _ := strings.Cut(part, " "); tool == pay || tool == ask || tool == inquire {
				inputs = append(inputs, Input{
					Kind: Decide, ID: fmt.Sprintf("d%d", len(inputs)+1), Chat: asked.Chat, From: asked.From, Gate: asked.ID, Key: asked.ID + " " + part,
				})
			}
		}
	}
	return inputs
}

// deck deals out what questions need. One server of the older way asks in a run:
// it does not say which of its calls a question belongs to.
type deck struct {
	r     *rand.Rand
	asked bool
}

// parts is one to two rounds of one to three sub-tasks, all different. A single
// sub-task alone is never followed by a round: its report is the answer. Where
// servers ask, words that are said beside that would answer them.
func (d *deck) parts(servers bool) string {
	r := d.r
	some := []string{lookup, lookup, lookup, book, book, pay, pay, lookup}
	if servers {
		some = []string{lookup, lookup, book, pay, ask, ask, inquire, inquire}
	}
	free := slices.Clone(words)
	r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	var rounds []string
	count := 1 + r.IntN(2)
	for range count {
		var list []string
		for range count + r.IntN(4-count) {
			tool := some[r.IntN(len(some))]
			if tool == ask && d.asked {
				tool = inquire
			}
			d.asked = d.asked || tool == ask
			list = append(list, tool+" "+free[0])
			free = free[1:]
		}
		rounds = append(rounds, strings.Join(list, "; "))
	}
	return strings.Join(rounds, " | ")
}
