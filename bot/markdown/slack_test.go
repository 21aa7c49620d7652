package markdown

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"legwork/bot"
)

// mention is what would call people or name a channel in Slack.
var mention = regexp.MustCompile(`<[!@#]`)

// checkSlack checks all that Slack promises. Its Markdown is read by a parser
// of all that Markdown can be, HTML and definitions of links included, of which
// there must be none.
func checkSlack(t *testing.T, name, source string) {
	t.Helper()
	var shown, said strings.Builder
	for i, part := range Slack(source) {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s: part %d: "+format+"\nin %.800q\nfrom %.300q", append(append([]any{name, i + 1}, args...), part.MarkdownText, source)...)
		}
		if n := len(utf16.Encode([]rune(part.MarkdownText))); n > 12_000 || blank(part.MarkdownText) {
			fail("%d units", n)
		}
		if m := mention.FindString(part.MarkdownText); m != "" {
			fail("it holds %q", m)
		}
		doc := readSlack(part.MarkdownText)
		if doc.forbidden != "" {
			fail("it holds %s", doc.forbidden)
		}
		if !doc.closed {
			fail("a code block stays open")
		}
		if doc.rows > 100 || doc.cells > 10_000 {
			fail("a table has %d rows, all tables have %d bytes", doc.rows, doc.cells)
		}
		if lost := lostLetters(withoutMarkup(part.Text), doc.text); lost != "" {
			fail("read by another parser it lacks %s\ngot %.800q\nwant %.800q", lost, doc.text, part.Text)
		}
		if part.Blocks != nil {
			checkBlocks(fail, part)
		}
		shown.WriteString(doc.text + "\n")
		said.WriteString(part.Text + "\n")
	}
	if lost := lostLetters(Plain(source), said.String()); lost != "" {
		t.Errorf("%s: the text lost %s\ngot %.800q\nfrom %.800q", name, lost, said.String(), source)
	}
	if lost := lostLetters(withoutMarkup(Plain(source)), shown.String()); lost != "" {
		t.Errorf("%s: the Markdown lost %s\ngot %.800q\nfrom %.800q", name, lost, shown.String(), source)
	}
}

// infoLine is the line above code that stands for what is behind its fence.
var infoLine = regexp.MustCompile(`(?m)^[ >]*\[.*\]$`)

// checkBlocks checks the limits of Slack's blocks, and that they show what the
// Markdown shows.
func checkBlocks(fail func(format string, args ...any), part Part) {
	var shown strings.Builder
	tables, size := 0, 0
	var read func(all []Rich)
	read = func(all []Rich) {
		for _, r := range all {
			if r.Text == "" && len(r.Elements) == 0 {
				fail("a block with an empty %s", r.Type)
			}
			size += len(utf16.Encode([]rune(r.Text)))
			shown.WriteString(r.Text + " " + r.Language + " " + r.URL + " ")
			read(r.Elements)
		}
	}
	for _, b := range part.Blocks {
		switch b.Type {
		case "markdown":
			size += len(utf16.Encode([]rune(b.Text)))
			shown.WriteString(readSlack(b.Text).text + "\n")
		case "rich_text":
			read(b.Elements)
		case "table":
			tables++
			before := size
			for _, row := range b.Rows {
				if read(row); len(row) == 0 || len(row) > maxTableColumns || len(b.Columns) > maxTableColumns {
					fail("a row of %d cells", len(row))
				}
			}
			if len(b.Rows) > maxTableRows || size-before > 10_000 {
				fail("a table of %d rows and %d characters", len(b.Rows), size-before)
			}
		default:
			fail("a block of type %q", b.Type)
		}
	}
	if len(part.Blocks) > 45 || tables > 1 || size > 13_000 {
		fail("%d blocks, %d tables, %d characters", len(part.Blocks), tables, size)
	}
	if lost := lostLetters(withoutMarkup(infoLine.ReplaceAllString(part.Text, "")), shown.String()); lost != "" {
		fail("the blocks lack %s\ngot %.800q", lost, shown.String())
	}
}

