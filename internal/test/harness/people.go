package harness

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// What the buttons of questions say.
const (
	labelAllow   = "Allow once"
	labelDeny    = "Deny"
	labelDecline = "Decline"
)

// deniedText is what a model is told of a call that was denied.
const deniedText = "A person declined this call"

// choices are the buttons that a person decides with, by the tool.
func choices(key string) []string {
	if toolOf(key) == pay {
		return []string{labelAllow, labelDeny}
	}
	return []string{"Red", "Green", "Blue", labelDecline}
}

// toolOf is the group that a sub-task's description names after the id.
func toolOf(key string) string {
	_, part, _ := strings.Cut(key, " ")
	tool, _, _ := strings.Cut(part, " ")
	return tool
}

// Choice is the button that the person who asked presses under the question of
// a sub-task: always the same one.
func Choice(key string) string {
	list := choices(key)
	return list[hash(key)%len(list)]
}

// other is a button that they do not press first.
func other(key string) string {
	list := choices(key)
	return list[(hash(key)+1)%len(list)]
}

func hash(s string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return int(h.Sum32() >> 4)
}

// habit is how somebody presses: by the hash of what is decided about.
type habit int

const (
	once     habit = iota
	twice          // and once more as long as nothing seems to have happened
	wavering       // and another button after it, which is too late
	meddled        // after somebody else has pressed another one, to whom it is none of their business
)

func habitOf(key string) habit { return habit(hash(key+" habit") % 4) }

// slow reports that a question is looked at only when nothing else goes on.
func slow(key string) bool { return hash(key+" pace")%3 == 0 }

// pushes notes that somebody presses a button under a question.
func (s *session) pushes(key, label, by string) {
	s.record.Pushes = append(s.record.Pushes, Push{At: time.Now(), Key: key, Label: label, By: by})
}

// isAbout reports whether a message asks, or asked, for a decision.
func isAbout(p Post, in Input) bool {
	return p.Card != "" && !ofCost(p.Asked) && strings.Contains(p.Card, in.Key)
}

// isCard reports whether a message can be decided about by its buttons.
func isCard(buttons []string) bool {
	return slices.ContainsFunc(buttons, func(label string) bool {
		return label == labelAllow || label == labelDeny || label == labelDecline || label == labelRun || label == labelConclude
	})
}
