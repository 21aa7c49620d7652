package lenient_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/watch"
	"legwork/llm/lenient"
)

func TestObjectsAreReadAsModelsWriteThem(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"bare":                 {`{"a":1}`, `{"a":1}`},
		"white space":          {" \n{ \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		"byte-order mark":      {"\ufeff{\"a\":1}", `{"a":1}`},
		"mark inside":          {"{\ufeff\"a\":\u00a01}", `{"a":1}`},
		"fenced":               {"```json\n{\"a\":1}\n```", `{"a":1}`},
		"prose around":         {`Sure, here: {"a":1}. Done {really}.`, `{"a":1}`},
		"several":              {`{"a":1} and {"b":2}`, `{"a":1} {"b":2}`},
		"in an array":          {`[{"a":1},{"b":2}]`, `{"a":1} {"b":2}`},
		"trailing commas":      {`{"a":[1,2,],}`, `{"a":[1,2]}`},
		"single quotes":        {`{'a': 'x'}`, `{"a":"x"}`},
		"apostrophe":           {`{'a': 'it's the cat's'}`, `{"a":"it's the cat's"}`},
		"escaped apostrophe":   {`{'a': 'it\'s'}`, `{"a":"it's"}`},
		"double in single":     {`{'a': 'say "hi"'}`, `{"a":"say \"hi\""}`},
		"line comment":         {"{\"a\": 1, // one\n\"b\": 2}", `{"a":1,"b":2}`},
		"block comment":        {`{"a": /* one */ 1}`, `{"a":1}`},
		"hash comment":         {"{\"a\": 1, # one\n}", `{"a":1}`},
		"no comment in string": {`{"a": "http://x/#y /* z */"}`, `{"a":"http://x/#y /* z */"}`},
		"python literals":      {`{'a': True, 'b': False, 'c': None}`, `{"a":true,"b":false,"c":null}`},
		"unquoted keys":        {`{a: 1, b-c: "x"}`, `{"a":1,"b-c":"x"}`},
		"number as key":        {`{1: "x"}`, `{"1":"x"}`},
		"numbers":              {`{"a":[+1,.5,-2.5e3,5.]}`, `{"a":[1,0.5,-2.5e3,5]}`},
		"not quite numbers":    {`{"a":[007,2026-01-02,12:30]}`, `{"a":["007","2026-01-02","12:30"]}`},
		"line feed in string":  {"{\"a\":\"x\ny\tz\"}", `{"a":"x\ny\tz"}`},
		"unknown escape":       {`{"a":"C:\dir \u12"}`, `{"a":"C:\\dir \\u12"}`},
		"known escapes":        {`{"a":"\n\u00e9\\"}`, `{"a":"\n\u00e9\\"}`},
		"braces in string":     {`{"a":"}{"}`, `{"a":"}{"}`},
		"curly quotes":         {`{“a”: “x”}`, `{"a":"x"}`},
		"wide punctuation":     {`{"a"：1，"b"：2}`, `{"a":1,"b":2}`},
		"invalid byte":         {"{\"a\":\"\xff\"}", "{\"a\":\"\ufffd\"}"},
		"missing comma":        {`{"a":[{"b":1} {"c":2}]}`, `{"a":[{"b":1},{"c":2}]}`},
		"unescaped quotes":     {`{"a": "say "hi" now", "b": 2}`, `{"a":"say \"hi\" now","b":2}`},
		"brace in prose":       {`Use "{" to open. {"a":1}`, `{"a":1}`},
		"quote after brace":    {`a { "to open {"a":1}`, `{"a":1}`},
		"code in prose":        {`func main() { fmt.Println("x") }`, ``},
		"no object":            {`nothing [1, 2]`, ``},
		"empty":                {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range lenient.Objects(c.text) {
				if o.Truncated || o.Broken {
					t.Errorf("Objects(%q) has %+v, want complete ones only", c.text, o)
				}
				got = append(got, compact(t, o.Raw))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("Objects(%q) = %s, want %s", c.text, got, c.want)
			}
		})
	}
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatalf("not JSON: %q: %v", raw, err)
	}
	return out.String()
}

func TestOffsetsNameThePlaceInTheText(t *testing.T) {
	text := `plan: {"a": [1]} then [{"b": 2}, {}] end`
	var got []string
	for _, o := range lenient.Values(text) {
		got = append(got, text[o.Start:o.End])
	}
	if diff := cmp.Diff([]string{`{"a": [1]}`, `[{"b": 2}, {}]`}, got); diff != "" {
		t.Errorf("Values(%q): want-, got+\n%s", text, diff)
	}
}

