package markdown

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"legwork/bot"
)

// fenced are contents that a fenced block must show as they are: arguments of a
// call that a person is to approve.
func fenced() map[string]string {
	rng := rand.New(rand.NewPCG(1, 2))
	mixed := func(lines int) string {
		pieces := []string{"`", "```", "~~~", "``````````", "<b>", "&amp;", "*a*", "_b_", "[x](http://e.com)", "> ", "- ", "1. ", "# ", "|", "\\", `"key": "value",`, "    ", "北京", "😀", "http://e.com", "$x$", "://"}
		var b strings.Builder
		for range lines {
			for range 1 + rng.IntN(6) {
				b.WriteString(pieces[rng.IntN(len(pieces))] + "x")
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	var object strings.Builder
	object.WriteString("{\n")
	for i := range 120 {
		fmt.Fprintf(&object, "  \"key%d\": \"a `value` of ``some`` length\",\n", i)
	}
	object.WriteString("  \"last\": null\n}\n")
	return map[string]string{
		"object":             object.String(),
		"one long line":      `{"a": "` + strings.Repeat("0123456789", 900) + `"}` + "\n",
		"one line of words":  `{"a": "` + strings.Repeat("word and `code` ", 900) + `"}` + "\n",
		"fences inside":      strings.Repeat("```go\nx\n```\n~~~\n````\n", 80),
		"very long runs":     "`" + strings.Repeat("`", 11) + "\n" + strings.Repeat("`", 40) + "x\nx" + strings.Repeat("`", 40) + "\n",
		"mentions":           strings.Repeat("<@U1> <!channel> <#C1>\n", 300),
		"only backticks":     "`````\n",
		"mixed":              mixed(30),
		"much mixed":         mixed(900),
		"indented":           strings.Repeat("        deep {\n", 400),
		"spaces at the ends": "  a  \nb   \n   c\n",
	}
}

var tagsOfCode = regexp.MustCompile(`(?s)<pre>(?:<code class="language-json">)?(.*?)(?:</code>)?</pre>`)

// codeOfTelegram is the code in the parts of a message; each must hold whole blocks.
func codeOfTelegram(t *testing.T, name string, parts []Part) string {
	t.Helper()
	var all []string
	for i, p := range parts {
		if strings.Count(p.Text, "<pre>") != strings.Count(p.Text, "</pre>") {
			t.Errorf("%s: part %d opens and closes another number of blocks: %.300s", name, i+1, p.Text)
		}
		for _, found := range tagsOfCode.FindAllStringSubmatch(p.Text, -1) {
			all = append(all, html.UnescapeString(found[1]))
		}
	}
	return strings.Join(all, "\n")
}

// codeOfSlack is the code in the parts of a message, by the rules of CommonMark.
func codeOfSlack(t *testing.T, name string, parts []Part) string {
	t.Helper()
	var all []string
	for i, p := range parts {
		fence := ""
		for line := range strings.SplitSeq(p.MarkdownText, "\n") {
			run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			switch {
			case fence == "" && len(run) >= 3:
				fence = run
			case fence != "" && len(run) >= len(fence) && strings.TrimSpace(line) == run:
				fence = ""
			case fence != "":
				all = append(all, line)
			}
		}
		if fence != "" {
			t.Errorf("%s: the fence of part %d is not closed: ...%s", name, i+1, p.MarkdownText[max(0, len(p.MarkdownText)-200):])
		}
	}
	return strings.Join(all, "\n")
}

// withoutBreaks takes out what a cut may change: the line breaks.
func withoutBreaks(s string) string { return strings.ReplaceAll(s, "\n", "") }

func TestFencesKeepTheirContent(t *testing.T) {
	for name, content := range fenced() {
		text := "**mail.send** wants to run with:\n\n" + bot.Fence(content, "json") + "\nAllow it?"
		want := withoutBreaks(content)
		if got := withoutBreaks(codeOfTelegram(t, name, Telegram(text))); got != want {
			t.Errorf("%s: Telegram shows\n%s", name, difference(got, want))
		}
		// Slack alone gets invisible marks, which keep mentions and endless fences from working.
		if got := strings.ReplaceAll(withoutBreaks(codeOfSlack(t, name, Slack(text))), "\u2060", ""); got != want {
			t.Errorf("%s: Slack shows\n%s", name, difference(got, want))
		}
		for i, p := range Telegram(text) {
			if n := TelegramLength(p.Text); n > partUnits {
				t.Errorf("%s: part %d for Telegram has %d units", name, i+1, n)
			}
		}
		var shown strings.Builder
		for line := range strings.SplitSeq(Plain(text), "\n") {
			if code, is := strings.CutPrefix(line, "    "); is {
				shown.WriteString(code)
			}
		}
		if got := shown.String(); got != want {
			t.Errorf("%s: a terminal shows\n%s", name, difference(got, want))
		}
	}
}

// difference is where two texts part.
func difference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	around := func(s string) string { return fmt.Sprintf("%+q", s[max(0, min(len(s), n-40)):min(len(s), n+60)]) }
	return fmt.Sprintf("after %d of %d bytes %s, want %s (%d)", n, len(got), around(got), around(want), len(want))
}
