package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
)

var words = []string{"alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"}

// Scenario makes the inputs of a run: a few conversations side by side, each
// with plain and planned questions and some guidance.
func Scenario(r *rand.Rand) []record.Input {
	chats := 1 + r.IntN(3)
	talks := r.IntN(1 << chats) // the chats where servers ask and no guidance is sent
	var inputs []record.Input
	cards := deck{r: r}
	for range 2 + r.IntN(5) {
		at := r.IntN(chats)
		chat, talk := fmt.Sprintf("c%d", 1+at), talks>>at&1 == 1
		id, gate := fmt.Sprintf("q%d", len(inputs)+1), ""
		if len(inputs) > 0 && inputs[len(inputs)-1].Question() && r.IntN(4) == 0 {
			gate = inputs[len(inputs)-1].ID
		}
		if r.IntN(3) == 0 {
			in := record.Input{Kind: record.Plain, ID: id, Chat: chat, Gate: gate, Text: id + ": say " + words[r.IntN(len(words))]}
			withFiles(r, &in, false)
			inputs = append(inputs, in)
			continue
		}
		in := record.Input{Kind: record.Planned, ID: id, Chat: chat, Gate: gate, Text: id + ": " + cards.parts(talk)}
		withFiles(r, &in, false)
		inputs = decisions(append(inputs, in))
		if !talk && r.IntN(3) == 0 {
			note := fmt.Sprintf("g%d", len(inputs)+1)
			inputs = append(inputs, record.Input{Kind: record.Guidance, ID: note, Chat: chat, Text: "note " + note + " " + words[r.IntN(len(words))], Gate: id})
		}
	}
	return inputs
}

// decisions adds the decisions that the newest question needs.
func decisions(inputs []record.Input) []record.Input {
	asked := inputs[len(inputs)-1]
	for _, round := range llmfake.ReadQuestion(asked.Text).Rounds {
		for _, part := range round {
			if tool, _, _ := strings.Cut(part, " "); tool == record.Pay || tool == record.Ask || tool == record.Inquire {
				inputs = append(inputs, record.Input{
					Kind: record.Decide, ID: fmt.Sprintf("d%d", len(inputs)+1), Chat: asked.Chat, From: asked.From, Gate: asked.ID, Key: asked.ID + " " + part,
				})
			}
		}
	}
	return inputs
}

// deck deals out sub-tasks. In a run one server of the older protocol asks:
// it does not say which of its calls a question belongs to.
type deck struct {
	r     *rand.Rand
	asked bool
}

// parts is one to two rounds of one to three sub-tasks, all different. A single
// sub-task alone is never followed by a round: its report is the answer. Where
// servers ask, other messages in the conversation would answer them.
func (d *deck) parts(servers bool) string {
	r := d.r
	some := []string{record.Lookup, record.Lookup, record.Lookup, record.Book, record.Book, record.Pay, record.Pay, record.Lookup}
	if servers {
		some = []string{record.Lookup, record.Lookup, record.Book, record.Pay, record.Ask, record.Ask, record.Inquire, record.Inquire}
	}
	free := slices.Clone(words)
	r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	var rounds []string
	count := 1 + r.IntN(2)
	for range count {
		var list []string
		for range count + r.IntN(4-count) {
			tool := some[r.IntN(len(some))]
			if tool == record.Ask && d.asked {
				tool = record.Inquire
			}
			d.asked = d.asked || tool == record.Ask
			list = append(list, tool+" "+free[0])
			free = free[1:]
		}
		rounds = append(rounds, strings.Join(list, "; "))
	}
	return strings.Join(rounds, " | ")
}

// room is a conversation of a chat platform.
type room struct {
	name   string
	key    string // of the chat in legwork's config; empty: it has none
	as     string // likewise the first of its people
	people []string
	apart  bool // questions can be asked beside each other there
	talk   bool // servers ask there, and no guidance is sent
	voice  bool // voice messages are questions there
}

// chatScenario makes the inputs of a run on a chat platform: in a few of its
// rooms plain and planned questions, decisions that they need, guidance, and a
// press of Stop now and then. Where questions are not asked apart, each one waits
// for the answer of the one before it. An admin, who is in a room of their own,
// may pause everything, and somebody in one of their own deletes the conversation there.
func chatScenario(r *rand.Rand, rooms []room, admin, forgetter room) []record.Input {
	r.Shuffle(len(rooms), func(i, j int) { rooms[i], rooms[j] = rooms[j], rooms[i] })
	busy := 1 + r.IntN(3)
	rooms, idle := rooms[:busy], rooms[busy:]
	for i := range rooms {
		rooms[i].apart, rooms[i].talk = rooms[i].apart && r.IntN(2) == 0, r.IntN(2) == 0
	}
	last, notes := map[string]string{}, map[string]string{} // question and guidance by room
	stops := map[string]bool{}                              // rooms with a Stop: a stopped task's text names no question
	var inputs []record.Input
	cards := deck{r: r}
	for range 2 + r.IntN(4) {
		at := rooms[r.IntN(len(rooms))]
		in := record.Input{
			Kind: record.Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), Chat: at.name, From: at.people[r.IntN(len(at.people))], Apart: at.apart,
		}
		if !at.apart {
			in.Gate, in.AfterGuidance = last[at.name], notes[at.name]
		}
		last[at.name] = in.ID
		if r.IntN(3) == 0 {
			in.Kind, in.Text = record.Plain, in.ID+": say "+words[r.IntN(len(words))]
			withFiles(r, &in, at.voice && !at.apart)
			inputs = append(inputs, in)
			continue
		}
		in.Text = in.ID + ": " + cards.parts(at.talk)
		withFiles(r, &in, false)
		inputs = decisions(append(inputs, in))
		switch n := r.IntN(6); {
		case n < 2 && !at.talk:
			note := fmt.Sprintf("g%d", len(inputs)+1)
			notes[in.Chat] = note
			inputs = append(inputs, record.Input{Kind: record.Guidance, ID: note, Chat: in.Chat, From: in.From, Text: "note " + note + " " + words[r.IntN(len(words))], Gate: in.ID})
		case n == 3 && !stops[in.Chat]:
			stops[in.Chat] = true
			inputs = append(inputs, record.Input{Kind: record.Stop, ID: fmt.Sprintf("s%d", len(inputs)+1), Chat: in.Chat, From: in.From, Gate: in.ID})
		}
	}
	return pauses(r, fires(r, forgets(r, inputs, forgetter), idle), admin)
}

