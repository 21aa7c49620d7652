package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"pgregory.net/rapid"

	"legwork/redact"
)

const (
	secret = "s3cret/with+signs=\"&<>"
	token  = "123456:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDD"
)

func TestString(t *testing.T) {
	inJSON, _ := json.Marshal(secret)
	tests := []struct{ name, text, want string }{
		{"nothing", "all is well", "all is well"},
		{"empty", "", ""},
		{"plain", "key=" + secret + ".", "key=***."},
		{"twice", secret + secret, "******"},
		{"in a query", "?k=" + url.QueryEscape(secret), "?k=***"},
		{"in a path", "/" + url.PathEscape(secret) + "/x", "/***/x"},
		{"quoted", "bad value " + strconv.Quote(secret), `bad value "***"`},
		{"in JSON", `{"k":` + string(inJSON) + `}`, `{"k":"***"}`},
		{"a secret inside of a longer one", "longer-than-short-secret", "***"},
		{"below the least length", "abc is short", "abc is short"},
		{"Telegram's address", `Post "https://api.telegram.org/bot98765:ZYXWVUT_-abcdefghijklmnopqrstuvwxyz/getMe": EOF`, `Post "https://api.telegram.org/bot***/getMe": EOF`},
		{"Telegram's address, escaped", "/bot98765%3AZYXWVUTabcdefghijklm/x", "/bot***/x"},
		{"a bot without a token", "bot1: hello, robot2:yes", "bot1: hello, robot2:yes"},
		{"Slack's tokens", "xoxb-1-2-aB xapp-1-A1-9-f0 xoxe.xoxb-1-Mi0yL xoxp-7", "*** *** *** ***"},
		{"legwork's own", "token lw_2oyo7hbxpdgwqmwcdm6bp62ubxswhmwkdcwksjyyvcjdyqmz4lba.", "token ***."},
		{"a header", "Authorization: Bearer abc.DEF-1", "Authorization: Bearer ***"},
		{"a header in lower case", "authorization: bearer 0123", "authorization: bearer ***"},
		{"a sentence", "the bearer token is missing; Bearer authentication failed", "the bearer token is missing; Bearer authentication failed"},
	}
	r := redact.New([]string{secret, "short-secret", "longer-than-short-secret", "abc", ""})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := r.String(test.text); got != test.want {
				t.Errorf("String(%q)\n got %q\nwant %q", test.text, got, test.want)
			}
		})
	}
}

// TestBase64 holds that a secret does not survive in base64, whatever stands
// before and behind it.
func TestBase64(t *testing.T) {
	r := redact.New([]string{secret})
	encodings := map[string]*base64.Encoding{
		"standard": base64.StdEncoding, "raw": base64.RawStdEncoding, "URL": base64.URLEncoding, "raw URL": base64.RawURLEncoding,
	}
	for name, encoding := range encodings {
		for before := range 4 {
			for behind := range 4 {
				whole := strings.Repeat("u", before) + secret + strings.Repeat("v", behind)
				text := encoding.EncodeToString([]byte(whole))
				got := r.String("Basic " + text + " ")
				if left := len(strings.TrimSpace(strings.TrimPrefix(got, "Basic "))); !strings.Contains(got, redact.Mask) || left > before+behind+16 {
					t.Errorf("%s base64 of %q became %q", name, whole, got)
				}
			}
		}
	}
}

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

func TestKnown(t *testing.T) {
	r := redact.New([]string{secret})
	const text = "send Authorization: Bearer abc.DEF-1, not "
	if got := r.Known(text + secret); got != text+redact.Mask {
		t.Errorf("Known(%q) = %q", text+secret, got)
	}
	if got := new(redact.Redactor).Known(text); got != text {
		t.Errorf("Known(%q) without secrets = %q", text, got)
	}
}

func TestSetReplaces(t *testing.T) {
	r := redact.New([]string{"first-secret"})
	r.Set([]string{"second-secret"})
	if got, want := r.String("first-secret second-secret"), "first-secret ***"; got != want {
		t.Errorf("after Set: got %q, want %q", got, want)
	}
	var zero redact.Redactor
	if got, want := zero.String("first-secret xoxb-1"), "first-secret ***"; got != want {
		t.Errorf("zero value: got %q, want %q", got, want)
	}
}

type lock struct{ combination string }

func (l lock) String() string { return "lock " + l.combination }

type lazy struct{ text string }

func (l lazy) LogValue() slog.Value { return slog.GroupValue(slog.String("text", l.text)) }

type nested struct {
	Key   string
	Inner *struct{ Key string }
}