func TestWhatIsCutOffIsReportedAndNotRepaired(t *testing.T) {
	whole := `{"plan": [{"id": "a", "after": [1, true], 'x': 'y'}], "n": 12}`
	for end := 1; end < len(whole); end++ {
		text := "Here: " + whole[:end]
		got := lenient.Objects(text)
		if len(got) != 1 || !got[0].Truncated || got[0].Raw != nil || got[0].Start != 6 || got[0].End != len(text) {
			t.Errorf("Objects(%q) = %+v, want one truncated object from 6 to the end", text, got)
		}
	}
	for text, want := range map[string][]string{
		`{"plan": [{"id": "a`:               {"plan"},
		`{"thought": "x", "pl`:              {"thought", "pl"},
		`[{"name": "a", "after": []}, {"de`: {"name", "after", "de"},
		`{`:                                 nil,
	} {
		got := lenient.Values(text)
		if len(got) != 1 || !got[0].Truncated || !cmp.Equal(got[0].Keys, want) {
			t.Errorf("Values(%q) = %+v, want one truncated value with keys %q", text, got, want)
		}
	}
}

func TestACodeBlockEndsWhatIsCutOffInIt(t *testing.T) {
	for _, cut := range []string{`{"a": [`, `{"a":`, `{"a": 1`, `{"a": {b`, `{"a": tr`, `{"a": 1,`} {
		text := "```json\n" + cut + "\n```\nAgain: {\"b\": 2}"
		got := lenient.Objects(text)
		if len(got) != 2 || !got[0].Truncated || string(got[1].Raw) != `{"b":2}` {
			t.Errorf("Objects(%q) = %+v, want a truncated and a complete one", text, got)
		}
	}
}

func TestACompleteObjectAfterAnUnclosedBraceIsFound(t *testing.T) {
	text := `Write {" to begin, then {"a": 1}`
	got := lenient.Objects(text)
	if len(got) != 1 || string(got[0].Raw) != `{"a":1}` {
		t.Errorf("Objects(%q) = %+v, want the last object", text, got)
	}
}

func TestWhatCannotBeReadIsBroken(t *testing.T) {
	for _, text := range []string{
		`{"plan": [{"name": "a"}}`,            // brackets do not match
		`{"plan": [{"name": "a"}, ...], x y}`, // something was left out
		`{"a": 1, ` + strings.Repeat(`"b": [`, 70) + `x y` + strings.Repeat(`]`, 70) + `}`, // too deep to mend
	} {
		got := lenient.Values(text)
		if len(got) == 0 || !got[0].Broken || got[0].Raw != nil || len(got[0].Keys) == 0 {
			t.Errorf("Values(%q) = %+v, want a broken one first", text, got)
		}
		for _, o := range lenient.Objects(text) {
			if o.Broken {
				t.Errorf("Objects(%q) has the broken %+v", text, o)
			}
		}
	}
}

