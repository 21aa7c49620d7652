package markdown

var richStyle = flowStyle{
	bullets:  slackStyle.bullets,
	task:     slackStyle.task,
	quote:    slackStyle.quote,
	headings: true,
	cells:    true,
	columns:  slackStyle.columns,
	rich:     true,
}

// TelegramRich writes Markdown for a rich message of Telegram: headings and tables stay, and
// code stays byte for byte. What Telegram would fetch or run does not: images become
// links, HTML is markup or text, and a link whose text does not show its host has it
// behind the text, as Telegram's HTML has it
// (core.telegram.org/bots/api#rich-markdown-style).
func TelegramRich(markdown string) string { return richMarkdown(markdown, &links{telegram: true}) }

func richMarkdown(markdown string, l *links) string {
	f := newFlow(markdown, richStyle, l)
	s := slackWriter{flow: f, all: f.slackLines()}
	if len(s.all) == 0 {
		return ""
	}
	s.measureFences()
	return s.markdown(0, len(s.all))
}
