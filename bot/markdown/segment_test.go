package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// TestLongCode: code keeps its lines, its language and its place in a list where the
// document is cut, at the end of what is written so far too.
func TestLongCode(t *testing.T) {
	var dense, usual []string // the first is cut at 512 bytes, the other one at 16 KiB
	for i := range 60 {
		dense = append(dense, fmt.Sprintf("    a[%d] = (b[%d] + *c) & ~d[%d]", i, i, i))
	}
	for i := range 600 {
		usual = append(usual, fmt.Sprintf("    the line with the number %d is here", i), "")
	}
	usual = append(usual, "end")
	for name, lines := range map[string][]string{"dense": dense, "usual": usual} {
		for list, c := range map[string]struct{ before, indent, after, want, lead, wantAfter string }{
			"no list":        {"```go\n", "", "```\nafter", "", "    ", "\n\nafter"},
			"a list":         {"- item\n  ```go\n", "  ", "  ```\n- next", "• item\n", "      ", "\n• next"},
			"a step":         {"3. step\n\n   ```go\n", "   ", "   ```\n\n4. next", "3. step\n\n", "       ", "\n\n4. next"},
			"a nested list":  {"1. step\n   - item\n\n     ```go\n", "     ", "     ```\n2. next", "1. step\n   ◦ item\n\n", "         ", "\n2. next"},
			"behind a mark":  {"1. ```go\n", "   ", "   ```\n2. next", "1.     ", "       ", "\n2. next"},
			"a text before":  {strings.Repeat("word ", 80) + "\n```go\n", "", "```\nafter", strings.TrimSpace(strings.Repeat("word ", 80)) + "\n\n", "    ", "\n\nafter"},
			"indented fence": {"- item\n    ```go\n", "    ", "    ```\n- next", "• item\n", "      ", "\n• next"},
		} {
			doc, want := c.before, c.want
			for i, line := range lines {
				shown := c.lead + line
				if i == 0 && strings.HasSuffix(c.want, "    ") {
					shown = line
				}
				if line == "" {
					doc, want = doc+"\n", want+"\n"
					continue
				}
				doc, want = doc+c.indent+line+"\n", want+strings.TrimRight(shown, " ")+"\n"
			}
			if got := Plain(doc + c.after); got != strings.TrimSuffix(want, "\n")+c.wantAfter {
				t.Errorf("%s, %s: the terminal shows\n%s\nwant\n%s", name, list, got, strings.TrimSuffix(want, "\n")+c.wantAfter)
			}
			if got := Plain(Partial(doc)); got != strings.TrimSuffix(want, "\n") {
				t.Errorf("%s, %s, so far: the terminal shows\n%s\nwant\n%s", name, list, got, strings.TrimSuffix(want, "\n"))
			}
			code := strings.Join(lines, "\n")
			var shown, languages []string
			for _, part := range Slack(doc + c.after) {
				for _, b := range part.Blocks {
					for _, e := range b.Elements {
						if e.Type == "rich_text_preformatted" {
							shown, languages = append(shown, e.Elements[0].Text), append(languages, e.Language)
						}
					}
				}
			}
			if got := strings.Join(shown, "\n"); got != code || strings.Trim(strings.Join(languages, ""), "go") != "" || len(languages) == 0 || languages[0] != "go" {
				t.Errorf("%s, %s: Slack shows, as %q,\n%s\nwant\n%s", name, list, languages, got, code)
			}
		}
	}
}

// TestLongQuotedCode: code in a quotation or a folded part keeps its lines, and stays in
// it, where the document or a message is cut.
func TestLongQuotedCode(t *testing.T) {
	var dense, usual []string
	for i := range 200 {
		dense = append(dense, fmt.Sprintf("    a[%d] = (b[%d] + *c) & ~d[%d]", i, i, i))
	}
	for i := range 600 {
		usual = append(usual, fmt.Sprintf("> the line with the number %d is here", i), "")
	}
	usual = append(usual, strings.Repeat("a long line ", 2000), "end")
	for name, lines := range map[string][]string{"dense": dense, "usual": usual} {
		code := strings.Join(lines, "\n")
		for kind, doc := range map[string]string{
			"quotation":         "> text\n> ```json\n> " + strings.ReplaceAll(code, "\n", "\n> ") + "\n> ```\n> more\n\nafter",
			"list in quotation": "> - text\n>   ```json\n>   " + strings.ReplaceAll(code, "\n", "\n>   ") + "\n>   ```\n>\n>   more\n\nafter",
			"folded part":       "<details>\n<summary>text</summary>\n\n```json\n" + code + "\n```\nmore\n\n</details>\n\nafter",
		} {
			where := name + ", " + kind
			if got := codeOfTelegram(t, where, Telegram(doc)); withoutBreaks(got) != withoutBreaks(code) {
				t.Errorf("%s: Telegram shows\n%s", where, difference(got, code))
			}
			var quoted []string
			for _, part := range Telegram(doc) {
				all := strings.Split(part.Text, "</blockquote>")
				rest := strings.TrimSpace(all[len(all)-1])
				if strings.Contains(part.Text, "line") && (rest != "" && rest != "after" || !strings.HasPrefix(part.Text, "<blockquote")) {
					t.Errorf("%s: outside of the quotation stands %.200q in %.100q", where, rest, part.Text)
				}
				quoted = append(quoted, all[0][:strings.IndexByte(all[0]+">", '>')])
			}
			if folded := strings.Count(strings.Join(quoted, "\n"), "expandable"); (kind == "folded part") != (folded >= len(quoted)-1) {
				t.Errorf("%s: of %d parts, %d are folded", where, len(quoted), folded)
			}
			var shown []string
			for line := range strings.SplitSeq(Plain(doc), "\n") {
				line = strings.TrimPrefix(strings.TrimPrefix(line, "│"), " ")
				if kind == "list in quotation" {
					line = strings.TrimPrefix(line, "  ")
				}
				if strings.HasPrefix(line, "    ") {
					shown = append(shown, line[4:])
				}
			}
			if got := strings.Join(shown, "\n"); strings.ReplaceAll(withoutBreaks(got), " ", "") != strings.ReplaceAll(withoutBreaks(code), " ", "") {
				t.Errorf("%s: the terminal shows\n%s", where, difference(got, code))
			}
			shown = nil
			for _, part := range Slack(doc) {
				for _, b := range part.Blocks {
					for _, e := range b.Elements {
						if e.Type == "rich_text_preformatted" {
							shown = append(shown, e.Elements[0].Text)
						}
					}
				}
			}
			if got := strings.Join(shown, "\n"); withoutBreaks(got) != withoutBreaks(code) {
				t.Errorf("%s: Slack shows\n%s", where, difference(got, code))
			}
		}
	}
}
