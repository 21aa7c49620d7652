package markdown

import (
	"slices"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

// Parts end where people would end them.
func TestTelegramSplits(t *testing.T) {
	sentence := "This is one sentence of some words. "
	words := strings.TrimSpace(strings.Repeat("word ", 1000))
	lines := strings.TrimSpace(strings.Repeat("a line of some length\n", 300))
	for _, c := range []struct{ name, in, firstEnds, secondStarts string }{
		{"paragraph", strings.Repeat("p", 3000) + "\n\n" + strings.Repeat("q", 3000), "ppp", "qqq"},
		{"a short paragraph does not end a part", "p\n\n" + words, "word", "word"},
		{"line", lines, "a line of some length", "a line of some length"},
		{"sentence", strings.Repeat(sentence, 200), "some words.", "This is"},
		{"a number ends no sentence", "It is 3. " + strings.Repeat("x", 4000) + " 4. " + strings.Repeat("y", 200), " 4.", "yyy"},
		{"word", words, "word", "word"},
		{"one word", strings.Repeat("x", 5000), "xxx", "xxx"},
		{"chinese", strings.Repeat("今天天气很好。我们去公园", 500), "。", "我们"},
		{"heading stays with its text", strings.Repeat("p", 4000) + "\n\n## Head\n\n" + strings.Repeat("q", 500), "ppp", "<b>Head</b>\n\nqqq"},
		{"list stays with its words", strings.Repeat("p", 4000) + "\n\nThese:\n- " + strings.Repeat("q", 500), "ppp", "These:\n\n• qqq"},
		{"code", "```go\n" + strings.Repeat("x := 1\n", 800) + "```", "x := 1</code></pre>", "<pre><code class=\"language-go\">x := 1\n"},
		{"code that has a line of its own", strings.Repeat("p", 3000) + "\n\n```\n" + strings.Repeat("x\n", 1000) + "```", "ppp", "<pre>x\n"},
		{"indented code", "```\n" + strings.Repeat("\tif x {\n", 800) + "```", "\tif x {</pre>", "<pre>\tif x {\n"},
		{"bold", "**" + words + "**", "word</b>", "<b>word"},
		{"quote", "> " + words, "word</blockquote>", "<blockquote>word"},
		{"link", "[" + words + "](http://e.com)", "word</a>", "<a href=\"http://e.com\">word"},
		{"list", strings.TrimSpace(strings.Repeat("- an item of a list\n", 300)), "an item of a list", "• an item of a list"},
	} {
		parts := Telegram(c.in)
		if len(parts) < 2 {
			t.Errorf("%s: got %d parts, want more", c.name, len(parts))
			continue
		}
		first, second := parts[0].Text, parts[1].Text
		if !strings.HasSuffix(first, c.firstEnds) || !strings.HasPrefix(second, c.secondStarts) {
			t.Errorf("%s: the first part ends in %q, want %q; the second starts with %q, want %q", c.name,
				first[max(0, len(first)-60):], c.firstEnds, second[:min(60, len(second))], c.secondStarts)
		}
		checkTelegram(t, c.name, c.in)
		checkSlack(t, c.name, c.in)
	}
}

// Telegram ignores entities beyond 100: a part that has so many ends early, or
// shows the rest as text if it is not a quarter full.
func TestTelegramEntities(t *testing.T) {
	parts := Telegram(strings.Repeat("*i* and some words more ", 200))
	if n := strings.Count(parts[0].Text, "<i>"); n != 100 || len(parts) != 2 || strings.Count(parts[1].Text, "<i>") != 100 {
		t.Errorf("got %d parts, the first one with %d entities, want 2 and 100", len(parts), n)
	}
	many := Telegram(strings.Repeat("*i* ", 90) + strings.Repeat("[i](http://e.com) ", 30))
	if n := strings.Count(many[0].Text, "</a> (e.com)"); n != 10 || !strings.Contains(many[0].Text, "</a> (e.com) i (http://e.com) i (http://e.com)") {
		t.Errorf("got %d links, want 10 and then addresses as text: %s", n, many[0].Text)
	}
	rich := strings.Repeat("Some **bold**, _slanted_ and ~~struck~~ `words` in [one](https://e.com) paragraph.\n\n", 60)
	for i, part := range Telegram(rich) {
		if !strings.HasPrefix(part.Text, "Some <b>") || !strings.HasSuffix(part.Text, "paragraph.") || strings.Contains(part.Text, "bold,") {
			t.Errorf("part %d is %q, want whole paragraphs with their format", i+1, part.Text)
		}
	}
}

// A part is used well: text without any good place to end is cut at the limit.
func TestTelegramPartsAreFull(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
	}{
		{strings.Repeat("x", 4096), []int{4096}},
		{strings.Repeat("x", 4097), []int{4096, 1}},
		{strings.Repeat("😀", 2048), []int{4096}},
		{strings.Repeat("😀", 2049), []int{4096, 2}},
		{"a" + strings.Repeat("😀", 2048), []int{4095, 2}},
		{strings.Repeat("aaa<", 1024), []int{4096}},
		{strings.Repeat("👩‍👩‍👧", 600), []int{4096, 704}}, // 8 units each
	} {
		var got []int
		for _, part := range Telegram(c.in) {
			got = append(got, telegramLength(part.Text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Telegram(%.40q...): parts of %v units, want %v", c.in, got, c.want)
		}
	}
}

func TestNoCharacterIsCutInTwo(t *testing.T) {
	for _, char := range []string{"👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽", "한"} {
		for _, shift := range []string{"", "a", "ab", "abc"} {
			for i, part := range Telegram(shift + strings.Repeat(char, 3000)) {
				text := strings.TrimPrefix(part.Text, shift)
				if g := displaywidth.StringGraphemes(text); strings.ReplaceAll(text, char, "") != "" || !g.Next() || g.Value() != char {
					t.Errorf("part %d of %q times 3000 after %q starts with %+.40q and ends in %+.40q", i+1, char, shift, text, text[max(0, len(text)-20):])
				}
			}
		}
	}
}

func TestSlackSplits(t *testing.T) {
	row := "| a cell of a table | another one |\n"
	for _, c := range []struct{ name, in, firstEnds, secondStarts string }{
		{"paragraph", strings.Repeat("p", 9000) + "\n\n" + strings.Repeat("q", 5000), "ppp", "qqq"},
		{"code", "```go\n" + strings.Repeat("x := 1\n", 3000) + "```", "x := 1\n```", "```go\nx := 1\n"},
		{"code in a list", "- a\n  ```go\n" + strings.Repeat("  x := 1\n", 3000) + "  ```", "  x := 1\n  ```", "```go\nx := 1\n"},
		{"table", "| A | B |\n|:-|-:|\n" + strings.Repeat("| a cell "+strings.Repeat("x", 200)+" | another one |\n", 60), "| another one |", "| A | B |\n| :-- | --: |\n| a cell"},
		{"a long table", "| A | B |\n|-|-|\n" + strings.Repeat(row, 400), "another one\n```", "```\na cell of a table"},
		{"nested list", "- a\n" + strings.Repeat("  - b words\n", 2000), "- b words", "- b words\n- b words"},
		{"heading", strings.Repeat("p", 9900) + "\n\n## Head\n\n" + strings.Repeat("q", 3000), "ppp", "## Head\n\nqqq"},
		{"one line", strings.Repeat("word ", 4000), "word", "word word"},
		{"one bold line", "**" + strings.Repeat("word ", 3000) + "x**", "word**", "**word word"},
		{"one quoted line", "> " + strings.Repeat("word ", 4000), "word", "> word word"},
		{"one word", strings.Repeat("x", 20000), "xxx", "xxx"},
	} {
		parts := Slack(c.in)
		if len(parts) < 2 {
			t.Errorf("%s: got %d parts, want more", c.name, len(parts))
			continue
		}
		first, second := parts[0].MarkdownText, parts[1].MarkdownText
		if !strings.HasSuffix(first, c.firstEnds) || !strings.HasPrefix(second, c.secondStarts) {
			t.Errorf("%s: the first part ends in %q, want %q; the second starts with %q, want %q", c.name,
				first[max(0, len(first)-60):], c.firstEnds, second[:min(60, len(second))], c.secondStarts)
		}
		checkSlack(t, c.name, c.in)
		checkTelegram(t, c.name, c.in)
	}
}
