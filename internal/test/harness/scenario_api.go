package harness

import (
	"fmt"
	"math/rand/v2"

	"legwork/internal/test/fakes/llmfake"
)

// noticed are the rooms of Telegram to which outcomes go; in the other one admins
// are told what needs them.
var noticed = []string{"private ann", "crew"}

const adminRoom = "private eve"

// scenario makes what programs do: questions beside each other, each in a task of
// its own, with what they need, and contexts that two agents work on.
func (f *apiFront) scenario(r *rand.Rand) []Input {
	f.chat.scenario(rand.New(rand.NewPCG(1, 1))) // its rooms
	var inputs []Input
	cards := deck{r: r}
	for range 1 + r.IntN(4) {
		in := Input{Kind: Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), From: ops, Apart: true, Agent: r.IntN(4) == 0}
		in.Chat = "task " + in.ID
		if !in.Agent && r.IntN(2) == 0 {
			in.Notify = append(noticed, hookName, hookName)[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			in.Kind, in.Text = Plain, in.ID+": say "+words[r.IntN(len(words))]
			inputs = append(inputs, in)
			continue
		}
		talk := r.IntN(2) == 0
		in.Text = in.ID + ": " + cards.parts(talk)
		inputs = beside(r, decisions(append(inputs, in)), in, talk)
	}
	for range r.IntN(3) {
		id := fmt.Sprintf("x%d", len(inputs)+1)
		in := Input{Kind: Shared, ID: id, Chat: "task " + id, From: scout, Text: "[" + id + "] Work together.", Apart: true}
		if r.IntN(2) == 0 {
			in.Notify = hookName
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// beside adds what is done to a planned question while it works.
func beside(r *rand.Rand, inputs []Input, to Input, talk bool) []Input {
	add := func(kind Kind, letter string) {
		in := Input{Kind: kind, ID: fmt.Sprintf("%s%d", letter, len(inputs)+1), Chat: to.Chat, From: ops, Gate: to.ID}
		if kind == Guidance || kind == Note {
			in.Text = "note " + in.ID + " " + words[r.IntN(len(words))]
		}
		inputs = append(inputs, in)
	}
	if r.IntN(2) == 0 && len(llmfake.ReadQuestion(to.Text).Rounds[0]) > 1 {
		add(Note, "n") // the report of a single sub-task is the answer
	}
	switch r.IntN(6) {
	case 0, 1:
		add(Merge, "m")
	case 2:
		add(Review, "r")
	case 3:
		add(Stop, "s")
		return inputs // nobody guides what may be stopped before it can heed that
	}
	if r.IntN(3) == 0 && !talk {
		add(Guidance, "g")
	}
	return inputs
}
