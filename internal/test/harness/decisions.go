package harness

import (
	"hash/fnv"
	"strings"
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