// TestHandler holds that no way of logging a secret lets it through, as text or
// as JSON.
func TestHandler(t *testing.T) {
	inner := nested{Inner: &struct{ Key string }{secret}}
	cause := fmt.Errorf("calling: %w", &url.Error{Op: "Post", URL: "https://api.telegram.org/bot" + token + "/getMe", Err: io.EOF})
	tests := map[string]func(*slog.Logger){
		"message":        func(l *slog.Logger) { l.Info("it is " + secret) },
		"string":         func(l *slog.Logger) { l.Info("x", "k", secret) },
		"name":           func(l *slog.Logger) { l.Info("x", secret, 1) },
		"error":          func(l *slog.Logger) { l.Info("x", "k", errors.New(secret)) },
		"quoted error":   func(l *slog.Logger) { l.Info("x", "k", fmt.Errorf("value %q", secret)) },
		"address":        func(l *slog.Logger) { l.Info("x", "k", cause) },
		"Stringer":       func(l *slog.Logger) { l.Info("x", "k", lock{secret}) },
		"LogValuer":      func(l *slog.Logger) { l.Info("x", "k", lazy{secret}) },
		"bytes":          func(l *slog.Logger) { l.Info("x", "k", []byte(secret)) },
		"struct":         func(l *slog.Logger) { l.Info("x", "k", nested{Key: secret}) },
		"pointer inside": func(l *slog.Logger) { l.Info("x", "k", inner) },
		"map":            func(l *slog.Logger) { l.Info("x", "k", map[string]any{"a": []string{secret}}) },
		"group":          func(l *slog.Logger) { l.Info("x", slog.Group("g", slog.Group("h", "k", secret))) },
		"With":           func(l *slog.Logger) { l.With("k", secret).Info("x") },
		"WithGroup":      func(l *slog.Logger) { l.WithGroup(secret).Info("x", "k", secret) },
		"deep With":      func(l *slog.Logger) { l.WithGroup("g").With(slog.Group("h", "k", lock{secret})).Info("x", "y", 1) },
	}
	r := redact.New([]string{secret, token})
	for name, log := range tests {
		for format, next := range handlers() {
			t.Run(name+" as "+format, func(t *testing.T) {
				var out bytes.Buffer
				log(slog.New(redact.Handler(next(&out), r)))
				got := out.String()
				if leak := leaked(got, secret, token); leak != "" || !strings.Contains(got, redact.Mask) {
					t.Errorf("the log is\n%s\nwith %q in it, want %s in its place", got, leak, redact.Mask)
				}
			})
		}
	}
}

func handlers() map[string]func(io.Writer) slog.Handler {
	return map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	}
}

// leaked is the first form of a secret in a text.
func leaked(text string, secrets ...string) string {
	for _, s := range secrets {
		quoted := strconv.Quote(s)
		inJSON, _ := json.Marshal(s)
		for _, form := range []string{
			s, quoted[1 : len(quoted)-1], string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(s), url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
		} {
			if strings.Contains(text, form) {
				return form
			}
		}
	}
	return ""
}

// TestHarmless holds that what has no secret in it is logged as without this
// package.
func TestHarmless(t *testing.T) {
	fill := func(l *slog.Logger) {
		l.With("a", 1, "b", time.Second).WithGroup("g").Info("hello", "s", "text", "e", io.EOF, "any", nested{Key: "v"},
			"time", time.Unix(0, 0).UTC(), "on", true, "f", 1.5, "raw", []byte("x"), "nothing", nil, slog.Group("h", "u", uint64(7)))
	}
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	options := &slog.HandlerOptions{ReplaceAttr: drop, AddSource: false}
	r := redact.New([]string{secret})
	for name, next := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, options) },
		"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, options) },
	} {
		var plain, clean bytes.Buffer
		fill(slog.New(next(&plain)))
		fill(slog.New(redact.Handler(next(&clean), r)))
		if plain.String() != clean.String() {
			t.Errorf("%s:\n got %swant %s", name, clean.String(), plain.String())
		}
	}
}

// TestSlog holds the handler to the rules of package slog.
func TestSlog(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return redact.Handler(slog.NewJSONHandler(&out, nil), redact.New([]string{secret}))
	}, func(t *testing.T) map[string]any {
		result := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &result); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		return result
	})
}

// TestNoSecretSurvives holds it for any secrets in any text, and that text
// without any is left alone.
func TestNoSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab*%+/ \"\\é&")), redact.Shortest, 24, -1)
		secrets := rapid.SliceOfN(letters, 1, 4).Draw(t, "secrets")
		pieces := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(secrets), rapid.StringOfN(rapid.RuneFrom([]rune("ab*% ")), 0, 6, -1))).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		got := redact.New(secrets).String(text)
		if leak := leaked(got, secrets...); leak != "" {
			t.Fatalf("%q is in %q, made of %q", leak, got, text)
		}
		if leaked(text, secrets...) == "" && got != text {
			t.Fatalf("%q became %q, but has none of %q", text, got, secrets)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("the key is hunter22hunter22", "hunter22hunter22", "")
	f.Add("/bot123:AAAAAAAAAAAA/x Bearer A1 xoxb-1", "********", "*******************")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		got := redact.New([]string{one, two}).String(text)
		for _, secret := range []string{one, two} {
			if len(secret) >= redact.Shortest && strings.Contains(got, secret) {
				t.Errorf("%q is in %q, made of %q", secret, got, text)
			}
		}
	})
}

func BenchmarkNothing(b *testing.B) {
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("sk-%d-abcdefghijklmnopqrstuvwxyz-%d", i, i*7919))
	}
	r := redact.New(secrets)
	line := "a call returned after 312 ms with 4096 bytes: server=tickets tool=search task=01JD0000000000000000000000 attempt=1"
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if got := r.String(line); len(got) != len(line) {
			b.Fatal(got)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("redacting=%v", with), func(b *testing.B) {
			h := slog.Handler(slog.NewTextHandler(io.Discard, nil)) //nolint:sloglint // the formatting counts
			if with {
				h = redact.Handler(h, redact.New([]string{secret, token}))
			}
			log := slog.New(h)
			b.ReportAllocs()
			for b.Loop() {
				log.Info("a call returned", "server", "tickets", "tool", "search", "elapsed", time.Second, "cause", io.EOF)
			}
		})
	}
}
