package slackfake_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/slackfake"
)

// open starts a stream under a message of Ann's in C1.
func open(t *testing.T, s *slackfake.Server, pairs ...string) (asked, ts string) {
	t.Helper()
	asked = s.Say("C1", "U1", "hello", "")
	pairs = append([]string{"channel", "C1", "thread_ts", asked, "recipient_user_id", "U1", "recipient_team_id", "T1"}, pairs...)
	return asked, must(t, s, "chat.startStream", pairs...).TS
}

func TestStartStream(t *testing.T) {
	full := map[string]string{"channel": "C1", "thread_ts": "{ann}", "recipient_user_id": "U1", "recipient_team_id": "T1"}
	tests := []struct {
		name, change, value, want string
		violation                 bool
	}{
		{"whole", "", "", "", false},
		{"plan", "task_display_mode", "plan", "", false},
		{"another mode", "task_display_mode", "list", "invalid_arguments", true},
		{"no thread", "thread_ts", "", "invalid_thread_ts", true},
		{"thread of nothing", "thread_ts", "1.000001", "invalid_thread_ts", false},
		{"unknown", "recipient_user_id", "", "missing_recipient_user_id", true},
		{"no team", "recipient_team_id", "", "missing_recipient_team_id", true},
		{"a stranger", "recipient_user_id", "U9", "user_not_found", false},
		{"another team", "recipient_team_id", "T2", "team_not_found", true},
		{"text and chunks", "chunks", `[{"type":"plan_update","title":"a"}]`, "invalid_arguments", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			ann := s.Say("C1", "U1", "hello", "")
			pairs := []string{"markdown_text", "a"}
			for name, value := range full {
				if name != test.change {
					pairs = append(pairs, name, strings.ReplaceAll(value, "{ann}", ann))
				}
			}
			if test.value != "" {
				pairs = append(pairs, test.change, test.value)
			}
			if got := do(t, s, "chat.startStream", pairs...); got.Error != test.want {
				t.Errorf("got %s for %q, want %q", got.raw, pairs, test.want)
			}
			if violations := s.Violations(); (len(violations) > 0) != test.violation {
				t.Errorf("got the violations %q, want some: %v", violations, test.violation)
			}
		})
	}
}

func TestDirectStreamNeedsNoRecipient(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	asked := s.Say(s.DM("U1"), "U1", "hello", "")
	must(t, s, "chat.startStream", "channel", s.DM("U1"), "thread_ts", asked, "markdown_text", "a")
}

func TestChunks(t *testing.T) {
	long := strings.Repeat("ä", 257)
	tests := []struct{ name, chunks, want string }{
		{"text", `[{"type":"markdown_text","text":"a"}]`, ""},
		{"card", `[{"type":"task_update","id":"1","title":"a","status":"in_progress","details":"b","output":"c"}]`, ""},
		{"title", `[{"type":"plan_update","title":"a"}]`, ""},
		{"blocks", `[{"type":"blocks","blocks":[` + section("a") + `]}]`, ""},
		{"empty text", `[{"type":"markdown_text","text":""}]`, "invalid_chunks"},
		{"no id", `[{"type":"task_update","title":"a"}]`, "invalid_chunks"},
		{"no title", `[{"type":"task_update","id":"1"}]`, "invalid_chunks"},
		{"another status", `[{"type":"task_update","id":"1","title":"a","status":"done"}]`, "invalid_chunks"},
		{"long title", `[{"type":"task_update","id":"1","title":"` + long + `"}]`, "invalid_chunks"},
		{"long details", `[{"type":"task_update","id":"1","title":"a","details":"` + long + `"}]`, "invalid_chunks"},
		{"no plan title", `[{"type":"plan_update"}]`, "invalid_chunks"},
		{"bad blocks", `[{"type":"blocks","blocks":` + blocks(1, 3001) + `}]`, "invalid_blocks"},
		{"another type", `[{"type":"text","text":"a"}]`, "invalid_chunks"},
		{"no object", `["a"]`, "invalid_chunks"},
		{"none", `[]`, "no_text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			_, ts := open(t, s)
			got := do(t, s, "chat.appendStream", "channel", "C1", "ts", ts, "chunks", test.chunks)
			if got.Error != test.want || (len(s.Violations()) > 0) != (test.want != "") {
				t.Errorf("got %s and the violations %q for %s, want %q", got.raw, s.Violations(), test.chunks, test.want)
			}
		})
	}
}

