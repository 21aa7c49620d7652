package harness

import (
	"fmt"
	"strings"
	"time"
)

// scheduledIntro begins the line before the answer to a question that a schedule
// asked.
const scheduledIntro = "Scheduled"

// RuleFired is broken by a schedule that asks too early. That it asks once is
// RuleOnce's.
const RuleFired = "fired"

// arrange sets legwork's clock so far ahead that a minute begins within a few
// seconds, when its schedules fire.
func (s *session) arrange() {
	now := time.Now()
	at := now.Add(time.Second + time.Duration(s.rand.IntN(3000))*time.Millisecond)
	minute := at.Truncate(time.Minute).Add(time.Minute).UTC()
	s.ahead, s.due = minute.Sub(at), minute.Format("every day 15:04")
	for _, in := range s.record.Inputs {
		if in.Fired {
			s.record.Said[in.ID] = at
		}
	}
}

// schedules are those of the config.
func (s *session) schedules() string {
	var b strings.Builder
	for _, in := range s.record.Inputs {
		if in.Fired {
			fmt.Fprintf(&b, "  - {name: %s, when: %q, text: %q, chat: %q, as: %q}\n", in.ID, s.due, in.Text, in.Place, in.As)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "schedules:\n" + b.String()
}

// fired looks for what schedules asked before their time.
func (j *judge) fired() {
	for _, in := range j.r.Inputs {
		if !in.Fired {
			continue
		}
		for _, x := range j.asked {
			if x.id == in.ID && x.at.Before(j.r.Said[in.ID]) {
				j.violated(RuleFired, "%s was asked %v before its time", in.ID, j.r.Said[in.ID].Sub(x.at))
			}
		}
	}
}
