package bot_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"legwork/bot"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"plain\n\ttext, 北京, Привет":     "plain\n\ttext, 北京, Привет",
		"a\rb\x00\x1b[2J\x7f":           `a\x0db\x00\x1b[2J\x7f`,
		"\u0085\u009b\u2028\u2029":      `\u0085\u009b\u2028\u2029`,
		"pay \u202e001\u202c":           `pay \u202e001\u202c`,
		"\u2066x\u2069\u200e\u061c":     `\u2066x\u2069\u200e\u061c`,
		"zero\u200b\u200c\u200d\u2060w": `zero\u200b\u200c\u200d\u2060w`,
		"soft\u00ad\ufeffhyphen":        `soft\u00ad\ufeffhyphen`,
		"a\u00a0b\u2003c\u3000d\u202f":  `a\u00a0b\u2003c\u3000d\u202f`,
		"\u3164\uffa0\u115f\u2800":      `\u3164\uffa0\u115f\u2800`,
		"\U000e0041\U000e007f":          `\U000e0041\U000e007f`,
		"\ue000\U0010fffe\u0378":        `\ue000\U0010fffe\u0378`,
		"\xff\xfe\ufffd":                "\ufffd\ufffd\ufffd",
		"☎️ 1️⃣ #️⃣ ‼️ ❤️":              "☎️ 1️⃣ #️⃣ ‼️ ❤️",
		"1\ufe0f a\ufe0f \U000e0100":    `1\ufe0f a\ufe0f \U000e0100`,
		"☎️\ufe0f \u2800\ufe0f":         `☎️\ufe0f \u2800\ufe0f`,
		"\ufe0fx":                       `\ufe0fx`,
		"e\u0301 \u0600 ❤":              "e\u0301 \u0600 ❤",
		`C:\x1b`:                        `C:\x1b`,
	} {
		if got := bot.Visible(in); got != want {
			t.Errorf("Visible(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestVisibleJSON(t *testing.T) {
	for in, want := range map[string]string{
		``:                              "",
		`{}`:                            "{}",
		` {"b":1,"a":[1.50,1e400]} `:    "{\n  \"b\": 1,\n  \"a\": [\n    1.50,\n    1e400\n  ]\n}",
		`{"a":1,"a":2}`:                 "{\n  \"a\": 1,\n  \"a\": 2\n}",
		`"\u0072\u006d \/ \u4e2d"`:      `"rm / 中"`,
		`"q\" b\\ n\n t\t r\r \b\f"`:    `"q\" b\\ n\n t\t r\r \u0008\u000c"`,
		"\"\u202e\u00a0\x7f\"":          `"\u202e\u00a0\u007f"`,
		`"\u202E \\u202e"`:              `"\u202e \\u202e"`,
		`"\ud83d\ude00 \ud800 \udc00x"`: `"😀 \ud800 \udc00x"`,
		`"\ud800\u0041"`:                `"\ud800A"`,
		"\"\U000e0041\"":                `"\udb40\udc41"`,
		"\"\xff\"":                      `"` + "\ufffd" + `"`,
		`"☎\ufe0f 1\ufe0f a\ufe0f"`:     `"☎️ 1\ufe0f a\ufe0f"`,
		"{\"a\u200b\": nul":             `{"a\u200b": nul`,
		"rm -rf\u00a0/":                 `rm -rf\u00a0/`,
	} {
		if got := bot.VisibleJSON(json.RawMessage(in)); got != want {
			t.Errorf("VisibleJSON(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

// Indenting what is nested without end would make a huge text of a small one.
func TestVisibleJSONDeep(t *testing.T) {
	in := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if got := bot.VisibleJSON(json.RawMessage(in)); got != in {
		t.Errorf("VisibleJSON of 9,000 nested arrays has %d bytes, want the same %d", len(got), len(in))
	}
}

func TestFence(t *testing.T) {
	for _, c := range []struct{ content, info, want string }{
		{"", "", "```\n```\n"},
		{"x := 1", "go", "```go\nx := 1\n```\n"},
		{"```\nout\n```\n", "json", "````json\n```\nout\n```\n````\n"},
		{"a `b` ````` c", "", "``````\na `b` ````` c\n``````\n"},
		{"x", "js`on\nevil text", "```jsoneviltext\nx\n```\n"},
	} {
		if got := bot.Fence(c.content, c.info); got != c.want {
			t.Errorf("Fence(%q, %q) = %q, want %q", c.content, c.info, got, c.want)
		}
	}
}

// unseen is what must not be left in a text that was made visible, by the names
// people know it under rather than by classes of Unicode.
func unseen(s string) (found rune, ok bool) {
	between := func(c rune, ranges ...rune) bool {
		for i := 0; i < len(ranges); i += 2 {
			if c >= ranges[i] && c <= ranges[i+1] {
				return true
			}
		}
		return false
	}
	before := rune(0)
	for _, c := range s {
		emoji := unicode.Is(unicode.So, before) || strings.ContainsRune("0123456789#*‼⁉↔⤴⤵◻◼◽◾〰〽", before)
		if c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.IsSpace(c) && c != ' ' && c != '\n' && c != '\t' ||
			between(c, 0xad, 0xad, 0x61c, 0x61c, 0x115f, 0x1160, 0x180b, 0x180f, 0x2000, 0x200f, 0x2028, 0x202f, 0x205f, 0x206f,
				0x2800, 0x2800, 0x3000, 0x3000, 0x3164, 0x3164, 0xe000, 0xf8ff, 0xfe00, 0xfe0d, 0xfeff, 0xfeff, 0xffa0, 0xffa0,
				0xfff0, 0xfffc, 0xe0000, 0xe0fff, 0xf0000, 0x10ffff) || between(c, 0xfe0e, 0xfe0f) && !emoji {
			return c, true
		}
		before = c
	}
	return 0, false
}

func seeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"", "a\x00\x1b\r\n\t", "\u202e\u2066\u200b\u00a0\u3164\u2800", "☎️1️⃣a\ufe0f\ufe0f", "\xff\xc0\xaf", "\U000e0041\U0010ffff",
		`{"a":[1.0,{"b":"\ud800\u202e"}],"a":null}`, "{\"\u200b\":\"\\\"\u00a0\"}", "\"\xff\"", `"\\"`, `"`, `{"a`, `"\u12`, "[[[[]]]]", "\"a\"\u00a0",
	} {
		f.Add(s)
	}
}

func FuzzVisible(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := bot.Visible(s)
		if c, ok := unseen(got); ok || !utf8.ValidString(got) {
			t.Errorf("Visible(%+q) = %+q, which holds %U", s, got, c)
		}
		if again := bot.Visible(got); again != got {
			t.Errorf("Visible(%+q) = %+q, and once more %+q", s, got, again)
		}
	})
}

func FuzzVisibleJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := bot.VisibleJSON(json.RawMessage(s))
		if c, ok := unseen(got); ok || !utf8.ValidString(got) {
			t.Errorf("VisibleJSON(%+q) = %+q, which holds %U", s, got, c)
		}
		if !json.Valid([]byte(s)) {
			if want := bot.Visible(strings.Trim(s, " \t\r\n")); got != want {
				t.Errorf("VisibleJSON(%+q) = %+q, want %+q, as it is no JSON", s, got, want)
			}
		} else if !json.Valid([]byte(got)) {
			t.Errorf("VisibleJSON(%+q) = %+q, which is no JSON", s, got)
		}
		if was, ok := decoded(s); ok {
			if is, _ := decoded(got); !reflect.DeepEqual(was, is) {
				t.Errorf("VisibleJSON(%+q) = %+q, of another value", s, got)
			}
		}
	})
}

// decoded is the value of JSON with its numbers as they stand.
func decoded(s string) (value any, ok bool) {
	if !utf8.ValidString(s) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return value, d.Decode(&value) == nil && json.Valid([]byte(s))
}
