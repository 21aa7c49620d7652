package slackfake

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

// Transcript draws a channel as people see it: who wrote, threads indented,
// task cards with icons, buttons in brackets. There are no times in it, so that
// it stays the same from run to run.
func (s *workspace) Transcript(channel string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil {
		return ""
	}
	var b strings.Builder
	title := "#" + c.Name
	if c.User != "" {
		title = s.name(c.User) + " and " + BotName
	}
	b.WriteString(title + "\n")
	for _, m := range s.messages[channel] {
		if m.Thread == "" && !m.Deleted {
			b.WriteString("\n" + s.drawMessage(m, ""))
			s.drawThread(&b, m)
		}
	}
	return b.String()
}

func (s *workspace) drawThread(b *strings.Builder, parent *Message) {
	for _, m := range s.messages[parent.Channel] {
		if m.Thread == parent.TS && !m.Deleted {
			b.WriteString("  │\n" + s.drawMessage(m, "  │ "))
		}
	}
	st := s.statuses[parent.Channel+" "+parent.TS]
	if st == nil {
		return
	}
	var foot []string
	if st.Text != "" && s.o.Now().Sub(st.At) < s.span(statusLife) {
		foot = append(foot, BotName+" "+st.Text)
	}
	if st.Session == "processing" {
		foot = append(foot, "[Stop]")
	}
	if len(foot) > 0 {
		b.WriteString("  │\n  └ " + strings.Join(foot, " ") + "\n")
	}
}

func (s *workspace) name(user string) string {
	if u := s.users[user]; u != nil {
		return u.Name
	}
	return user
}

// drawMessage draws a message, each line after the margin. The caller holds the
// lock.
func (s *workspace) drawMessage(m *Message, margin string) string {
	s.age(m)
	head := s.name(m.User)
	if m.To != "" {
		head += " (only " + s.name(m.To) + " sees this)"
	}
	lines := append([]string{head}, indent(s.Shown(*m))...)
	if len(m.Reactions) > 0 {
		lines = append(lines, "  :"+strings.Join(m.Reactions, ": :")+":")
	}
	return margin + strings.Join(lines, "\n"+margin) + "\n"
}

func indent(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight("  "+lines[i], " ")
	}
	return lines
}

