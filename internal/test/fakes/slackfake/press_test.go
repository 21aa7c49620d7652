package slackfake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/slackfake"
)

// hook posts to a response URL and returns the status and the text.
func hook(t *testing.T, address, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// asked is a command of Ann's in a channel without the app, and its response URL.
func asked(t *testing.T, s *slackfake.Server) string {
	t.Helper()
	if _, err := s.Slash("/task", "do it", "C2", "U1"); err != nil {
		t.Fatal(err)
	}
	list := s.Deliveries()
	var payload struct {
		URL string `json:"response_url"`
	}
	if err := json.Unmarshal(list[len(list)-1].Payload, &payload); err != nil {
		t.Fatal(err)
	}
	return payload.URL
}

func TestResponseURL(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		text       string
		violation  bool
	}{
		{"to one", `{"text":"hi"}`, 200, "ok", false},
		{"to all", `{"text":"hi","response_type":"in_channel"}`, 200, "ok", false},
		{"blocks", `{"blocks":` + blocks(1, 5) + `}`, 200, "ok", false},
		{"the library's nulls", `{"text":"hi","blocks":null,"metadata":{"event_type":"","event_payload":null},"replace_original":false}`, 200, "ok", false},
		{"nothing", `{}`, 400, "no_text", true},
		{"no JSON", `text=hi`, 400, "invalid_payload", true},
		{"another type", `{"text":"hi","response_type":"loud"}`, 400, "invalid_payload", true},
		{"bad blocks", `{"blocks":` + blocks(1, 3001) + `}`, 400, "invalid_blocks", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			status, text := hook(t, asked(t, s), test.body)
			if status != test.status || text != test.text || (len(s.Violations()) > 0) != test.violation {
				t.Errorf("got %d %s and the violations %q for %s", status, text, s.Violations(), test.body)
			}
			shown := s.Posted("C2")
			if (len(shown) == 1) != (test.status == 200) {
				t.Fatalf("got the messages %+v", shown)
			}
			if len(shown) == 1 && (shown[0].To == "U1") == strings.Contains(test.body, "in_channel") {
				t.Errorf("got %+v, want it seen by one person unless it is in_channel", shown[0])
			}
		})
	}
}

func TestResponseURLEnds(t *testing.T) {
	at := newClock()
	s := start(t, slackfake.Options{Now: at.Now})
	address := asked(t, s)
	for range 5 {
		if status, text := hook(t, address, `{"text":"hi"}`); status != 200 {
			t.Fatalf("got %d %s", status, text)
		}
	}
	if status, text := hook(t, address, `{"text":"hi"}`); status != 404 || text != "used_url" || len(s.Violations()) != 1 {
		t.Errorf("the sixth got %d %s, want used_url and a violation", status, text)
	}
	address = asked(t, s)
	at.Pass(30*time.Minute + 1)
	if status, text := hook(t, address, `{"text":"hi"}`); status != 404 || text != "expired_url" {
		t.Errorf("after half an hour got %d %s, want expired_url", status, text)
	}
}

func TestPress(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Quiet: true})
	conn := connect(t, s)
	ts := must(t, s, "chat.postMessage", "channel", "C1", "text", "sure?", "blocks", button(`,"value":"stop:1","action_id":"a"`)).TS
	if _, err := s.Press("C1", ts, "Go", "U1"); err == nil || !strings.Contains(err.Error(), "Stop") {
		t.Errorf("got %v, want the buttons that there are", err)
	}
	for _, which := range []string{"a", "stop:1", "Stop"} {
		trigger, err := s.Press("C1", ts, which, "U2")
		if err != nil {
			t.Fatal(err)
		}
		e := receive(t, conn)
		if e.Type != "interactive" || !e.Takes || e.Payload.Trigger != trigger || e.Payload.URL == "" {
			t.Errorf("pressing %s got %+v", which, e)
		}
		ack(t, conn, e.ID, "")
		if status, text := hook(t, e.Payload.URL, `{"text":"pressed","replace_original":true,"blocks":`+button("")+`}`); status != 200 {
			t.Fatalf("got %d %s", status, text)
		}
		if which != "Stop" {
			must(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "sure?", "blocks", button(`,"value":"stop:1","action_id":"a"`))
		}
	}
	if m, _ := s.Message("C1", ts); m.Text != "pressed" || !m.Hooked {
		t.Errorf("got %+v, want it replaced", m)
	}
}

