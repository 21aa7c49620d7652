package slackfake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/wire"
	"legwork/internal/test/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a fake whose violations are part of the test.
func start(t *testing.T, o slackfake.Options) *slackfake.Server {
	t.Helper()
	s, err := slackfake.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	wire.Retire(t, s)
	return s
}

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// reply is what a call got.
type reply struct {
	OK        bool
	Error     string
	TS        string
	Channel   any
	FileID    string `json:"file_id"`
	UploadURL string `json:"upload_url"`
	Messages  []map[string]any
	Metadata  struct{ Messages []string } `json:"response_metadata"`
	status    int
	header    http.Header
	raw       string
}

// call makes a request with any header and body.
func call(t *testing.T, s *slackfake.Server, method, kind, token, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.APIURL+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: response.StatusCode, header: response.Header, raw: string(text)}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s got %d %s", method, response.StatusCode, text)
	}
	return r
}

const (
	isForm = "application/x-www-form-urlencoded"
	isJSON = "application/json; charset=utf-8"
)

// do calls a method as the bot with a form of names and values.
func do(t *testing.T, s *slackfake.Server, method string, pairs ...string) reply {
	t.Helper()
	form := url.Values{"token": {slackfake.BotToken}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return call(t, s, method, isForm, "", form.Encode())
}

// must is do for calls that have to succeed.
func must(t *testing.T, s *slackfake.Server, method string, pairs ...string) reply {
	t.Helper()
	r := do(t, s, method, pairs...)
	if !r.OK {
		t.Fatalf("%s %q got %s", method, pairs, r.raw)
	}
	return r
}

// until waits for a condition of the fake, 10 s at most.
func until(t *testing.T, s *slackfake.Server, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if err := s.WaitFor(ctx, what, cond); err != nil {
		t.Fatal(err)
	}
}

// blocks is n sections of size characters.
func blocks(n, size int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = section(strings.Repeat("a", size))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func section(text string) string {
	return fmt.Sprintf(`{"type":"section","text":{"type":"mrkdwn","text":%q}}`, text)
}

func button(fields string) string {
	return `[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Stop"}` + fields + `}]}]`
}

// TestCalls holds one row per rule of how a call is made.
func TestCalls(t *testing.T) {
	const bot, app = slackfake.BotToken, slackfake.AppToken
	tests := []struct {
		name, method, kind, token, body, want string // want: the error; empty: ok
		violation                             bool
	}{
		{"form, token among arguments", "auth.test", isForm, "", "token=" + bot, "", false},
		{"form, token in header", "auth.test", isForm, bot, "", "", false},
		{"nothing but a header", "auth.test", "", bot, "", "", false},
		{"JSON", "chat.postMessage", isJSON, bot, `{"channel":"C1","text":"hi","unfurl_links":false}`, "", false},
		{"JSON without charset", "chat.postMessage", "application/json", bot, `{"channel":"C1","text":"hi"}`, "", false},
		{"JSON, blocks as array", "chat.postMessage", isJSON, bot, `{"channel":"C1","blocks":` + blocks(1, 3) + `}`, "", false},
		{"unknown method", "chat.postMessages", isForm, bot, "channel=C1&text=hi", "unknown_method", true},
		{"no token", "auth.test", isForm, "", "", "not_authed", true},
		{"token in JSON", "chat.postMessage", isJSON, "", `{"token":"` + bot + `","channel":"C1","text":"hi"}`, "not_authed", true},
		{"wrong token", "auth.test", isForm, "xoxb-wrong", "", "invalid_auth", false},
		{"app token for the bot's", "chat.postMessage", isForm, app, "channel=C1&text=hi", "not_allowed_token_type", true},
		{"bot token for the app's", "apps.connections.open", "", bot, "", "not_allowed_token_type", true},
		{"sockets with the app token", "apps.connections.open", "application/json", app, "", "", false},
		{"broken form", "chat.postMessage", isForm, bot, "channel=C1&text=%zz", "invalid_form_data", true},
		{"broken JSON", "chat.postMessage", isJSON, bot, `{"channel":`, "invalid_json", true},
		{"JSON no object", "chat.postMessage", isJSON, bot, `["C1"]`, "json_not_object", true},
		{"JSON to a method of forms", "conversations.history", isJSON, bot, `{"channel":"C1"}`, "invalid_arguments", true},
		{"another charset", "chat.postMessage", "application/json; charset=latin1", bot, `{}`, "invalid_charset", true},
		{"another type", "chat.postMessage", "text/plain", bot, `channel=C1`, "invalid_post_type", true},
		{"no type", "chat.postMessage", "", bot, `channel=C1`, "missing_post_type", true},
		{"unknown argument", "chat.postMessage", isForm, bot, "channel=C1&text=hi&mrkdown=true", "invalid_arguments", true},
		{"argument of another method", "chat.update", isForm, bot, "channel=C1&ts=1.000001&text=hi&thread_ts=1.000001", "invalid_arguments", true},
		{"argument of wrong type", "chat.postMessage", isJSON, bot, `{"channel":"C1","text":5}`, "invalid_arguments", true},
		{"flag of wrong type", "chat.postMessage", isForm, bot, "channel=C1&text=hi&unfurl_links=never", "invalid_arguments", true},
		{"missing argument", "chat.postMessage", isForm, bot, "text=hi", "invalid_arguments", true},
		{"thread_ts no timestamp", "chat.postMessage", isForm, bot, "channel=C1&text=hi&thread_ts=last", "invalid_arguments", true},
		{"blocks no JSON", "chat.postMessage", isForm, bot, "channel=C1&blocks=[{", "invalid_blocks_format", true},
		{"metadata no object", "chat.postMessage", isForm, bot, "channel=C1&text=hi&metadata=[]", "invalid_arguments", true},
		{"limit no number", "conversations.history", isForm, bot, "channel=C1&limit=many", "invalid_arguments", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			got := call(t, s, test.method, test.kind, test.token, test.body)
			if got.Error != test.want || got.OK != (test.want == "") {
				t.Errorf("got %s for %s %s, want %q", got.raw, test.method, test.body, test.want)
			}
			if violations := s.Violations(); (len(violations) > 0) != test.violation {
				t.Errorf("got the violations %q for %s %s, want some: %v", violations, test.method, test.body, test.violation)
			}
		})
	}
}

func TestVerbsAndQueries(t *testing.T) {
	s := start(t, slackfake.Options{})
	for _, test := range []struct{ verb, query, want string }{
		{http.MethodGet, "user=U1", `"ok":true`},
		{http.MethodGet, "user=U1&token=" + slackfake.BotToken, "invalid_auth"},
		{http.MethodPost, "user=U1", "arguments in the query"},
		{http.MethodPut, "", "invalid_arguments"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.verb, s.APIURL+"users.info?"+test.query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+slackfake.BotToken)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || !strings.Contains(string(text), test.want) {
			t.Errorf("%s %s got %s, %v, want %s", test.verb, test.query, text, err, test.want)
		}
	}
}

func TestRevoked(t *testing.T) {
	s := start(t, slackfake.Options{})
	for _, code := range []string{"token_revoked", "account_inactive", ""} {
		s.Revoke(slackfake.BotToken, code)
		if got := do(t, s, "auth.test"); got.Error != code || got.OK != (code == "") {
			t.Errorf("got %s, want %q", got.raw, code)
		}
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("got the violations %q, want none for what an admin did", v)
	}
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	s := start(t, slackfake.Options{Log: path})
	ts := must(t, s, "chat.postMessage", "channel", "C1", "text", "hi").TS
	do(t, s, "chat.postMessage", "channel", "C3", "text", "hi")
	log, err := slackfake.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, e := range log {
		if e.Event == slackfake.EventCall || e.Event == slackfake.EventAnswer {
			shown = append(shown, fmt.Sprint(e.Event, " ", e.Method, " ", e.TS == ts, " ", e.Error, " ", e.Performed))
		}
	}
	want := "call chat.postMessage false  false\nanswer chat.postMessage true  true\ncall chat.postMessage false  false\nanswer chat.postMessage false is_archived false"
	if got := strings.Join(shown, "\n"); got != want {
		t.Errorf("got the log\n%s\nwant\n%s", got, want)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), slackfake.BotToken) {
		t.Errorf("the log holds a token, or: %v", err)
	}
}
