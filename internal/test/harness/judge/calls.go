package judge

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
	"legwork/planner"
)

// exchange is one request to the model and its outcome.
type exchange struct {
	request   llmfake.Request
	life      int // that asked
	step      llmfake.Step
	id        string // of the question; for a turn of a sub-task, its description
	results   int    // tool results in the prompt
	key       string // equal when the same thing is asked again
	unguided  string // key without the guidance
	guidance  int    // pieces of it in the prompt
	at        time.Time
	done      time.Time // zero: still in flight when the log ended
	delivered bool      // the whole reply was sent
	usage     llmfake.Usage
}

// exchanges joins requests with their outcomes, in order of the requests.
func exchanges(log []llmfake.Entry) []exchange {
	var list []exchange
	place := map[int]int{}
	for _, e := range log {
		if e.Event == llmfake.EventRequest {
			place[e.Seq] = len(list)
			list = append(list, newExchange(*e.Request, e.At))
			continue
		}
		if i, ok := place[e.Seq]; ok {
			list[i].done, list[i].delivered = e.At, e.Event == llmfake.EventReply
			if e.Reply != nil && list[i].request.Call == llmfake.CallTranscribe {
				list[i] = list[i].about(e.Reply.Text)
			}
			if e.Reply != nil && e.Reply.Usage != nil {
				list[i].usage = *e.Reply.Usage
			}
		}
	}
	return list
}

// about makes it a call beside chat about a text, which is painted, spoken or heard.
func (x exchange) about(text string) exchange {
	x.id, x.key = text, fmt.Sprintf("%s of %q", x.request.Call, text)
	return x
}

// questionOf is the id of the question that a text begins with.
func questionOf(text string) string {
	id, _, _ := strings.Cut(text, " ")
	return strings.TrimSuffix(id, ":")
}

func newExchange(r llmfake.Request, at time.Time) exchange {
	if r.Call != "" {
		x := exchange{request: r, life: lifeOf(r.Key), step: llmfake.Step(r.Call), at: at}
		return x.about(cmp.Or(r.Fields["prompt"], r.Fields["input"], r.File))
	}
	step, round := llmfake.StepOf(r)
	goal, _ := r.Tagged("goal")
	x := exchange{request: r, life: lifeOf(r.Key), step: step, at: at, id: llmfake.ReadQuestion(goal).ID}
	if task, ok := r.Tagged("task"); ok && step == llmfake.StepWork {
		x.id, round = task, 0
	}
	if x.id == "" {
		x.id = goal
	}
	replies := 0 // of the model itself, about this goal
	stopped := ""
	for _, m := range r.Messages {
		if m.Role == "user" && strings.Contains(m.Content, "The person stopped the task.") { // it is another answer than the one before
			stopped = ", stopped"
		}
		switch {
		case m.Role == "user" && strings.Contains(m.Content, "<goal>"):
			replies = 0
		case m.Role == "assistant":
			replies++
		case m.Role == "tool":
			x.results++
		}
	}
	x.guidance = len(r.AllTagged("guidance"))
	x.unguided = fmt.Sprintf("%s of %q, round %d, after %d replies, %d results%s", step, x.id, round, replies, x.results, stopped)
	x.key = fmt.Sprintf("%s and %d words of guidance", x.unguided, x.guidance)
	return x
}

// question is the id of the question that a request belongs to.
func (x exchange) question() string { return questionOf(x.id) }

// stores is the event that keeps the outcome of a request.
func (x exchange) stores() planner.EventType {
	switch x.request.Call {
	case "":
		return planner.Replied
	case llmfake.CallTranscribe:
		return planner.FileRead
	}
	return planner.Returned
}

// lifeOf reads the API key that lifeKey wrote.
func lifeOf(key string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(key, "life-"))
	return n
}

