package plainjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/internal/plainjson"
)

// TestLoneSurrogate: half a character counts wherever it stands alone.
func TestLoneSurrogate(t *testing.T) {
	for raw, want := range map[string]bool{
		`"a\ud800b"`: true, `"\uDC00"`: true, `{"\ud800":1}`: true, `["\udc00\ud800"]`: true, `"\ud800\ud800\udc00"`: true,
		`"\ud83d\\ude00"`: true, `"\ud800\u0041"`: true,
		`"\ud83d\ude00"`: false, `"\\ud800"`: false, `"\\\\ud800"`: false, `"\u00e9\n"`: false, `"\ufffd"`: false,
		`0`: false, ``: false, `"\ud80`: false, `\`: false,
	} {
		if got := plainjson.LoneSurrogate([]byte(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// FuzzLoneSurrogate: a text has half a character when a reader puts another
// character in its place, and only then.
func FuzzLoneSurrogate(f *testing.F) {
	f.Add(`\ud83d\ude00`)
	f.Add(`\ud800\\ud800`)
	f.Fuzz(func(t *testing.T, text string) {
		raw, read := []byte(`"`+text+`"`), ""
		found := plainjson.LoneSurrogate(raw)
		if !utf8.ValidString(text) || strings.Contains(strings.ToLower(text), "fffd") || strings.ContainsRune(text, utf8.RuneError) || json.Unmarshal(raw, &read) != nil {
			return
		}
		if replaced := strings.ContainsRune(read, utf8.RuneError); replaced != found {
			t.Errorf("%s is read as %q, and yet %v is said of half a character", raw, read, found)
		}
	})
}