func TestStreamStates(t *testing.T) {
	at := newClock()
	s := start(t, slackfake.Options{Now: at.Now, AgentView: true, Limits: map[string][]slackfake.Limit{}})
	asked, ts := open(t, s, "markdown_text", "one ")
	step := func(method, want string, pairs ...string) {
		t.Helper()
		if got := do(t, s, method, append([]string{"channel", "C1", "ts", ts}, pairs...)...); got.Error != want {
			t.Errorf("%s %q got %s, want %q", method, pairs, got.raw, want)
		}
	}
	step("chat.appendStream", "", "markdown_text", "two ")
	step("chat.appendStream", "streaming_mode_mismatch", "chunks", `[{"type":"plan_update","title":"a"}]`)
	step("chat.update", "streaming_state_conflict", "text", "no")
	step("chat.delete", "cant_delete_message")
	at.Pass(5*time.Minute - time.Millisecond)
	step("chat.appendStream", "", "markdown_text", "three")
	at.Pass(time.Millisecond)
	step("chat.appendStream", "message_not_in_streaming_state", "markdown_text", "four")
	step("chat.stopStream", "message_not_in_streaming_state")
	if m, _ := s.Message("C1", ts); m.Stream.State != slackfake.StreamExpired || m.Stream.Text != "one two three" || m.Thread != asked {
		t.Errorf("got %+v, want it expired with three words", m.Stream)
	}
	step("chat.update", "", "text", "rescued")
	if m, _ := s.Message("C1", ts); m.Text != "rescued" || m.Stream != nil {
		t.Errorf("got %+v, want it rescued", m)
	}

	asked, ts = open(t, s, "chunks", `[{"type":"task_update","id":"1","title":"a","details":"x"}]`)
	step("chat.appendStream", "", "chunks", `[{"type":"task_update","id":"1","title":"b","status":"complete","details":"y"}]`)
	if err := s.Stop("C1", asked, "U1"); err != nil {
		t.Fatal(err)
	}
	step("chat.appendStream", "stopped_by_user", "chunks", `[{"type":"markdown_text","text":"more"}]`)
	step("chat.stopStream", "", "session_status", "active")
	m, _ := s.Message("C1", ts)
	if want := (slackfake.Task{ID: "1", Title: "b", Status: "complete", Details: "xy"}); m.Stream.State != slackfake.StreamStopped || m.Stream.Tasks[0] != want {
		t.Errorf("got %+v, want it stopped with %+v", m.Stream, want)
	}
	if st := s.StatusOf("C1", asked); st.Session != "active" {
		t.Errorf("got the session %+v, want it active", st)
	}
	_, ts = open(t, s, "markdown_text", strings.Repeat("a", 12000))
	step("chat.appendStream", "msg_too_long", "markdown_text", "b")
	step("chat.appendStream", "no_text")
	step("chat.stopStream", "", "blocks", button(`,"value":"v"`))
	step("chat.appendStream", "message_not_in_streaming_state", "markdown_text", "b")
	ts = asked
	step("chat.appendStream", "message_not_owned_by_app", "markdown_text", "b")
}

func TestStopTellsTheApp(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AgentView: true, Quiet: true})
	asked, ts := open(t, s)
	if err := s.Stop("C1", asked, "U1"); err != nil {
		t.Fatal(err)
	}
	list := s.Deliveries()
	last := list[len(list)-1]
	if last.Name != "agent_session_stopped" || !strings.Contains(string(last.Payload), `"streaming_message_ts":["`+ts+`"]`) {
		t.Errorf("got %s %s, want agent_session_stopped with %s", last.Name, last.Payload, ts)
	}
	if err := s.Stop("C1", asked, "U1"); err == nil {
		t.Error("a second Stop was there, want none where nothing runs")
	}
	must(t, s, "agents.sessions.setStatus", "channel_id", "C1", "thread_ts", asked, "status", "processing")
	if err := s.Stop("C1", asked, "U1"); err != nil {
		t.Errorf("got %v, want a Stop while the session is processing", err)
	}
}

func TestThreadStatusFades(t *testing.T) {
	at := newClock()
	s := slackfake.New(t, slackfake.Options{Now: at.Now})
	asked := s.Say("C1", "U1", "hello", "")
	set := func() {
		must(t, s, "assistant.threads.setStatus", "channel_id", "C1", "thread_ts", asked, "status", "is thinking")
	}
	shown := func(want string) {
		t.Helper()
		if got := s.StatusOf("C1", asked).Text; got != want {
			t.Errorf("got the status %q, want %q", got, want)
		}
	}
	set()
	shown("is thinking")
	at.Pass(2*time.Minute + 1)
	shown("")
	set()
	must(t, s, "chat.postMessage", "channel", "C1", "thread_ts", asked, "text", "hi")
	shown("")
}