// TestSlackBlocks: code is shown byte for byte, and one table of a message as a table.
func TestSlackBlocks(t *testing.T) {
	text := func(s string) Rich { return Rich{Type: "text", Text: s} }
	inCode := func(s string) Rich { return Rich{Type: "text", Text: s, Style: &Look{Code: true}} }
	strong := func(s string) Rich {
		return Rich{Type: "rich_text", Elements: []Rich{{Type: "rich_text_section", Elements: []Rich{{Type: "text", Text: s, Style: &Look{Bold: true}}}}}}
	}
	raw := func(s string) Rich { return Rich{Type: "raw_text", Text: s} }
	section := func(all ...Rich) Rich { return Rich{Type: "rich_text_section", Elements: all} }
	pre := func(language, s string) Rich {
		return Rich{Type: "rich_text_preformatted", Language: language, Elements: []Rich{text(s)}}
	}
	said := func(s string) Block { return Block{Type: "markdown", Text: s} }
	rich := func(all ...Rich) Block { return Block{Type: "rich_text", Elements: all} }
	columns := func(all ...string) (list []Column) {
		for _, a := range all {
			list = append(list, Column{Align: a, Wrapped: true})
		}
		return list
	}
	table := Block{Type: "table", Columns: columns("left", "right"), Rows: [][]Rich{{strong("a"), strong("b")}, {raw("1"), raw(" ")}}}
	for _, c := range []struct {
		name, in string
		want     []Block
	}{
		{"no code", "plain **text** with `code` and `a && b < c`", nil},
		{"code", "See:\n\n```html\n<!DOCTYPE html>\n\t<@U123> &amp; <#C1>\n\n  end\n```\n\nDone.", []Block{
			said("See:"), rich(pre("html", "<!DOCTYPE html>\n\t<@U123> &amp; <#C1>\n\n  end")), said("Done."),
		}},
		{"code with fences", "~~~~~~~~~~~~~~\n`````````````\n~~~~~~~~~~~~~~", []Block{rich(pre("", "`````````````"))}},
		{"code in a line", "Use `List<@NonNull String>`, **not** [this](https://a.b):", []Block{rich(section(
			text("Use "), inCode("List<@NonNull String>"), text(", "), Rich{Type: "text", Text: "not", Style: &Look{Bold: true}}, text(" "),
			Rich{Type: "link", Text: "this", URL: "https://a.b"}, text(" (a.b)"), text(":")))}},
		{"code in a list", "1. a\n   ```\n   <!b>\n   ```\n2. c\n\n- `<!d>`\n- e", []Block{
			said("1. a"), rich(pre("", "<!b>")), said("2. c"), rich(section(text("• "), inCode("<!d>"))), said("- e"),
		}},
		{"table", "x\n\n|a|b|\n|-|-:|\n|1||\n\ny", []Block{said("x"), table, said("y")}},
		{"two tables", "|a|b|\n|-|-:|\n|1||\n\n|c|\n|-|\n|2|", []Block{table, said("| c |\n| --- |\n| 2 |")}},
	} {
		got := Slack(c.in)
		if len(got) != 1 {
			t.Errorf("%s: %d parts, want 1", c.name, len(got))
			continue
		}
		if diff := cmp.Diff(c.want, got[0].Blocks); diff != "" {
			t.Errorf("%s: Slack(%q) (-want +got):\n%s", c.name, c.in, diff)
		}
	}
}

// slackDoc is what a reader makes of Slack's Markdown.
type slackDoc struct {
	text        string // with addresses of links, languages of code and numbers of items
	forbidden   string
	closed      bool // text after it would not be code
	rows, cells int
}

func readSlack(source string) slackDoc {
	const after = "\n\nafterwards"
	src := []byte(source + after)
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	var doc slackDoc
	var b strings.Builder
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte('\n')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := string(n.Segment.Value(src))
			if !n.IsRaw() {
				value = unescape(value)
			}
			if strings.HasSuffix(value, "afterwards") && n.Parent().Kind() == ast.KindParagraph {
				doc.closed = true
			}
			b.WriteString(value)
			if n.SoftLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		case *ast.Link:
			to := strings.NewReplacer("%28", "(", "%29", ")", "%7C", "|", "%2A", "*").Replace(unescape(string(n.Destination)))
			decoded, err := url.PathUnescape(to)
			if err != nil {
				doc.forbidden = "the address " + to
			}
			b.WriteString(" " + to + " " + decoded + " ")
		case *ast.Image:
			doc.forbidden = "an image"
		case *ast.RawHTML, *ast.HTMLBlock:
			doc.forbidden = "HTML"
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if f, ok := n.(*ast.FencedCodeBlock); ok && f.Info != nil {
				b.WriteString(unescape(string(f.Info.Value(src))) + "\n")
			}
			b.Write(n.Lines().Value(src))
		case *extast.Table:
			doc.rows = max(doc.rows, n.ChildCount())
			doc.cells += len(n.Text(src)) //nolint:staticcheck // the shortest way to its size
		case *ast.ListItem:
			if list := n.Parent().(*ast.List); list.IsOrdered() && n.PreviousSibling() == nil {
				number := list.Start
				for range list.ChildCount() {
					b.WriteString(" " + strconv.Itoa(number))
					number++
				}
			}
		}
		return ast.WalkContinue, nil
	})
	doc.text = strings.Replace(b.String(), "afterwards", "", 1)
	return doc
}

