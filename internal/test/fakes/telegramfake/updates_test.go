package telegramfake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/watch"
)

// poll returns what getUpdates delivers, each as its id and its kind.
func poll(t *testing.T, s *telegramfake.Server, body string) []string {
	t.Helper()
	r := do(t, s, "getUpdates", body)
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatalf("%v in %+v", err, r)
	}
	got := []string{}
	for _, u := range list {
		kind := ""
		for name := range u {
			if name != "update_id" {
				kind = name
			}
		}
		got = append(got, string(u["update_id"])+" "+kind)
	}
	return got
}

func TestUpdates(t *testing.T) {
	s := start(t, telegramfake.Options{Second: time.Millisecond})
	ann := s.User(7, "Ann", "en")
	id := s.Say(7, ann, "one")
	s.Edit(7, id, "two")
	s.Block(ann)
	s.Unblock(ann)
	s.Raw(`{"message":{"text":5}}`)
	steps := []struct {
		body      string
		want      []string
		violation string
	}{
		{`{"limit":2}`, []string{"1000 message", "1001 edited_message"}, ""},
		{`{}`, []string{"1000 message", "1001 edited_message", "1002 my_chat_member", "1003 my_chat_member", "1004 message"}, ""},
		{`{"offset":1002,"limit":1}`, []string{"1002 my_chat_member"}, ""},
		{`{"offset":-1}`, []string{"1004 message"}, ""},
		{`{"offset":1005,"timeout":1}`, []string{}, ""},
		{`{"offset":1004}`, []string{}, "getUpdates with the offset 1004 after 1005"},
		{`{"offset":0}`, []string{}, "getUpdates with the offset 1004 after 1005"},
		{`{"offset":1004}`, []string{}, "getUpdates with the offset 1004 after 1005"}, // by a client that began after it
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, poll(t, s, step.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.body, diff)
		}
		if got := strings.Join(s.Violations(), ""); got != step.violation {
			t.Errorf("%s: got violations %q, want %q", step.body, got, step.violation)
		}
	}
	s.Redeliver(2)
	if diff := cmp.Diff([]string{"1003 my_chat_member", "1004 message"}, poll(t, s, `{"offset":1005}`)); diff != "" {
		t.Errorf("delivered again (-want +got):\n%s", diff)
	}
	if n := s.Pending(); n != 0 {
		t.Errorf("%d updates are pending, want none", n)
	}
}

