package conf

import (
	"slices"
	"strings"
)

// ordinary are the keys that an admin may change in a browser without a code; ** stands
// for everything below. Each other key decides which programs legwork starts, where
// secrets and data go, who may enter, or which files are read: an attacker with an
// admin's browser could take over the machine with them. A key that is missing here
// needs a code.
var ordinary = strings.Fields(`
	language timezone instructions log.**
	models.*.model models.*.offline models.*.context_tokens models.*.max_output_tokens models.*.timeout models.*.first_byte_timeout models.*.idle_timeout
	models.*.reasoning_effort models.*.tool_calls models.*.price.** models.*.fallback.** roles.**
	telegram.rich telegram.overhear slack.commands.** http.rate
	access.telegram.** access.slack.** chats.** groups.** agent_tools.** approvals.** trust.** schedules.**
	limits.** budget.** files.max_bytes files.message_bytes files.chat_bytes files.total_bytes files.answer_messages
	retention.** backup.** alerts.after alerts.chat telemetry.sample
`)

// Sensitive lists the keys in which two texts of a config file differ and that only a
// person with more than a browser may change, sorted. A new reference such as
// ${file:PATH} is one at every key, since it can bring any file into a prompt. A text
// that is not YAML has no keys.
func Sensitive(before, after string) []string {
	old, _ := values(before)
	young, whole := values(after)
	var keys []string
	if !whole {
		keys = append(keys, "aliases of aliases")
	}
	for key, now := range young {
		if was, known := old[key]; (!known || was.text != now.text) && (!isOrdinary(now.path) || strings.Contains(now.text, "${")) {
			keys = append(keys, now.key())
		}
	}
	for key, was := range old {
		if _, kept := young[key]; !kept && !isOrdinary(was.path) {
			keys = append(keys, was.key())
		}
	}
	for i, key := range keys {
		keys[i] = strings.TrimSuffix(withoutIndexes(key), "[]") // a list is shown as one key
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// value is a leaf and what it says, with its type.
type value struct {
	leaf
	text string
}

// values lists the leaves of a text by their paths. The names in a path are apart, since
// a name can have a dot.
func values(text string) (all map[string]value, whole bool) {
	all = map[string]value{}
	root, errs := parse("", []byte(text))
	if errs != nil {
		return all, true
	}
	list, whole := leaves(root)
	for _, l := range list {
		all[strings.Join(l.path, "\x00")] = value{l, l.ShortTag() + " " + l.Value}
	}
	return all, whole
}

// isOrdinary reports whether a path is one of the ordinary keys.
func isOrdinary(path []string) bool {
	return slices.ContainsFunc(ordinary, func(pattern string) bool {
		names := strings.Split(pattern, ".")
		for i, name := range names {
			switch {
			case name == "**":
				return true
			case i >= len(path) || name != "*" && name != path[i]:
				return false
			}
		}
		return len(names) == len(path)
	})
}
