package slack

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"legwork/bot"
	"legwork/bot/markdown"

	slackgo "github.com/slack-go/slack"
)

// actionPrefix begins the action ids of legwork's buttons.
const actionPrefix = "legwork"

// Limits of Block Kit (docs.slack.dev/reference/block-kit/blocks), in characters
// and with a margin.
const (
	maxFallback = 3000 // of the text beside blocks: an edit takes 4,000
	maxPlain    = 3900 // of a text without blocks
	maxSection  = 2900
	maxHeader   = 150
	maxLabel    = 75
	maxContext  = 2000
	maxButtons  = 25
	maxLines    = 8000 // of a board's items together
	maxLine     = 200
	maxCard     = 250 // of a card's title
)

// look is how a draft appears in one message.
type look struct {
	text   string // mrkdwn: for notifications, and for when Slack refuses the blocks
	blocks []slackgo.Block
}

// options are the arguments of a message with that look.
func (l look) options() slackgo.MsgOption {
	return slackgo.MsgOptionCompose(text(l.text), slackgo.MsgOptionBlocks(l.blocks...), quiet())
}

func text(t string) slackgo.MsgOption { return slackgo.MsgOptionText(t, false) }

// quiet turns off link previews: a link with data in its address would send them
// to its server.
func quiet() slackgo.MsgOption {
	return slackgo.MsgOptionCompose(slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl())
}

// native is a block of an answer.
type native struct{ markdown.Block }

// BlockType implements slackgo.Block.
func (b native) BlockType() slackgo.MessageBlockType { return slackgo.MessageBlockType(b.Type) }

// ID implements slackgo.Block.
func (b native) ID() string { return "" }

// looks returns how a draft can be shown, the best first: with code and a table in
// Slack's own form, as Markdown in blocks, as plain text in blocks, as plain text
// alone.
func looks(d bot.Draft) []look {
	if d.Board != nil && d.Text == "" || d.Kind == bot.KindBoard && d.Board != nil {
		return []look{board(*d.Board, d.Buttons), {text: fit(boardText(*d.Board), maxFallback)}}
	}
	p := part(d)
	rich := look{text: fit(p.plain, maxFallback), blocks: append([]slackgo.Block{slackgo.NewMarkdownBlock("", p.rich)}, footerBlocks(d)...)}
	var sections []slackgo.Block
	for _, chunk := range chunks(p.plain, maxSection) {
		sections = append(sections, slackgo.NewSectionBlock(plainText(chunk), nil, nil))
	}
	bare := look{text: rich.text, blocks: append(sections, footerBlocks(d)...)}
	all := []look{rich, bare, {text: fit(p.plain, maxPlain)}}
	if len(p.blocks) == 0 {
		return all
	}
	var own []slackgo.Block
	for _, b := range p.blocks {
		own = append(own, native{b})
	}
	return append([]look{{text: rich.text, blocks: append(own, footerBlocks(d)...)}}, all...)
}

// piece is the text of one message of a draft.
type piece struct {
	blocks []markdown.Block // with code and a table in Slack's own form; empty when there are none
	rich   string           // Markdown for a markdown block
	plain  string           // without markup, not escaped
}

// pieces splits a draft's text into messages; there is at least one.
func pieces(d bot.Draft) []piece {
	said := d.Text
	if d.Failed {
		said = "⚠️ " + said
	}
	var all []piece
	for _, p := range markdown.Slack(said) {
		all = append(all, piece{blocks: p.Blocks, rich: p.MarkdownText, plain: p.Text})
	}
	if len(all) == 0 {
		all = append(all, piece{rich: "…", plain: "…"})
	}
	return all
}

// part is the piece that a draft shows.
func part(d bot.Draft) piece {
	all := pieces(d)
	return all[min(max(d.Part, 1), len(all))-1]
}

// Split gives the parts of a draft, each of which fits into one message. The
// last one alone has the buttons and the footer.
func (s *Slack) Split(d bot.Draft) []bot.Draft {
	if d.IsFile() {
		return []bot.Draft{d}
	}
	n := len(pieces(d))
	if d.Board != nil || n == 1 {
		return []bot.Draft{d}
	}
	return d.Parts(n)
}

// footerBlocks is the footer line and the buttons under a text.
func footerBlocks(d bot.Draft) []slackgo.Block {
	var blocks []slackgo.Block
	if d.Footer != "" {
		blocks = append(blocks, slackgo.NewContextBlock("", plainText(cut(d.Footer, maxContext))))
	}
	return append(blocks, buttons(d.Buttons)...)
}

