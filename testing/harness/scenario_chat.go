package harness

import (
	"fmt"
	"math/rand/v2"
)

// room is a conversation of a chat platform.
type room struct {
	name   string
	people []string
	apart  bool // questions can be asked beside each other there
	talk   bool // servers ask there, and nobody guides
}

// chatScenario makes the inputs of a run on a chat platform: in a few of its
// rooms plain and planned questions, decisions that they need, guidance, and a
// press of Stop now and then. Where questions are not asked apart, each one waits for the answer of
// the one before it.
func chatScenario(r *rand.Rand, rooms []room) []Input {
	r.Shuffle(len(rooms), func(i, j int) { rooms[i], rooms[j] = rooms[j], rooms[i] })
	rooms = rooms[:1+r.IntN(3)]
	for i := range rooms {
		rooms[i].apart, rooms[i].talk = rooms[i].apart && r.IntN(2) == 0, r.IntN(2) == 0
	}
	last, notes := map[string]string{}, map[string]string{} // question and guidance by room
	stops := map[string]bool{}                              // rooms with a Stop: what ends by it names no question
	var inputs []Input
	cards := deck{r: r}
	for range 2 + r.IntN(4) {
		at := rooms[r.IntN(len(rooms))]
		in := Input{
			Kind: Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), Chat: at.name, From: at.people[r.IntN(len(at.people))], Apart: at.apart,
		}
		if !at.apart {
			in.Gate, in.Heard = last[at.name], notes[at.name]
		}
		last[at.name] = in.ID
		if r.IntN(3) == 0 {
			in.Kind, in.Text = Plain, in.ID+": say "+words[r.IntN(len(words))]
			inputs = append(inputs, in)
			continue
		}
		in.Text = in.ID + ": " + cards.parts(at.talk)
		inputs = decisions(append(inputs, in))
		switch n := r.IntN(6); {
		case n < 2 && !at.talk:
			note := fmt.Sprintf("g%d", len(inputs)+1)
			notes[in.Chat] = note
			inputs = append(inputs, Input{Kind: Guidance, ID: note, Chat: in.Chat, From: in.From, Text: "note " + note + " " + words[r.IntN(len(words))], Gate: in.ID})
		case n == 3 && !stops[in.Chat]:
			stops[in.Chat] = true
			inputs = append(inputs, Input{Kind: Stop, ID: fmt.Sprintf("s%d", len(inputs)+1), Chat: in.Chat, From: in.From, Gate: in.ID})
		}
	}
	return inputs
}
