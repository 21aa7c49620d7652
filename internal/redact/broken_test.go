package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"legwork/internal/redact"
)

// TestForms: a secret is found in whatever way a program of whatever language
// writes it.
func TestForms(t *testing.T) {
	const odd = "sécret/with+signs=\"&<>\\!(x)*'"
	inJSON, _ := json.Marshal(odd)
	inside, _ := json.Marshal(string(inJSON))
	for name, text := range map[string]string{
		"an address in lower case": strings.ToLower(url.QueryEscape(odd)), "a path in lower case": "s%c3%a9cret%2fwith+signs=%22&%3c%3e%5c%21%28x%29%2a%27",
		"JavaScript's encodeURIComponent": "s%C3%A9cret%2Fwith%2Bsigns%3D%22%26%3C%3E%5C!(x)*'",
		"Python's json.dumps":             `s\u00e9cret/with+signs=\"&<>\\!(x)*'`, "PHP's json_encode": `sécret\/with+signs=\"&<>\\!(x)*'`,
		"JSON in JSON": string(inside), "HTML": html.EscapeString(odd),
		"hexadecimal digits": fmt.Sprintf("%x", odd), "upper-case digits": fmt.Sprintf("%X", odd),
	} {
		if got := redact.New([]string{odd}).String("<" + text + ">"); len(got) > len(`<\"***\">`)+3 || !strings.Contains(got, redact.Mask) {
			t.Errorf("%s, %s became %s", name, text, got)
		}
	}
}

// TestBrokenLines: a secret that goes over the end of a line is found, as are single
// lines of one that has several, and all else stays as it is.
func TestBrokenLines(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
	r := redact.New([]string{secret, key})
	inQuotes, _ := json.Marshal(secret[:9] + "\n" + secret[9:])
	inBase64 := base64.StdEncoding.EncodeToString([]byte("some words before " + secret + " and behind"))
	for name, c := range map[string]struct{ text, want string }{
		"in two":              {"a\nkey: " + secret[:7] + "\n" + secret[7:] + "\nb\n", "a\nkey: ***\nb\n"},
		"in two of Windows":   {"a\r\nkey: " + secret[:7] + "\r\n" + secret[7:] + "\r\nb", "a\r\nkey: ***\r\nb"},
		"indented":            {"  " + secret[:3] + " \n\n\t  " + secret[3:] + ".", "  ***."},
		"one letter a line":   {strings.Join(strings.Split("x"+secret+"y", ""), "\n"), "x\n***\ny"},
		"in JSON":             {`{"k":` + string(inQuotes) + `}`, `{"k":"***"}`},
		"twice":               {secret[:5] + "\n" + secret[5:] + "\n\n" + secret[:6] + "\n" + secret[6:] + "\nend", "***\n\n***\nend"},
		"a key in one line":   {strings.ReplaceAll(key, "\n", ""), "***"},
		"a line of a key":     {"line 2: MIIEvQIBADANBgkqhkiG9w0B", "line 2: ***"},
		"the frame of a key":  {"it begins with -----BEGIN KEY-----", "it begins with -----BEGIN KEY-----"},
		"nothing to be found": {"a\n\n  b\\n \\x\r\n\t", "a\n\n  b\\n \\x\r\n\t"},
	} {
		if got := r.String(c.text); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.text, got, c.want)
		}
	}
	for width := 1; width < len(inBase64); width++ {
		var text strings.Builder
		for i := 0; i < len(inBase64); i += width {
			text.WriteString(inBase64[i:min(i+width, len(inBase64))] + "\n")
		}
		if got := r.String(text.String()); strings.Count(got, redact.Mask) != 1 {
			t.Errorf("base64 in lines of %d became %q", width, got)
		}
	}
}

// FuzzBrokenLines: whatever surrounds a secret, and wherever a line ends in it, it does
// not come through.
func FuzzBrokenLines(f *testing.F) {
	f.Add("a\n", 3, "\n b", "\n")
	f.Add(`\`, 1, `n\\n`, `\r\n`)
	f.Add("***", 0, "\r", " \t\n\n ")
	f.Fuzz(func(t *testing.T, before string, at int, behind, end string) {
		if strings.Trim(end, " \t\r\n") != "" && end != `\n` && end != `\r\n` || end != "" && !strings.ContainsAny(end, "\nn") {
			t.Skip("no end of a line")
		}
		at = 1 + int(uint(at)%uint(len(secret)-1))
		text := before + secret[:at] + end + secret[at:] + behind
		got := redact.New([]string{secret}).Known(text)
		if joined := strings.NewReplacer("\n", "", "\r", "", "\t", "", " ", "", `\n`, "", `\r`, "").Replace(got); strings.Contains(joined, secret) && !strings.Contains(before+behind, secret[1:len(secret)-1]) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func BenchmarkString(b *testing.B) {
	r := redact.New([]string{secret, token, "another-secret-of-the-config", "sk-0123456789abcdefghijklmnop"})
	text := strings.Repeat("A line of a page that a tool has read, without any secret.\n", 17_000)
	for b.Loop() {
		r.Known(text)
	}
	b.SetBytes(int64(len(text)))
}
