package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"pgregory.net/rapid"

	"legwork/internal/redact"
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

func TestAdd(t *testing.T) {
	r := redact.New([]string{"first-secret"})
	r.Add("second-secret", "first-secret")
	if got, want := r.String("first-secret second-secret"), "*** ***"; got != want {
		t.Errorf("after Add: got %q, want %q", got, want)
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
