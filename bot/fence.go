package bot

import (
	"strings"
	"unicode"
)

// Fence is content as a fenced block of Markdown, whatever content holds: the
// fence is longer than every run of backticks in it. info is the language, such
// as "json", or empty.
func Fence(content, info string) string {
	longest, run := 2, 0
	for i := range len(content) {
		if content[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	info = strings.Map(func(c rune) rune {
		if c == '`' || unicode.IsSpace(c) || unicode.IsControl(c) {
			return -1
		}
		return c
	}, info)
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return fence + info + "\n" + content + fence + "\n"
}