func TestThinkingIsRemoved(t *testing.T) {
	for text, want := range map[string]string{
		"plain <b>text</b>":                        "plain <b>text</b>",
		"<think>a</think>b":                        "b",
		"\ufeff <THINKING>\na\n</thinking>\n\nb\n": "b",
		"a <think>b</think> c":                     "a  c",
		"<think>a</think><thought>b</thought>c":    "c",
		"<reasoning>a</reasoning>b":                "b",
		"thoughts</think>b":                        "b",
		"<think>a, <think> is a tag</think>b":      "b",
		"<think>a<think>b</think>c</think>d":       "d",
		"<think>never closed":                      "",
		"the `<think>` tag":                        "the `<think>` tag",
		"code:\n```\n<think>\n```\nend":            "code:\n```\n<think>\n```\nend",
		"<think>```\nx</think>b":                   "b",
		"<think>a</think>b </think> c":             "b </think> c",
	} {
		if got := lenient.WithoutThinking(text); got != want {
			t.Errorf("WithoutThinking(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAFenceAroundTheWholeTextIsRemoved(t *testing.T) {
	for text, want := range map[string]string{
		"```json\n{}\n```":             "{}",
		" ```\na\nb\n```\n":            "a\nb",
		"~~~\na\n~~~":                  "a",
		"no fence":                     "no fence",
		"```\na\n```\nb":               "```\na\n```\nb",
		"```\na\n```\nb\n```\nc\n```":  "```\na\n```\nb\n```\nc\n```",
		"```inline```":                 "```inline```",
		"```json\n{\"cut\": \"off\"\n": "```json\n{\"cut\": \"off\"",
	} {
		if got := lenient.Unfence(text); got != want {
			t.Errorf("Unfence(%q) = %q, want %q", text, got, want)
		}
	}
}

// hostile are texts that make a careless reader slow.
func hostile(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	return map[string]string{
		"open brackets":     fill("["),
		"open braces":       fill("{"),
		"nested objects":    fill(`{"a":`),
		"nested, wrong end": fill(`{"a":`) + "!",
		"nested arrays":     fill(`[{"a":`),
		"quotes":            fill(`"`),
		"braces, quotes":    fill(`{"`),
		"braces, singles":   fill(`{'`),
		"keys":              fill(`{"a" `),
		"pairs, wrong":      fill(`{"a":x `),
		"pairs, no end":     fill(`{"a":1,`),
		"broken":            fill(`{"a":1 "b":2}`),
		"broken deeply":     `{"a":x` + fill(`{"a":[`) + fill("]}"),
		"strings":           fill(`{"a":"` + "'{'"),
		"single spaces":     `{'a':'` + fill("'    x"),
		"comments":          fill("{/*"),
		"backslashes":       `{"a":"` + fill(`\`),
		"thinking":          fill("<think>"),
		"thought":           fill("<think></think>"),
		"fences":            fill("```\n"),
		"commas":            `{"a":[` + fill(","),
		"large, to mend":    `{"a":[` + fill(`{"b":1} `)[:min(size, 16<<10-64)/8*8] + `]}`,
		"quotes, to mend":   `{"a":"` + fill(`x "y" `)[:min(size, 16<<10-64)/6*6] + `"}`,
		"quotes, no end":    `{"a":"` + fill(`",x`)[:min(size, 16<<10-64)] + `"}`,
		"deep then plain":   fill("[{") + `{"a":1}`,
		"blank comments":    fill("{//\n#"),
	}
}

func TestHostileTextTakesLinearTime(t *testing.T) {
	wantLinear(t, hostile, 128<<10, func(text string) {
		lenient.Values(text)
		lenient.Objects(text)
		lenient.WithoutThinking(text)
		lenient.Unfence(text)
	})
}

// wantLinear wants read to take about sixteen times the work for texts of the size, in
// bytes, that it takes for those of a sixteenth of it.
func wantLinear(t *testing.T, texts func(size int) map[string]string, size int, read func(text string)) {
	t.Helper()
	const limit = 64 // quadratic work would take 256 times as much
	large := texts(size)
	for name, small := range texts(size / 16) {
		if got := watch.Growth(limit, func() { read(small) }, func() { read(large[name]) }); got > limit {
			t.Errorf("%s: %d bytes take %.0f times the work of %d bytes, want at most %d times", name, len(large[name]), got, len(small), limit)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile(64 << 10) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				lenient.Values(text)
			}
		})
	}
}

func FuzzValues(f *testing.F) {
	for _, text := range hostile(64) {
		f.Add(text)
	}
	f.Add(`{"a": "say "hi" now", "b": 2,} // x`)
	f.Add("<think>\n```json\n{'a': None}\n```")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, o := range lenient.Values(text) {
			if o.Start < last || o.End < o.Start || o.End > len(text) {
				t.Fatalf("Values(%q) has %+v out of order", text, o)
			}
			last = o.Start
			if (o.Raw != nil) == (o.Truncated || o.Broken) || o.Truncated && o.Broken {
				t.Fatalf("Values(%q) has the contradictory %+v", text, o)
			}
			if o.Raw != nil && !json.Valid(o.Raw) {
				t.Fatalf("Values(%q) has %q, which is no JSON", text, o.Raw)
			}
		}
		for _, o := range lenient.Objects(text) {
			if o.Raw != nil && (!json.Valid(o.Raw) || o.Raw[0] != '{') {
				t.Fatalf("Objects(%q) has %q, which is no object", text, o.Raw)
			}
		}
		if got := lenient.WithoutThinking(text); len(got) > len(text) {
			t.Fatalf("WithoutThinking(%q) = %q, which is longer", text, got)
		}
		lenient.Unfence(text)
	})
}
