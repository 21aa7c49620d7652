package markdown

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

var telegramTag = regexp.MustCompile(`^<(/?)(b|i|u|s|code|pre|a|blockquote)( href="[^"<>]*"| class="language-[^"<>]+"| expandable)?>`)

// readTelegram reads HTML by the rules of the Bot API's reference and returns
// its text and the values of its attributes. It is stricter than Telegram,
// which drops some of what it does not like.
func readTelegram(source string) (text, attributes string, err error) {
	var out strings.Builder
	var open []string
	starts := []int{}
	entities := 0
	for i := 0; i < len(source); {
		switch source[i] {
		case '<':
			m := telegramTag.FindStringSubmatch(source[i:])
			if m == nil {
				return "", "", fmt.Errorf("no tag that Telegram knows at %.40q", source[i:])
			}
			i += len(m[0])
			if m[1] == "/" {
				if len(open) == 0 || open[len(open)-1] != m[2] {
					return "", "", fmt.Errorf("%s closes %v", m[0], open)
				}
				if out.Len() == starts[len(starts)-1] {
					return "", "", fmt.Errorf("%s ends an empty entity", m[0])
				}
				open, starts = open[:len(open)-1], starts[:len(starts)-1]
				continue
			}
			if err := mayOpen(open, m[2], m[3]); err != nil {
				return "", "", err
			}
			if m[2] != "code" || m[3] == "" {
				entities++
			}
			attributes += html.UnescapeString(m[3]) + "\n"
			open, starts = append(open, m[2]), append(starts, out.Len())
		case '&':
			known := ""
			for _, e := range []string{"&lt;", "&gt;", "&amp;", "&quot;"} {
				if strings.HasPrefix(source[i:], e) {
					known = e
				}
			}
			if known == "" {
				return "", "", fmt.Errorf("no entity that Telegram knows at %.20q", source[i:])
			}
			out.WriteString(html.UnescapeString(known))
			i += len(known)
		case '>':
			return "", "", fmt.Errorf("a bare > at %.20q", source[i:])
		default:
			out.WriteByte(source[i])
			i++
		}
	}
	text = out.String()
	switch n := len(utf16.Encode([]rune(text))); {
	case len(open) > 0:
		err = fmt.Errorf("%v stay open", open)
	case n > 4096:
		err = fmt.Errorf("the text has %d units", n)
	case n != telegramLength(source):
		err = fmt.Errorf("telegramLength says %d, want %d", telegramLength(source), n)
	case entities > 100:
		err = fmt.Errorf("it has %d entities", entities)
	case len(source) > 35_000:
		err = fmt.Errorf("it has %d bytes", len(source))
	case blank(text):
		err = fmt.Errorf("the text %q is blank", text)
	}
	return text, attributes, err
}

// mayOpen checks the rules of nesting.
func mayOpen(open []string, tag, attribute string) error {
	last := ""
	if len(open) > 0 {
		last = open[len(open)-1]
	}
	language := tag == "code" && strings.HasPrefix(attribute, " class=")
	if attribute == " expandable" {
		if tag != "blockquote" {
			return fmt.Errorf("<%s%s>", tag, attribute)
		}
		attribute = ""
	}
	if (tag == "a") != strings.HasPrefix(attribute, " href=") || language != (attribute != "" && tag != "a") || language && last != "pre" {
		return fmt.Errorf("<%s%s> inside %v", tag, attribute, open)
	}
	if tag == "a" && !strings.HasPrefix(attribute, ` href="http`) && !strings.HasPrefix(attribute, ` href="tg:`) {
		return fmt.Errorf("a link with%s", attribute)
	}
	for _, outer := range open {
		switch {
		case outer == tag, outer == "code", outer == "pre" && !language,
			(tag == "pre" || tag == "code" && !language) && outer != "blockquote",
			tag == "blockquote":
			return fmt.Errorf("<%s> inside %v", tag, open)
		}
	}
	return nil
}

