package cards

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// How much of a shared state stands in the chat when a file holds all of it,
// besides shownArguments: keys, and names of those that are not shown in full.
// Telegram takes 100 marks in a message, and a key may have two.
const (
	shownKeys = 40
	namedKeys = 10
)

// shownPlain is how long what is no text may be to stand without being laid out
// as JSON: a number with its key, in bytes, and an element of a list, of which
// there are shownItems at most.
const (
	shownPlain = 80
	shownItems = 10
)

// layout is how a value is shown.
type layout int

const (
	inLine  layout = iota // behind its key
	inQuote               // a text, or a list
	inJSON
)

// stateValue is a value of the shared state as a person reads it: what cannot be
// seen is written out.
type stateValue struct {
	key    string
	text   string
	layout layout
}

// stateToReview are the values that the review of that seq is about: the
// values changed last before it come first, then the ones changed after it,
// then the ones that programs keep for themselves.
func stateToReview(v *tasks.View, seq int) []stateValue {
	values := planner.SharedState(v.State, v.Event)
	delete(values, planner.KeyStatus)
	rank := func(key string) int {
		switch {
		case strings.HasPrefix(key, "_") || strings.HasPrefix(key, "."):
			return 2
		case v.State.Shared[key].Seq > seq:
			return 1
		}
		return 0
	}
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(v.State.Shared[b].Seq, v.State.Shared[a].Seq), cmp.Compare(a, b))
	})
	all := make([]stateValue, 0, len(keys))
	for _, key := range keys {
		all = append(all, members(key, values[key])...)
	}
	return all
}

// members lays out an object that holds a text of several lines, which people
// could not read as JSON, by its names; every other value as it is.
func members(key string, raw json.RawMessage) []stateValue {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || len(object) > shownItems {
		return []stateValue{readable(key, raw)}
	}
	lines := false
	var list []stateValue
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var text string
		lines = lines || json.Unmarshal(object[name], &text) == nil && strings.ContainsAny(strings.TrimSpace(text), "\n")
		list = append(list, readable(key+" › "+name, object[name]))
	}
	if !lines {
		return []stateValue{readable(key, raw)}
	}
	return list
}

// readable lays a value out.
func readable(key string, raw json.RawMessage) stateValue {
	var text string
	var items []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) != "":
		return stateValue{key, visibleText(text), inQuote}
	case json.Unmarshal(raw, &items) == nil && len(items) > 0:
		if list, ok := shortList(items); ok {
			return stateValue{key, list, inQuote}
		}
	case len(key)+len(raw) <= shownPlain && !bytes.ContainsAny(raw, "{["), string(raw) == "[]", string(raw) == "{}":
		return stateValue{key, bot.VisibleJSON(raw), inLine}
	}
	return stateValue{key, bot.VisibleJSON(raw), inJSON}
}

// visibleText is a text with its lines, and nothing else that moves or hides it.
func visibleText(text string) string {
	text = bot.Visible(strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.TrimRight(strings.Trim(strings.ReplaceAll(text, "\t", "    "), "\n"), " \n")
}

// shortList is a short list of short things, one in each line.
func shortList(items []json.RawMessage) (text string, ok bool) {
	if len(items) > shownItems {
		return "", false
	}
	lines := make([]string, 0, len(items))
	for _, raw := range items {
		item := readableItem(raw)
		if item == "" || units(item) > shownPlain {
			return "", false
		}
		lines = append(lines, "• "+item)
	}
	return strings.Join(lines, "\n"), true
}

// readableItem is an element of a list in one line; empty for what takes more.
func readableItem(raw json.RawMessage) string {
	var text string
	switch {
	case bytes.HasPrefix(raw, []byte("{")) || bytes.HasPrefix(raw, []byte("[")):
		return ""
	case json.Unmarshal(raw, &text) != nil || string(raw) == "null":
		return string(raw)
	case strings.ContainsAny(text, "\r\n"):
		return ""
	}
	return strings.TrimSpace(visibleText(text))
}

// markdown is a value under its key, as a message shows it.
func (s stateValue) markdown() string {
	head := "**" + InCode(heading(s.key)) + "**"
	switch s.layout {
	case inLine:
		return head + ": " + PlainText(s.text)
	case inJSON:
		return head + "\n\n" + strings.TrimSuffix(bot.Fence(s.text, "json"), "\n")
	}
	return head + "\n\n" + quotedLines(s.text)
}

// plain is a value under its key, as a file shows it: only keys begin a line
// without spaces before it.
func (s stateValue) plain() string {
	if s.layout == inLine {
		return heading(s.key) + ": " + s.text + "\n"
	}
	lines := strings.Split(s.text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("    "+l, " ")
	}
	return heading(s.key) + "\n" + strings.Join(lines, "\n") + "\n"
}

// size is about how long a value is in the chat, in UTF-16 units.
func (s stateValue) size() int { return units(s.key) + units(s.text) }

// heading is a key in one line.
func heading(key string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(bot.Visible(key))
}

// quotedLines is text that is visible already as a quotation: each line as it is,
// with the spaces that it begins with.
func quotedLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " ")
		lines[i] = strings.TrimRight("> "+strings.Repeat("\u00a0", len(l)-len(rest))+PlainText(rest), " \u00a0")
	}
	return strings.Join(lines, "\n")
}

// beginnings is what of a state stands in the chat beside the file that holds all
// of it, and the keys of what is shortened or left out.
func beginnings(all []stateValue) (shown []stateValue, left []string) {
	room := ShownArguments
	for i, s := range all {
		limit := room
		if i < len(all)-1 {
			limit = room * 3 / 4 // the others are to be seen, too
		}
		if i >= shownKeys || s.size() > limit {
			left = append(left, InCode(heading(s.key)))
			s.text = upTo(s.text, limit-units(s.key))
			if i >= shownKeys || s.text == "" || s.layout == inLine {
				continue
			}
			s.text += clip.Mark
		}
		room -= s.size()
		shown = append(shown, s)
	}
	return shown, left
}

// stateFile is a file that holds the state that the review of that seq is about,
// when it is too long for the chat.
func stateFile(all []stateValue, seq int) *bot.File {
	size := 0
	for _, s := range all {
		size += s.size()
	}
	if size <= ShownArguments && len(all) <= shownKeys {
		return nil
	}
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.plain())
	}
	if b.Len() > bot.MaxFile {
		return nil
	}
	return &bot.File{Name: fmt.Sprintf("state-%d.txt", seq), Type: "text/plain; charset=utf-8", Content: []byte(b.String())}
}

// units counts UTF-16 code units, as platforms do.
func units(s string) int {
	n := 0
	for _, c := range s {
		n += max(1, utf16.RuneLen(c))
	}
	return n
}

// upTo is the beginning of a text of at most limit UTF-16 units.
func upTo(text string, limit int) string {
	for i, c := range text {
		if limit -= max(1, utf16.RuneLen(c)); limit < 0 {
			return text[:i]
		}
	}
	return text
}