func TestEveryOtherUpdateAgain(t *testing.T) {
	s := start(t, telegramfake.Options{Again: 2})
	ann := s.User(7, "Ann", "en")
	s.Say(7, ann, "one")
	s.Say(7, ann, "two")
	if diff := cmp.Diff([]string{"1001 message"}, poll(t, s, `{"offset":1002}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllowedUpdates(t *testing.T) {
	s := start(t, telegramfake.Options{Second: time.Millisecond})
	ann := s.User(7, "Ann", "en")
	poll(t, s, `{"allowed_updates":["message"]}`)
	s.Edit(7, s.Say(7, ann, "one"), "two")
	if diff := cmp.Diff([]string{"1000 message"}, poll(t, s, `{}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPollWaits(t *testing.T) {
	s := start(t, telegramfake.Options{})
	ann := s.User(7, "Ann", "en")
	got := make(chan reply, 1)
	go func() {
		r, _ := try(t.Context(), s, "getUpdates", "application/json", `{"timeout":50}`)
		got <- r
	}()
	s.Say(7, ann, "one")
	if r := <-got; !strings.Contains(string(r.Result), `"one"`) {
		t.Errorf("got %+v", r)
	}
}

// polling starts a poll and returns when it waits or has ended.
func polling(t *testing.T, s *telegramfake.Server) (ended <-chan reply, cancel context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, before := make(chan reply, 1), len(s.Log())
	go func() {
		r, _ := try(ctx, s, "getUpdates", "application/json", `{"timeout":50}`)
		done <- r
	}()
	wait(t, s, func(v telegramfake.View) bool { return v.Polling() || len(v.Log()) > before })
	return done, cancel
}

func wait(t *testing.T, s *telegramfake.Server, holds func(telegramfake.View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if err := s.WaitFor(ctx, holds); err != nil {
		t.Fatal(err)
	}
}

func TestSecondPoller(t *testing.T) {
	tests := []struct {
		pollers, violations int
	}{{1, 1}, {2, 0}}
	for _, test := range tests {
		s := start(t, telegramfake.Options{Second: 10 * time.Millisecond, Pollers: test.pollers})
		older, cancel := polling(t, s)
		if got := poll(t, s, `{"timeout":1}`); len(got) != 0 {
			t.Errorf("the newer got %q", got)
		}
		if r := <-older; r.Code != http.StatusConflict || !strings.HasPrefix(r.Description, "Conflict: terminated by other getUpdates request") {
			t.Errorf("the older got %+v, want 409", r)
		}
		cancel()
		if v := s.Violations(); len(v) != test.violations {
			t.Errorf("%d pollers: got violations %q, want %d", test.pollers, v, test.violations)
		}
	}
}

func TestPollOfAKilledClientIsNoConflict(t *testing.T) {
	s := start(t, telegramfake.Options{Second: 10 * time.Millisecond})
	older, cancel := polling(t, s)
	cancel()
	<-older
	if got := poll(t, s, `{"timeout":1}`); len(got) != 0 || len(s.Violations()) != 0 {
		t.Errorf("got %q and violations %q", got, s.Violations())
	}
}

func TestWebhook(t *testing.T) {
	type delivery struct{ secret, body string }
	deliveries := make(chan delivery, 10)
	answers := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- delivery{r.Header.Get("X-Telegram-Bot-Api-Secret-Token"), r.URL.Path + " " + string(body)}
		answer := <-answers
		if answer == "500" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer hook.Close()
	s := start(t, telegramfake.Options{Second: 10 * time.Millisecond, NeedSecret: true, WebhookTo: hook.URL})
	ann := s.User(7, "Ann", "en")
	s.Say(7, ann, "one")
	older, cancel := polling(t, s)
	defer cancel()
	<-older // the question
	poll(t, s, `{"offset":1001}`)
	older, cancel = polling(t, s)
	defer cancel()
	if r := do(t, s, "setWebhook", `{"url":"https://bot.example.com/hook","secret_token":"s3cret"}`); !r.OK {
		t.Fatalf("got %+v", r)
	}
	if r := <-older; r.Description != "Conflict: terminated by setWebhook request" {
		t.Errorf("the poll got %+v", r)
	}
	s.Say(7, ann, "two")
	s.Say(7, ann, "three")
	answers <- "500"
	answers <- `{"method":"sendMessage","chat_id":7,"text":"in reply"}`
	answers <- ""
	for i, want := range []string{`"two"`, `"two"`, `"three"`} {
		got := <-deliveries
		if got.secret != "s3cret" || !strings.HasPrefix(got.body, "/hook ") || !strings.Contains(got.body, want) {
			t.Errorf("delivery %d: got %+v, want %s", i, got, want)
		}
	}
	wait(t, s, func(v telegramfake.View) bool { return v.Pending() == 0 })
	if m := s.Chat(7).Bots(); len(m) != 1 || m[0].Text != "in reply" {
		t.Errorf("got %+v", m)
	}
	if r := do(t, s, "getWebhookInfo", `{}`); !strings.Contains(string(r.Result), `"last_error_message":"Wrong response from the webhook: 500 Internal Server Error"`) {
		t.Errorf("got %s", r.Result)
	}
	if v := s.Violations(); len(v) != 0 {
		t.Errorf("got violations %q", v)
	}
	if r := do(t, s, "getUpdates", `{}`); r.Code != http.StatusConflict || len(s.Violations()) != 1 {
		t.Errorf("getUpdates beside the webhook: got %+v and violations %q", r, s.Violations())
	}
	do(t, s, "deleteWebhook", `{}`)
	s.Say(7, ann, "four")
	if got := poll(t, s, `{}`); len(got) != 1 {
		t.Errorf("got %q after deleteWebhook", got)
	}
	do(t, s, "setWebhook", `{"url":"https://bot.example.com/hook","drop_pending_updates":true}`)
	if v := s.Violations(); len(v) != 2 || v[1] != "setWebhook without secret_token" || s.Pending() != 0 {
		t.Errorf("got violations %q and %d pending", v, s.Pending())
	}
}

func TestRates(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := start(t, telegramfake.Options{Now: func() time.Time { return now }})
	ann := s.User(7, "Ann", "en")
	s.Private(ann)
	group := s.Group("Trip", ann)
	n := 0
	send := func(chat int64) int {
		n++
		r := do(t, s, "sendMessage", fmt.Sprintf(`{"chat_id":%d,"text":"%d"}`, chat, n))
		if !r.OK && (r.Code != 429 || r.Description != fmt.Sprintf("Too Many Requests: retry after %d", r.Parameters.RetryAfter)) {
			t.Errorf("got %+v", r)
		}
		return r.Parameters.RetryAfter
	}
	burst := func(chat int64, most int) int {
		for i := range most {
			if send(chat) != 0 {
				return i
			}
		}
		return most
	}
	if got := burst(7, 10); got != 5 {
		t.Errorf("a chat took %d at once, want 5", got)
	}
	if got := send(group); got != 0 {
		t.Errorf("another chat has to wait %d s", got)
	}
	now = now.Add(200 * time.Millisecond)
	if send(7) == 0 || len(s.Violations()) != 0 {
		t.Errorf("a call on its way: got violations %q, want a refusal and none", s.Violations())
	}
	now = now.Add(200 * time.Millisecond)
	if got := send(7); got != 2 || len(s.Violations()) != 1 {
		t.Errorf("a call before its time has to wait %d s, with violations %q; want 2 and one", got, s.Violations())
	}
	now = now.Add(1200 * time.Millisecond)
	if got := send(7); got != 0 {
		t.Errorf("after the time it has to wait %d s", got)
	}
	sent := 1
	for now = now.Add(time.Second); sent < 30 && send(group) == 0; now = now.Add(time.Second) {
		sent++
	}
	if sent != 20 {
		t.Errorf("a group took %d in a minute, want 20", sent)
	}
	everyone := 0
	for i := range int64(150) {
		if send(s.Private(s.User(1000+i, "Someone", "en"))) != 0 {
			break
		}
		everyone++
	}
	if everyone != 100 {
		t.Errorf("all chats took %d at once, want 100", everyone)
	}
}
