package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/store/bolt"
	"legwork/tasks"
)

// RuleLedger is broken by a ledger that tells something else than the model's
// wire.
const RuleLedger = "ledger"

// misjudged is how many times larger or smaller the estimate of a prompt, or of
// what had come of a reply, may be than what the model counts, of calls whose
// outcome nobody could store.
const misjudged = 2

// usageOf is what the model reports of a call: a token for each four bytes.
func usageOf(r llmfake.Request, said llmfake.Response) *llmfake.Usage {
	out := len(said.Text)
	for _, c := range said.ToolCalls {
		out += len(c.Name) + len(c.Arguments)
	}
	return &llmfake.Usage{Input: len(r.Raw) / 4, Output: (out + 3) / 4}
}

// ledger reads what was spent from the data of a run that is over.
func (s *session) ledger(ctx context.Context) ([]tasks.Spent, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	store, err := bolt.Open(ctx, filepath.Join(s.dir, "data"), bolt.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	spent, err := store.Spent(ctx, tasks.SpentQuery{})
	if closed := store.Close(); err == nil {
		err = closed
	}
	if spent == nil {
		spent = []tasks.Spent{} // it was read
	}
	return spent, err
}

// bill is what calls cost.
type bill struct{ calls, input, output int }

func (b *bill) add(u llmfake.Usage) {
	b.calls++
	b.input += u.Input
	b.output += u.Output
}

// ledger holds what was counted in the end against the model's wire. A call
// whose reply was sent and stored counts by what the model reported. One whose
// reply may not be stored, because of a kill or because its task was stopped,
// counts by what the model reported, or by its input and by what had come of the
// reply when it was stopped, as they were estimated. What
// a killed life had set aside for a call that it did not come to make counts in
// the same way.
func (j *judge) ledger() {
	if j.r.Ledger == nil {
		return
	}
	var sure, doubtful, got bill
	largest := 0
	begun := make([]int, len(j.r.Lives))
	for _, x := range j.asked {
		begun[x.life]++
		largest = max(largest, x.usage.Input)
		if j.counted(x) {
			sure.add(x.usage)
		} else {
			doubtful.add(x.usage)
		}
	}
	for _, row := range j.r.Ledger {
		got.calls += row.Calls
		got.input += row.Usage.Input
		got.output += row.Usage.Output
	}
	unmade := 0 // set aside for calls that were not made
	for i, l := range j.r.Lives {
		if l.Killed {
			unmade += max(0, count(l, "commit.before.reserved")+parallelReserves-begun[i])
		}
	}
	for _, in := range j.r.Inputs {
		if j.r.Front == API && (in.Kind == Review || in.Kind == Guidance || in.Kind == Stop) {
			unmade++ // programs are so quick that a call may be given up before it is made
		}
	}
	least := bill{sure.calls + doubtful.calls, sure.input + doubtful.input/misjudged, sure.output}
	most := bill{least.calls + unmade, sure.input + misjudged*(doubtful.input+unmade*largest), sure.output + misjudged*doubtful.output}
	for _, part := range []struct {
		what           string
		got, min, most int
	}{
		{"calls", got.calls, least.calls, most.calls},
		{"tokens of prompts", got.input, least.input, most.input},
		{"tokens of replies", got.output, least.output, most.output},
	} {
		if part.got < part.min || part.got > part.most {
			j.violated(RuleLedger, "%d %s are counted, and the model's wire says %d to %d", part.got, part.what, part.min, part.most)
		}
	}
}

// parallelReserves is how many reservations one commit may hold more than its
// failpoint tells.
const parallelReserves = 6

// counted reports that the reply to a call was stored for certain: no kill fell
// soon after it, and nobody stops its task.
func (j *judge) counted(x exchange) bool {
	return x.delivered && !j.killedAfter(x.life, x.done) &&
		!slices.ContainsFunc(j.r.Inputs, func(in Input) bool { return in.Kind == Stop && in.Gate == x.question() })
}