// models looks for calls that were made again though their reply was stored,
// and counts what the kills cost.
func (j *judge) models() {
	before := map[string]exchange{}
	lost := make([]int, len(j.r.Lives))
	for _, x := range j.asked {
		earlier, again := before[x.key]
		before[x.key] = x
		if !again {
			continue
		}
		life := earlier.life
		switch {
		case life == x.life:
			j.violated(RuleModelOnce, "%s was asked twice in life %d", x.key, life)
		case earlier.delivered && !j.killedAfter(life, earlier.done) && !pending(j.r.Lives[life], x.stores()):
			j.violated(RuleModelOnce, "%s was asked again in life %d, long after its reply in life %d", x.key, x.life, life)
		case x.request.Call != "":
			j.MediaAgain++
		default:
			lost[life]++
		}
	}
	begun := make([]int, len(j.r.Lives)) // chats
	for _, x := range j.asked {
		if x.request.Call == "" {
			begun[x.life]++
		}
	}
	for i, l := range j.r.Lives {
		stored := passed(l, planner.Replied) + passed(l, planner.Malformed)
		if free := begun[i] - stored; len(l.Hits) > 0 && lost[i] > max(0, free) {
			j.violated(RuleModelOnce, "the kill of life %d at %s cost %d model calls, but only %d of %d were not stored", i, l.Point, lost[i], free, begun[i])
		}
		if l.Cut() {
			j.LostModel = append(j.LostModel, lost[i])
		}
	}
}

// passed counts the events of a type that a life stored.
func passed(l record.Life, event planner.EventType) int {
	return record.Count(l, record.Committed(event))
}

// pending reports whether a life was storing such an event when it ended: the
// disk may take its time.
func pending(l record.Life, event planner.EventType) bool {
	return record.Begun(l, string(event)) > passed(l, event)
}

// tools looks for calls that were made again though they must not, or though
// their result was stored.
func (j *judge) tools() {
	before := map[string]record.Call{}
	lost, begun := make([]int, len(j.r.Lives)), make([]int, len(j.r.Lives))
	for _, c := range j.r.Calls {
		if c.Tool == record.Choose {
			continue // people judges it
		}
		begun[c.Life]++
		key := c.Tool + " " + c.Text
		earlier, again := before[key]
		before[key] = c
		if !again {
			continue
		}
		life := earlier.Life
		switch {
		case risky(c.Tool):
			j.violated(RuleBookOnce, "%s was called in life %d and again in life %d", key, life, c.Life)
		case life == c.Life:
			j.violated(RuleToolOnce, "%s was called twice in life %d", key, life)
		case j.reported(c.Text, earlier.At, c.At):
			j.violated(RuleToolOnce, "%s was called again in life %d after the model had been told its result", key, c.Life)
		case !j.killedAfter(life, earlier.At) && !pending(j.r.Lives[life], planner.Returned):
			j.violated(RuleToolOnce, "%s was called again in life %d, long after the call in life %d", key, c.Life, life)
		default:
			lost[life]++
			j.LostTools++
		}
	}
	for i, l := range j.r.Lives {
		// A call whose outcome an earlier kill hid is stored without being made, and so are
		// made files, which no server makes.
		stored := passed(l, planner.Returned) - j.hidden(i) - j.countElicitations("", record.ElicitationDone, i) - record.Count(l, "file.made")
		if free := begun[i] - stored; len(l.Hits) > 0 && lost[i] > max(0, free) {
			j.violated(RuleToolOnce, "the kill of life %d at %s cost %d tool calls, but only %d of %d were not stored", i, l.Point, lost[i], free, begun[i])
		}
	}
	for _, in := range j.r.Inputs {
		if in.Kind == record.Planned {
			j.unknown(in)
		}
	}
}

// reported reports whether a sub-task's model saw a result between two moments.
func (j *judge) reported(task string, from, to time.Time) bool {
	for _, x := range j.asked {
		if x.step == llmfake.StepWork && x.id == task && x.results > 0 && x.at.After(from) && x.at.Before(to) {
			return true
		}
	}
	return false
}

// hidden is how many outcomes can have been declared unknown in a life: no
// more than risky calls that earlier lives had started.
func (j *judge) hidden(life int) int {
	n := 0
	for _, l := range j.r.Lives[:life] {
		if l.Cut() {
			n += record.Begun(l, string(planner.Started))
		}
	}
	return n
}

// unknown counts the risky calls of a question whose outcome a kill hid.
func (j *judge) unknown(in record.Input) {
	for _, round := range llmfake.ReadQuestion(in.Text).Rounds {
		for _, part := range round {
			task := in.ID + " " + part
			if !risky(record.ToolOf(task)) {
				continue
			}
			for _, a := range j.answers[in.ID] {
				if !strings.Contains(a.Text, record.Output(record.ToolOf(task), task)) {
					j.Unknown++
					break
				}
			}
		}
	}
}