// fires adds a question that a schedule asks, in a third of the runs, in a
// room where no person asks.
func fires(r *rand.Rand, inputs []record.Input, idle []room) []record.Input {
	idle = slices.DeleteFunc(slices.Clone(idle), func(at room) bool { return at.key == "" })
	if len(idle) == 0 || r.IntN(3) > 0 {
		return inputs
	}
	at, cards := idle[0], deck{r: r}
	in := record.Input{Kind: record.Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), Chat: at.name, From: at.people[0], Fired: true, Place: at.key, As: at.as}
	in.Text = in.ID + ": " + cards.parts(false)
	return decisions(append(inputs, in))
}

// pauses lets an admin pause everything while one of the planned questions
// works, in a third of the runs.
func pauses(r *rand.Rand, inputs []record.Input, admin room) []record.Input {
	var planned []string
	for _, in := range inputs {
		if in.Kind == record.Planned {
			planned = append(planned, in.ID)
		}
	}
	if len(planned) == 0 || r.IntN(3) > 0 {
		return inputs
	}
	halt := record.Input{Kind: record.Pause, ID: fmt.Sprintf("h%d", len(inputs)+1), Chat: admin.name, From: admin.people[0], Text: "pause", Gate: planned[r.IntN(len(planned))]}
	return append(inputs, halt, record.Input{
		Kind: record.Resume, ID: fmt.Sprintf("r%d", len(inputs)+2), Chat: halt.Chat, From: halt.From, Text: "resume", Gate: halt.Gate, Key: halt.ID,
	})
}

// outcomeRooms are the rooms of Telegram that get outcomes. In the other one admins
// get questions.
var outcomeRooms = []string{"private ann", "crew"}

// scenario makes the inputs of programs: questions side by side, each in a task of
// its own, with their decisions, and contexts that two agents work on.
func (f *apiClient) scenario(r *rand.Rand) []record.Input {
	f.chat.scenario(rand.New(rand.NewPCG(1, 1))) // its rooms
	var inputs []record.Input
	cards := deck{r: r}
	for range 1 + r.IntN(4) {
		in := record.Input{Kind: record.Planned, ID: fmt.Sprintf("q%d", len(inputs)+1), From: ops, Apart: true, Agent: r.IntN(4) == 0}
		in.Chat = "task " + in.ID
		if !in.Agent && r.IntN(2) == 0 {
			in.Notify = append(outcomeRooms, record.WebhookName, record.WebhookName)[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			in.Kind, in.Text = record.Plain, in.ID+": say "+words[r.IntN(len(words))]
			withFiles(r, &in, false)
			inputs = append(inputs, in)
			continue
		}
		talk := r.IntN(2) == 0
		in.Text = in.ID + ": " + cards.parts(talk)
		withFiles(r, &in, false)
		inputs = beside(r, decisions(append(inputs, in)), in, talk)
	}
	for range r.IntN(3) {
		id := fmt.Sprintf("x%d", len(inputs)+1)
		in := record.Input{Kind: record.Shared, ID: id, Chat: "task " + id, From: scout, Text: "[" + id + "] Work together.", Apart: true}
		if r.IntN(2) == 0 {
			in.Notify = record.WebhookName
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// beside adds inputs that come while a planned question works.
func beside(r *rand.Rand, inputs []record.Input, to record.Input, talk bool) []record.Input {
	add := func(kind record.Kind, letter string) {
		in := record.Input{Kind: kind, ID: fmt.Sprintf("%s%d", letter, len(inputs)+1), Chat: to.Chat, From: ops, Gate: to.ID}
		if kind == record.Guidance || kind == record.Note {
			in.Text = "note " + in.ID + " " + words[r.IntN(len(words))]
		}
		inputs = append(inputs, in)
	}
	if r.IntN(2) == 0 && len(llmfake.ReadQuestion(to.Text).Rounds[0]) > 1 {
		add(record.Note, "n") // the report of a single sub-task is the answer
	}
	switch r.IntN(6) {
	case 0, 1:
		add(record.Merge, "m")
	case 2:
		add(record.Review, "r")
	case 3:
		add(record.Stop, "s")
		return inputs // a task that may be stopped gets no guidance
	}
	if r.IntN(3) == 0 && !talk {
		add(record.Guidance, "g")
	}
	return inputs
}
