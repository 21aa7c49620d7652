package terminal

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
)

// task is a running task on the screen.
type task struct {
	id        string
	replyTo   string // id of the message that asked
	board     *bot.Board
	since     time.Time // when board came; running times count from there
	text      string    // of the answer so far
	questions []question

	rendered struct { // text as it was rendered last
		text  string
		width int
		lines []string
	}
}

// maxLive is how many bytes of a streamed text are rendered; only the end is
// visible.
const maxLive = 32 << 10

// painter turns tasks into rows of a width.
type painter struct {
	t     *Terminal
	width int
	color bool
	now   time.Time

	lastAsked string // id of the message that is shown right above
	open      string // id of the question that keys decide
}

// row is one line of the display.
func (p painter) row(pieces ...piece) string { return joinPieces(pieces, p.width, p.color) }

// markdown renders a text.
func (p painter) markdown(text string) []string {
	s := markdown.Terminal(text, min(p.width, maxText), markdown.Style{Color: p.color})
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// taskRows are the rows of one task: its stream, which may be cut, between head and
// tail, which are shown whole.
type taskRows struct{ head, stream, tail []string }

// tasks are the rows of all tasks, at most height of them.
func (p painter) tasks(all []*task, height int) []string {
	scenes := make([]taskRows, len(all))
	used, streaming := 0, 0
	measure := func(short bool) {
		used, streaming = 0, 0
		for i, t := range all {
			scenes[i] = p.taskRows(t, short)
			if !short && i > 0 && len(scenes[i].stream)+len(scenes[i-1].stream) > 0 {
				scenes[i].head = append([]string{""}, scenes[i].head...)
			}
			used += len(scenes[i].head) + len(scenes[i].tail)
			if len(scenes[i].stream) > 0 {
				streaming++
			}
		}
	}
	if measure(false); used+2*streaming > height {
		measure(true)
	}
	var rows []string
	for _, s := range scenes {
		rows = append(rows, s.head...)
		if len(s.stream) > 0 {
			room := max((height-used)/streaming, 2)
			used, streaming = used+min(room, len(s.stream)), streaming-1
			rows = append(rows, s.stream[max(0, len(s.stream)-room):]...)
		}
		rows = append(rows, s.tail...)
	}
	if over := len(rows) - height; over > 0 && height > 0 {
		rows = append([]string{p.row(piece{"…", faint})}, rows[over+1:]...)
	}
	return rows
}

// taskRows draws a task. A streamed answer is where the final one will be, and its
// status where the footer will be. A short view omits items that are done or not
// begun, and blank lines.
func (p painter) taskRows(t *task, short bool) taskRows {
	s := taskRows{stream: p.stream(t)}
	if len(s.stream) == 0 || short {
		s.head = append(p.board(t, short), p.questions(t)...)
		return s
	}
	if t.board != nil {
		s.head = p.heading(t, t.replyTo, p.now.Sub(t.since))
		s.tail = []string{"", p.row(p.sign(t), piece{oneLine(t.board.Status), faint})}
	}
	s.tail = append(s.tail, p.questions(t)...)
	return s
}

// heading is the rows above the answer of a task: its question, unless it is
// shown right above, and the checklist. more is the time since the board was made.
func (p painter) heading(t *task, replyTo string, more time.Duration) []string {
	if t.board == nil {
		return nil
	}
	var rows []string
	if replyTo == "" || replyTo != p.lastAsked {
		rows = append(rows, p.row(piece{"↳ ", cyan}, piece{oneLine(t.board.Title), bold}))
	}
	for _, it := range t.board.Items {
		rows = append(rows, p.item(it, more))
	}
	if len(rows) > 0 {
		rows = append(rows, "")
	}
	return rows
}

// sign is what a task's status begins with: a spinner, or a question mark while the
// task rests until a person acts.
func (p painter) sign(t *task) piece {
	if t.board.Waiting {
		return piece{icon("waiting") + " ", yellow}
	}
	return piece{spinner(p.now) + " ", cyan}
}

// board is the checklist of a task; a short one shows only active items.
func (p painter) board(t *task, short bool) []string {
	if t.board == nil {
		return nil
	}
	status := " · " + oneLine(t.board.Status)
	title := cutWords(oneLine(t.board.Title), max(p.width-bot.TextWidth(status)-2, p.width/2))
	rows := []string{p.row(p.sign(t), piece{title, bold}, piece{status, faint})}
	for _, it := range t.board.Items {
		if !short || it.State == "working" || it.State == "waiting" {
			rows = append(rows, p.item(it, p.now.Sub(t.since)))
		}
	}
	return rows
}

// item is the row of a sub-task. more is the time since its board was
// made.
func (p painter) item(it bot.Item, more time.Duration) string {
	pieces := []piece{{"  " + icon(it.State) + " ", stateColor(it.State)}, {oneLine(group(p.t, it)) + "  ", faint}}
	var end []piece
	if it.State == "working" {
		it.Elapsed += more
	}
	if it.Elapsed > 0 {
		end = append(end, piece{"  " + elapsed(it.Elapsed), faint})
	}
	if it.Doing != "" && it.State == "working" {
		end = append(end, piece{"  " + oneLine(p.t.text("board.calling", map[string]any{"Tool": it.Doing})), cyan})
	}
	room := p.width
	for _, x := range append(pieces, end...) {
		room -= bot.TextWidth(x.text)
	}
	look := plain
	if it.State == "todo" || it.State == "skipped" {
		look = faint
	}
	pieces = append(pieces, piece{cutWords(oneLine(it.Title), max(room, p.width/3)), look})
	return p.row(append(pieces, end...)...)
}

// stream is the answer so far.
func (p painter) stream(t *task) []string {
	if t.text == "" {
		return nil
	}
	if r := &t.rendered; r.text != t.text || r.width != p.width {
		text := t.text
		if len(text) > maxLive {
			text = text[len(text)-maxLive:]
			if i := strings.Index(text, "\n\n"); i >= 0 {
				text = text[i+2:]
			}
		}
		r.text, r.width, r.lines = t.text, p.width, p.markdown(markdown.Partial(text))
	}
	return t.rendered.lines
}

// questions are the rows of a task's questions. Keys decide one question at a
// time; the others are shown as one line each.
func (p painter) questions(t *task) []string {
	var rows []string
	for _, q := range t.questions {
		if q.id != p.open {
			rows = append(rows, p.row(piece{"? ", faint}, piece{q.head, faint}))
			continue
		}
		rows = append(rows, p.questionText(q)...)
		for i, b := range q.buttons {
			rows = append(rows, p.row(piece{"  " + q.key(i) + " ", yellow}, piece{oneLine(b.Label), buttonColor(b.Style)}))
		}
		if len(q.buttons) > 0 {
			rows = append(rows, p.row(piece{"  " + p.t.text(q.hint(), nil), faint}))
		}
	}
	return rows
}

// menu is the rows below a notice with buttons.
func (p painter) menu(n menu) []string {
	if len(n.buttons) == 0 {
		return nil
	}
	rows := []string{""}
	for i, b := range n.buttons {
		label := oneLine(b.Label)
		if label == n.key(i) { // the text has a list with these numbers
			label = ""
		}
		rows = append(rows, p.row(piece{"  " + n.key(i) + " ", yellow}, piece{label, buttonColor(b.Style)}))
	}
	return append(rows, p.row(piece{"  " + p.t.text("terminal.menu", nil), faint}))
}

// questionText is the text of a question, or its first line when the scrollback shows
// all of it.
func (p painter) questionText(q question) []string {
	if q.above {
		return []string{p.row(piece{"? ", yellow}, piece{q.head + " …", plain})}
	}
	var rows []string
	inner := p
	inner.width = max(p.width-2, 1)
	for i, line := range inner.markdown(q.text) {
		mark := "  "
		if i == 0 {
			mark = p.row(piece{"? ", yellow})
		}
		rows = append(rows, mark+line)
	}
	return rows
}

// decisionRow is the row about a decision that a key made.
func (p painter) decisionRow(q question, label string) string {
	text := q.head + " …"
	if !q.above {
		text = oneLine(markdown.Plain(q.text))
	}
	text = cutWords(text, max(p.width-bot.TextWidth(label)-5, p.width/3))
	return p.row(piece{"? ", yellow}, piece{text, plain}, piece{" → ", faint}, piece{label, bold})
}

// firstLine is the first line of Markdown with a text, without markup.
func firstLine(text string) string {
	for line := range strings.SplitSeq(markdown.Plain(text), "\n") {
		if line = oneLine(line); line != "" {
			return line
		}
	}
	return ""
}

// buttonColor is the colour of a button's label.
func buttonColor(style string) string {
	return map[string]string{bot.StylePrimary: bold, bot.StyleDanger: red}[style]
}

// echo is what a person sent, for the scrollback.
func (p painter) echo(text string) []string {
	const most = 20
	e := editor{}
	e.set(text)
	all, _, _ := e.layout(max(p.width-3, 1))
	rows := []string{""}
	for i, line := range all {
		mark := "› "
		if i > 0 {
			mark = "  "
		}
		if i == most {
			rows = append(rows, p.row(piece{fmt.Sprintf("  … +%d", len(all)-most), faint}))
			break
		}
		rows = append(rows, p.row(piece{mark, cyan}, piece{line, bold}))
	}
	return rows
}

// maxText is the widest that text is shown, in columns: longer lines are hard
// to read.
const maxText = 120

// shownDrafts remembers the latest draft of each message, by the message's id.
type shownDrafts map[string][sha256.Size]byte

// seen notes a draft and reports whether its message was the same before.
func (s shownDrafts) seen(id string, d bot.Draft) bool {
	sum := sha256.Sum256([]byte(d.Text + "\x00" + fmt.Sprint(d.Buttons)))
	old, found := s[id]
	s[id] = sum
	return found && old == sum
}

// icon stands for the state of a sub-task.
func icon(state string) string {
	return cmp.Or(map[string]string{"todo": "○", "working": "◐", "waiting": "?", "done": "✓", "failed": "✗"}[state], "–")
}

// modelGroup is the group of sub-tasks that have no tools.
const modelGroup = "llm_tool"

// group is the name of a sub-task's group, for people.
func group(t *Terminal, it bot.Item) string {
	if it.Group == modelGroup {
		return t.text("board.model", nil)
	}
	return it.Group
}

// fileLines shows a file as lines between two rules, with invisible characters as
// escapes. Lines are not broken, so that they can be copied.
func fileLines(f *bot.File, width int) []string {
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

// stateColor is the colour of a state.
func stateColor(state string) string {
	return cmp.Or(map[string]string{"done": green, "failed": red, "working": cyan, "waiting": yellow}[state], faint)
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

// spinner is the picture of a running item at a time.
func spinner(now time.Time) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[now.UnixMilli()/spinEvery.Milliseconds()%int64(len(frames))])
}

const spinEvery = 100 * time.Millisecond

// oneLine makes one safe line of a text from outside.
func oneLine(s string) string { return strings.Join(strings.Fields(bot.Clean(s)), " ") }

// cutWords cuts one line to a width after a word. It cuts inside a word only when
// that is longer than half the width.
func cutWords(s string, width int) string {
	cut := bot.CutText(s, width)
	if cut == s {
		return s
	}
	kept := strings.TrimSuffix(cut, "…")
	if strings.HasPrefix(s[len(kept):], " ") {
		return strings.TrimRight(kept, " ") + "…"
	}
	if i := strings.LastIndexByte(kept, ' '); i >= len(kept)/2 {
		kept = strings.TrimRight(kept[:i], " ")
	}
	return kept + "…"
}

// piece is text in one colour.
type piece struct{ text, color string }

// joinPieces joins pieces to a line of at most width columns.
func joinPieces(pieces []piece, width int, color bool) string {
	var b strings.Builder
	for _, p := range pieces {
		text := cutWords(p.text, width)
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
