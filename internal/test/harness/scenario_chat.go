package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// room is a conversation of a chat platform.
type room struct {
	name   string
	key    string // of the chat in legwork's config; empty: it has none
	as     string // likewise the first of its people
	people []string
	apart  bool // questions can be asked beside each other there
	talk   bool // servers ask there, and nobody guides
}

// chatScenario makes the inputs of a run on a chat platform: in a few of its
// rooms plain and planned questions, decisions that they need, guidance, and a
// press of Stop now and then. Where questions are not asked apart, each one waits
// for the answer of the one before it. An admin, who is in a room of their own,
// may pause everything.
func chatScenario(r *rand.Rand, rooms []room, admin room) []Input {
	r.Shuffle(len(rooms), func(i, j int) { rooms[i], rooms[j] = rooms[j], rooms[i] })
	busy := 1 + r.IntN(3)
	rooms, idle := rooms[:busy], rooms[busy:]
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
	return halts(r, fires(r, inputs, idle), admin)
}

// fires adds a question that a schedule asks, in a third of the runs, in a room
// where nobody else asks.
func fires(r *rand.Rand, inputs []Input, idle []room) []Input {
	idle = slices.DeleteFunc(slices.Clone(idle), func(at room) bool { return at.key == "" })
	if len(idle) == 0 || r.IntN(3) > 0 {
		return inputs
	}
	at, cards := idle[0], deck{r: r}
	in := Input{Kind: Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), Chat: at.name, From: at.people[0], Fired: true, Place: at.key, As: at.as}
	in.Text = in.ID + ": " + cards.parts(false)
	return decisions(append(inputs, in))
}

// halts lets an admin pause everything while one of the planned questions
// works, in a third of the runs.
func halts(r *rand.Rand, inputs []Input, admin room) []Input {
	var planned []string
	for _, in := range inputs {
		if in.Kind == Planned {
			planned = append(planned, in.ID)
		}
	}
	if len(planned) == 0 || r.IntN(3) > 0 {
		return inputs
	}
	halt := Input{Kind: Halt, ID: fmt.Sprintf("h%d", len(inputs)+1), Chat: admin.name, From: admin.people[0], Text: "pause", Gate: planned[r.IntN(len(planned))]}
	return append(inputs, halt, Input{
		Kind: Proceed, ID: fmt.Sprintf("r%d", len(inputs)+2), Chat: halt.Chat, From: halt.From, Text: "resume", Gate: halt.Gate, Key: halt.ID,
	})
}
