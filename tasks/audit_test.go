package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/tasks/commands"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// audited lists the entries of the audit log that are no events of tasks, the oldest
// first.
func (o *env) audited() (lines []string) {
	o.t.Helper()
	entries, err := o.store.AuditLog(o.t.Context(), 0, 100)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		if !strings.HasPrefix(e.Action, "task.") {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s(%s) %s %s %s", e.Who, e.Role, e.Action, e.Target, e.Detail)))
		}
	}
	return lines
}

// TestAudited: a change that a person makes in a chat is in the audit log once; a
// refused one is not.
func TestAudited(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	hall := room("hall")
	s.say("ann", hall, "/pause")
	s.say("boss", hall, "/pause")
	s.say("chief", hall, "/pause")
	s.say("chief", hall, "/resume")
	s.say("chief", hall, "/resume")

	id, card := s.asks("ann", hall, "book")
	always := s.press("boss", hall, label(t, card.Draft, "Always in this chat"))
	s.send(always)
	s.send(always)
	s.over(id) // a task that runs has its own word of a grant that is taken back
	code := strings.Split(s.say("boss", hall, "/approvals"), "`")[1]
	s.say("boss", hall, "/approvals revoke "+code)

	h := s.send(s.by("eve", private("eve"), "hello"))
	h = s.send(s.press("eve", private("eve"), h.data(t, s.text("button.ask_admin", nil))))
	s.send(s.press("boss", private("boss"), h.data(t, s.text("button.allow", nil))))
	s.send(s.press("chief", private("chief"), h.data(t, s.text("button.ignore", nil))))
	h = s.send(s.by("mallory", private("mallory"), "hello"))
	h = s.send(s.press("mallory", private("mallory"), h.data(t, s.text("button.ask_admin", nil))))
	s.send(s.press("chief", private("chief"), h.data(t, s.text("button.ignore", nil))))

	s.say("ann", private("ann"), "/forget yes")
	want := []string{
		"phone:boss(admin) pause",
		"phone:chief(admin) resume",
		"phone:boss(admin) grant.give phone:hall book.it",
		"phone:boss(admin) grant.revoke phone:hall book.it",
		"phone:boss(admin) access.allow phone:eve phone:eve",
		"phone:chief(admin) access.ignore phone:mallory phone:mallory",
		"phone:ann() data.forget phone:ann",
	}
	if got := s.audited(); !slices.Equal(got, want) {
		t.Errorf("the audit log holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestClaimAudited: the audit log names the first admin.
func TestClaimAudited(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Admins = nil
	o.inbox.Use(o.rules)
	code, err := inbox.NewClaim(t.Context(), o.inbox)
	if err != nil {
		t.Fatal(err)
	}
	o.say("eve", private("eve"), "/start WRONGCOD")
	o.say("eve", private("eve"), "/start "+code)
	if got := o.audited(); !slices.Equal(got, []string{"phone:eve() admin.claim phone:eve"}) {
		t.Errorf("the audit log holds %q", got)
	}
}

// TestAcceptedToolAudited: the audit log holds that an admin accepts a changed tool.
func TestAcceptedToolAudited(t *testing.T) {
	s := newEngineEnv(t)
	change := tools.Change{ID: "c1", Tool: "book.it", Difference: "-books\n+pays"}
	s.tools.changes = []tools.Change{change}
	commands.ToolChanged(t.Context(), s.inbox, change)
	s.inbox.Flush(t.Context())
	posts := s.phone.posts
	if len(posts) == 0 {
		t.Fatal("no admin was told about the change")
	}
	accept := s.press("boss", private("boss"), label(t, posts[0].Draft, "Accept"))
	s.send(accept)
	s.send(accept)
	if got := s.audited(); !slices.Equal(got, []string{"phone:boss(admin) tool.accept book.it change c1"}) {
		t.Errorf("the audit log holds %q", got)
	}
}
