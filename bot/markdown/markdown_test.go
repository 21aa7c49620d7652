package markdown

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTerminalGolden(t *testing.T) {
	docs, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("documents to render: %v, %v", docs, err)
	}
	for _, doc := range docs {
		source, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for name, render := range map[string]func(string) string{
			"wide.ansi": func(s string) string { return Terminal(s, 60, Style{Color: true}) },
			"narrow":    func(s string) string { return Terminal(s, 24, Style{}) },
			"plain":     Plain,
		} {
			// Escape sequences are written visibly, so that the files can be read.
			got := strings.ReplaceAll(render(string(source)), "\x1b", "\\e") + "\n"
			golden(t, strings.TrimSuffix(doc, ".md")+"."+name+".golden", got)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blank", " \n\n", ""},
		{"paragraphs", "a\n\n\n\nb", "a\n\nb"},
		{"line breaks stay", "a\nb  \nc\\\nd<br>e<BR />f", "a\nb\nc\nd\ne\nf"},
		{"link", "[text](http://a.b)", "text (http://a.b)"},
		{"link to itself", "<http://a.b> https://c.d", "http://a.b https://c.d"},
		{"link with title", `[x](http://a.b "T&amp;t")`, `x (http://a.b "T&t")`},
		{"link without text", "[](http://a.b)", "(http://a.b)"},
		{"mail", "<me@a.b> [me@a.b](mailto:me@a.b)", "me@a.b me@a.b"},
		{"image", "![alt *x*](pic.png)", "alt x (pic.png)"},
		{"reference", "[a][1], [B] and [c][]; [d][x]\n\n[1]: http://a.b \"t\"\n[b]: <http://b.c>\n[c]: http://c.d\n\nend", "a (http://a.b \"t\"), B (http://b.c) and c (http://c.d); [d][x]\n\nend"},
		{"numbered sources", "so [1] and [1][2]\n\n[1]: http://a.b\n[2]: http://b.c\n[3]: http://c.d", "so [1] (http://a.b) and 1 (http://b.c)\n\n[1]: http://a.b\n[2]: http://b.c\n[3]: http://c.d"},
		{"unsafe reference", "[a][1]\n\n[1]: javascript:x", "[a][1]\n\n[1]: javascript:x"},
		{"struck text stays told apart", "~~no~~ yes", "~~no~~ yes"},
		{"other html is text", "<foo>x</foo> <!-- y -->\n\n<script>\nz\n</script>", "<foo>x</foo> <!-- y -->\n\n<script>\nz\n</script>"},
		{"html of text", "<b>a</b> <strong>b</strong> <em>c</em> <kbd>d</kbd> <mark>e</mark>&nbsp;<span class=\"x\">f</span> <del>g</del>", "a b c d e\u00a0f ~~g~~"},
		{"html link", `see <a href="https://e.com/x?a=1&amp;b=2" target="_blank">the <b>page</b></a>, <a name=x>y</a>`, "see the page (https://e.com/x?a=1&b=2), y"},
		{"html in a sentence", "use <p> or <b> and <li>x</li>", "use <p> or <b> and\n• x"},
		{"html paragraphs", "<p align=\"center\">a<br>b</p>\n<p>c</p>\nd", "a\nb\n\nc\n\nd"},
		{"html headings", "<h3>a</h3>\ntext\n\n<hr>\n\n<div>\n\n**b**\n\n</div>", "a\n\ntext\n\n───\n\nb"},
		{"html list", "<ul>\n  <li>a</li>\n  <li>b\n    <ol>\n      <li>c</li>\n      <li>d</li>\n    </ol>\n  </li>\n</ul>\nend", "• a\n• b\n  1. c\n  2. d\n\nend"},
		{"html table", "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr>\n<td>1|2</td>\n<td>`<td>`</td>\n</tr>\n</table>", "A   │ B\n────┼─────\n1|2 │ <td>"},
		{"html list in a cell", "|a|\n|-|\n|<ul><li>x</li><li>y</li></ul>|", "a\n───\n• x\n• y"},
		{"html in code", "```\n<p>a</p>\n```\n\n`<b>x</b>`\n\n    <ul><li>b</li></ul>", "    <p>a</p>\n\n<b>x</b>\n\n    <ul><li>b</li></ul>"},
		{"html that goes on", "<table>\n<tr><td>a", "<table>\n<tr><td>a"},
		{"escapes", `\*a\* &lt;b&gt; &copy; &nope; & \\`, `*a* <b> © &nope; & \`},
		{"numbers go on", "7. a\n8. b", "7. a\n8. b"},
		{"parenthesis", "1) a", "1) a"},
		{"tasks", "- [ ] a\n- [x] b\n- c", "☐ a\n☑ b\n• c"},
		{"empty item", "- a\n-\n- b", "• a\n•\n• b"},
		{"loose list", "- a\n\n- b", "• a\n\n• b"},
		{"code", "```py\nif x:\n\ty\n```", "    if x:\n        y"},
		{"code with a title", "```py title=a.py\nx\n```", "[py title=a.py]\n    x"},
		{"open code", "```\na", "    a"},
		{"empty code", "a\n\n```\n```\n\nb", "a\n\n\n\nb"},
		{"code in list", "- a\n  ```\n  b\n  ```", "• a\n      b"},
		{"quote in list", "- > a\n  > b", "• │ a\n  │ b"},
		{"table", "|a|b|\n|-|-:|\n|1|22|", "a │  b\n──┼───\n1 │ 22"},
		{"short row", "|a|b|\n|-|-|\n|1|", "a │ b\n──┼──\n1 │"},
		{"long row", "|a|\n|-|\n|1|2|3|", "a\n───────\n1 | 2|3"},
		{"pipe in code", "|a|\n|-|\n|`x\\|y`|", "a\n───\nx|y"},
		{"control characters", "a\x1b[31mb\x00c\x07d\x7f\u009be\u202ef", "a␛[31mb␀c␇d␡\uFFFDef"},
		{"entity of a control character", "&#27;[2J&#x9b;2J&#8238;x", "␛[2J\uFFFD2Jx"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
		{"underline", "<u>a</u> b", "a b"},
		{"tags without an end", "<u>a <sup>2 </b></sub>", "<u>a <sup>2 </b></sub>"},
		{"tags in code and escaped", "`<u>a</u>` \\<u>b</u> &lt;u>c</u>", "<u>a</u> <u>b</u> <u>c</u>"},
		{"raised and lowered", "H<sub>2</sub>O, x<sup>2n</sup>, 19<sup>th</sup>, a<sub>max</sub>, b<sup>p/q</sup>", "H₂O, x²ⁿ, 19th, a_max, b^(p/q)"},
		{"small print", "<sub>Source: a b</sub>", "Source: a b"},
		{"details", "a\n\n<details>\n<summary>Why **so**</summary>\n\n- one\n- two\n\n</details>\n\nb", "a\n\n│ Why so\n│\n│ • one\n│ • two\n\nb"},
		{"details on few lines", "<details open><summary>Why</summary>\nbecause</details>\nb", "│ Why\n│ because\n\nb"},
		{"details in a list", "- a\n  <details>\n  <summary>t</summary>\n  c\n  </details>\n- b", "• a\n  │ t\n  │ c\n• b"},
		{"details without a title", "<details>\n\nb\n</details>", "│ b"},
		{"details inside details", "<details>\n<summary>a</summary>\n<details>\n<summary>b</summary>\nc\n</details>\n</details>", "│ a\n│\n│ b\n│ c"},
		{"details that go on", "<details>\n<summary>a</summary>\n\nb", "│ a\n│\n│ b"},
		{"details in code", "```\n<details>\n</details>\n```", "    <details>\n    </details>"},
		{"details in a sentence", "<details> is a tag", "<details> is a tag"},
		{"formula", `so \(x^2 + y_1 \leq \frac{a+b}{2}\) and \(n\)`, "so x² + y₁ ≤ (a+b)/2 and n"},
		{"block formula", "so\n\n\\[\nE = mc^{2} \\times \\sqrt{\\pi r}\n\\]\n\nend", "so\n\nE = mc² × √(π r)\n\nend"},
		{"dollar formula", `so $x^2$, $O(n \log n)$, $f(x)$ and $A^T$`, "so x², O(n log n), f(x) and Aᵀ"},
		{"money", "$5 and $6, $5-$6, US$5=US$6, $HOME/$USER, $PATH$, `$x^2$`, \\$x^2$, $$", "$5 and $6, $5-$6, US$5=US$6, $HOME/$USER, $PATH$, $x^2$, $x^2$, $$"},
		{"dollar block", "so\n$$\n\\vec{a}\n= \\frac{1}{2}\n- \\sqrt[3]{b}\n$$\nend", "so\na\u20d7 = 1/2 - ³√b\nend"},
		{"matrix", "$$A = \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}$$\n\n\\[\n\\begin{array}{cc} 1 & 2 \\\\\n3 & 4 \\end{array}\n\\]", "A = (a, b; c, d)\n\n1, 2; 3, 4"},
		{"aligned", "- $$\n  \\begin{aligned}\n  x &= 1 \\\\[4pt]\n  &= \\begin{cases} 2 & y \\\\ 3 \\end{cases}\n  \\end{aligned}\n  $$\n- b", "• x = 1\n  = { 2, y; 3\n• b"},
		{"block without a formula", "$$\n- a\n\n$$", "$$\n\n• a\n\n$$"},
		{"unknown command", `\(\foo{x} \cdot \text{a b}\)`, `\foox · a b`},
		{"formula of an index", `\(a_{ij}^{n+1}\)`, "a_ijⁿ⁺¹"},
		{"escaped brackets", `\[1\] \(see above\) \[a b\]`, "[1] (see above) [a b]"},
		{"formula in code", "`\\(x^2\\)`", `\(x^2\)`},
		{"footnotes", "a[^1] b[^12] [^a-z]\n\n[^1]: one\n[^12]: *two*", "a¹ b¹² [^a-z]\n\n¹ one\n¹² two"},
		{"products and names", "2*3*4, 5*x*7, x**2 + y**2, a __init__.py, __file__, __b__", "2*3*4, 5*x*7, x**2 + y**2, a __init__.py, __file__, b"},
		{"named footnotes", "a[^n] b[^1] c[^two] [^n] [^x]\n\n[^n]: `[^n]`\n[^1]: one\n[^two]: two", "a² b¹ c³ ² [^x]\n\n² [^n]\n¹ one\n³ two"},
		{"list below a wide number", "10. a\n   - b\n     - c\n   - d\n11. e", "10. a\n    ◦ b\n      ▪ c\n    ◦ d\n11. e"},
		{"two spaces below a number", "1. a\n  - b\n  - c\n2. d\n  - e", "1. a\n   ◦ b\n   ◦ c\n2. d\n   ◦ e"},
		{"three spaces below a wide bullet", "-   a\n   - b\n-   c", "• a\n  ◦ b\n• c"},
		{"list below text", "a:\n   - b\n   - c", "a:\n\n• b\n• c"},
		{"carriage returns", "a\r\nb\rc", "a\nb\nc"},
		{"alert", "> [!NOTE]\n> a\n\n- > [!warning] b", "│ NOTE\n│ a\n\n• │ warning b"},
		{"no alert", "[!NOTE]\n\n> [!OTHER]\n> \\[!TIP]\n\n```\n> [!TIP]\n```", "[!NOTE]\n\n│ [!OTHER]\n│ [!TIP]\n\n    > [!TIP]"},
		{"bare pipe in code", "|a `b|c`|d|\n|-|-|\n|`x|y`|z|\n`1|2`|3", "a b|c │ d\n──────┼──\nx|y   │ z\n1|2   │ 3"},
		{"bare pipes in two cells", "> |a|b|\n> |-|-|\n> |`x|y`|``z|`|``|", "│ a   │ b\n│ ────┼─────\n│ x|y │ z|`|"},
		{"pipe that ends a cell", "|a|b|\n|-|-|\n|`x|y`|\n|`x|y|z|", "a  │ b\n───┼──────\n`x │ y`\n`x │ y | z"},
		{"code below a table", "|a|\n|-|\n\n`x|y`\n\n|a|\n|-|\n- `x|y`", "a\n─\n\nx|y\n\na\n─\n\n• x|y"},
		{"words behind a fence", "```go\na\n```and *then*\n\n- ~~~\n  b\n  ~~~ the `end`.\n\n> ```\n> c\n> ```Done.", "    a\n\nand then\n\n•     b\n  the end.\n\n│     c\n│\n│ Done."},
		{"fence in a fence", "```md\na\n```go\n```py title=x\n    ```and then\n```", "    a\n    ```go\n    ```py title=x\n        ```and then"},
	} {
		if got := Plain(c.in); got != c.want {
			t.Errorf("%s: Plain(%q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}

func TestTerminalWraps(t *testing.T) {
	for _, c := range []struct {
		name, in string
		width    int
		want     string
	}{
		{"words", "aaa bbb ccc", 7, "aaa bbb\nccc"},
		{"long word", "aa bbbbbbbbbb", 4, "aa\nbbbb\nbbbb\nbb"},
		{"east asian", "你好世界", 4, "你好\n世界"},
		{"no closing mark at the start", "你好，世界", 4, "你\n好，\n世界"},
		{"odd width", "你好世界", 5, "你好\n世界"},
		{"mixed", "abc世界", 5, "abc世\n界"},
		{"combining marks", "e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301\ne\u0301"},
		{"emoji", "👩‍👩‍👧👩‍👩‍👧", 2, "👩‍👩‍👧\n👩‍👩‍👧"},
		{"code", "```\nabcdefghij\n```", 20, "    abcdefghij"},
		{"long code", "```\nabcdefghijklmnopqrst\n```", 20, "    abcdefghijklmnop\n    qrst"},
		{"hanging list", "- aaaa bbbb cccc dddd", 14, "• aaaa bbbb\n  cccc dddd"},
	} {
		if got := Terminal(c.in, c.width, Style{}); got != c.want {
			t.Errorf("%s: Terminal(%q, %d)\n got %q\nwant %q", c.name, c.in, c.width, got, c.want)
		}
	}
}

func TestPartial(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"finished", "# A\n\ntext", "# A\n\ntext"},
		{"half a character", "na\xc3", "na"},
		{"open fence", "```go\nx := 1", "```go\nx := 1"},
		{"fence about to close", "```go\nx\n``", "```go\nx\n"},
		{"words behind a fence", "```go\nx\n```and **then", "```go\nx\n```\nand **then**"},
		{"language or words", "```go\nx\n```an", "```go\nx\n"},
		{"alert about to start", "a\n\n> [!NO", "a\n\n"},
		{"alert", "> [!NOTE]\n> a", "> [!NOTE]\n> a"},
		{"marks in quoted code stay", "> ```\n> **a\n> ``", "> ```\n> **a\n"},
		{"marks in code stay", "```\n**a\n", "```\n**a\n"},
		{"bold", "so **very", "so **very**"},
		{"bold about to start", "so **", "so "},
		{"nested", "**a *b", "**a *b***"},
		{"space before the end", "**a ", "**a**"},
		{"closed", "**a** *b*", "**a** *b*"},
		{"multiplication", "2 * 3", "2 * 3"},
		{"product", "is 17*23 or", "is 17*23 or"},
		{"power", "is x**2 + 1", "is x**2 + 1"},
		{"product in bold", "- **What is 17*23**: 391", "- **What is 17*23**: 391"},
		{"product in open bold", "**17*23", "**17*23**"},
		{"name", "snake_case", "snake_case"},
		{"code span", "use `go te", "use `go te`"},
		{"code span about to start", "use `", "use "},
		{"mark in code span", "`a*` b", "`a*` b"},
		{"half a link text", "see [the do", "see the do"},
		{"link text", "see [the docs]", "see the docs"},
		{"half an address", "see [the docs](http://exa", "see the docs"},
		{"link", "see [the docs](http://a.b) x", "see [the docs](http://a.b) x"},
		{"half an image", "![alt](pi", "alt"},
		{"item about to start", "- a\n- ", "- a"},
		{"number about to start", "1. a\n2.", "1. a"},
		{"task about to start", "- a\n- [ ", "- a"},
		{"ruler or list or heading", "text\n-", "text"},
		{"bold in one item only", "- **a\n- b", "- **a\n- b"},
		{"head of a table", "x\n\n| a | b |", "x\n\n"},
		{"half a ruler", "| a | b |\n|--", ""},
		{"table", "| a | b |\n|---|---|", "| a | b |\n|---|---|"},
		{"row", "| a | b |\n|---|---|\n| 1 | **2", "| a | b |\n|---|---|\n| 1 | **2**"},
		{"backslash", `a\`, `a`},
	} {
		if got := Partial(c.in); got != c.want {
			t.Errorf("%s: Partial(%q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}

func TestTerminalParts(t *testing.T) {
	want := []Part{{Text: "\x1b[1ma\x1b[0m", ParseMode: ModeANSI}}
	if diff := cmp.Diff(want, TerminalParts("**a**", 80, Style{Color: true})); diff != "" {
		t.Errorf("coloured parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Part{{Text: "a", ParseMode: ModePlain}}, TerminalParts("**a**", 0, Style{})); diff != "" {
		t.Errorf("plain parts (-want +got):\n%s", diff)
	}
	if got := TerminalParts("\n", 80, Style{}); got == nil || len(got) != 0 {
		t.Errorf("parts of an empty answer: got %#v, want an empty list", got)
	}
}

// A long document is parsed in pieces; fences and tables go on across them.
func TestLongDocumentsStayWhole(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := y + z\n", 4000) + "```\n\nend"
	got := Plain(code)
	if n := strings.Count(got, "    x := y + z\n"); n != 4000 || !strings.HasSuffix(got, "\n\nend") {
		t.Errorf("long code: got %d indented lines and the end %q, want 4000 and the text after it", n, got[len(got)-20:])
	}
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| cell | other |\n", 2000)
	if got := Plain(table); strings.Contains(got, "|") || strings.Count(got, "cell │ other") != 2000 {
		t.Errorf("long table: %d of 2000 rows are shown as rows", strings.Count(got, "cell │ other"))
	}
}

func BenchmarkTerminal(b *testing.B) {
	source, err := os.ReadFile("testdata/render/everything.md")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(source), 30_000/len([]rune(string(source)))+1)
	b.ReportMetric(float64(len([]rune(text))), "chars")
	for b.Loop() {
		Terminal(text, 100, Style{Color: true})
	}
}
