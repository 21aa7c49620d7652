package telegramfake

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Transcript draws a chat as a person sees it in the end: who said what, with
// *bold*, _italic_, `code` and [buttons], each message in its last state, and
// what was pressed.
func (s *Server) Transcript(chatID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	var b strings.Builder
	for _, e := range c.history {
		switch e.Kind {
		case EventMessage:
			if m := c.messages[e.Message.ID]; m != nil {
				c.draw(&b, "", *m)
			}
		case EventPress, EventToast:
			c.drawPress(&b, e)
		}
	}
	return b.String()
}

// Picture draws one message of a chat as a person sees it now.
func (s *Server) Picture(chatID int64, id int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	var b strings.Builder
	if m := c.messages[id]; m != nil {
		c.draw(&b, "", *m)
	}
	return strings.TrimSpace(b.String())
}

// Frames draws everything that was to be seen in a chat, one after the other:
// also each edit and each preview.
func (s *Server) Frames(chatID int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	var b strings.Builder
	for _, e := range c.history {
		switch e.Kind {
		case EventMessage:
			c.draw(&b, "", e.Message)
		case EventEdit:
			c.draw(&b, fmt.Sprintf(" (edits message %d)", e.Message.ID), e.Message)
		case EventDraft:
			if e.Message.Text == "" {
				e.Message.Text = "..."
			}
			c.draw(&b, " (is writing)", e.Message)
		case EventDelete:
			fmt.Fprintf(&b, "%s (message %d is deleted)\n\n", e.Message.From.Name, e.Message.ID)
		case EventPress, EventToast:
			c.drawPress(&b, e)
		}
	}
	return b.String()
}

func (c *chat) drawPress(b *strings.Builder, e Event) {
	if e.Kind == EventPress {
		fmt.Fprintf(b, "%s taps [%s]\n\n", e.Message.From.Name, e.Message.Text)
		return
	}
	fmt.Fprintf(b, "(%s sees: %s)\n\n", e.Message.From.Name, e.Message.Text)
}

func (c *chat) draw(b *strings.Builder, what string, m Message) {
	b.WriteString(m.From.Name)
	if topic := c.topics[m.Topic]; topic != "" {
		b.WriteString(" in " + topic)
	}
	if to := c.messages[m.ReplyTo]; to != nil {
		fmt.Fprintf(b, " (to %s: %s)", to.From.Name, shorten(to.Text))
	}
	b.WriteString(what + "\n")
	text := Drawn(m.Text, m.Entities)
	if m.Media != "" {
		text = strings.TrimSpace("(" + m.media() + ") " + text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	for _, row := range m.Buttons {
		b.WriteString(" ")
		for _, button := range row {
			b.WriteString(" [" + button.Text + "]")
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func shorten(text string) string {
	const most = 30
	line, _, _ := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return line
}

// Drawn is a text with its formatting in plain characters.
func Drawn(text string, entities []Entity) string {
	units := utf16.Encode([]rune(text))
	var out []uint16
	quoted := 0
	for at := 0; at <= len(units); at++ {
		for _, e := range slices.Backward(entities) {
			if e.Offset+e.Length == at {
				out = append(out, utf16.Encode([]rune(e.closing()))...)
				if strings.HasSuffix(e.Type, "blockquote") {
					quoted--
				}
			}
		}
		for _, e := range entities {
			if e.Offset == at {
				out = append(out, utf16.Encode([]rune(e.opening()))...)
				if strings.HasSuffix(e.Type, "blockquote") {
					quoted++
				}
			}
		}
		if at == len(units) {
			break
		}
		out = append(out, units[at])
		if units[at] == '\n' && quoted > 0 {
			out = append(out, '>', ' ')
		}
	}
	return string(utf16.Decode(out))
}

func (e Entity) opening() string {
	switch e.Type {
	case "bold":
		return "*"
	case "italic":
		return "_"
	case "underline":
		return "__"
	case "strikethrough":
		return "~"
	case "spoiler":
		return "||"
	case "code":
		return "`"
	case "pre":
		return "```" + e.Language + "\n"
	case "blockquote", "expandable_blockquote":
		return "> "
	case "text_link":
		return "["
	}
	return ""
}

func (e Entity) closing() string {
	switch e.Type {
	case "pre":
		return "\n```"
	case "text_link":
		return "](" + e.URL + ")"
	case "blockquote", "expandable_blockquote":
		return ""
	}
	return e.opening()
}
