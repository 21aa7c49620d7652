package markdown

// What a part for Slack holds at most: markdown_text is refused beyond 12,000
// characters, and so is a table of more than 100 rows or 20 columns, or tables
// with more than 10,000 characters in a message.
const (
	slackUnits      = 12_000
	slackReserve    = 1_800 // of it for what is closed and opened again
	slackLine       = 6_000
	slackHead       = 1_200 // of it for the head of a table
	slackTableText  = 9_000
	maxTableRows    = 100
	maxTableColumns = 20
)

var slackStyle = flowStyle{
	bullets:  []string{"- "},
	task:     "- ",
	quote:    "> ",
	headings: true,
	cells:    true,
	columns:  100,
}

// Slack shows Markdown as Slack's messages, in order and none of them blank.
// MarkdownText is Markdown of at most 12,000 UTF-16 units: a code block that is
// cut is closed and opened again, the head of a cut table is repeated. Nothing
// in it mentions anybody or loads an image; HTML is shown as text, and so are
// links that lead elsewhere than to http and https. Behind a link stands its
// host unless its text shows it. Text is the same without markup; SlackEscape
// makes it fit for Slack's text. Nothing of the text is lost. No text gives no
// parts.
func Slack(markdown string) []Part {
	f := newFlow(markdown, slackStyle)
	s := slackWriter{flow: f, all: f.slackLines()}
	s.measureFences()
	parts := []Part{}
	for from := 0; from < len(s.all); {
		to := s.end(from)
		text := s.plain(from, to)
		if !blank(text) {
			parts = append(parts, Part{Text: text, MarkdownText: s.markdown(from, to)})
		}
		from = to
	}
	return parts
}

// SlackEscape makes plain text safe in a text field of Slack, which knows the
// same three escapes as Telegram.
func SlackEscape(text string) string { return TelegramEscape(text) }
