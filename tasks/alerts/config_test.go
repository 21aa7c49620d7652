package alerts_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/tasks/alerts"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url, secret string
		want        string // part of the problem; empty: there is none
	}{
		{"https://ops.example.com/hook?key=1", secret, ""},
		{"http://localhost:9000/hook", secret, ""},
		{"http://127.0.0.1/hook", secret, ""},
		{"http://[::1]:80/hook", secret, ""},
		{"http://192.168.1.4/hook", secret, ""},
		{"http://[fd00::1]/hook", secret, ""},
		{"http://collector:9000/hook", secret, ""},
		{"http://hooks.monitoring.svc/hook", secret, ""},
		{"http://nas.local/hook", secret, ""},
		{"http://8.8.8.8/hook", secret, "plain text"},
		{"http://example.com/hook", secret, "plain text"},
		{"https://example.com/hook#part", secret, "fragment"},
		{"https:///hook", secret, "not the address"},
		{"https://", secret, "not the address"},
		{"example.com/hook", secret, "not the address"},
		{"file:///etc/passwd", secret, "not the address"},
		{"ws://example.com", secret, "scheme"},
		{"", secret, "must be set"},
		{"https://example.com/\x7f", secret, "not the address"},
		{"https://example.com", "", "must be set"},
		{"https://example.com", strings.Repeat("x", 23), "23 characters"},
		{"https://example.com", strings.Repeat("x", 24), ""},
		{"https://example.com", "whsec_" + strings.Repeat("x", 30), "begins with whsec_"},
		{"https://example.com", "whsec_" + strings.Repeat("AAAA", 7), "begins with whsec_"},
		{"https://example.com", "whsec_" + strings.Repeat("AAAA", 8), ""},
		{"https://example.com", "whsec_" + strings.Repeat("AAAA", 22), "begins with whsec_"},
	} {
		issues := alerts.Config{Webhooks: map[string]alerts.Webhook{"ops": {URL: c.url, Secret: c.secret}}}.Validate()
		switch {
		case c.want == "" && len(issues) == 0:
		case c.want == "" || len(issues) != 1 || !strings.Contains(issues[0].Problem, c.want):
			t.Errorf("%q with the secret %q: got %v, want %q", c.url, c.secret, issues, c.want)
		case c.secret != "" && strings.Contains(issues[0].Problem, c.secret):
			t.Errorf("the secret is repeated: %v", issues)
		}
	}
	many := alerts.Config{Webhooks: map[string]alerts.Webhook{}}
	for i := range 51 {
		many.Webhooks[strings.Repeat("a", i%40+1)+string(rune('a'+i%26))] = alerts.Webhook{URL: "https://example.com", Secret: secret}
	}
	if issues := many.Validate(); len(many.Webhooks) > 50 && len(issues) == 0 {
		t.Errorf("%d webhooks were taken", len(many.Webhooks))
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]bool{
		"task.failed": true, "task.*": true, "*": true, "budget.*": true, "tas*": true,
		"": false, "task": false, "task.fail": false, "nothing.*": false, "ping": false, "task.done": false,
	} {
		if got := alerts.Known(entry); got != want {
			t.Errorf("Known(%q) = %t, want %t", entry, got, want)
		}
	}
	kinds := alerts.Kinds()
	slices.Sort(kinds)
	if len(slices.Compact(kinds)) != len(alerts.Kinds()) {
		t.Errorf("a kind is there twice: %v", alerts.Kinds())
	}
}

// FuzzRetryAfter: whatever a receiver answers, it is left alone for a time that is
// sensible.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, header := range []string{"", "0", "7", "-7", "99999999999999999999", " 5 ", "5s", now.Add(time.Hour).Format(http.TimeFormat), "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if wait := alerts.Wish(header, now); wait < 0 || wait > 6*time.Hour {
			t.Errorf("Retry-After %q is %v", header, wait)
		}
	})
}

func TestRetryAfterRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "100000": 6 * time.Hour, "99999999999999999999": 0, "soon": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := alerts.Wish(header, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", header, got, want)
		}
	}
}
