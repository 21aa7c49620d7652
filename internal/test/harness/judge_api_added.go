package harness

import (
	"encoding/json"
	"slices"
	"strings"
)

// noted holds what an agent told against the answer: every decision after the
// message sees it.
func (j *judge) noted(in Input) {
	for _, id := range j.r.Tasks[in.Gate] {
		c, known := j.r.Contexts[id]
		if !known {
			continue // kept tells
		}
		at := slices.IndexFunc(c.Messages, func(m entry) bool { return says(m, in.Text) })
		later := slices.IndexFunc(c.Messages, func(m entry) bool {
			return at >= 0 && m.Seq > at+1 && m.Type == "observation" && strings.HasPrefix(m.SenderID, "legwork/")
		})
		if later >= 0 && !halted(Input{ID: in.Gate}, j.r.Inputs) && !strings.Contains(textOf(c.Task.Answer), in.Text) {
			j.violated(RuleNoted, "the answer of %s does not know %q, which was added before the last decision: %q", in.Gate, in.Text, textOf(c.Task.Answer))
		}
	}
}

// added looks for every message that was sent in the context to which it was
// added, those of agents in contexts of their own as well.
func (j *judge) added() {
	looked := map[string]bool{}
	for _, r := range j.r.Wire {
		id, found := strings.CutSuffix(strings.TrimPrefix(r.Path, "/v1/tasks/"), "/messages")
		c, known := j.r.Contexts[id]
		if !found || !known || looked[r.Key] { // kept tells of contexts that were not read
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
func (j *judge) addedOnce(text string, c Context, done, cut bool) {
	there := 0
	for _, m := range c.Messages {
		if says(m, text) {
			there++
		}
	}
	if there > 1 || done && there == 0 || !done && !cut && there > 0 {
		j.violated(RuleNoted, "%q stands %d times in its context; taken: %v, cut off: %v", text, there, done, cut)
	}
}

// says reports whether a message says just that.
func says(m entry, text string) bool {
	var content any
	if json.Unmarshal(m.Content, &content) != nil {
		return false
	}
	if fields, ok := content.(map[string]any); ok {
		content = fields["text"]
	}
	return content == text
}
