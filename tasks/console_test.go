package tasks_test

import (
	"strings"
	"testing"

	"legwork/tasks/inbox"
)

// TestConsole: /console gives a person a link of their own, in private chats alone.
func TestConsole(t *testing.T) {
	o := newEnv(t)
	if got := o.say("ann", private("ann"), "/console"); got != o.text("error.no_page", nil) {
		t.Errorf("without a page: got %q", got)
	}
	o.inbox.Page = func() string { return "https://bot.example.com/" }
	if got := o.say("ann", room("hall"), "/console"); got != o.text("error.console_private", nil) {
		t.Errorf("in a group: got %q", got)
	}
	first := o.say("ann", private("ann"), "/console")
	_, link, _ := strings.Cut(first, "\n\n")
	page, code, _ := strings.Cut(link, "#")
	if page != "https://bot.example.com/console/enter" || len(code) != 52 || strings.Contains(first, "http.public_url") {
		t.Errorf("in private: got %q", first)
	}
	o.inbox.Page = func() string { return "http://127.0.0.1:8080" }
	if got := o.say("ann", private("ann"), "/console"); !strings.Contains(got, "http.public_url") || !strings.Contains(got, "http://127.0.0.1:8080/console/enter#") {
		t.Errorf("with a local page: got %q", got)
	}
	for person, want := range map[string]bool{"ann": true, "eve": false} {
		if admitted, _, err := inbox.AdmitsPerson(t.Context(), o.inbox, inbox.ChatPersonOf(o.by(person, private(person), ""))); admitted != want || err != nil {
			t.Errorf("%s may talk to legwork: %v, %v; want %v", person, admitted, err, want)
		}
	}
}