// checkTelegram checks all that Telegram and TelegramPlain promise.
func checkTelegram(t *testing.T, name, source string) {
	t.Helper()
	parts, plains := Telegram(source), TelegramPlain(source)
	if len(parts) != len(plains) {
		t.Errorf("%s: %d parts and %d plain ones\nfrom %.300q", name, len(parts), len(plains), source)
		return
	}
	var shown, said strings.Builder
	for i, part := range parts {
		text, attributes, err := readTelegram(part.Text)
		if err != nil || part.ParseMode != ModeHTML {
			t.Errorf("%s: part %d of %d: %v (%s)\nin %.500q\nfrom %.300q", name, i+1, len(parts), err, part.ParseMode, part.Text, source)
		}
		decoded, err := url.PathUnescape(attributes)
		if err != nil {
			t.Errorf("%s: attributes %q: %v", name, attributes, err)
		}
		shown.WriteString(text + "\n" + attributes + "\n" + decoded)
		said.WriteString(plains[i].Text + "\n")
		if n := units(plains[i].Text); n > 4096 || blank(plains[i].Text) || plains[i].ParseMode != "" {
			t.Errorf("%s: plain part %d has %d units: %.200q\nfrom %.300q", name, i+1, n, plains[i].Text, source)
		}
		if lost := lostLetters(text, plains[i].Text); lost != "" {
			t.Errorf("%s: plain part %d lacks %s\ngot %q\nfrom %q", name, i+1, lost, plains[i].Text, part.Text)
		}
	}
	whole := Plain(source)
	if lost := lostLetters(whole, shown.String()); lost != "" {
		t.Errorf("%s: HTML lost %s\ngot %.800q\nfrom %.800q", name, lost, shown.String(), source)
	}
	if lost := lostLetters(whole, said.String()); lost != "" {
		t.Errorf("%s: plain text lost %s\ngot %.800q\nfrom %.800q", name, lost, said.String(), source)
	}
}

func TestTelegramKeepsItsPromises(t *testing.T) {
	for name, source := range corpus(t) {
		checkTelegram(t, name, source)
	}
	checkTelegram(t, "all examples", strings.Join(examples(t), "\n\n"))
}

