package markdown

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
)

// hostile are texts that make careless renderers slow or deep.
func hostile(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	return map[string]string{
		"brackets":       rep("["),
		"links":          rep("[a]("),
		"nested links":   rep("[a](b "),
		"images":         rep("![["),
		"emphasis":       rep("*a_ "),
		"emphasis pairs": rep("*a **a _"),
		"stars":          rep("*"),
		"strikes":        rep("~a ~~b "),
		"quotes":         rep(">"),
		"quote lines":    rep("> > > > > > > > a\n"),
		"lists":          rep("- "),
		"deep lists":     rep("- - - - - - - a\n"),
		"dash nest":      rep("- + - - ")[:size-1] + "a",
		"star nest":      rep("* ")[:size-1] + "a",
		"equal signs":    rep("a\n===\n"),
		"colons":         rep("http:a:b:"),
		"half table":     "|a|b|\n|-|-|\n" + rep("|c|d\\|`|"),
		"ordered lists":  rep("1. 2) "),
		"fences":         rep("```\n~~~\n"),
		"backticks":      rep("` `` ``` "),
		"backtick runs":  rep("`a``b```c````d"),
		"entities":       rep("&amp;&#x1b;&"),
		"autolinks":      rep("<http://a "),
		"linkify":        rep("www.a.b http://c.d_e "),
		"mails":          rep("a@b.c_"),
		"dots":           rep("http://a."),
		"tags":           rep("<br<br "),
		"backslashes":    rep("\\"),
		"one word":       rep("a"),
		"wide word":      rep("世"),
		"wide table":     rep("|a")[:size/8] + "\n" + rep("|-")[:size/8] + "\n" + rep("a\n")[:size-size/4-2],
		"table head":     rep("|a")[:size/2] + "\n" + rep("|-")[:size/2-1],
		"table rows":     "|a|b|\n|-|-|\n" + rep("|c|d|\n"),
		"blank lines":    rep("\n"),
		"hashes":         rep("# "),
		"setext":         rep("a\n=\n"),
		"escapes":        rep("\x1b]0;x\a"),
		"marks":          rep("e\u0301\u0301"),
		"indent":         rep("    a\n"),
		"spaces":         rep(" "),
		"tabs":           rep("\t"),
		"deep indent":    stairs(size),
		"code marks":     rep("a `` b\n```x\n"),
		"code spans":     rep("`a`*b*"),
		"tiny links":     rep("[a](http://b) "),
		"long addresses": rep("[a](http://b/" + strings.Repeat("c&", 400) + ") "),
		"titles":         rep("[a](http://b \"" + strings.Repeat("t", 2000) + "\")"),
		"mentions":       rep("<!channel> `<@U1>` "),
		"ampersands":     rep("&lt;&amp;"),
		"many tables":    rep("|a|b|\n|-|-|\n|c|d|\n\n"),
		"many fences":    rep("```go\na\n```\n\n"),
		"fence in quote": rep("> ```\n> a\n\n"),
		"zero width":     rep("\u200b"),
		"families":       rep("👩‍👩‍👧"),
		"flags":          rep("🇩🇪"),
		"formulas":       rep("\\(x^2 \\frac{a}{"),
		"formula groups": "\\(" + rep("{^\\frac")[:size-10] + "\\)",
		"dollars":        rep("$a_{$$b "),
		"dollar lines":   rep("$$\na_1\n"),
		"matrices":       "$$" + rep("\\begin{pmatrix}a&b\\\\")[:min(size, 900)] + "$$",
		"square starts":  rep("\\[x "),
		"tag starts":     rep("<u><sub>"),
		"tag pairs":      rep("<u>a</u><sup>2</sup>"),
		"tag ends":       rep("<u>")[:size/2] + rep("</sub>")[:size/2],
		"html table":     "<table>" + rep("<tr><td>a`|</td></tr>")[:size-20] + "</table>",
		"html lists":     rep("<ul><li>")[:size-10] + "</ul>",
		"html blocks":    rep("<p>a</p>\n\n<div>\n"),
		"html starts":    rep("<p>\n"),
		"html links":     rep("<a href='http://b'>c</a>"),
		"html code":      "<p>" + rep("a `b` ") + "</p>",
		"html attrs":     rep("<a b=c "),
		"folded parts":   rep("<details>\n<summary>a</summary>\n"),
		"footnotes":      rep("[^1]: a[^2]\n"),
		"named notes":    rep("[^a]: b[^c]\n[^bb]:\n"),
		"references":     rep("[a]: http://a\n[b][a]\n\n"),
		"definitions":    rep("[a]: http://a\n")[:size/2] + rep("[b][a] ")[:size/2],
		"wide numbers":   rep("10. a\n   - b\n  - c\n"),
		"one line code":  "```\n" + rep("a") + "\n```",
		"tick lines":     "~~~~\n" + rep("```````````````\n") + "~~~~",
		"long rows":      "|a|b|\n|-|-|\n|" + rep("c") + "|d|\n",
		"alerts":         rep("> [!NOTE]\n> a\n\n"),
		"alert starts":   rep("> [!"),
		"code in rows":   "|a|b|\n|-|-|\n" + rep("|`a|b`|``c|\n"),
		"code in a row":  "|a|b|\n|-|-|\n" + rep("`a|b`"),
		"many rulers":    rep("|-|-|\n"),
		"fence words":    rep("```a\nb\n```c d\n"),
		"long head":      "|" + rep("a") + "|b|\n|-|-|\n|c|d|\n",
	}
}