func buttons(all []bot.Button) []slackgo.Block {
	if len(all) == 0 {
		return nil
	}
	var elements []slackgo.BlockElement
	for i, b := range all[:min(len(all), maxButtons)] {
		label := cut(cmp.Or(oneLine(b.Label), "…"), maxLabel)
		button := slackgo.NewButtonBlockElement(fmt.Sprintf("%s.%d", actionPrefix, i), b.Data, plainText(label))
		elements = append(elements, button.WithStyle(style(b.Style)))
	}
	return []slackgo.Block{slackgo.NewActionBlock("", elements...)}
}

// style is a button's style as Slack names it; empty for those it does not know.
func style(s string) slackgo.Style {
	return map[string]slackgo.Style{bot.StylePrimary: slackgo.StylePrimary, bot.StyleDanger: slackgo.StyleDanger}[s]
}

func plainText(t string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, t, false, false)
}

// board draws a board as blocks; without items it is one line.
func board(b bot.Board, under []bot.Button) look {
	l := look{text: fit(boardText(b), maxFallback)}
	if len(b.Items) > 0 && b.Title != "" {
		l.blocks = append(l.blocks, slackgo.NewHeaderBlock(plainText(cut(oneLine(b.Title), maxHeader))))
	}
	for _, chunk := range chunks(strings.Join(lines(b), "\n"), maxSection) {
		l.blocks = append(l.blocks, slackgo.NewSectionBlock(plainText(chunk), nil, nil))
	}
	if b.Status != "" {
		l.blocks = append(l.blocks, slackgo.NewContextBlock("", boardStatus(b)))
	}
	l.blocks = append(l.blocks, buttons(under)...)
	return l
}

// boardStatus is what a task does now, as a link to the task where there is one.
func boardStatus(b bot.Board) *slackgo.TextBlockObject {
	status := cut(oneLine(b.Status), maxContext)
	if b.Link == "" {
		return plainText(status)
	}
	return slackgo.NewTextBlockObject(slackgo.MarkdownType, "<"+b.Link+"|"+markdown.SlackEscape(status)+">", false, true)
}

// boardText is a board in words, for notifications.
func boardText(b bot.Board) string {
	if len(b.Items) == 0 {
		return oneLine(b.Status)
	}
	return strings.Join(append([]string{oneLine(b.Title), oneLine(b.Status)}, lines(b)...), "\n")
}

// lines are the items, as many as fit.
func lines(b bot.Board) []string {
	var all []string
	length := 0
	for i, item := range b.Items {
		line := icon(item.State) + " " + describe(item, maxLine)
		if length += utf8.RuneCountInString(line) + 1; length > maxLines {
			return append(all, fmt.Sprintf("… +%d", len(b.Items)-i))
		}
		all = append(all, line)
	}
	return all
}

// describe is an item in one line: title, group, what is being called, time.
func describe(i bot.Item, limit int) string {
	var tail strings.Builder
	spent := ""
	if i.Elapsed > 0 {
		spent = bot.Clock(i.Elapsed)
	}
	for _, word := range []string{i.Group, i.Doing, spent} {
		if word != "" {
			tail.WriteString(" · " + cut(oneLine(word), limit/5))
		}
	}
	return cut(oneLine(i.Title), limit-len([]rune(tail.String()))) + tail.String()
}

// icon is the sign of an item's state.
func icon(state string) string {
	return cmp.Or(map[string]string{"working": "⏳", "waiting": "✋", "done": "✅", "failed": "❌", "skipped": "➖"}[state], "⬜")
}

// fit escapes a text and cuts it so that the result has at most limit
// characters.
func fit(t string, limit int) string {
	room := limit - 1
	for i, r := range t {
		size := 1
		switch r {
		case '&':
			size = len("&amp;")
		case '<', '>':
			size = len("&lt;")
		}
		if room -= size; room < 0 {
			return markdown.SlackEscape(t[:i]) + "…"
		}
	}
	return markdown.SlackEscape(t)
}

// oneLine joins the lines of a text and removes marks that change its direction.
func oneLine(t string) string { return strings.Join(strings.Fields(bot.Clean(t)), " ") }

// chunks cuts a text at line ends into pieces of at most limit characters.
func chunks(t string, limit int) []string {
	var all []string
	for t != "" {
		head := t
		if runes := []rune(t); len(runes) > limit {
			head = string(runes[:limit])
			if i := strings.LastIndexByte(head, '\n'); i > 0 {
				head = head[:i+1]
			}
		}
		all = append(all, head)
		t = t[len(head):]
	}
	return all
}
