package telegramfake_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/telegramfake"
)

// raw sends a message and returns what came back, as it came.
func raw(ctx context.Context, s *telegramfake.Server, method string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/bot"+s.Token+"/"+method, strings.NewReader("chat_id=7&text=x"))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestFaults(t *testing.T) {
	tests := []struct {
		fault  telegramfake.Fault
		status int // 0: no answer
		body   string
		err    error
		done   bool
	}{
		{telegramfake.Fault{Kind: telegramfake.FaultDropBefore}, 0, "", io.EOF, false},
		{telegramfake.Fault{Kind: telegramfake.FaultDropAfter}, 0, "", io.EOF, true},
		{telegramfake.Fault{Kind: telegramfake.FaultDown}, 0, "", io.EOF, false},
		{telegramfake.Fault{Kind: telegramfake.FaultDelay, Delay: time.Millisecond}, 200, `"ok":true`, nil, true},
		{telegramfake.Fault{Kind: telegramfake.FaultDelayAfter, Delay: time.Millisecond}, 200, `"ok":true`, nil, true},
		{telegramfake.Fault{Kind: telegramfake.FaultError}, 502, "<html>", nil, false},
		{telegramfake.Fault{Kind: telegramfake.FaultError, Status: 500}, 500, "Internal Server Error", nil, false},
		{telegramfake.Fault{Kind: telegramfake.FaultBusy, RetryAfter: 7}, 429, `"parameters":{"retry_after":7}`, nil, false},
		{telegramfake.Fault{Kind: telegramfake.FaultRevoked}, 401, `"description":"Unauthorized"`, nil, false},
		{telegramfake.Fault{Kind: telegramfake.FaultGarbage}, 200, "garbage", nil, true},
		{telegramfake.Fault{Kind: telegramfake.FaultHalf}, 200, `{"ok":true`, io.ErrUnexpectedEOF, true},
	}
	for _, test := range tests {
		t.Run(test.fault.Kind, func(t *testing.T) {
			s := start(t, telegramfake.Options{})
			s.Private(s.User(7, "Ann", "en"))
			test.fault.Method, test.fault.Chat = "sendMessage", 7
			s.Fail(test.fault)
			if status, _, err := raw(t.Context(), s, "getMe"); status != 200 || err != nil {
				t.Errorf("another method: got %d, %v", status, err)
			}
			status, body, err := raw(t.Context(), s, "sendMessage")
			if status != test.status || !strings.Contains(body, test.body) || !errors.Is(err, test.err) {
				t.Errorf("got %d %q, %v; want %d %q, %v", status, body, err, test.status, test.body, test.err)
			}
			log := s.Log()
			last := log[len(log)-1]
			if done := len(s.Chat(7).Messages) == 1; done != test.done || last.Done != test.done || last.Fault != test.fault.Kind {
				t.Errorf("done: %v, want %v; logged %+v", done, test.done, last)
			}
			s.Heal()
			if status, _, err := raw(t.Context(), s, "sendMessage"); status != 200 || err != nil {
				t.Errorf("after it: got %d, %v", status, err)
			}
		})
	}
}

// TestMarkupIsRefused: only texts that have markup are.
func TestMarkupIsRefused(t *testing.T) {
	s := start(t, telegramfake.Options{})
	s.Private(s.User(7, "Ann", "en"))
	s.Fail(telegramfake.Fault{Kind: telegramfake.FaultMarkup})
	for _, c := range []struct {
		params string
		status int
	}{{"chat_id=7&text=a", 200}, {"chat_id=7&text=a&parse_mode=HTML", 400}, {"chat_id=7&text=a&parse_mode=HTML", 200}} {
		response, err := http.Post(s.URL+"/bot"+s.Token+"/sendMessage", "application/x-www-form-urlencoded", strings.NewReader(c.params))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != c.status || c.status == 400 && !strings.Contains(string(body), "can't parse entities") {
			t.Errorf("%s: got %d %s, want %d", c.params, response.StatusCode, body, c.status)
		}
	}
}