func TestTelegram(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"inline", "**b** *i* ~~s~~ `c<d`", "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d</code>"},
		{"nested", "**a *b* c**", "<b>a <i>b</i> c</b>"},
		{"code is in nothing else", "**a `b`** ~~`c`~~", "<b>a </b><code>b</code> <s>c</s>"},
		{"heading", "## A *b*\nc", "<b>A <i>b</i></b>\n\nc"},
		{"html", "<b onclick=\"y\">x</b> & <script>", "<b>x</b> &amp; &lt;script&gt;"},
		{"html link", `<a href="https://e.com">bank.com</a> <a href="javascript:x">y</a> <a href="tg://user?id=1">z</a>`, `<a href="https://e.com">bank.com</a> (e.com) y (javascript:x) z (tg://user?id=1)`},
		{"html table", "<table><tr><th>A</th></tr><tr><td>1</td></tr></table>", "<pre>A\n─\n1</pre>"},
		{"code with language", "```go\na <b\n```", "<pre><code class=\"language-go\">a &lt;b</code></pre>"},
		{"language of several words", "```go title\na\n```", "[go title]\n<pre>a</pre>"},
		{"empty code", "a\n\n```\n```\n\nb", "a\n\nb"},
		{"code keeps its blank lines", "```\na\n\n\nb\n```", "<pre>a\n\n\nb</pre>"},
		{"code in list", "- a\n  ```\n  b\n  ```\n- c", "• a\n<pre>b</pre>\n• c"},
		{"quotes are flat", "> a\n> > b\n>\n> c", "<blockquote>a\n\nb\n\nc</blockquote>"},
		{"code in quote", "> ```\n> a\n> b\n> ```", "<blockquote><pre>a\nb</pre></blockquote>"},
		{"nested list", "1. a\n   - b\n     - c\n2. d", "1. a\n    ◦ b\n        ▪ c\n2. d"},
		{"rule", "a\n\n---\n\nb", "a\n\n──────────\n\nb"},
		{"table", "|a|b|\n|-|-:|\n|1|22|", "<pre>a │  b\n──┼───\n1 │ 22</pre>"},
		{
			"wide table", "|Name|Note|\n|-|-|\n|x|this is a whole sentence of many words|\n|y|z|",
			"<b>Name: </b>x\n<b>Note: </b>this is a whole sentence of many words\n\n<b>Name: </b>y\n<b>Note: </b>z",
		},
		{"table with a link", "|a|\n|-|\n|[x](http://b.c)|", "<b>a: </b><a href=\"http://b.c\">x</a> (b.c)"},
		{"image", "![a cat](https://e.com/c.png)", "<a href=\"https://e.com/c.png\">a cat</a> (e.com)"},
		{"control characters", "a\x1b\u202eb", "a␛b"},
		{"chinese", "请**注意：**看*斜体。*的~~删除。~~了**“重要”**的", "请<b>注意：</b>看<i>斜体。</i>的<s>删除。</s>了<b>“重要”</b>的"},
		{"underline", "<u>a **b**</u> <INS>c</ins> <u>d", "<u>a </u><b><u>b</u></b> <u>c</u> &lt;u&gt;d"},
		{"details", "<details>\n<summary>Why</summary>\n\nBecause *so*.\n</details>\nend", "<blockquote expandable><b>Why</b>\n\nBecause <i>so</i>.</blockquote>\n\nend"},
	} {
		var got string
		for _, part := range Telegram(c.in) {
			got += part.Text
		}
		if got != c.want {
			t.Errorf("%s: Telegram(%q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}

// No link leads elsewhere than its text says.
func TestLinksShowWhereTheyLead(t *testing.T) {
	for _, c := range []struct{ name, in, html, slack string }{
		{"host", "[text](https://e.com/x)", `<a href="https://e.com/x">text</a> (e.com)`, "[text](https://e.com/x) (e.com)"},
		{"shown already", "[see e.com](https://www.e.com/x)", `<a href="https://www.e.com/x">see e.com</a>`, "[see e.com](https://www.e.com/x)"},
		{"itself", "https://e.com/x", `<a href="https://e.com/x">https://e.com/x</a>`, "<https://e.com/x>"},
		{"bare host", "www.e.com", `<a href="http://www.e.com">www.e.com</a>`, `[www\.e.com](http://www.e.com)`},
		{"another host", "[https://bank.com](https://evil.com)", `<a href="https://evil.com">https://bank.com</a> (evil.com)`, `[https\://bank.com](https://evil.com) (evil.com)`},
		{"host in the path", "[bank.com/evil.com](https://evil.com)", `<a href="https://evil.com">bank.com/evil.com</a> (evil.com)`, "[bank.com/evil.com](https://evil.com) (evil.com)"},
		{"user part", "[x](https://bank.com@evil.com)", `<a href="https://bank.com@evil.com">x</a> (evil.com)`, "[x](https://bank.com@evil.com) (evil.com)"},
		{"user part in the open", "<https://bank.com@evil.com>", `<a href="https://bank.com@evil.com">https://bank.com@evil.com</a> (evil.com)`, "<https://bank.com@evil.com> (evil.com)"},
		{"longer host", "[bank.com](https://bank.com.evil.com)", `<a href="https://bank.com.evil.com">bank.com</a> (bank.com.evil.com)`, "[bank.com](https://bank.com.evil.com) (bank.com.evil.com)"},
		{"address in numbers", "[10.0.0.1](http://10.0.0.2)", `<a href="http://10.0.0.2">10.0.0.1</a> (10.0.0.2)`, "[10.0.0.1](http://10.0.0.2) (10.0.0.2)"},
		{"script", "[x](javascript:alert)", "x (javascript:alert)", "x (javascript:alert)"},
		{"relative", "[x](a/b)", "x (a/b)", "x (a/b)"},
		{"mail", "[write](mailto:a@b.c)", "write (a@b.c)", "write (a@b.c)"},
		{"person", "[x](tg://user?id=1)", "x (tg://user?id=1)", "x (tg://user?id=1)"},
		{"telegram", "[x](tg://resolve?domain=d)", `<a href="tg://resolve?domain=d">x</a> (tg://resolve)`, "x (tg://resolve?domain=d)"},
		{"empty text", "[](http://a.b)", `<a href="http://a.b">http://a.b</a>`, "<http://a.b>"},
		{"backslash", `[x](<http://a.b\\@c.d>)`, `x (http://a.b\@c.d)`, `x (http://a.b\\@c.d)`},
		{"parentheses", "[x](<http://a.b/(c)>)", `<a href="http://a.b/(c)">x</a> (a.b)`, "[x](http://a.b/%28c%29) (a.b)"},
		{"too long", "[x](http://a.b/" + strings.Repeat("c", 1000) + ")", "x (http://a.b/" + strings.Repeat("c", 1000) + ")", "x (http://a.b/" + strings.Repeat("c", 1000) + ")"},
	} {
		if diff := cmp.Diff([]Part{{Text: c.html, ParseMode: ModeHTML}}, Telegram(c.in)); diff != "" {
			t.Errorf("%s: Telegram(%q) (-want +got):\n%s", c.name, c.in, diff)
		}
		if got := Slack(c.in); len(got) != 1 || got[0].MarkdownText != c.slack {
			t.Errorf("%s: Slack(%q)\n got %+v\nwant %q", c.name, c.in, got, c.slack)
		}
	}
}

// telegramLength is the number of UTF-16 units that Telegram counts for HTML
// that this package wrote: tags count nothing, an entity counts as its
// character.
func telegramLength(text string) int {
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			break
		}
		_, text, _ = strings.Cut(rest, ">")
	}
	return units(html.UnescapeString(b.String()))
}
