package record

import (
	"hash/fnv"
	"strings"
)

// What the buttons of questions say.
const (
	LabelAllow   = "Allow once"
	LabelDeny    = "Deny"
	LabelDecline = "Decline"
)

// deniedText is the result that a model reads for a call that was denied.
const deniedText = "A person declined this call"

// choices are the buttons that a person decides with, by the tool.
func choices(key string) []string {
	if ToolOf(key) == Pay {
		return []string{LabelAllow, LabelDeny}
	}
	return []string{"Red", "Green", "Blue", LabelDecline}
}

// ToolOf is the group that a sub-task's description names after the id.
func ToolOf(key string) string {
	_, part, _ := strings.Cut(key, " ")
	tool, _, _ := strings.Cut(part, " ")
	return tool
}

// Choice is the button that the person who asked presses under the question of
// a sub-task: always the same one.
func Choice(key string) string {
	list := choices(key)
	return list[Hash(key)%len(list)]
}

// Other is a button that they do not press first.
func Other(key string) string {
	list := choices(key)
	return list[(Hash(key)+1)%len(list)]
}

// Hash is a number that is the same for the same text in every run.
func Hash(s string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return int(h.Sum32() >> 4)
}