func TestFaultsAreCounted(t *testing.T) {
	s := start(t, telegramfake.Options{NoLimits: true})
	s.Private(s.User(7, "Ann", "en"))
	s.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Skip: 1, Count: 2})
	var got []int
	for range 4 {
		status, _, err := raw(t.Context(), s, "sendMessage")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{200, 502, 502, 200}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBusyIsToBeObeyed(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := start(t, telegramfake.Options{NoLimits: true, Now: func() time.Time { return now }})
	s.Private(s.User(7, "Ann", "en"))
	for _, method := range []string{"sendMessage", "getUpdates"} {
		s.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: method, RetryAfter: 5})
		before := len(s.Violations())
		if status, _, err := raw(t.Context(), s, method); status != 429 || err != nil {
			t.Fatalf("got %d, %v", status, err)
		}
		now = now.Add(time.Second)
		if status, body, _ := raw(t.Context(), s, method); status != 429 || !strings.Contains(body, `"retry_after":8`) {
			t.Errorf("%s too early: got %d %s, want twice the 4 s that were left", method, status, body)
		}
		if v := s.Violations()[before:]; !strings.Contains(strings.Join(v, "\n"), method+" to chat ") || !strings.Contains(strings.Join(v, "\n"), "4.0 s before its retry_after was over") {
			t.Errorf("got violations %q", v)
		}
		now = now.Add(8 * time.Second)
		if status, body, _ := raw(t.Context(), s, method); status != 200 {
			t.Errorf("%s in time: got %d %s", method, status, body)
		}
	}
}

func TestDownEndsPolls(t *testing.T) {
	s := start(t, telegramfake.Options{})
	ended, cancel := polling(t, s)
	defer cancel()
	s.Fail(telegramfake.Fault{Kind: telegramfake.FaultDown, Count: telegramfake.Forever})
	if r := <-ended; r.OK {
		t.Errorf("the poll got %+v, want it cut", r)
	}
	if _, err := try(t.Context(), s, "getMe", "application/json", `{}`); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the connection cut", err)
	}
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	s := start(t, telegramfake.Options{Log: path})
	ann := s.User(7, "Ann", "en")
	s.Say(7, ann, "hello")
	poll(t, s, `{}`)
	do(t, s, "sendMessage", `{"chat_id":7,"text":"hi"}`)
	do(t, s, "sendMessage", `{"chat_id":7}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log, err := telegramfake.ReadLog(path)
	if err != nil || len(log) != 3 {
		t.Fatalf("got %+v, %v; want three entries", log, err)
	}
	for i := range log {
		log[i].At = time.Time{}
	}
	want := []telegramfake.Entry{
		{Seq: 1, Method: "getUpdates", Outcome: telegramfake.OutcomeOK, Done: true, Updates: []int{1000}},
		{Seq: 2, Method: "sendMessage", Params: map[string]string{"chat_id": "7", "text": "hi"}, Outcome: telegramfake.OutcomeOK, Done: true, Chat: 7, Message: 2},
		{Seq: 3, Method: "sendMessage", Params: map[string]string{"chat_id": "7"}, Outcome: telegramfake.OutcomeRefused, Code: 400, Error: "Bad Request: message text is empty", Chat: 7},
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.WaitFor(ctx, func(telegramfake.View) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitFor: got %v, want the context's error", err)
	}
}

func TestOtherPrograms(t *testing.T) {
	s := start(t, telegramfake.Options{})
	tests := []struct {
		call, body string
		status     int
		want       string
	}{
		{"POST say", `{"user":{"id":7,"name":"Ann"},"text":"hello"}`, 200, `{"message_id":1}`},
		{"POST say", `{"chat":-5,"user":{"id":7,"name":"Ann"},"text":"hello"}`, 400, "there is no such chat"},
		{"POST say", `{"name":"Ann"}`, 400, "unknown field"},
		{"POST press", `{"chat":7,"message":1,"button":"x","user":{"id":7,"name":"Ann"}}`, 200, `{"callback_query_id":"1000000001"}`},
		{"POST press", `{"chat":-5}`, 400, "there is no such chat"},
		{"POST fault", `{"kind":"error","method":"getMe","count":-1}`, 200, "true"},
		{"POST fault", `{"kind":"lightning"}`, 400, `no fault of kind "lightning"`},
		{"GET messages?chat=7", "", 200, `"text":"hello"`},
		{"GET events?chat=7", "", 200, `"kind":"press"`},
		{"GET transcript?chat=7", "", 200, "Ann\n  hello\n"},
		{"GET transcript?chat=7&frames=1", "", 200, "Ann taps [x]"},
		{"GET transcript?chat=8", "", 404, ""},
		{"GET log", "", 200, "["},
		{"GET violations", "", 200, "[]"},
		{"GET else", "", 404, ""},
	}
	for _, test := range tests {
		verb, what, _ := strings.Cut(test.call, " ")
		request, err := http.NewRequestWithContext(t.Context(), verb, s.URL+"/fake/"+what, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != test.status || !strings.Contains(string(got), test.want) {
			t.Errorf("%s %s: got %d %s, %v; want %d %s", test.call, test.body, response.StatusCode, got, err, test.status, test.want)
		}
	}
	if status, _, err := raw(t.Context(), s, "getMe"); status != 502 || err != nil {
		t.Errorf("got %d, %v; want the fault", status, err)
	}
}
