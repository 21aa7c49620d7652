package slackfake_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"legwork/internal/test/fakes/slackfake"
)

// TestPosts holds one row per rule of what a message may be and where it may
// go. {ann} is a message of Ann's in C1, {bot} one of the app's under it.
func TestPosts(t *testing.T) {
	long := strings.Repeat("ä", 12001)
	table := func(cells int) string {
		return fmt.Sprintf(`{"type":"table","rows":[[%s]]}`, strings.TrimSuffix(strings.Repeat(`{"type":"raw_text","text":"a"},`, cells), ","))
	}
	tests := []struct {
		name, method string
		pairs        []string
		want         string // the error; empty: ok
		violation    bool
	}{
		{"text", "chat.postMessage", []string{"channel", "C1", "text", "hi"}, "", false},
		{"markdown", "chat.postMessage", []string{"channel", "C1", "markdown_text", long[:12000*2]}, "", false},
		{"to a person", "chat.postMessage", []string{"channel", "U1", "text", "hi"}, "", false},
		{"private channel", "chat.postMessage", []string{"channel", "C5", "text", "hi"}, "", false},
		{"links without previews", "chat.postMessage", []string{"channel", "C1", "text", "https://x.org", "unfurl_links", "false", "unfurl_media", "false"}, "", false},
		{"links with previews", "chat.postMessage", []string{"channel", "C1", "text", "https://x.org", "unfurl_links", "false"}, "", true},
		{"metadata", "chat.postMessage", []string{"channel", "C1", "text", "hi", "metadata", `{"event_type":"m","event_payload":{"a":1}}`}, "", false},
		{"metadata without payload", "chat.postMessage", []string{"channel", "C1", "text", "hi", "metadata", `{"event_type":"m"}`}, "invalid_metadata_format", true},
		{"no channel", "chat.postMessage", []string{"channel", "C9", "text", "hi"}, "channel_not_found", false},
		{"not in channel", "chat.postMessage", []string{"channel", "C2", "text", "hi"}, "not_in_channel", false},
		{"archived", "chat.postMessage", []string{"channel", "C3", "text", "hi"}, "is_archived", false},
		{"to itself", "chat.postMessage", []string{"channel", "UBOT", "text", "hi"}, "cannot_dm_bot", false},
		{"nothing", "chat.postMessage", []string{"channel", "C1"}, "no_text", true},
		{"empty", "chat.postMessage", []string{"channel", "C1", "text", "", "blocks", "[]"}, "no_text", true},
		{"long markdown", "chat.postMessage", []string{"channel", "C1", "markdown_text", long}, "msg_too_long", true},
		{"markdown and text", "chat.postMessage", []string{"channel", "C1", "markdown_text", "a", "text", "a"}, "markdown_text_conflict", true},
		{"under a reply", "chat.postMessage", []string{"channel", "C1", "text", "hi", "thread_ts", "{bot}"}, "", true},
		{"50 blocks", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(50, 10)}, "", false},
		{"51 blocks", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(51, 10)}, "invalid_blocks", true},
		{"section of 3000", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(1, 3000)}, "", false},
		{"section of 3001", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(1, 3001)}, "invalid_blocks", true},
		{"empty section", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(1, 0)}, "invalid_blocks", true},
		{"13,200 in all", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(6, 2200)}, "", false},
		{"13,206 in all", "chat.postMessage", []string{"channel", "C1", "blocks", blocks(6, 2201)}, "msg_blocks_too_long", true},
		{"same block_id", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]`}, "invalid_blocks", true},
		{"unknown block", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"card"}]`}, "invalid_blocks", true},
		{"button", "chat.postMessage", []string{"channel", "C1", "blocks", button(`,"value":"` + long[:4000] + `","action_id":"a","style":"danger"`)}, "", false},
		{"long value", "chat.postMessage", []string{"channel", "C1", "blocks", button(`,"value":"` + long[:4002] + `"`)}, "invalid_blocks", true},
		{"long action_id", "chat.postMessage", []string{"channel", "C1", "blocks", button(`,"action_id":"` + strings.Repeat("a", 256) + `"`)}, "invalid_blocks", true},
		{"unknown style", "chat.postMessage", []string{"channel", "C1", "blocks", button(`,"style":"loud"`)}, "invalid_blocks", true},
		{"no buttons", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"actions","elements":[]}]`}, "invalid_blocks", true},
		{"long header", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"header","text":{"type":"plain_text","text":"` + strings.Repeat("a", 151) + `"}}]`}, "invalid_blocks", true},
		{"context", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"context","elements":[{"type":"mrkdwn","text":"a"}]}]`}, "", false},
		{"table", "chat.postMessage", []string{"channel", "C1", "blocks", "[" + table(20) + "]"}, "", false},
		{"wide table", "chat.postMessage", []string{"channel", "C1", "blocks", "[" + table(21) + "]"}, "invalid_blocks", true},
		{"two tables", "chat.postMessage", []string{"channel", "C1", "blocks", "[" + table(1) + "," + table(1) + "]"}, "invalid_attachments", true},
		{"markdown blocks", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"markdown","text":"` + long + `"}]`}, "invalid_blocks", true},
		{"plan", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"plan","title":"t","tasks":[{"type":"task_card","task_id":"1","title":"a","status":"pending"}]}]`}, "", false},
		{"plan with another status", "chat.postMessage", []string{"channel", "C1", "blocks", `[{"type":"plan","title":"t","tasks":[{"type":"task_card","task_id":"1","title":"a","status":"done"}]}]`}, "invalid_blocks", true},
		{"edit", "chat.update", []string{"channel", "C1", "ts", "{bot}", "text", "new"}, "", false},
		{"edit of 4,000", "chat.update", []string{"channel", "C1", "ts", "{bot}", "text", long[:8000]}, "", false},
		{"edit of 4,001", "chat.update", []string{"channel", "C1", "ts", "{bot}", "text", long[:8002]}, "msg_too_long", true},
		{"edit of another's", "chat.update", []string{"channel", "C1", "ts", "{ann}", "text", "new"}, "cant_update_message", true},
		{"edit of nothing", "chat.update", []string{"channel", "C1", "ts", "1.000001", "text", "new"}, "message_not_found", false},
		{"edit to nothing", "chat.update", []string{"channel", "C1", "ts", "{bot}", "text", ""}, "no_text", true},
		{"delete", "chat.delete", []string{"channel", "C1", "ts", "{bot}"}, "", false},
		{"delete another's", "chat.delete", []string{"channel", "C1", "ts", "{ann}"}, "cant_delete_message", true},
		{"ephemeral", "chat.postEphemeral", []string{"channel", "C1", "user", "U1", "text", "hi"}, "", false},
		{"ephemeral to an unknown person", "chat.postEphemeral", []string{"channel", "C1", "user", "U9", "text", "hi"}, "user_not_in_channel", false},
		{"user", "users.info", []string{"user", "U9"}, "user_not_found", false},
		{"direct", "conversations.open", []string{"users", "U9"}, "user_not_found", false},
		{"direct with an unknown person", "conversations.open", nil, "users_list_not_supplied", true},
		{"channel", "conversations.info", []string{"channel", "C9"}, "channel_not_found", false},
		{"team", "team.info", []string{"team", "T9"}, "team_not_found", false},
		{"history elsewhere", "conversations.history", []string{"channel", "C2"}, "not_in_channel", false},
		{"thread of nothing", "conversations.replies", []string{"channel", "C1", "ts", "1.000001"}, "thread_not_found", false},
		{"no cursor", "conversations.history", []string{"channel", "C1", "cursor", "x"}, "invalid_cursor", true},
		{"reaction", "reactions.add", []string{"channel", "C1", "name", "eyes", "timestamp", "{ann}"}, "", false},
		{"no reaction", "reactions.remove", []string{"channel", "C1", "name", "eyes", "timestamp", "{ann}"}, "no_reaction", false},
		{"session without agent view", "agents.sessions.setStatus", []string{"status", "active", "channel_id", "C1", "thread_ts", "{ann}"}, "not_authorized", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			ann := s.Say("C1", "U1", "hello", "")
			bot := must(t, s, "chat.postMessage", "channel", "C1", "text", "hi", "thread_ts", ann).TS
			pairs := make([]string, len(test.pairs))
			for i, value := range test.pairs {
				pairs[i] = strings.NewReplacer("{ann}", ann, "{bot}", bot).Replace(value)
			}
			got := do(t, s, test.method, pairs...)
			if got.Error != test.want || got.OK != (test.want == "") {
				t.Errorf("got %.300s for %s %.300q, want %q", got.raw, test.method, pairs, test.want)
			}
			if violations := s.Violations(); (len(violations) > 0) != test.violation {
				t.Errorf("got the violations %q for %s %.300q, want some: %v", violations, test.method, pairs, test.violation)
			}
		})
	}
}

func TestLongTextIsCut(t *testing.T) {
	s := start(t, slackfake.Options{})
	ts := must(t, s, "chat.postMessage", "channel", "C1", "text", strings.Repeat("ä", 40001)).TS
	m, _ := s.Message("C1", ts)
	if got := len([]rune(m.Text)); got != 40000 {
		t.Errorf("got %d characters of 40001, want 40000", got)
	}
}

func TestEphemeralCannotBeEdited(t *testing.T) {
	s := start(t, slackfake.Options{})
	must(t, s, "chat.postEphemeral", "channel", "C1", "user", "U1", "text", "psst")
	list := s.Posted("C1")
	if len(list) != 1 || list[0].To != "U1" {
		t.Fatalf("got %+v, want one message that only U1 sees", list)
	}
	if got := do(t, s, "chat.update", "channel", "C1", "ts", list[0].TS, "text", "new"); got.Error != "message_not_found" {
		t.Errorf("got %s, want message_not_found", got.raw)
	}
	if got := must(t, s, "conversations.history", "channel", "C1"); len(got.Messages) != 0 {
		t.Errorf("got the history %v, want none", got.Messages)
	}
}

func TestReplyToDeletedStandsAlone(t *testing.T) {
	s := start(t, slackfake.Options{})
	asked := s.Say("C1", "U1", "hello", "")
	if err := s.Delete("C1", asked); err != nil {
		t.Fatal(err)
	}
	ts := must(t, s, "chat.postMessage", "channel", "C1", "text", "hi", "thread_ts", asked).TS
	if m, _ := s.Message("C1", ts); m.Thread != "" {
		t.Errorf("got it in thread %q, want none, as its parent is gone", m.Thread)
	}
}

func TestPages(t *testing.T) {
	s := start(t, slackfake.Options{Limits: map[string][]slackfake.Limit{}})
	asked := s.Say("C1", "U1", "0", "")
	for i := range 5 {
		must(t, s, "chat.postMessage", "channel", "C1", "text", fmt.Sprint(i+1), "thread_ts", asked,
			"metadata", fmt.Sprintf(`{"event_type":"m","event_payload":{"n":%d}}`, i+1))
	}
	first := must(t, s, "conversations.replies", "channel", "C1", "ts", asked, "limit", "4", "include_all_metadata", "1")
	rest := must(t, s, "conversations.replies", "channel", "C1", "ts", asked, "limit", "4", "cursor", "4")
	if len(first.Messages) != 4 || len(rest.Messages) != 2 || rest.Messages[1]["text"] != "5" {
		t.Errorf("got pages of %d and %d, want 4 and 2 up to 5", len(first.Messages), len(rest.Messages))
	}
	if first.Messages[1]["metadata"] == nil || rest.Messages[0]["metadata"] != nil {
		t.Errorf("got the metadata %v and %v, want it only when asked for", first.Messages[1]["metadata"], rest.Messages[0]["metadata"])
	}
	after, _ := first.Messages[3]["ts"].(string)
	if got := must(t, s, "conversations.replies", "channel", "C1", "ts", asked, "oldest", after); len(got.Messages) != 2 {
		t.Errorf("got %d messages after the fourth, want 2", len(got.Messages))
	}
}

// ask asks for the address of a file and returns its id too.
func ask(t *testing.T, s *slackfake.Server, name, length string) (id, address string) {
	t.Helper()
	r := must(t, s, "files.getUploadURLExternal", "filename", name, "length", length)
	return r.FileID, r.UploadURL
}

// send posts content to an address.
func send(t *testing.T, address, content string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

func TestUpload(t *testing.T) {
	s := start(t, slackfake.Options{})
	asked := s.Say("C1", "U1", "hello", "")
	id, address := ask(t, s, "a.json", "7")
	if got := do(t, s, "files.completeUploadExternal", "files", `[{"id":"`+id+`"}]`, "channel_id", "C1"); got.Error != "file_not_found" {
		t.Errorf("completing before sending got %s, want file_not_found", got.raw)
	}
	for i, want := range []int{http.StatusOK, http.StatusNotFound} {
		if got := send(t, address, `{"a":1}`); got != want {
			t.Errorf("sending the %d. time got %d, want %d", i+1, got, want)
		}
	}
	must(t, s, "files.completeUploadExternal", "files", `[{"id":"`+id+`","title":"Arguments"}]`, "channel_id", "C1", "thread_ts", asked)
	thread := s.Thread("C1", asked)
	if len(thread) != 1 || len(thread[0].Files) != 1 || string(thread[0].Files[0].Content) != `{"a":1}` || thread[0].Files[0].Name != "a.json" {
		t.Fatalf("the thread holds %+v, want the file", thread)
	}
	if got := s.Transcript("C1"); !strings.Contains(got, "📄 Arguments, 7 bytes") {
		t.Errorf("the transcript is\n%s\nwant the file in it", got)
	}
	if got := do(t, s, "files.completeUploadExternal", "files", `[{"id":"`+id+`"}]`, "channel_id", "C1"); got.Error != "file_not_found" {
		t.Errorf("completing again got %s, want file_not_found", got.raw)
	}
	if v := s.Violations(); len(v) != 1 {
		t.Errorf("got the violations %q, want the one of completing too early", v)
	}
}

func TestUploadRefusals(t *testing.T) {
	tests := []struct {
		name, method string
		pairs        []string
		want         string
		violation    bool
	}{
		{"no name", "files.getUploadURLExternal", []string{"length", "7"}, "invalid_arguments", true},
		{"no length", "files.getUploadURLExternal", []string{"filename", "a"}, "invalid_arguments", true},
		{"empty", "files.getUploadURLExternal", []string{"filename", "a", "length", "0"}, "invalid_arguments", true},
		{"more than a gigabyte", "files.getUploadURLExternal", []string{"filename", "a", "length", "1073741825"}, "invalid_arguments", true},
		{"unknown file", "files.completeUploadExternal", []string{"files", `[{"id":"F9"}]`, "channel_id", "C1"}, "file_not_found", false},
		{"no files", "files.completeUploadExternal", []string{"files", `[]`, "channel_id", "C1"}, "invalid_arguments", true},
		{"files are no list", "files.completeUploadExternal", []string{"files", `{}`, "channel_id", "C1"}, "invalid_arguments", true},
		{"thread of nowhere", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "thread_ts", "1.000001"}, "invalid_arguments", true},
		{"to a person", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "channel_id", "U1"}, "invalid_channel", true},
		{"no channel", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "channel_id", "C9"}, "channel_not_found", false},
		{"not in channel", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "channel_id", "C2"}, "not_in_channel", false},
		{"private", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`}, "", false},
		{"with a comment", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "channel_id", "C1", "initial_comment", "see"}, "", false},
		{"channel", "files.completeUploadExternal", []string{"files", `[{"id":"F1"}]`, "channel", "C1"}, "invalid_arguments", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			_, address := ask(t, s, "a.json", "2")
			if got := send(t, address, "{}"); got != http.StatusOK {
				t.Fatalf("sending got %d", got)
			}
			got := do(t, s, test.method, test.pairs...)
			if got.Error != test.want || got.OK != (test.want == "") {
				t.Errorf("got %.300s for %s %.300q, want %q", got.raw, test.method, test.pairs, test.want)
			}
			if v := s.Violations(); (len(v) > 0) != test.violation {
				t.Errorf("got the violations %q, want some: %v", v, test.violation)
			}
		})
	}
}

