package slackfake_test

import (
	"strings"
	"testing"

	"legwork/internal/test/fakes/slackfake"
)

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
