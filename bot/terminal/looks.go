package terminal

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
)

// maxText is the widest that text is shown, in columns: longer lines are hard
// to read.
const maxText = 120

// shown remembers what messages said last, by their ids.
type shown map[string][sha256.Size]byte

// before notes a draft and reports whether its message said the same before.
func (s shown) before(id string, d bot.Draft) bool {
	sum := sha256.Sum256([]byte(d.Text + "\x00" + fmt.Sprint(d.Buttons)))
	old, found := s[id]
	s[id] = sum
	return found && old == sum
}

// icon stands for the state of a sub-task.
func icon(state string) string {
	switch state {
	case "todo":
		return "○"
	case "working":
		return "◐"
	case "waiting":
		return "?"
	case "done":
		return "✓"
	case "failed":
		return "✗"
	}
	return "–"
}

// modelGroup is the group of sub-tasks that have no tools.
const modelGroup = "llm_tool"

// group is what people are told as the group of a sub-task.
func group(t *Terminal, it bot.Item) string {
	if it.Group == modelGroup {
		return t.text("board.model", nil)
	}
	return it.Group
}

// sheet is a file as lines between two rules, with nothing in it that cannot be
// seen. Lines are not broken, so that they can be copied.
func sheet(f *bot.File, width int) []string {
	head := bot.CutText("── "+f.BaseName()+" ", width)
	lines := []string{head + strings.Repeat("─", max(0, width-bot.TextWidth(head)))}
	text := strings.ReplaceAll(bot.Visible(string(f.Content)), "\t", "    ")
	lines = append(lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	return append(lines, strings.Repeat("─", width))
}

// Colours as ANSI codes.
const (
	plain  = ""
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// tint is the colour of a state.
func tint(state string) string {
	switch state {
	case "done":
		return green
	case "failed":
		return red
	case "working":
		return cyan
	case "waiting":
		return yellow
	}
	return faint
}

// elapsed is a running time, shortened: "0.3s", "12s", "2m05s".
func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// spin is the picture of something going on at a time.
func spin(now time.Time) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[now.UnixMilli()/spinEvery.Milliseconds()%int64(len(frames))])
}

const spinEvery = 100 * time.Millisecond

// oneLine makes a text from outside fit for one line.
func oneLine(s string) string { return strings.Join(strings.Fields(bot.Clean(s)), " ") }

// piece is text in one colour.
type piece struct{ text, color string }

// compose joins pieces to a line of at most width columns.
func compose(pieces []piece, width int, color bool) string {
	var b strings.Builder
	for _, p := range pieces {
		text := bot.CutText(p.text, width)
		width -= bot.TextWidth(text)
		if text == "" {
			continue
		}
		if color && p.color != plain {
			b.WriteString("\x1b[" + p.color + "m" + text + "\x1b[0m")
		} else {
			b.WriteString(text)
		}
		if len(text) < len(p.text) {
			break
		}
	}
	return b.String()
}
