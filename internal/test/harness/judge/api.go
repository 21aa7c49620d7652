package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/test/harness/record"
)

// programJudge holds the rules about programs: their tasks, contexts, streams and
// webhooks.
type programJudge struct{ *judge }

// The rules about programs.
const (
	RuleOneTask   = "one task"  // an idempotency key starts one task, however often it is sent
	RuleKept      = "kept"      // what programs received is stored at the end, unchanged
	RuleStream    = "stream"    // streams have every message once and in order, across cuts and kills
	RuleNoted     = "noted"     // a message is added once, and the decisions after it see it
	RuleMerged    = "merged"    // of two changes to one version one is taken, and none is lost
	RuleReviewed  = "reviewed"  // until a person has decided, no program continues; they decide once
	RuleDelivered = "delivered" // an outcome reaches its target once; again only when a kill or a cut hid the first
)

// programs judges the requests and replies over HTTP.
func (j *programJudge) programs() {
	if j.r.Client != record.API {
		return
	}
	for _, in := range j.r.Inputs {
		if in.Starts() {
			j.oneTask(in)
		}
		if in.Kind == record.Note {
			j.noted(in)
		}
		if in.Kind == record.Decide {
			j.decidedOnce(in)
		}
	}
	for _, in := range j.r.Inputs {
		for _, id := range j.r.Tasks[in.ID] {
			c, ok := j.r.Contexts[id]
			if !ok {
				j.violated(RuleKept, "the context of %s (task %s) was not read", in.ID, id)
				continue
			}
			j.wholeContext(in, c)
			j.merged(in, id, c)
			j.reviewed(in, c)
			j.delivered(in, c)
		}
	}
	j.added()
	j.streams()
	j.heldReplies()
}

// oneTask compares the tasks at the end with the requests.
func (j *programJudge) oneTask(in record.Input) {
	if ids := j.r.Tasks[in.ID]; len(ids) > 1 {
		j.violated(RuleOneTask, "the key of %s started %v", in.ID, ids)
	}
	there := 0
	for _, t := range j.r.Listed {
		if t.Goal == in.Text {
			there++
		}
	}
	if there > 1 || there == 0 && len(j.r.Listed) > 0 {
		j.violated(RuleOneTask, "%d tasks have the goal of %s in the end", there, in.ID)
	}
}

// wholeContext checks one context: nothing of another task, numbered without
// gaps, over.
func (j *programJudge) wholeContext(in record.Input, c record.Context) {
	for i, m := range c.Messages {
		if m.Seq != i+1 {
			j.violated(RuleKept, "the context of %s has %d as message %d", in.ID, m.Seq, i+1)
			return
		}
	}
	if len(c.Messages) != c.Task.Seq {
		j.violated(RuleKept, "the context of %s has %d messages, and the task says %d", in.ID, len(c.Messages), c.Task.Seq)
	}
	if c.Task.Goal != in.Text {
		j.violated(RuleKept, "the task of %s has the goal %q, want %q", in.ID, c.Task.Goal, in.Text)
	}
	want, answer := "done", ""
	if c.Task.Answer != nil {
		answer = *c.Task.Answer
	}
	if c.Task.State != want && !record.EndedEarly(in, j.r.Inputs) {
		j.violated(RuleKept, "the task of %s is %s in the end, want %s", in.ID, c.Task.State, want)
	}
	if in.Kind == record.Shared && answer != in.Text {
		j.violated(RuleKept, "the answer of %s is %q, want what was handed in: %q", in.ID, answer, in.Text)
	}
}

