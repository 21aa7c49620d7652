package alerts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/webhookfake"
	"legwork/internal/test/need"
	"legwork/tasks/alerts"
)

// TestPageChecksRequests runs the program of the docs page against a real request,
// with either kind of secret, and against manipulated ones.
func TestPageChecksRequests(t *testing.T) {
	t.Parallel()
	python := need.Command(t, "python3", "apt-get install python3")
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```python\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page shows no program")
	}
	for _, secret := range []string{secret, "a text of more than 24 characters"} {
		r := webhookfake.New(t, "", secret)
		if err := alerts.Try(t.Context(), alerts.Webhook{URL: r.URL, Secret: secret}, "1.0", time.Now); err != nil {
			t.Fatal(err)
		}
		q := r.Requests()[0]
		for _, c := range []struct {
			header, body, secret string // that is put in place of the real one
			want                 string
		}{
			{want: "True"},
			{body: string(q.Body) + " ", want: "False"},
			{secret: "whsec_" + strings.Repeat("AAAA", 8), want: "False"},
			{header: "1600000000", want: "False"},
		} {
			headers := map[string]string{}
			for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
				headers[name] = q.Header.Get(name)
			}
			body := string(q.Body)
			if c.body != "" {
				body = c.body
			}
			if c.header != "" {
				headers["webhook-timestamp"] = c.header
			}
			under := secret
			if c.secret != "" {
				under = c.secret
			}
			in, err := json.Marshal([]any{headers, body, under})
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), python, "-c", program+"\nimport json, sys\nh, b, s = json.load(sys.stdin)\nprint(genuine(h, b.encode(), s))")
			command.Stdin = strings.NewReader(string(in))
			out, err := command.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != c.want {
				t.Errorf("with %+v the program of the page says %s (%v), want %s", c, out, err, c.want)
			}
		}
	}
}