func TestAnswerInAcknowledgement(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	conn := connect(t, s)
	if _, err := s.Slash("/task", "do it", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	ack(t, conn, receive(t, conn).ID, `{"text":"on it"}`)
	until(t, s, "the answer", func() bool { return len(s.Posted("C1")) == 1 })
	if m := s.Posted("C1")[0]; m.Text != "on it" || m.To != "U1" {
		t.Errorf("got %+v, want it seen by U1 alone", m)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		kind      string
		status    int // 0: the connection is cut
		text      string
		performed bool
	}{
		{slackfake.FaultDropBefore, 0, "", false},
		{slackfake.FaultDropAfter, 0, "", true},
		{slackfake.FaultDelay, 200, `"ok":true`, true},
		{slackfake.FaultStatus, 503, "<title>", false},
		{slackfake.FaultStatusLate, 503, "<title>", true},
		{slackfake.FaultBusy, 429, "ratelimited", false},
		{slackfake.FaultError, 200, "internal_error", false},
		{slackfake.FaultGarbage, 200, `{"ok":tru`, true},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			s := slackfake.New(t, slackfake.Options{})
			fault := fmt.Sprintf(`{"method":"chat.postMessage","kind":%q,"skip":1}`, test.kind)
			if status, text := hook(t, s.URL+"/fake/fault", fault); status != 200 {
				t.Fatalf("got %d %s", status, text)
			}
			must(t, s, "chat.postMessage", "channel", "C1", "text", "first")
			status, text := hookOrCut(t, s, `{"channel":"C1","text":"second"}`)
			if status != test.status || !strings.Contains(text, test.text) {
				t.Errorf("got %d %s, want %d with %s", status, text, test.status, test.text)
			}
			if got := len(s.Posted("C1")) == 2; got != test.performed {
				t.Errorf("performed %v, want %v", got, test.performed)
			}
			must(t, s, "chat.postMessage", "channel", "C1", "text", "third")
		})
	}
}

// hookOrCut posts a message and returns 0 when the connection was cut.
func hookOrCut(t *testing.T, s *slackfake.Server, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.APIURL+"chat.postMessage", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.GetBody = nil // so that the client does not try again by itself
	request.Header.Set("Content-Type", isJSON)
	request.Header.Set("Authorization", "Bearer "+slackfake.BotToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestDown(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	connect(t, s)
	s.Down()
	until(t, s, "the end of the sockets", func() bool { return s.Connections() == 0 })
	if status, text := hookOrCut(t, s, `{"channel":"C1","text":"hi"}`); status != 0 {
		t.Errorf("got %d %s, want it cut", status, text)
	}
	s.Heal()
	must(t, s, "chat.postMessage", "channel", "C1", "text", "hi")
	connect(t, s)
}

func TestControls(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	post := func(path, body string) string {
		t.Helper()
		status, text := hook(t, s.URL+"/fake/"+path, body)
		if status != 200 {
			t.Fatalf("%s %s got %d %s", path, body, status, text)
		}
		var done struct{ ID string }
		if err := json.Unmarshal([]byte(text), &done); err != nil {
			t.Fatal(err)
		}
		return done.ID
	}
	get := func(path string) string {
		t.Helper()
		response, err := http.Get(s.URL + "/fake/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ts := post("say", `{"channel":"C1","user":"U1","text":"hi"}`)
	post("edit", `{"channel":"C1","ts":"`+ts+`","text":"hello"}`)
	if got := get("transcript?channel=C1"); got != "#general\n\nann\n  hello (edited)\n" {
		t.Errorf("got the transcript %q", got)
	}
	var list []slackfake.Message
	if err := json.Unmarshal([]byte(get("messages?channel=C1")), &list); err != nil || len(list) != 1 || list[0].TS != ts {
		t.Errorf("got %+v, %v, want one message %s", list, err, ts)
	}
	var log []slackfake.Entry
	if err := json.Unmarshal([]byte(get("log")), &log); err != nil {
		t.Error(err)
	}
	if got := get("violations"); got != "null\n" && got != "[]\n" {
		t.Errorf("got the violations %s", got)
	}
	if status, text := hook(t, s.URL+"/fake/say", `{"channel":"C9","user":"U1"}`); status != 400 {
		t.Errorf("got %d %s for a channel that is not there, want 400", status, text)
	}
}
