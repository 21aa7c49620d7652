package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"legwork/bot/markdown"
)

const (
	mixedChars   = 30_000
	hostileBytes = 64 << 10
	maxMixed     = 5 * time.Millisecond
	maxHostile   = 50 * time.Millisecond
)

// measureRender renders and splits a long answer, and hostile texts, for both
// platforms.
func measureRender(_ context.Context, _ string) ([]figure, error) {
	document := mixed(mixedChars)
	bare := fastest(func() {
		parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		).Parse(text.NewReader([]byte(document)))
	})
	var figures []figure
	for _, to := range []struct {
		name   string
		render func(string) []markdown.Part
	}{{"Telegram", markdown.Telegram}, {"Slack", markdown.Slack}} {
		parts := len(to.render(document))
		name := fmt.Sprintf("%d characters of mixed Markdown for %s", mixedChars, to.name)
		figures = append(figures, within(fmt.Sprintf("%s, %d parts", name, parts), fastest(func() { to.render(document) }), maxMixed, short(bare)+" goldmark alone"))
		worst, slowest := "", time.Duration(0)
		for name, unit := range hostileMarkdown() {
			hostile := strings.Repeat(unit, hostileBytes/len(unit)+1)[:hostileBytes]
			if d := fastest(func() { to.render(hostile) }); d > slowest {
				worst, slowest = name, d
			}
		}
		f := within(fmt.Sprintf("64 KB of hostile Markdown for %s, the slowest of %d", to.name, len(hostileMarkdown())), slowest, maxHostile, "")
		f.measured += " (" + worst + ")"
		figures = append(figures, f)
	}
	return figures, nil
}

// fastest of several runs: what the machine does beside it must not count.
func fastest(do func()) time.Duration {
	var took []time.Duration
	for range 15 {
		from := time.Now()
		do()
		took = append(took, time.Since(from))
	}
	return slices.Min(took)
}

// mixed is an answer as models write them, of that many characters.
func mixed(chars int) string {
	var b strings.Builder
	for n := 1; b.Len() < 2*chars; n++ {
		fmt.Fprintf(&b, "## %d. Findings\n\n", n)
		b.WriteString("The **short** answer is *yes*, with `one` exception: see [the report](https://example.com/report?id=7&page=2) and https://example.org. ")
		b.WriteString("Größe, 世界 and 👩‍👩‍👧 count as what they are, and 3 < 4 && 5 > 2 stays as written.\n\n")
		b.WriteString("- first things first\n- then the others:\n  1. one\n  2. two, ~~three~~\n- [ ] to be done\n- [x] done\n\n")
		b.WriteString("> What people said about it, and\n> what they did.\n\n")
		b.WriteString("| place | time | note |\n|:--|--:|---|\n| Tokyo | 12:30 | *now* |\n| Paris | 5:30 | `CET` |\n| Wien | 5:30 | – |\n\n")
		b.WriteString("```go\nfunc main() {\n\tif a < b && c > d {\n\t\tfmt.Println(\"<hello> & bye\")\n\t}\n}\n```\n\n---\n\n")
	}
	return string([]rune(b.String())[:chars])
}

// hostileMarkdown are texts that make careless renderers slow or deep, by what
// they are made of.
func hostileMarkdown() map[string]string {
	return map[string]string{
		"brackets": "[", "links begun": "[a](", "nested links": "[a](b ", "images": "![[", "emphasis": "*a_ ", "emphasis pairs": "*a **a _",
		"stars": "*", "strikes": "~a ~~b ", "quotes": ">", "quote lines": "> > > > > > > > a\n", "lists": "- ", "deep lists": "- - - - - - - a\n",
		"headings": "a\n===\n", "fences": "```\n~~~\n", "backticks": "` `` ``` ", "backtick runs": "`a``b```c````d", "entities": "&amp;&#x1b;&",
		"addresses": "www.a.b http://c.d_e ", "mails": "a@b.c_", "tags": "<br<br ", "backslashes": "\\", "one word": "a", "table rows": "|a|b|\n|-|-|\n|c|d|\\|`|",
		"marks": "e\u0301\u0301", "tiny links": "[a](http://b) ", "code spans": "`a`*b*", "mentions": "<!channel> `<@U1>` ", "families": "👩‍👩‍👧",
	}
}
