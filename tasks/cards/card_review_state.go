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

// Limits for the shared state in the chat, besides MaxShownArguments, when a file
// holds all of it: the number of keys, and the number of names of shortened keys.
// Telegram accepts 100 formatting entities in a message, and a key may need two.
const (
	maxShownKeys = 40
	maxNamedKeys = 10
)

// maxInline is the maximum length of a value that is shown without JSON layout:
// in bytes for a number with its key, in UTF-16 units for an element of a list.
// maxListItems is the maximum number of elements of such a list.
const (
	maxInline    = 80
	maxListItems = 10
)

// layout is the form in which a value is shown.
type layout int

const (
	inLine  layout = iota // behind its key
	inQuote               // a text, or a list
	inJSON
)

// stateValue is a value of the shared state as people read it, with invisible
// characters made visible.
type stateValue struct {
	key    string
	text   string
	layout layout
}

// stateToReview lists the values under the review of that seq. Values that changed
// before it come first, the newest at the top, then values that changed after it,
// then private values of programs.
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
		all = append(all, layOutMembers(key, values[key])...)
	}
	return all
}

// layOutMembers splits an object into its members if one of them is a text of several
// lines, which people could not read as JSON. Any other value stays whole.
func layOutMembers(key string, raw json.RawMessage) []stateValue {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || len(object) > maxListItems {
		return []stateValue{layOut(key, raw)}
	}
	lines := false
	var list []stateValue
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var text string
		lines = lines || json.Unmarshal(object[name], &text) == nil && strings.ContainsAny(strings.TrimSpace(text), "\n")
		list = append(list, layOut(key+" › "+name, object[name]))
	}
	if !lines {
		return []stateValue{layOut(key, raw)}
	}
	return list
}

// layOut chooses the layout of a value.
func layOut(key string, raw json.RawMessage) stateValue {
	var text string
	var items []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) != "":
		return stateValue{key, visibleText(text), inQuote}
	case json.Unmarshal(raw, &items) == nil && len(items) > 0:
		if list, ok := shortList(items); ok {
			return stateValue{key, list, inQuote}
		}
	case len(key)+len(raw) <= maxInline && !bytes.ContainsAny(raw, "{["), string(raw) == "[]", string(raw) == "{}":
		return stateValue{key, bot.VisibleJSON(raw), inLine}
	}
	return stateValue{key, bot.VisibleJSON(raw), inJSON}
}

// visibleText keeps the lines of a text, and makes all other invisible characters
// visible.
func visibleText(text string) string {
	text = bot.Visible(strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.TrimRight(strings.Trim(strings.ReplaceAll(text, "\t", "    "), "\n"), " \n")
}

// shortList shows a list of few and short elements, one in each line.
func shortList(items []json.RawMessage) (text string, ok bool) {
	if len(items) > maxListItems {
		return "", false
	}
	lines := make([]string, 0, len(items))
	for _, raw := range items {
		item := readableItem(raw)
		if item == "" || units(item) > maxInline {
			return "", false
		}
		lines = append(lines, "• "+item)
	}
	return strings.Join(lines, "\n"), true
}

// readableItem is an element of a list in one line. It is empty for an element
// that needs more.
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

// markdown is a value under its key, for a message.
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

// plain is a value under its key, for a file. Only keys begin at the start of a
// line.
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

// size is the approximate length of a value in the chat, in UTF-16 units.
func (s stateValue) size() int { return units(s.key) + units(s.text) }

// heading is a key in one line.
func heading(key string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(bot.Visible(key))
}

// quotedLines is a visible text as a quotation. It keeps the lines and their
// indentation.
func quotedLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " ")
		lines[i] = strings.TrimRight("> "+strings.Repeat("\u00a0", len(l)-len(rest))+PlainText(rest), " \u00a0")
	}
	return strings.Join(lines, "\n")
}

// beginnings returns the part of a state that is shown in the chat when a file
// holds all of it, and the keys of shortened and missing values.
func beginnings(all []stateValue) (shown []stateValue, left []string) {
	room := MaxShownArguments
	for i, s := range all {
		limit := room
		if i < len(all)-1 {
			limit = room * 3 / 4 // leave room for the other values
		}
		if i >= maxShownKeys || s.size() > limit {
			left = append(left, InCode(heading(s.key)))
			s.text = firstUnits(s.text, limit-units(s.key))
			if i >= maxShownKeys || s.text == "" || s.layout == inLine {
				continue
			}
			s.text += clip.Mark
		}
		room -= s.size()
		shown = append(shown, s)
	}
	return shown, left
}

// stateFile is a file with the values under a review if they are too long for the
// chat, or else nil.
func stateFile(all []stateValue, seq int) *bot.File {
	size := 0
	for _, s := range all {
		size += s.size()
	}
	if size <= MaxShownArguments && len(all) <= maxShownKeys {
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

// firstUnits is the beginning of a text, with at most limit UTF-16 units.
func firstUnits(text string, limit int) string {
	for i, c := range text {
		if limit -= max(1, utf16.RuneLen(c)); limit < 0 {
			return text[:i]
		}
	}
	return text
}
