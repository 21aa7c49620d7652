package redact_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"legwork/internal/redact"
)

// TestReplies: error replies hold no secrets, whole and with a length that
// fits; other replies are let through as they are, streams at once.
func TestReplies(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	for _, c := range []struct {
		kind   string
		all    bool
		hidden bool
	}{
		{"text/plain; charset=utf-8", false, true},
		{"application/problem+json", false, true},
		{"application/json", false, false},
		{"application/json", true, true},
		{"text/event-stream", true, false},
	} {
		text := fmt.Sprintf("a key=%s b=%s", secret, encoded)
		server := httptest.NewServer(redact.Replies(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			w.WriteHeader(http.StatusBadGateway)
			if n, err := io.WriteString(w, text); n != len(text) || err != nil {
				t.Errorf("writing: got %d, %v, want %d", n, err, len(text))
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flushing: %v", err)
			}
		}), redact.New([]string{secret}), c.all))
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: got %d, %v", c.kind, resp.StatusCode, err)
		}
		if seen := string(got) == text; seen == c.hidden || !strings.HasPrefix(string(got), "a key=") {
			t.Errorf("%s, all %v: got %q", c.kind, c.all, got)
		}
		_ = resp.Body.Close()
		server.CloseClientConnections()
		server.Close()
	}
}