// stairs is a list in which each item is inside the one before.
func stairs(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.Repeat("  ", i%400) + "- a\n")
	}
	return b.String()[:size]
}

// TestHostileTextTakesLinearTime: a text sixteen times as long takes about sixteen times
// the work. Quadratic work would take 256 times as much.
func TestHostileTextTakesLinearTime(t *testing.T) {
	size := need.Times(8<<10, 64<<10)
	large := hostile(size)
	for name, small := range hostile(size / 16) {
		for way, render := range map[string]func(string) string{
			"narrow":   func(s string) string { return Terminal(s, 20, Style{Color: true}) },
			"wide":     func(s string) string { return Terminal(s, 100, Style{}) },
			"plain":    Plain,
			"partial":  Partial,
			"telegram": func(s string) string { Telegram(s); return "" },
			"slack":    func(s string) string { Slack(s); return "" },
		} {
			const limit = 64
			if got := watch.Growth(limit, func() { render(small) }, func() { render(large[name]) }); got > limit {
				t.Errorf("%s, %s: %d bytes take %.0f times the work of %d bytes, want at most %d times", name, way, len(large[name]), got, len(small), limit)
			}
		}
	}
}

// TestQuotationHolds: a line of a quotation that is too long to be parsed at once
// stays in it, and what is escaped there stays so.
func TestQuotationHolds(t *testing.T) {
	for _, filler := range []string{strings.Repeat(`\~`, 2000), strings.Repeat(`\~ `, 2000), strings.Repeat("word", 9000), "a" + strings.Repeat(`\*`, 2000), strings.Repeat(`\\`, 2000)} {
		text := "above\n\n> " + filler + `\*\*the end\*\*` + "\n> next\n\nbelow"
		var html, slack strings.Builder
		for _, p := range Telegram(text) {
			html.WriteString(p.Text)
		}
		for _, p := range Slack(text) {
			slack.WriteString("\n" + p.Text + "\n")
		}
		within := false
		for _, piece := range strings.SplitAfter(html.String(), "blockquote>") {
			if said := strings.Trim(piece, " \n"); !within && said != "above\n\n<blockquote>" && said != "<blockquote>" && said != "below" && said != "" {
				t.Errorf("outside of the quotation stands %.200q", said)
			}
			within = strings.HasSuffix(piece, "<blockquote>")
		}
		if got := html.String(); !strings.Contains(got, "**the end**") {
			t.Errorf("the end is not shown as it is written: %q", got[len(got)-200:])
		}
		for line := range strings.Lines(slack.String()) {
			if line = strings.TrimSpace(line); line != "" && line != "above" && line != "below" && !strings.HasPrefix(line, ">") {
				t.Errorf("outside of Slack's quotation stands %.200q", line)
			}
		}
	}
}

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
			if n := telegramLength(p.Text); n > partUnits {
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
