package markdown

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"legwork/bot"
)

// unscripted are the usual forms of raised and lowered characters.
var unscripted = func() map[rune]rune {
	m := map[rune]rune{}
	for _, s := range []scripts{superscripts, subscripts} {
		for usual, form := range s {
			m[form] = usual
		}
	}
	return m
}()

// lettersOf counts the letters and digits of s. Raised and lowered ones count as usual
// ones.
func lettersOf(s string) map[rune]int {
	n := map[rune]int{}
	for _, c := range s {
		if usual := unscripted[c]; usual != 0 {
			c = usual
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			n[c]++
		}
	}
	return n
}

// fenceLanguage is a line that opens a code block and names its language. The name
// is the only text that may go.
var fenceLanguage = regexp.MustCompile("(?m)^([^\\p{L}`~]*(?:`{3,}|~{3,}))[ \t]*[A-Za-z0-9+#_.-]{1,32}[ \t]*$")

// A formula, and the commands in it that become signs.
var (
	inFormula    = regexp.MustCompile(`(?s)\\\(.*?\\\)|\\\[.*?\\\]|\$\$.*?\$\$|\$[^$\n]*\$`)
	latexCommand = regexp.MustCompile(`\\(?:begin|end)\{[A-Za-z*]*\}(?:\{[^}]*\})?|\\[A-Za-z]+|\\\\\[[^]]*\]`)
)

// knownTag is a tag that is not shown, whatever its attributes. A link keeps its address.
var knownTag = regexp.MustCompile(`(?i)</?(?:` + strings.Join(slices.Collect(maps.Keys(tags)), "|") + `|table|thead|tbody|tfoot|t[dhr]|hr)(?:\s[^<>]*)?/?>`)

// withoutMarkup drops what Markdown writes in letters or digits: numbers of
// list items, boxes of tasks, <br>, entities, the languages of code blocks and the
// commands of formulas.
func withoutMarkup(s string) string {
	var b strings.Builder
	s = fenceLanguage.ReplaceAllString(s, "$1")
	s = inFormula.ReplaceAllStringFunc(s, func(f string) string { return latexCommand.ReplaceAllString(f, " ") })
	for name, number := range noteNumbers(s) {
		s = strings.ReplaceAll(s, "[^"+name+"]", "[^"+number+"]")
	}
	for label := range newReferences(s).all {
		s = regexp.MustCompile(`(?i)(\]|^|\n) {0,3}\[`+regexp.QuoteMeta(label)+`\]`).ReplaceAllString(s, "$1")
	}
	s = knownTag.ReplaceAllStringFunc(s, func(tag string) string {
		if m := hrefPattern.FindStringSubmatch(tag); m != nil {
			return " " + m[1] + m[2] + m[3] + " "
		}
		return " "
	})
	s = strings.NewReplacer("[x]", " ", "[X]", " ").Replace(s)
	for i := 0; i < len(s); i++ {
		end := i
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			for end < len(s) && s[end] >= '0' && s[end] <= '9' {
				end++
			}
			if end < len(s) && (s[end] == '.' || s[end] == ')') {
				i = end
				b.WriteByte(' ')
				continue
			}
		case c == '&' || c == '<':
			if n := strings.IndexAny(s[i:min(len(s), i+40)], ";>"); n > 0 {
				i += n
				b.WriteByte(' ')
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func FuzzTerminal(f *testing.F) {
	for _, file := range []string{"everything.md", "steering.md"} {
		source, err := os.ReadFile("testdata/render/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source), 40)
	}
	for _, text := range hostile(300) {
		f.Add(text, 20)
	}
	f.Add("[a](b)[c]: d", 1)
	f.Fuzz(func(t *testing.T, source string, width int) {
		width = width % 200
		plain := Plain(source)
		have := lettersOf(plain)
		for c, n := range lettersOf(withoutMarkup(source)) {
			if have[c] < n {
				t.Errorf("Plain lost text: %d of %d %q in %q\nfrom %q", have[c], n, c, plain, source)
			}
		}
		for _, color := range []bool{false, true} {
			text := Terminal(source, width, Style{Color: color})
			checkLines(t, source, stripStyles(t, text), width)
			shown := lettersOf(stripStyles(t, text))
			for c, n := range lettersOf(plain) {
				if shown[c] < n && !color {
					t.Errorf("at width %d: %d of %d %q are left in %q\nfrom %q", width, shown[c], n, c, text, source)
				}
			}
		}
		Partial(source)
	})
}

// checkLines checks that no line is too wide and nothing steers the terminal.
func checkLines(t *testing.T, source, text string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if line != bot.Clean(line) {
			t.Errorf("a line holds control characters: %q\nfrom %q", line, source)
		}
		if width > 2 && bot.TextWidth(line) > width { // one wide character may need 2
			t.Errorf("a line takes %d columns of %d: %q\nfrom %q", bot.TextWidth(line), width, line, source)
		}
	}
}

// stripStyles removes the styles that the renderer writes.
func stripStyles(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		codes, rest, found := strings.Cut(after, "m")
		if !found || strings.Trim(codes, "0123456789;") != "" {
			t.Fatalf("a sequence that is no style: %q", after[:min(len(after), 20)])
		}
		s = rest
	}
}

func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(files) == 0 {
		f.Fatalf("documents to start from: %v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	for _, text := range hostile(300) {
		f.Add(text)
	}
}

func FuzzTelegram(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, source string) {
		checkTelegram(t, "whole", source)
		for _, n := range []int{len(source) / 3, len(source) / 2, max(0, len(source)-1)} {
			checkTelegram(t, "partial", Partial(source[:n]))
		}
	})
}

func FuzzSlack(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, source string) {
		checkSlack(t, "whole", source)
		checkSlack(t, "partial", Partial(source[:len(source)/2]))
		checkRich(t, "whole", source)
	})
}