// heldReplies compares replies about the end of a task with its context.
func (j *programJudge) heldReplies() {
	for _, r := range j.r.Wire {
		id, found := strings.CutPrefix(r.Path, "/v1/tasks/")
		c, known := j.r.Contexts[id]
		if r.Status != 200 || !found || !known {
			continue
		}
		var t record.Task
		if json.Unmarshal([]byte(r.Reply), &t) != nil || t.Finished == nil {
			continue
		}
		if t.State != c.Task.State || textOf(t.Answer) != textOf(c.Task.Answer) {
			j.violated(RuleKept, "the task %s was told to be %s with %q, and is %s with %q", id, t.State, textOf(t.Answer), c.Task.State, textOf(c.Task.Answer))
		}
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// taken reports whether the request of an input was answered as done.
func (j *judge) taken(key string) (done, cut bool) {
	for _, r := range j.r.Wire {
		if r.Key == key {
			done = done || r.Status == 200 || r.Status == 201
			cut = cut || r.Status == 0
		}
	}
	return done, cut
}

// decidedOnce checks the decisions about one sub-task's question.
func (j *programJudge) decidedOnce(in record.Input) {
	for _, id := range j.r.Tasks[in.Gate] {
		ours, decided := map[string]bool{}, map[string]int{}
		for _, m := range j.r.Contexts[id].Messages {
			if m.Type != "approval" {
				continue
			}
			var a struct{ Approval, Decision, Field string }
			_ = json.Unmarshal(m.Content, &a) // every one is an object
			switch {
			case a.Decision == "" && strings.Contains(string(m.Content), in.Key):
				if ours[a.Approval] = true; len(decided) > 0 {
					j.violated(RuleAskedOnce, "%q is asked about in message %d, after it was decided", in.Key, m.Seq)
				}
			case a.Decision != "" && ours[a.Approval]:
				decided[a.Approval]++
				j.decision(in, m, a.Decision)
			}
		}
		if len(decided) > 1 || len(decided) == 1 && slices.ContainsFunc(mapValues(decided), func(n int) bool { return n > 1 }) {
			j.violated(RuleAskedOnce, "%q was decided %v times", in.Key, decided)
		}
	}
}

// decision compares a decision with the request.
func (j *programJudge) decision(in record.Input, m record.Message, got string) {
	want := "approve"
	if chosen := record.Choice(in.Key); chosen == record.LabelDeny || chosen == record.LabelDecline {
		want = "deny"
	}
	if !strings.HasPrefix(m.SenderID, "api:") {
		j.violated(RuleApproved, "%s decided about %q", m.SenderID, in.Key)
	} else if got != want {
		j.violated(RuleApproved, "%q was decided with %s, want %s", in.Key, got, want)
	}
}

func mapValues(m map[string]int) []int {
	list := make([]int, 0, len(m))
	for _, n := range m {
		list = append(list, n)
	}
	return list
}

// merged replays the shared state from the messages, and compares the requests
// with it.
func (j *programJudge) merged(in record.Input, id string, c record.Context) {
	state, version := map[string]json.RawMessage{}, 0
	for _, m := range c.Messages {
		var set struct {
			State   map[string]json.RawMessage
			Version int
		}
		if json.Unmarshal(m.Content, &set) != nil || set.Version == 0 || len(set.State) == 0 {
			continue
		}
		if version++; set.Version != version {
			j.violated(RuleMerged, "message %d of %s makes version %d, want %d", m.Seq, in.ID, set.Version, version)
		}
		before := record.LogOf(state)
		for key, value := range set.State {
			state[key] = value
		}
		if now := record.LogOf(state); len(now) < len(before) || !slices.Equal(now[:len(before)], before) || len(now) > len(before)+1 {
			j.violated(RuleMerged, "version %d of %s has %q after %q: a change is lost", version, in.ID, now, before)
		}
	}
	if now, end := fmt.Sprint(record.LogOf(state)), fmt.Sprint(record.LogOf(c.State)); now != end || version != c.Version {
		j.violated(RuleMerged, "%s has version %d with %s in the end, and its messages make version %d with %s", in.ID, c.Version, end, version, now)
	}
	j.matched(in, id, record.LogOf(c.State))
}

// matched checks the requests with If-Match.
func (j *programJudge) matched(in record.Input, id string, end []string) {
	taken := map[string]string{} // the fields that the version added
	sent, cut := map[string]bool{}, map[string]bool{}
	for _, r := range j.r.Wire {
		if r.Match == "" || r.Path != "/v1/tasks/"+id+"/state" {
			continue
		}
		var body map[string][]string
		if json.Unmarshal([]byte(r.Body), &body) != nil || len(body[record.KeyLog]) == 0 {
			continue
		}
		mark := body[record.KeyLog][len(body[record.KeyLog])-1]
		sent[mark], cut[mark] = sent[mark] || r.Status == 200, cut[mark] || r.Status == 0
		if r.Status != 200 {
			continue
		}
		if before, again := taken[r.Match]; again && before != mark {
			j.violated(RuleMerged, "%s took %q and %q for its version %s", in.ID, before, mark, r.Match)
		}
		taken[r.Match] = mark
	}
	for mark := range sent {
		there := 0
		for _, m := range end {
			if m == mark {
				there++
			}
		}
		if there > 1 || sent[mark] && there == 0 || !sent[mark] && !cut[mark] && there > 0 {
			j.violated(RuleMerged, "%q is %d times in the state of %s; taken: %v, cut off: %v", mark, there, in.ID, sent[mark], cut[mark])
		}
	}
}

// noted compares an agent's message with the answer: every decision after the
// message sees it.
func (j *programJudge) noted(in record.Input) {
	for _, id := range j.r.Tasks[in.Gate] {
		c, known := j.r.Contexts[id]
		if !known {
			continue // programs reports it
		}
		at := slices.IndexFunc(c.Messages, func(m record.Message) bool { return hasText(m, in.Text) })
		later := slices.IndexFunc(c.Messages, func(m record.Message) bool {
			return at >= 0 && m.Seq > at+1 && m.Type == "observation" && strings.HasPrefix(m.SenderID, "legwork/")
		})
		if later >= 0 && !record.EndedEarly(record.Input{ID: in.Gate}, j.r.Inputs) && !strings.Contains(textOf(c.Task.Answer), in.Text) {
			j.violated(RuleNoted, "the answer of %s does not know %q, which was added before the last decision: %q", in.Gate, in.Text, textOf(c.Task.Answer))
		}
	}
}

// added looks for every message that was sent in the context to which it was
// added, those of agents in contexts of their own as well.
func (j *programJudge) added() {
	looked := map[string]bool{}
	for _, r := range j.r.Wire {
		id, found := strings.CutSuffix(strings.TrimPrefix(r.Path, "/v1/tasks/"), "/messages")
		c, known := j.r.Contexts[id]
		if !found || !known || looked[r.Key] { // programs reports contexts that were not read
			continue
		}
		looked[r.Key] = true
		var body struct{ Content string }
		_ = json.Unmarshal([]byte(r.Body), &body) // the harness has written it
		done, cut := j.taken(r.Key)
		j.addedOnce(body.Content, c, done, cut)
	}
}

// addedOnce looks for a message in a context.
func (j *programJudge) addedOnce(text string, c record.Context, done, cut bool) {
	there := 0
	for _, m := range c.Messages {
		if hasText(m, text) {
			there++
		}
	}
	if there > 1 || done && there == 0 || !done && !cut && there > 0 {
		j.violated(RuleNoted, "%q stands %d times in its context; taken: %v, cut off: %v", text, there, done, cut)
	}
}

// hasText reports whether a message says just that.
func hasText(m record.Message, text string) bool {
	var content any
	if json.Unmarshal(m.Content, &content) != nil {
		return false
	}
	if fields, ok := content.(map[string]any); ok {
		content = fields["text"]
	}
	return content == text
}
