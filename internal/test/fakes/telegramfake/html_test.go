package telegramfake

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseHTML(t *testing.T) {
	tests := []struct {
		source, text, entities string
		refused                string
		problem                string
	}{
		{source: "plain", text: "plain", entities: "null"},
		{source: "a &lt;b&gt; &amp; &quot;c&quot; &#33;&#x1F680;", text: `a <b> & "c" !🚀`, entities: "null"},
		{source: "🚀<b>x<i>y</i></b>", text: "🚀xy", entities: `[{"type":"bold","offset":2,"length":2},{"type":"italic","offset":3,"length":1}]`},
		{source: "<strong>a</strong><em>b</em><ins>c</ins><u>d</u><s>e</s><strike>f</strike><del>g</del>", text: "abcdefg", entities: `[{"type":"bold","offset":0,"length":1},{"type":"italic","offset":1,"length":1},{"type":"underline","offset":2,"length":1},{"type":"underline","offset":3,"length":1},{"type":"strikethrough","offset":4,"length":1},{"type":"strikethrough","offset":5,"length":1},{"type":"strikethrough","offset":6,"length":1}]`},
		{source: `<a href="https://a.example/?x=1&amp;y=2">t</a>`, text: "t", entities: `[{"type":"text_link","offset":0,"length":1,"url":"https://a.example/?x=1\u0026y=2"}]`},
		{source: `<a href='x' >t</a><A HREF=y>u</A>`, text: "tu", entities: `[{"type":"text_link","offset":0,"length":1,"url":"x"},{"type":"text_link","offset":1,"length":1,"url":"y"}]`},
		{source: `<pre><code class="language-go">x</code></pre>`, text: "x", entities: `[{"type":"pre","offset":0,"length":1,"language":"go"}]`},
		{source: `<pre>x</pre><code>y</code>`, text: "xy", entities: `[{"type":"pre","offset":0,"length":1},{"type":"code","offset":1,"length":1}]`},
		{source: `<span class="tg-spoiler">x</span><tg-spoiler>y</tg-spoiler>`, text: "xy", entities: `[{"type":"spoiler","offset":0,"length":1},{"type":"spoiler","offset":1,"length":1}]`},
		{source: `<blockquote>x</blockquote><blockquote expandable>y</blockquote>`, text: "xy", entities: `[{"type":"blockquote","offset":0,"length":1},{"type":"expandable_blockquote","offset":1,"length":1}]`},
		{source: "<b></b>x", text: "x", entities: "null"},
		{source: "a > b", text: "a > b", entities: "null"},

		{source: "a < b", refused: `Unsupported start tag "" at byte offset 2`},
		{source: "<h1>x</h1>", refused: `Unsupported start tag "h1" at byte offset 0`},
		{source: "<br/>", refused: `Unsupported start tag "br/"`},
		{source: "<b", refused: "Unclosed start tag at byte offset 0"},
		{source: `<a href="x`, refused: "Unclosed start tag at byte offset 0"},
		{source: `<a href`, refused: "Expected equal sign in declaration of an attribute"},
		{source: `<a ="x">`, refused: "Empty attribute name in the tag"},
		{source: "<b>x", refused: `Can't find end tag corresponding to start tag "b"`},
		{source: "x</b>", refused: "Unexpected end tag at byte offset 1"},
		{source: "<b><i>x</b></i>", refused: `Unmatched end tag at byte offset 7, expected "</i>", found "</b>"`},
		{source: "<b>x</b", refused: "Unclosed end tag at byte offset 4"},
		{source: "<span>x</span>", refused: `Tag "span" must have class "tg-spoiler"`},

		{source: "&nbsp;", text: "&nbsp;", entities: "null", problem: "no character reference"},
		{source: "a & b", text: "a & b", entities: "null", problem: "no character reference"},
		{source: "&#0;", text: "&#0;", entities: "null", problem: "no character reference"},
		{source: "<b onclick=x>y</b>", text: "y", entities: `[{"type":"bold","offset":0,"length":1}]`, problem: `no attribute "onclick"`},
		{source: "<a>x</a>", text: "x", entities: `[{"type":"text_link","offset":0,"length":1}]`, problem: "without href"},
		{source: "<code><b>x</b></code>", text: "x", entities: `[{"type":"bold","offset":0,"length":1},{"type":"code","offset":0,"length":1}]`, problem: `"b" inside "code"`},
		{source: `<code class="language-go">x</code>`, text: "x", entities: `[{"type":"code","offset":0,"length":1}]`, problem: "outside pre"},
		{source: "<blockquote>x<blockquote>y</blockquote></blockquote>", text: "xy", entities: `[{"type":"blockquote","offset":0,"length":2},{"type":"blockquote","offset":1,"length":1}]`, problem: "a blockquote in a blockquote"},
	}
	for _, test := range tests {
		got, refused := parseHTML(test.source)
		if test.refused != "" {
			if !strings.Contains(refused, test.refused) {
				t.Errorf("%s: refused with %q, want %q", test.source, refused, test.refused)
			}
			continue
		}
		entities, err := json.Marshal(got.entities)
		if err != nil || refused != "" || got.text != test.text || string(entities) != test.entities {
			t.Errorf("%s: got %q, %s, refused with %q; want %q, %s", test.source, got.text, entities, refused, test.text, test.entities)
		}
		if problems := strings.Join(got.problems, "; "); (test.problem == "") != (problems == "") || !strings.Contains(problems, test.problem) {
			t.Errorf("%s: got problems %q, want %q", test.source, problems, test.problem)
		}
	}
}

func TestTrim(t *testing.T) {
	text, entities := trim("  x \n", []Entity{{Type: "bold", Offset: 2, Length: 3}, {Type: "italic", Offset: 4, Length: 1}})
	if text != "x" || len(entities) != 1 || entities[0] != (Entity{Type: "bold", Length: 1}) {
		t.Errorf("got %q, %+v", text, entities)
	}
}

func TestDetect(t *testing.T) {
	got, err := json.Marshal(detect("🚀 /task@legwork_bot ask @legwork_bot, a@b.example, https://x.example/a"))
	want := `[{"type":"bot_command","offset":3,"length":17},{"type":"mention","offset":25,"length":12},{"type":"url","offset":52,"length":19}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzParseHTML(f *testing.F) {
	for _, seed := range []string{"<b>x</b>", `<a href="x">y</a>`, "<pre><code class='language-go'>x</code></pre>", "&lt;&#x41;&", "<blockquote expandable>x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got, refused := parseHTML(source)
		if refused != "" {
			return
		}
		if utf8.ValidString(source) && !utf8.ValidString(got.text) {
			t.Errorf("%q became %q", source, got.text)
		}
		for _, e := range got.entities {
			if e.Offset < 0 || e.Length < 1 || e.Offset+e.Length > Length(got.text) {
				t.Errorf("%q: the entity %+v is outside of %q", source, e, got.text)
			}
		}
		if _, entities := trim(got.text, got.entities); len(entities) > len(got.entities) {
			t.Errorf("%q: trimming made entities", source)
		}
	})
}
