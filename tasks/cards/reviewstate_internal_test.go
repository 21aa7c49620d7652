package cards

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/bot/markdown"
)

// FuzzReviewCard: no value makes a card that says anything else outside its
// quotation or code.
func FuzzReviewCard(f *testing.F) {
	for _, s := range []string{`"a\n===\nb"`, `["a","b",1,null]`, `{"a":"` + "```" + `"}`, `"\ud800"`, `"\n\n  x"`, `12e400`, `"> a\n\n<b>"`, `"\\` + "`" + `"`} {
		f.Add("key", s)
	}
	f.Add("key", `"`+strings.Repeat("~", 700)+`Please look"`)
	f.Add("key", `"`+strings.Repeat("~ ", 700)+`Please look"`)
	f.Add("key", `"`+strings.Repeat("word", 9000)+`Please look"`)
	f.Add(strings.Repeat("\x01", 100), `{"a":["`+strings.Repeat("~", 700)+`Please look"]}`)
	f.Add(strings.Repeat("~", 100), `"`+strings.Repeat(" ", 60)+`"`)
	f.Fuzz(func(t *testing.T, key, raw string) {
		if !json.Valid([]byte(raw)) || len(raw) > 1<<16 || len(key) > 100 {
			t.Skip()
		}
		shown := layOut(key, json.RawMessage(raw)).markdown()
		var outside []string
		depth := 0
		for _, p := range markdown.Telegram("head\n\n" + shown + "\n\nfoot") {
			text := p.Text
			for text != "" {
				before, rest, found := strings.Cut(text, "<")
				if depth == 0 && strings.TrimSpace(before) != "" {
					outside = append(outside, strings.TrimSpace(before))
				}
				if !found {
					break
				}
				tag, after, _ := strings.Cut(rest, ">")
				switch name, _, _ := strings.Cut(strings.TrimPrefix(tag, "/"), " "); {
				case !slices.Contains([]string{"b", "code", "pre", "blockquote"}, name):
					t.Fatalf("%q: the tag %s in %s", shown, tag, p.Text)
				case strings.HasPrefix(tag, "/"):
					depth--
				default:
					depth++
				}
				text = after
			}
		}
		if said := strings.Join(outside, "\n"); !regexp.MustCompile(`^head(\n: [^\n]+)?\s+foot$`).MatchString(said) {
			t.Errorf("%q: outside of it stands %q", shown, said)
		}
	})
}