// checkMarks checks that no mark of the Markdown for Slack is shown as text.
func checkMarks(t *testing.T, name, source string) {
	t.Helper()
	for i, part := range Slack(source) {
		shown := readSlack(part.MarkdownText).text
		for _, mark := range []string{"*", "`", "&lt;", "\\"} {
			if got, want := strings.Count(shown, mark), strings.Count(part.Text, mark); got > want {
				t.Errorf("%s: part %d: read by another parser it shows %d times %s, want %d: %.800q\nin %.800q\nfrom %.300q",
					name, i+1, got, mark, want, shown, part.MarkdownText, source)
			}
		}
	}
}

// checkRich checks what TelegramRich promises: no media, no HTML but <u>, no letter lost,
// and the code of the source.
func checkRich(t *testing.T, name, source string) {
	t.Helper()
	text := strings.NewReplacer("<u>", "", "</u>", "").Replace(TelegramRich(source))
	doc := readSlack(text)
	if doc.forbidden != "" || !doc.closed {
		t.Errorf("%s: a rich message holds %q, code is closed: %v\nin %.800q\nfrom %.300q", name, doc.forbidden, doc.closed, text, source)
	}
	if lost := lostLetters(withoutMarkup(Plain(source)), doc.text); lost != "" {
		t.Errorf("%s: a rich message lost %s\ngot %.800q\nfrom %.800q", name, lost, doc.text, source)
	}
}

func TestRichKeepsItsPromises(t *testing.T) {
	for name, source := range corpus(t) {
		checkRich(t, name, source)
	}
	for name, content := range fenced() {
		want := "```json\n" + content + "```"
		if strings.Contains(content, "```") {
			want = content
		}
		if got := TelegramRich(bot.Fence(content, "json")); !strings.Contains(got, want) {
			t.Errorf("%s: a rich message shows\n%s", name, difference(got, want))
		}
	}
}

func TestSlackKeepsItsPromises(t *testing.T) {
	for name, source := range corpus(t) {
		checkSlack(t, name, source)
		checkMarks(t, name, source)
	}
	checkSlack(t, "long lines with code", strings.Repeat("Use `<!x>` and `&amp;` here, "+strings.Repeat("and there, ", 50), 60)+"\n\n```\n"+strings.Repeat("<@U1> ", 9000)+"\n```")
	checkSlack(t, "all examples", strings.Join(examples(t), "\n\n"))
}

func TestSlack(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"inline", "**b** *i* ~~s~~ `c<d` __b__", "**b** *i* ~~s~~ `c<d` **b**"},
		{"nested", "*a **b** c*", "*a **b** c*"},
		{"nested without spaces", "*a**b**c*", "*a**b**c*"},
		{"marks that mean themselves", "2 * 3 = 6, snake_case, a\\*b\\*c, \\`x", "2 * 3 = 6, snake_case, a\\*b\\*c, \\`x"},
		{"starts of lines", "\\# a\n\\- b\n1\\. c\n\\> d\n\\[e]: f", "\\# a  \n\\- b  \n1\\. c  \n&gt; d  \n\\[e]: f"},
		{"chinese", "请**注意：**看**“重要”**的 <b>a:</b>b <b>`c`</b>d", "请**注意**：看“**重要**”的 **a**:b `c`d"},
		{"heading", "A\n===\n\n## b", "# A\n\n## b"},
		{"html", "<foo>x</foo> &amp;lt; a & b", "&lt;foo>x&lt;/foo> &amp;lt; a & b"},
		{"mentions", "<!channel> <@U1> <#C1> `<@U1>`", "&lt;!channel> &lt;@U1> &lt;#C1> `<\u2060@U1>`"},
		{"image", "wow![x](http://a.b)", "wow[x](http://a.b) (a.b)"},
		{"no image by chance", "wow\\![x](http://a.b)", "wow\\![x](http://a.b) (a.b)"},
		{"code", "~~~go\na `b`\n~~~", "```go\na `b`\n```"},
		{"code with fences", "~~~~\n```\n~~~\n~~~~", "````\n```\n~~~\n````"},
		{"indented code", "a\n\n    b", "a\n\n```\nb\n```"},
		{"code in list", "- a\n  ```\n  b\n  ```\n- c", "- a\n  ```\n  b\n  ```\n- c"},
		{"code in quote", "> ```\n> a\n>\n> b\n> ```", "> ```\n> a\n> \n> b\n> ```"},
		{"lists", "1. a\n   - b\n\n     c\n2. d\n- [x] e", "1. a\n   - b\n\n     c\n2. d\n\n- ☑ e"},
		{"quote", "> a\n> > b\n\nc", "> a\n>\n> > b\n\nc"},
		{"table", "|a|b|\n|:-|-:|\n|1\\|2|`x\\|y`|", "| a | b |\n| :-- | --: |\n| 1\\|2 | `x\\|y` |"},
		{"rule", "a\n\n***\n\nb", "a\n\n---\n\nb"},
	} {
		got := Slack(c.in)
		if len(got) != 1 || got[0].MarkdownText != c.want {
			t.Errorf("%s: Slack(%q)\n got %+v\nwant %q", c.name, c.in, got, c.want)
		}
	}
}
