package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/builtin/web"
)

// hostilePages are pages that HTML parsers, readability or Markdown multiply,
// about size bytes each.
func hostilePages(size int) map[string]string {
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const words = "Lorem ipsum dolor sit amet, consectetur, adipiscing elit. "
	return map[string]string{
		"64 KB of nested tags":       fill("<div>", 64<<10),
		"nested tags":                fill("<div>", size),
		"nested spans with text":     fill("<span>a", size),
		"deep, then text":            strings.Repeat("<div>", 400) + fill("<p>"+words+words+"</p>", size),
		"deep, then a text":          strings.Repeat("<div>", 400) + fill(words, size),
		"paragraphs":                 fill("<p>", size),
		"short paragraphs":           fill("<p>a, b", size),
		"open formatting":            numbered(500, "<b id=%d>") + fill("<p>x", size),
		"open formatting in cells":   strings.Repeat("<table><tr><td>", 30) + numbered(400, "<i class=a%d>") + fill("<p>x", size),
		"formatting across cells":    numbered(400, "<b id=%d><table><tr><td></b></td></tr></table>") + fill("<p>x", size),
		"misnested formatting":       fill("<b><i><a></b></i></a><p>", size),
		"open links":                 fill("<a href=x>y", size),
		"attributes of html":         fill("<html a"+strings.Repeat("b", 5)+"=c>", size/2) + numbered(size/20, "<html a%d=c>"),
		"attributes of one tag":      "<p " + numbered(size/10, "a%d=b ") + ">x",
		"long attribute":             "<a href='" + fill("x", size) + "'>y</a>",
		"list of lists":              fill("<ul><li>a", size),
		"deep lists, then items":     strings.Repeat("<ul><li>a", 150) + fill("<li>b", size),
		"deep quotes, then text":     strings.Repeat("<blockquote>a", 300) + fill("<p>b", size),
		"wide and long table":        "<table><tr>" + fill("<td>a", size/2) + fill("<tr><td>b", size/2),
		"large spans":                "<table>" + fill("<tr><td colspan=1000 rowspan=1000>a", size),
		"nested tables":              fill("<table><tr><td>a", size),
		"tables side by side":        fill("<table><tr><td>a<td>b</table>", size),
		"cells in no table":          fill("<td><tr><tbody>", size),
		"headings":                   fill("<h1>a</h1>", size),
		"lines":                      "<div>" + fill("a<br>", size),
		"pre":                        fill("<pre>a\n```\n", size),
		"code":                       "<p>" + fill("<code>`</code>", size),
		"backticks":                  "<p>" + fill("`", size),
		"escapes":                    "<p>" + fill("*_[]()#\\", size),
		"spaces":                     "<p>" + fill(" ", size),
		"line breaks":                "<pre>" + fill("\n", size),
		"comments":                   fill("<!---->", size),
		"one comment":                "<!--" + fill("-!>", size),
		"open tags":                  fill("<", size),
		"open tag":                   "<a " + fill("<a '", size),
		"closing tags":               fill("</p>", size),
		"closing tags of everything": fill("</b></a></div></table></html></body>x", size),
		"entities":                   "<p>" + fill("&amp;&lt;&notit;&#x;", size),
		"templates":                  fill("<template><svg><math>", size),
		"svg":                        fill("<svg><g>x", size),
		"scripts":                    fill("<script>", size),
		"select":                     fill("<select><option>x", size),
		"forms":                      fill("<form><button>x", size),
		"title":                      "<title>" + fill("a | b - ", size) + "</title><p>x",
		"headings like the title":    "<title>" + words + "</title>" + fill("<h2>"+words+"</h2>", size),
		"classes":                    fill("<div class='article comment sidebar'>a, b</div>", size),
		"images":                     fill("<img src=x alt=y>", size),
		"words":                      "<p>" + fill("a ", size),
		"custom elements":            fill("<x-a><x-b>", size),
		"NUL":                        fill("\x00", size),
		"plaintext":                  "<plaintext>" + fill("<p>", size),
		"frames":                     fill("<frameset><frame>", size),
	}
}

// Every page is answered within seconds and without filling the memory, with
// its text or with an error.
func TestHostilePages(t *testing.T) {
	size := need.Times(16<<10, 2<<20)
	fetch := fetcher(t, loopback())
	for name, page := range hostilePages(size) {
		s := serve(t, "text/html", page)
		for _, format := range []string{"article", "page"} {
			var got string
			var failed bool
			var used int64
			took := watch.Work(func() {
				used = watch.Memory(func() { got, failed = fetch(s.URL, "format", format) })
			})
			t.Logf("%s as %s: %v, %d MiB, failed %v, %d bytes", name, format, took.Round(time.Millisecond), used>>20, failed, len(got))
			if took > time.Minute || used > 400<<20 || (failed && !strings.Contains(got, "has no text")) {
				t.Errorf("%s as %s: took %v and %d MiB, failed %v: %.300s", name, format, took, used>>20, failed, got)
			}
		}
		s.Close()
	}
}

// What cannot be shown in its form keeps its text.
func TestDeepPagesKeepTheirText(t *testing.T) {
	for name, page := range map[string]string{
		"nested too deeply to parse": strings.Repeat("<div>", 1000) + "the text</p>",
		"nested deeply":              strings.Repeat("<div><section>", 100) + "<p>the text",
		"too many tags":              strings.Repeat("<p>x", 60_000) + "<p>the text",
		"lists":                      strings.Repeat("<ul><li>", 100) + "the text",
		"quotes":                     strings.Repeat("<blockquote>", 100) + "the text",
		"table":                      "<table><tr>" + strings.Repeat("<td>a", 1000) + strings.Repeat("<tr><td>b", 1000) + "<tr><td>the text",
		"svg that never ends":        "<svg><g><p>the text",
		"formatting":                 strings.Repeat("<b><i>", 1000) + "the text",
	} {
		if got, err := web.ReadHTML(page, "http://example.com/", true); err != nil || !strings.HasSuffix(strings.TrimRight(got, "*_ \n"), "the text") {
			t.Errorf("%s: got %.100q, %v; want the text at the end", name, got, err)
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, page := range hostilePages(2000) {
		f.Add(page, false)
	}
	f.Add("<title>a</title><article><h1>b</h1><p>c<a href='//d'>e</a><img src=f alt=g><table><tr><th>h<td>i</table>", true)
	f.Fuzz(func(t *testing.T, page string, whole bool) {
		var got string
		var err error
		took := watch.Work(func() { got, err = web.ReadHTML(page, "http://example.com/a/b?c", whole) })
		if err != nil {
			t.Errorf("reading %q: %v", page, err)
		}
		if took > 20*time.Second {
			t.Errorf("reading %d bytes took %v of the processor", len(page), took)
		}
		if len(got) > 1000+100*len(page) {
			t.Errorf("reading %q: %d bytes became %d", page, len(page), len(got))
		}
	})
}
