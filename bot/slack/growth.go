package slack

import (
	"cmp"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// growth is what one call adds to a stream, and what the stream shows after it.
type growth struct {
	chunks  []slackgo.StreamChunk
	title   string
	cards   map[string]string
	open    string
	said    string
	planned bool
}

func (st *stream) begin() growth {
	return growth{title: st.title, cards: maps.Clone(st.cards), open: st.open, said: st.said, planned: st.planned}
}

// commit notes that a growth has been shown.
func (st *stream) commit(g growth) {
	st.title, st.cards, st.open, st.said, st.planned = g.title, g.cards, g.open, g.said, g.planned
}

// boardChunks is what a board adds: the plan's title, and the cards that have
// changed. Before there is a plan, a card of its own says what is going on.
func (st *stream) boardChunks(b bot.Board) growth {
	g := st.begin()
	status := cut(cmp.Or(oneLine(b.Status), oneLine(b.Title), "…"), maxCard)
	if status != g.title {
		g.title = status
		g.chunks = append(g.chunks, slackgo.NewPlanUpdateChunk(status))
	}
	if len(b.Items) == 0 && !g.planned {
		g.open = status
		g.card(beginCard, status, slackgo.TaskCardStatusInProgress)
		return g
	}
	g.planned = true
	g.close()
	for _, item := range b.Items {
		g.card(item.ID, describe(item, maxCard), cardStatus(item.State))
	}
	return g
}

// wordChunks is what words add.
func (st *stream) wordChunks(words string) growth {
	g := st.begin()
	if words == "" {
		return g
	}
	g.close()
	g.said += words
	g.chunks = append(g.chunks, slackgo.NewMarkdownTextChunk(words))
	return g
}

// close ends the card of the time before a plan.
func (g *growth) close() {
	if g.open != "" {
		g.card(beginCard, g.open, slackgo.TaskCardStatusComplete)
		g.open = ""
	}
}

// card puts a card up or changes it. Everything that changes is in its title:
// Slack adds to the other texts of a card instead of replacing them.
func (g *growth) card(id, title string, status slackgo.TaskCardStatus) {
	shown := string(status) + " " + title
	if g.cards[id] == shown {
		return
	}
	g.cards[id] = shown
	c := slackgo.NewTaskUpdateChunk(id, title)
	c.Status = status
	g.chunks = append(g.chunks, c)
}

func cardStatus(state string) slackgo.TaskCardStatus {
	switch state {
	case "working", "waiting":
		return slackgo.TaskCardStatusInProgress
	case "done", "skipped":
		return slackgo.TaskCardStatusComplete
	case "failed":
		return slackgo.TaskCardStatusError
	}
	return slackgo.TaskCardStatusPending
}

// steady is the part of an unfinished text that will not change any more when
// it goes on, as Slack gets it: words in a stream cannot be taken back.
func steady(d bot.Draft) string {
	d.Part = 0
	d.Text = settled(d.Text)
	if strings.TrimSpace(d.Text) == "" {
		return ""
	}
	goesOn, anew := d, d
	goesOn.Text += "x"
	anew.Text += "\n\nz"
	a, b := part(goesOn).rich, part(anew).rich
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n < len(a) && n > 0 && !utf8.RuneStart(a[n]) {
		n--
	}
	return strings.TrimRight(streamable(a[:n]), "\n ")
}

var (
	linked  = regexp.MustCompile(`\[([^\[\]\n]+)\]\(https?://[^\s()]*\)`)
	coded   = regexp.MustCompile("`[^`\n]*`")
	spelled = regexp.MustCompile(`<(https?://[^\s<>` + "`" + `]*)>`)
)

// streamable is Markdown as a stream may show it, with words in the place of
// links: Slack fetches what they lead to unless it is told not to, which it can
// be of posted messages only. The message that the stream becomes has them.
func streamable(markdown string) string {
	markdown = linked.ReplaceAllString(markdown, "$1")
	markdown = spelled.ReplaceAllString(markdown, "`$1`")
	at := 0
	for line := range strings.Lines(markdown) {
		bare := coded.ReplaceAllString(line, "")
		if strings.Contains(bare, "://") || strings.Contains(bare, "www.") {
			return markdown[:at] // one that looks otherwise: the rest comes at the end
		}
		at += len(line)
	}
	return markdown
}

// settled is a text up to where nothing is open that what follows could change:
// not in the middle of a word, of a line with markup, or of a table.
func settled(text string) string {
	text = text[:strings.LastIndexAny(text, " \n")+1]
	for text != "" {
		start := strings.LastIndexByte(text[:len(text)-1], '\n') + 1
		line := text[start:]
		whole := strings.HasSuffix(line, "\n")
		open := !whole && strings.ContainsAny(line, "[]<>`*_~#!\\") || strings.Contains(line, "|") ||
			strings.Count(line, "`")%2 != 0 || strings.Count(line, "**")%2 != 0 || strings.Count(line, "[") != strings.Count(line, "]")
		if !open {
			return text
		}
		text = text[:start]
	}
	return ""
}