func TestRates(t *testing.T) {
	tests := []struct {
		method string
		calls  int
		pairs  []string
	}{
		{"chat.postMessage", 4, []string{"channel", "C1", "text", "hi"}},
		{"chat.update", 50, []string{"channel", "C1", "ts", "{bot}", "text", "hi"}},
		{"chat.startStream", 20, []string{"channel", "C1", "thread_ts", "{ann}", "recipient_user_id", "U1", "recipient_team_id", "T1"}},
		{"chat.appendStream", 100, []string{"channel", "C1", "ts", "{stream}", "markdown_text", "a"}},
		{"chat.stopStream", 20, []string{"channel", "C1", "ts", "{stream}"}},
	}
	for _, test := range tests {
		t.Run(test.method, func(t *testing.T) {
			at := newClock()
			s := start(t, slackfake.Options{Now: at.Now, Quiet: true})
			ann, stream := open(t, s)
			bot := must(t, s, "chat.postMessage", "channel", "C4", "text", "hi").TS
			if test.method == "chat.update" {
				test.pairs[1] = "C4"
			}
			at.Pass(time.Minute)
			for i := range test.pairs {
				test.pairs[i] = strings.NewReplacer("{ann}", ann, "{bot}", bot, "{stream}", stream).Replace(test.pairs[i])
			}
			for i := range test.calls {
				if got := do(t, s, test.method, test.pairs...); got.Error == "ratelimited" {
					t.Fatalf("call %d of %d got %s", i+1, test.calls, got.raw)
				}
			}
			got := do(t, s, test.method, test.pairs...)
			seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
			if got.status != http.StatusTooManyRequests || got.Error != "ratelimited" || err != nil || seconds < 1 {
				t.Fatalf("call %d got %d %s, Retry-After %q; want 429", test.calls+1, got.status, got.raw, got.header.Get("Retry-After"))
			}
			if v := s.Violations(); len(v) > 0 {
				t.Errorf("got the violations %q for the first call over the rate, want none", v)
			}
			at.Pass(50 * time.Millisecond)
			if got := do(t, s, test.method, test.pairs...); got.Error != "ratelimited" || len(s.Violations()) > 0 {
				t.Errorf("on its way got %s and the violations %q, want a refusal and none", got.raw, s.Violations())
			}
			at.Pass(time.Duration(seconds)*time.Second - 51*time.Millisecond)
			if got := do(t, s, test.method, test.pairs...); got.Error != "ratelimited" || len(s.Violations()) != 1 {
				t.Errorf("too early got %s and the violations %q, want a refusal and one", got.raw, s.Violations())
			}
			at.Pass(time.Millisecond)
			if got := do(t, s, test.method, test.pairs...); got.Error == "ratelimited" {
				t.Errorf("in time got %s", got.raw)
			}
		})
	}
}

func TestRatesAreOfOneChannel(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	for range 4 {
		must(t, s, "chat.postMessage", "channel", "C1", "text", "hi")
	}
	must(t, s, "chat.postMessage", "channel", "C4", "text", "hi")
}

// TestHealForgetsWaits: a rate that is spent stays so, and the next caller
// after Heal is told so anew.
func TestHealForgetsWaits(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	for range 4 {
		must(t, s, "chat.postMessage", "channel", "C1", "text", "hi")
	}
	for range 2 {
		if got := do(t, s, "chat.postMessage", "channel", "C1", "text", "hi"); got.Error != "ratelimited" || len(s.Violations()) > 0 {
			t.Fatalf("got %s and the violations %q, want a refusal and none", got.raw, s.Violations())
		}
		s.Heal()
	}
}

// TestLinksInStreams: their previews cannot be turned off.
func TestLinksInStreams(t *testing.T) {
	for text, violation := range map[string]bool{
		"see [it](https://a.example/x)": true, "http://a.example": true, "see `https://a.example`": false, "```\nhttps://a.example\n": false,
	} {
		s := start(t, slackfake.Options{})
		_, ts := open(t, s, "markdown_text", "Well, ")
		must(t, s, "chat.appendStream", "channel", "C1", "ts", ts, "markdown_text", text)
		if violations := s.Violations(); (len(violations) > 0) != violation {
			t.Errorf("%q: got the violations %q, want some: %v", text, violations, violation)
		}
	}
}