// Shown is what a person reads in a message: its blocks, or its text where it
// has none, or what was streamed.
func (s *workspace) Shown(m Message) string {
	var parts []string
	if m.Stream != nil {
		parts = append(parts, m.Stream.draw())
	}
	for _, f := range m.Files {
		parts = append(parts, fmt.Sprintf("📄 %s, %d bytes", f.Title, len(f.Content)))
	}
	var blocks []map[string]any
	_ = json.Unmarshal(m.allBlocks(), &blocks) // checked before
	for i := range parts {
		parts[i] = s.plain(parts[i])
	}
	for _, block := range blocks {
		drawn := drawBlock(block)
		if oneOf(block["type"], "rich_text table") { // their text is shown as it is
			drawn = userMark.ReplaceAllStringFunc(drawn, func(found string) string { return "@" + s.name(strings.Trim(found, "\x00")) })
		} else {
			drawn = s.plain(drawn)
		}
		parts = append(parts, drawn)
	}
	if len(blocks) == 0 && m.Stream == nil {
		text := m.Text
		if m.Edits > 0 {
			text += " (edited)"
		}
		parts = append(parts, s.plain(text))
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n")
}

// userMark is a person in rich text, until the name is filled in.
var userMark = regexp.MustCompile("\x00\\w+\x00")

var (
	mention = regexp.MustCompile(`<@(\w+)>`)
	link    = regexp.MustCompile(`<(https?://[^|>\s]+)\|([^>]+)>`)
	bare    = regexp.MustCompile(`<(https?://[^|>\s]+)>`)
)

// plain replaces what Slack shows in other words than it is written.
func (s *workspace) plain(text string) string {
	text = mention.ReplaceAllStringFunc(text, func(found string) string { return "@" + s.name(found[2:len(found)-1]) })
	text = link.ReplaceAllString(text, "$2 ($1)")
	return html.UnescapeString(bare.ReplaceAllString(text, "$1"))
}

func icon(status string) string {
	icons := map[string]string{"in_progress": "◐", "complete": "✓", "error": "✗"}
	return or(icons[status], "○")
}

func (st *Stream) draw() string {
	var lines []string
	if st.Title != "" {
		lines = append(lines, "▾ "+st.Title)
	}
	for _, t := range st.Tasks {
		lines = append(lines, drawTask(t)...)
	}
	text := st.Text
	switch st.State {
	case StreamLive:
		text += "▌"
	case StreamExpired:
		text += " ⚠"
	case StreamStopped:
		text += " ■"
	}
	return strings.Join(append(lines, strings.TrimSpace(text)), "\n")
}

func drawTask(t Task) []string {
	lines := []string{icon(t.Status) + " " + t.Title}
	for _, more := range []string{t.Details, t.Output} {
		if more != "" {
			lines = append(lines, indent(more)...)
		}
	}
	return lines
}

func drawBlock(block map[string]any) string {
	switch block["type"] {
	case "divider":
		return "───"
	case "actions":
		return strings.Join(each(block["elements"], drawElement), " ")
	case "context":
		return strings.Join(each(block["elements"], drawElement), " ")
	case "section":
		parts := append([]string{drawElement(block["text"])}, each(block["fields"], drawElement)...)
		if block["accessory"] != nil {
			parts = append(parts, drawElement(block["accessory"]))
		}
		return strings.Trim(strings.Join(parts, "\n"), "\n")
	case "plan":
		lines := []string{fmt.Sprint("▾ ", block["title"])}
		return strings.Join(append(lines, each(block["tasks"], drawCard)...), "\n")
	case "task_card":
		return drawCard(block)
	case "table":
		return strings.Join(each(block["rows"], func(row any) string { return strings.Join(each(row, flatText), " | ") }), "\n")
	case "header":
		return drawElement(block["text"])
	}
	return flatText(block)
}

func each(list any, draw func(any) string) []string {
	items, _ := list.([]any)
	drawn := make([]string, len(items))
	for i, item := range items {
		drawn[i] = draw(item)
	}
	return drawn
}

// drawElement draws a text object, a button or an image.
func drawElement(v any) string {
	e, _ := v.(map[string]any)
	switch e["type"] {
	case "button":
		return "[" + label(e) + "]"
	case "image":
		return fmt.Sprint("🖼 ", e["alt_text"])
	}
	text, _ := e["text"].(string)
	return text
}

func drawCard(v any) string {
	card, _ := v.(map[string]any)
	status, _ := card["status"].(string)
	t := Task{Title: fmt.Sprint(card["title"]), Status: status, Details: flatText(card["details"]), Output: flatText(card["output"])}
	return strings.Join(drawTask(t), "\n")
}

// flatText is the text inside rich text, each of its blocks on lines of its own.
func flatText(v any) string {
	e, _ := v.(map[string]any)
	if text, is := e["text"].(string); is {
		if url, linked := e["url"].(string); linked {
			text += " (" + url + ")"
		}
		return text
	}
	if url, linked := e["url"].(string); linked {
		return url
	}
	parts := each(e["elements"], flatText)
	switch e["type"] {
	case "rich_text":
		return strings.Join(parts, "\n")
	case "rich_text_list":
		return "• " + strings.Join(parts, "\n• ")
	case "rich_text_preformatted":
		return "```\n" + strings.Join(parts, "") + "\n```"
	case "rich_text_quote":
		return "> " + strings.ReplaceAll(strings.Join(parts, ""), "\n", "\n> ")
	case "user":
		return fmt.Sprintf("\x00%v\x00", e["user_id"])
	case "emoji":
		return fmt.Sprintf(":%v:", e["name"])
	}
	return strings.Join(parts, "")
}
