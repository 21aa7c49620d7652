package slackfake_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/slackfake"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTranscript(t *testing.T) {
	at := newClock()
	s := slackfake.New(t, slackfake.Options{AgentView: true, Now: at.Now, Limits: map[string][]slackfake.Limit{}})
	asked := s.Say("C1", "U1", "<@UBOT> when did Go 1.26 come out, and Go 1.25?", "")
	in := []string{"channel", "C1", "thread_ts", asked, "recipient_user_id", "U1", "recipient_team_id", "T1"}
	must(t, s, "agents.sessions.setStatus", "status", "processing", "channel_id", "C1", "thread_ts", asked)
	must(t, s, "assistant.threads.setStatus", "status", "is thinking…", "channel_id", "C1", "thread_ts", asked)
	expect(t, s, "thinking")
	ts := must(t, s, "chat.startStream", append(in, "task_display_mode", "plan", "chunks",
		`[{"type":"plan_update","title":"Working: 1 of 3 done"},
		{"type":"task_update","id":"1","title":"Find the date of Go 1.26","status":"complete","output":"February 2026"},
		{"type":"task_update","id":"2","title":"Find the date of Go 1.25","status":"in_progress","details":"web.fetch"},
		{"type":"task_update","id":"3","title":"Compare both","status":"error"},
		{"type":"markdown_text","text":"So far"}]`)...).TS
	must(t, s, "reactions.add", "channel", "C1", "timestamp", asked, "name", "eyes")
	expect(t, s, "working")
	must(t, s, "chat.stopStream", "channel", "C1", "ts", ts, "chunks", `[{"type":"markdown_text","text":", *good*."}]`, "session_status", "active",
		"blocks", `[{"type":"context","elements":[{"type":"mrkdwn","text":"3 sub-tasks · 12 s"}]},
		{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Details"}},{"type":"button","text":{"type":"plain_text","text":"Retry"}}]}]`)
	must(t, s, "chat.postEphemeral", "channel", "C1", "user", "U2", "thread_ts", asked, "text", "Only ann can do that. See <https://x.org|the help>",
		"unfurl_links", "false", "unfurl_media", "false")
	must(t, s, "chat.postMessage", "channel", "C1", "text", "fallback", "blocks", `[{"type":"header","text":{"type":"plain_text","text":"Dates"}},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a "},{"type":"user","user_id":"U2"}]},
		{"type":"rich_text_list","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]}]},
		{"type":"divider"},{"type":"table","rows":[[{"type":"raw_text","text":"Go"},{"type":"raw_text","text":"1.26"}]]},
		{"type":"section","text":{"type":"mrkdwn","text":"1 &lt; 2"},"accessory":{"type":"button","text":{"type":"plain_text","text":"Why"}}}]`)
	stream := must(t, s, "chat.startStream", append(in, "markdown_text", "cut")...).TS
	at.Pass(5 * time.Minute)
	if m, _ := s.Message("C1", stream); m.Stream.State != slackfake.StreamExpired {
		t.Errorf("got the state %s", m.Stream.State)
	}
	expect(t, s, "done")
}

// expect compares the transcript of C1 with a golden file.
func expect(t *testing.T, s *slackfake.Server, name string) {
	t.Helper()
	path, got := filepath.Join("testdata", name+".txt"), s.Transcript("C1")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
