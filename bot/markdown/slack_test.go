package markdown

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
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

func TestSlackKeepsItsPromises(t *testing.T) {
	for name, source := range corpus(t) {
		checkSlack(t, name, source)
		checkMarks(t, name, source)
	}
	checkSlack(t, "all examples", strings.Join(examples(t), "\n\n"))
}

func TestSlack(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"inline", "**b** *i* ~~s~~ `c<d` __b__", "**b** *i* ~~s~~ `c<d` **b**"},
		{"nested", "*a **b** c*", "*a **b** c*"},
		{"nested without spaces", "*a**b**c*", "*a**b**c*"},
		{"marks that mean themselves", "2 * 3 = 6, snake_case, a\\*b\\*c, \\`x", "2 * 3 = 6, snake_case, a\\*b\\*c, \\`x"},
		{"starts of lines", "\\# a\n\\- b\n1\\. c\n\\> d\n\\[e]: f", "\\# a  \n\\- b  \n1\\. c  \n&gt; d  \n\\[e]: f"},
		{"heading", "A\n===\n\n## b", "# A\n\n## b"},
		{"html", "<b>x</b> &amp;lt; a & b", "&lt;b>x&lt;/b> &amp;lt; a & b"},
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
			t.Errorf("%s: Slack(%q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}
