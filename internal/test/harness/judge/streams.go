package judge

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"legwork/internal/test/harness/record"
)

// streams checks that streams brought everything, once and in order.
func (j *programJudge) streams() {
	next, over := map[string]int{}, map[string]bool{}
	for _, t := range j.r.Streamed {
		where := t.Stream + " " + t.Task
		switch {
		case t.Event == "lost":
			j.violated(RuleStream, "the stream of %s lost its place in life %d: %s", t.Stream, t.Life, t.Data)
			continue
		case over[where]:
			j.violated(RuleStream, "%s was told more after its end: %s", t.Stream, t.Data)
		case t.Event == "end":
			over[where] = true
			continue
		}
		next[where]++
		if t.Seq != next[where] {
			j.violated(RuleStream, "the stream of %s told message %d of %s in life %d, want %d", t.Stream, t.Seq, t.Task, t.Life, next[where])
			next[where] = t.Seq
		}
		j.sameAsStored(t)
	}
	for id, c := range j.r.Contexts {
		for _, stream := range []string{record.All, id} {
			if got := next[stream+" "+id]; got != len(c.Messages) {
				j.violated(RuleStream, "the stream of %s told %d messages of %s, and there are %d", stream, got, id, len(c.Messages))
			}
		}
		if !over[id+" "+id] {
			j.violated(RuleStream, "the stream of %s had no end", id)
		}
	}
}

// sameAsStored compares a stream's event with the context at the end: events of a
// stream are stored before it brings them.
func (j *programJudge) sameAsStored(t record.StreamEvent) {
	c, known := j.r.Contexts[t.Task]
	if !known || t.Seq < 1 || t.Seq > len(c.Messages) {
		return // wholeContext and streams report it
	}
	var got record.Message
	_ = json.Unmarshal([]byte(t.Data), &got) // misused has reported it
	want := c.Messages[t.Seq-1]
	if got.Type != want.Type || got.Type != t.Event || got.SenderID != want.SenderID || !got.Timestamp.Equal(want.Timestamp) || !equalJSON(got.Content, want.Content) {
		j.violated(RuleKept, "the stream of %s told message %d in life %d as %s of %s at %v: %s; the context says %s of %s at %v: %s",
			t.Stream, t.Seq, t.Life, got.Type, got.SenderID, got.Timestamp, got.Content, want.Type, want.SenderID, want.Timestamp, want.Content)
	}
}

// equalJSON reports whether two JSON values are the same, however they are written.
func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// reviewed goes through a context: while a review is open, only a person
// ends it, and no answer comes.
func (j *programJudge) reviewed(in record.Input, c record.Context) {
	open := false
	for _, m := range c.Messages {
		var said struct {
			State    map[string]string
			Kind     string
			Decision string
		}
		_ = json.Unmarshal(m.Content, &said) // other contents stay empty
		status := said.State[record.KeyStatus]
		agent := !strings.HasPrefix(m.SenderID, "api:")
		switch {
		case said.Kind == "review" && said.Decision != "":
			if !open {
				j.violated(RuleReviewed, "message %d of %s decides about a review that is not open", m.Seq, in.ID)
			}
			j.verdict(in, said.Decision, status)
			open = false
		case status == record.NeedsReview:
			open = true
		case open && m.Type == "answer" && !record.EndedEarly(in, j.r.Inputs), open && status != "" && agent:
			j.violated(RuleReviewed, "message %d of %s came while a person had to review it: %s", m.Seq, in.ID, m.Content)
		}
	}
	if open && !record.EndedEarly(in, j.r.Inputs) {
		j.violated(RuleReviewed, "the review of %s is open in the end", in.ID)
	}
}

// verdict compares the decision about a review with the request.
func (j *programJudge) verdict(in record.Input, decision, status string) {
	by := in
	if i := slices.IndexFunc(j.r.Inputs, func(r record.Input) bool { return r.Kind == record.Review && r.Gate == in.ID }); i >= 0 {
		by = j.r.Inputs[i]
	}
	want := map[string]string{"approve": "APPROVED", "deny": "CHANGES_REQUESTED"}[decision]
	if decision != record.ReviewOf(by) || status != want {
		j.violated(RuleReviewed, "the review of %s was decided with %s and status %q, want %s", in.ID, decision, status, record.ReviewOf(by))
	}
}

// delivered looks for an outcome where it was asked for.
func (j *programJudge) delivered(in record.Input, c record.Context) {
	ids, whole, hidden := map[string]bool{}, 0, 0
	for _, h := range j.r.Webhooks {
		if h.Misuse != "" {
			j.violated(RuleProtocol, "the webhook got a request that it cannot take: %s", h.Misuse)
		}
		if h.Task.ID != c.Task.ID || h.Type == "task.review" {
			continue
		}
		ids[h.ID] = true
		if h.Type != "task."+c.Task.State || textOf(h.Task.Answer) != textOf(c.Task.Answer) {
			j.violated(RuleDelivered, "the webhook was told %s with %q of %s, want %s with %q", h.Type, textOf(h.Task.Answer), in.ID, c.Task.State, textOf(c.Task.Answer))
		}
		if h.Status/100 == 2 {
			whole++
			if j.killedAfter(j.lifeAt(h.At), h.At) {
				hidden++
			}
		}
	}
	switch {
	case in.Notify != record.WebhookName && len(ids) > 0:
		j.violated(RuleDelivered, "the webhook was told about %s, which was not asked for", in.ID)
	case in.Notify == record.WebhookName && whole == 0:
		j.violated(RuleDelivered, "the webhook was not told about %s", in.ID)
	case whole > 1+hidden || len(ids) > 1:
		j.violated(RuleDelivered, "the webhook was told %d times of %s, with the ids %v", whole, in.ID, ids)
	}
	j.posted(in, c)
}

// posted looks for an outcome in the chat, and for questions that are left there.
func (j *programJudge) posted(in record.Input, c record.Context) {
	there, hidden := 0, 0
	for _, p := range j.r.Posts {
		life := j.lifeAt(p.Posted)
		excused := p.Torn || j.killedAfter(life, p.Posted)
		if (record.IsCard(p.Buttons) || slices.Contains(p.Buttons, record.StopLabel)) && !excused {
			j.violated(RuleTidy, "in %s there is still %q with the buttons %q", p.Chat, p.Text, p.Buttons)
		}
		marked := strings.Contains(p.Text, "["+in.ID+"]")
		ours := marked || record.EndedEarly(in, j.r.Inputs) && strings.Contains(p.Text, record.StoppedText)
		if p.Chat == record.AdminRoom || p.Card != "" || !ours {
			continue
		}
		if in.Notify != p.Chat && marked {
			j.violated(RuleChat, "the outcome of %s went to %s, want %q", in.ID, p.Chat, in.Notify)
		}
		if there++; excused {
			hidden++
		}
	}
	if wanted := in.Notify != "" && in.Notify != record.WebhookName; wanted && (there == 0 || there > 1+hidden && !record.EndedEarly(in, j.r.Inputs)) {
		j.violated(RuleDelivered, "the outcome of %s, %s with %q, stands %d times in %s", in.ID, c.Task.State, textOf(c.Task.Answer), there, in.Notify)
	}
}
