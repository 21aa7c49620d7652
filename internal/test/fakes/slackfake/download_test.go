package slackfake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"legwork/internal/test/fakes/slackfake"
)

// TestPrivateFiles: a private address gives its file to the app's token alone, and a page
// to everybody else.
func TestPrivateFiles(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	ts := s.SayFiles("C1", "U1", "see", "", slackfake.File{Name: "a.txt", Content: []byte("all of it")})
	m, ok := s.Message("C1", ts)
	if !ok || len(m.Files) != 1 || m.Files[0].Owner != "U1" {
		t.Fatalf("the message is %+v, want a file of U1", m)
	}
	get := func(token string) (status int, kind, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/files-pri/T1-"+m.Files[0].ID+"/download/a.txt", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(content)
	}
	if status, _, body := get(slackfake.BotToken); status != 200 || body != "all of it" {
		t.Errorf("the app got %d %q, want the file", status, body)
	}
	for _, token := range []string{"", "xoxb-other"} {
		if status, _, body := get(token); status != 302 || strings.Contains(body, "all of it") {
			t.Errorf("with the token %q came %d %q, want a redirect", token, status, body)
		}
	}
	s.GrantReading(false)
	if status, kind, body := get(slackfake.BotToken); status != 200 || !strings.HasPrefix(kind, "text/html") || strings.Contains(body, "all of it") {
		t.Errorf("without the scope came %d %s %q, want a page", status, kind, body)
	}
	s.GrantReading(true)
	s.DeleteFile(m.Files[0].ID)
	if status, _, _ := get(slackfake.BotToken); status != 404 {
		t.Errorf("a deleted file gave %d, want 404", status)
	}
}
