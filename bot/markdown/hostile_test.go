package markdown

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"

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
		"one line code":  "```\n" + rep("a") + "\n```",
		"tick lines":     "~~~~\n" + rep("```````````````\n") + "~~~~",
		"long rows":      "|a|b|\n|-|-|\n|" + rep("c") + "|d|\n",
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

// ordinary is how long the Markdown library alone takes for an ordinary text of the
// length of the hostile ones: a yardstick for how fast the machine is right now.
func ordinary(t *testing.T) time.Duration {
	text := []byte(strings.Repeat("Some *words* of an [answer](http://a.b/c), with `code` and **more**.\n\n- one\n- two\n\n", hostileSize/70)[:hostileSize])
	return watch.Work(func() {
		if err := goldmark.Convert(text, io.Discard); err != nil {
			t.Error(err)
		}
	})
}

// hostileSize is how long hostile texts are, in bytes.
var hostileSize = need.Times(4<<10, 64<<10)

// TestHostileTextTakesLinearTime: 64 KiB take 50 ms. A slower machine may take
// twelve times what an ordinary text takes there (the worst ones take nine times).
func TestHostileTextTakesLinearTime(t *testing.T) {
	for name, text := range hostile(hostileSize) {
		for way, render := range map[string]func(string) string{
			"narrow":   func(s string) string { return Terminal(s, 20, Style{Color: true}) },
			"wide":     func(s string) string { return Terminal(s, 100, Style{}) },
			"plain":    Plain,
			"partial":  Partial,
			"telegram": func(s string) string { Telegram(s); return "" },
			"slack":    func(s string) string { Slack(s); return "" },
		} {
			best, yard, limit := time.Hour, time.Hour, 50*time.Millisecond
			for try := 0; try < 50 && best > limit; try++ { // a busy machine has cold caches, too
				best = min(best, watch.Work(func() { render(text) }))
				if best > limit {
					yard = min(yard, ordinary(t))
					limit = max(50*time.Millisecond, 12*yard)
				}
			}
			if best > limit {
				t.Errorf("%s, %s: rendering %d bytes took %v, want at most %v", name, way, len(text), best, limit)
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
