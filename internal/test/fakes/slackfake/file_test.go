package slackfake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"legwork/internal/test/fakes/slackfake"
)

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
