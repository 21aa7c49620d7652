package telegram

import (
	"cmp"
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
)

// How much of a board is shown. A message may hold 100 entities, and each row
// takes up to two.
const (
	maxRows   = 24
	maxTitle  = 120
	maxStatus = 240
	maxRow    = 100
	maxDoing  = 60
)

// The icons of a sub-task's states, in the order in which counts are shown.
var icons = []struct{ state, icon string }{
	{"done", "✅"},
	{"failed", "❌"},
	{"skipped", "⏭"},
	{"working", "⏳"},
	{"waiting", "❓"},
	{"todo", "▫️"},
}

// board draws the live picture of a task; without sub-tasks it is one line.
func board(b bot.Board) string {
	title, status := line(b.Title, maxTitle), line(b.Status, maxStatus)
	if len(b.Items) == 0 {
		return markdown.TelegramEscape(cmp.Or(status, title, nothing))
	}
	var head []string
	if title != "" {
		head = append(head, "<b>"+markdown.TelegramEscape(title)+"</b>")
	}
	if status != "" {
		head = append(head, markdown.TelegramEscape(status))
	}
	if len(head) > 0 {
		head = append(head, "")
	}
	for n := maxRows; ; n /= 2 {
		if text := strings.Join(append(head, list(b.Items, n)...), "\n"); n < 2 || length(text) <= textLimit {
			return text
		}
	}
}

// list is the rows of at most n sub-tasks, and of how many there are before and
// after them.
func list(items []bot.Item, n int) []string {
	var rows []string
	from, to := window(items, n)
	if from > 0 {
		rows = append(rows, counts(items[:from]))
	}
	for _, it := range items[from:to] {
		rows = append(rows, row(it))
	}
	if to < len(items) {
		rows = append(rows, counts(items[to:]))
	}
	return rows
}

// window is the part of a long list that is shown: around what goes on.
func window(items []bot.Item, n int) (from, to int) {
	if len(items) <= n {
		return 0, len(items)
	}
	for from < len(items) && !active(items[from]) {
		from++
	}
	if from == len(items) { // nothing goes on: before what is still to do
		for from = 0; from < len(items) && items[from].State != "todo"; {
			from++
		}
	}
	from = max(0, min(from-2, len(items)-n))
	return from, from + n
}

func active(it bot.Item) bool { return it.State == "working" || it.State == "waiting" }

// counts is the row of items that are not shown: how many are in each state.
func counts(items []bot.Item) string {
	var words []string
	for _, i := range icons {
		n := 0
		for _, it := range items {
			if it.State == i.state {
				n++
			}
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%s × %d", i.icon, n))
		}
	}
	return strings.Join(words, "  ")
}

// row is the line of a sub-task.
func row(it bot.Item) string {
	words := []string{markdown.TelegramEscape(cmp.Or(line(it.Title, maxRow), it.ID))}
	if group := line(it.Group, maxDoing); group != "" {
		words = append(words, "<i>"+markdown.TelegramEscape(group)+"</i>")
	}
	if doing := line(it.Doing, maxDoing); doing != "" && active(it) {
		words = append(words, "<code>"+markdown.TelegramEscape(doing)+"</code>")
	}
	if it.Elapsed > 0 {
		words = append(words, bot.Clock(it.Elapsed))
	}
	return icon(it.State) + " " + strings.Join(words, " · ")
}

func icon(state string) string {
	for _, i := range icons {
		if i.state == state {
			return i.icon
		}
	}
	return "▫️"
}
