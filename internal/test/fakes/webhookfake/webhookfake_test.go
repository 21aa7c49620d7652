package webhookfake_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"legwork/internal/test/fakes/webhookfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0LW9mLWEtZmFrZQ=="

// witness is a test whose failures are looked at.
type witness struct {
	testing.TB
	failed string
}

func (w *witness) Helper() {}

func (w *witness) Errorf(format string, a ...any) { w.failed = fmt.Sprintf(format, a...) }

// sends sends a signed request, but for what change makes of it.
func sends(t *testing.T, url, body string, change func(*http.Request)) int {
	t.Helper()
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := signer.Sign("notify-1", now, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"legwork/1"}, "Webhook-Id": {"notify-1"},
		"Webhook-Timestamp": {fmt.Sprint(now.Unix())}, "Webhook-Signature": {signature},
	}
	change(q)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}

// TestStrict: a wrong request is refused, and fails the test.
func TestStrict(t *testing.T) {
	const good = `{"type":"task.done","timestamp":"2026-01-02T03:04:05Z","data":{"task":{"id":"T"}}}`
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		want   string // of the failure; empty: it is taken
	}{
		"as it should be":    {good, func(*http.Request) {}, ""},
		"signed otherwise":   {good, func(q *http.Request) { q.Header.Set("Webhook-Signature", "v1,AAAA") }, "its signature"},
		"another id":         {good, func(q *http.Request) { q.Header.Set("Webhook-Id", "notify-2") }, "its signature"},
		"an old one":         {good, func(q *http.Request) { q.Header.Set("Webhook-Timestamp", "1000000000") }, "its signature"},
		"another path":       {good, func(q *http.Request) { q.URL.Path = "/" }, "it is POST /"},
		"another type":       {good, func(q *http.Request) { q.Header.Set("Content-Type", "text/plain") }, "its Content-Type"},
		"another sender":     {good, func(q *http.Request) { q.Header.Set("User-Agent", "curl") }, "its User-Agent"},
		"without its data":   {`{"type":"task.done","timestamp":"2026-01-02T03:04:05Z"}`, func(*http.Request) {}, "no payload"},
		"with another field": {strings.Replace(good, `"type"`, `"kind":"x","type"`, 1), func(*http.Request) {}, "no payload"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{TB: t}
			r := webhookfake.New(w, "", secret)
			status := sends(t, r.URL, c.body, c.change)
			taken := len(r.Taken()) == 1 && r.Taken()[0].Task() == "T" && r.Taken()[0].Type == "task.done"
			if c.want == "" && (status != http.StatusOK || !taken || w.failed != "") {
				t.Errorf("got %d, taken %v and the failure %q, want it taken", status, taken, w.failed)
			}
			if c.want != "" && (status != http.StatusBadRequest || len(r.Requests()) > 0 || !strings.Contains(w.failed, c.want)) {
				t.Errorf("got %d, %d requests and the failure %q, want 400, none and %q", status, len(r.Requests()), w.failed, c.want)
			}
		})
	}
}

// TestAnswers: it answers as it is told to, and notes what it has answered.
func TestAnswers(t *testing.T) {
	r := webhookfake.New(t, "", secret)
	r.Answers(func(n int, _ webhookfake.Request) webhookfake.Reply {
		return webhookfake.Reply{Status: []int{503, 204}[n-1]}
	})
	const body = `{"type":"task.done","timestamp":"2026-01-02T03:04:05Z","data":{}}`
	for _, want := range []int{503, 204} {
		if got := sends(t, r.URL, body, func(*http.Request) {}); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	r.Until("two requests, one of them taken", func(list []webhookfake.Request) bool { return len(list) == 2 && len(r.Taken()) == 1 })
}