// TestSessions holds one row per rule of sessions and thread statuses. {ann} is
// a message of Ann's in C1, {reply} one under it.
func TestSessions(t *testing.T) {
	const session, status = "agents.sessions.setStatus", "assistant.threads.setStatus"
	tests := []struct {
		name, method string
		pairs        []string
		want         string
		violation    bool
	}{
		{"processing", session, []string{"status", "processing", "channel_id", "C1", "thread_ts", "{ann}", "title", "Dates"}, "", false},
		{"another status", session, []string{"status", "busy", "channel_id", "C1", "thread_ts", "{ann}"}, "invalid_status", true},
		{"no channel", session, []string{"status", "active", "thread_ts", "{ann}"}, "invalid_arguments", true},
		{"no thread", session, []string{"status", "active", "channel_id", "C1"}, "invalid_arguments", true},
		{"thread of nothing", session, []string{"status", "active", "channel_id", "C1", "thread_ts", "1.000001"}, "thread_not_found", false},
		{"a reply for the thread", session, []string{"status", "active", "channel_id", "C1", "thread_ts", "{reply}"}, "", true},
		{"long title", session, []string{"status", "active", "channel_id", "C1", "thread_ts", "{ann}", "title", strings.Repeat("a", 201)}, "title_too_long", true},
		{"rename without session", "agents.sessions.rename", []string{"title", "a", "channel_id", "C1", "thread_ts", "{ann}"}, "session_not_found", false},
		{"status", status, []string{"status", "is thinking", "channel_id", "C1", "thread_ts", "{ann}", "loading_messages", "a,b"}, "", false},
		{"status taken back", status, []string{"status", "", "channel_id", "C1", "thread_ts", "{ann}"}, "", false},
		{"status without thread", status, []string{"status", "a", "channel_id", "C1"}, "invalid_arguments", true},
		{"status elsewhere", status, []string{"status", "a", "channel_id", "C2", "thread_ts", "{ann}"}, "not_in_channel", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{AgentView: true})
			ann := s.Say("C1", "U1", "hello", "")
			reply := s.Say("C1", "U2", "hello?", ann)
			pairs := make([]string, len(test.pairs))
			for i, value := range test.pairs {
				pairs[i] = strings.NewReplacer("{ann}", ann, "{reply}", reply).Replace(value)
			}
			if got := do(t, s, test.method, pairs...); got.Error != test.want {
				t.Errorf("got %s for %q, want %q", got.raw, pairs, test.want)
			}
			if violations := s.Violations(); (len(violations) > 0) != test.violation {
				t.Errorf("got the violations %q for %q, want some: %v", violations, pairs, test.violation)
			}
		})
	}
}

func TestSessionKeepsItsTitle(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AgentView: true})
	ann := s.Say("C1", "U1", "hello", "")
	in := []string{"channel_id", "C1", "thread_ts", ann}
	must(t, s, "agents.sessions.setStatus", append(in, "status", "processing", "title", "first")...)
	must(t, s, "agents.sessions.setStatus", append(in, "status", "suspended", "title", "second")...)
	if got := s.StatusOf("C1", ann); got.Title != "first" || got.Session != "suspended" {
		t.Errorf("got %+v, want suspended with the first title", got)
	}
	must(t, s, "agents.sessions.rename", append(in, "title", "third")...)
	if got := s.StatusOf("C1", ann); got.Title != "third" {
		t.Errorf("got %+v, want the title third", got)
	}
}

func TestStopLeavesOtherThreads(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	first, ended := open(t, s)
	_, other := open(t, s)
	if err := s.Stop("C1", first, "U1"); err != nil {
		t.Fatal(err)
	}
	for ts, want := range map[string]string{ended: slackfake.StreamStopped, other: slackfake.StreamLive} {
		if m, _ := s.Message("C1", ts); m.Stream.State != want {
			t.Errorf("%s is %s, want %s", ts, m.Stream.State, want)
		}
	}
}

func TestPeopleWhoLeft(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	s.AddUser(slackfake.User{ID: "U8", Name: "zoe", Gone: true})
	if got := do(t, s, "chat.postMessage", "channel", "U8", "text", "hi"); got.Error != "user_disabled" {
		t.Errorf("got %s, want user_disabled", got.raw)
	}
	s.SetChannel(slackfake.Channel{ID: "C1", Name: "general", Outside: true})
	if got := do(t, s, "chat.postMessage", "channel", "C1", "text", "hi"); got.Error != "not_in_channel" {
		t.Errorf("got %s, want not_in_channel for who was thrown out", got.raw)
	}
}