func TestUploadOfAnotherLength(t *testing.T) {
	s := start(t, slackfake.Options{})
	_, address := ask(t, s, "a.json", "7")
	if got := send(t, address, "{}"); got != http.StatusBadRequest || len(s.Violations()) != 1 {
		t.Errorf("got %d and the violations %q, want a refusal that is one", got, s.Violations())
	}
}

func TestUploadWithoutScope(t *testing.T) {
	s := start(t, slackfake.Options{NoFiles: true})
	got := do(t, s, "files.getUploadURLExternal", "filename", "a", "length", "7")
	if got.Error != "missing_scope" || !strings.Contains(got.raw, `"needed":"files:write"`) || len(s.Violations()) != 0 {
		t.Errorf("got %s and the violations %q, want missing_scope that names it", got.raw, s.Violations())
	}
	s.GrantFiles(true)
	must(t, s, "files.getUploadURLExternal", "filename", "a", "length", "7")
}

func TestLibraryUploads(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	asked := s.Say("C1", "U1", "hello", "")
	file, err := client(s).UploadFileContext(t.Context(), slack.UploadFileParameters{
		Filename: "a.json", FileSize: 7, Content: `{"a":1}`, Title: "Arguments", Channel: "C1", ThreadTimestamp: asked,
	})
	if err != nil || file.Title != "Arguments" {
		t.Fatalf("got %+v, %v", file, err)
	}
	if m := s.Thread("C1", asked); len(m) != 1 || string(m[0].Files[0].Content) != `{"a":1}` {
		t.Errorf("the thread holds %+v, want the file", m)
	}
}
