package tools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"legwork/internal/clip"
)

// Bounds on what a server may say of itself to the planner.
const (
	maxServerText = 300 // bytes of one server
	maxGroupText  = 600 // bytes of a group
)

// description falls back to what built-in and trusted servers say of themselves, and
// to the names of the tools of the others: a sentence of theirs would stand in the
// system text of every plan.
func (g *group) description() string {
	if g.cfg.Description != "" {
		return g.cfg.Description
	}
	var said, names []string
	for _, s := range g.servers {
		v := s.view()
		if v == nil {
			continue
		}
		if first := firstSentences(v.catalog.Instructions, maxServerText); first != "" && s.trusted() {
			said = append(said, first)
			continue
		}
		for tool := range v.tools {
			if g.has(s, tool) {
				names = append(names, modelName(tool))
			}
		}
	}
	var parts []string
	if len(said) > 0 {
		parts = append(parts, firstSentences(strings.Join(said, " "), maxGroupText))
	}
	if len(names) > 0 {
		slices.Sort(names)
		parts = append(parts, "Tools: "+shortened(strings.Join(names, ", "), maxServerText))
	}
	if len(parts) == 0 {
		return "Tools of " + strings.Join(g.cfg.Servers, ", ")
	}
	return strings.Join(parts, " ")
}

// trusted reports that what the server says of itself may stand in a system text.
func (m *member) trusted() bool { return m.builtin != "" || m.trustAnnotations }

// Undescribed are the groups, and the servers that are groups of their own, whose
// planner sees nothing but the names of the tools: they have no description, and a
// server that is neither built in nor trusted.
func (c Config) Undescribed() []string {
	var names []string
	for name, g := range c.allGroups() {
		untrusted := func(server string) bool {
			s := c.Servers[server]
			return s.Builtin == "" && !s.TrustAnnotations
		}
		if g.Description == "" && slices.ContainsFunc(g.Servers, untrusted) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// firstSentences is the first sentences of a text that is not ours, on one line and
// without headings. They go into a system prompt, so that nothing but words may
// be in them.
func firstSentences(text string, limit int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	line := oneLine(strings.Join(lines, " "))
	if len(line) <= limit {
		return line
	}
	end := 0
	for i, r := range line {
		after := i + utf8.RuneLen(r)
		if after > limit {
			break
		}
		spaced := strings.ContainsRune(".!?", r) && line[after] == ' '
		if spaced || strings.ContainsRune("。！？", r) {
			end = after
		}
	}
	if end > 0 {
		return line[:end]
	}
	return shortened(line, limit)
}

// oneLine turns line breaks and runs of spaces into single spaces and leaves
// out what cannot be seen.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// shortened cuts a text behind a word and says so. A text without spaces is cut
// anywhere.
func shortened(text string, limit int) string {
	const dots = "..."
	short := clip.Bytes(text, limit-len(dots))
	if len(short) == len(text) {
		return text
	}
	if i := strings.LastIndexByte(short, ' '); i > limit/2 {
		short = strings.TrimRight(short[:i], " ,;:")
	}
	return short + dots
}
