package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/seal"
	"legwork/internal/test/fakes/oauthfake"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// signIns implements inbox.SignIns.
type signIns struct{ *connections.Connections }

func (s signIns) Begin(ctx context.Context, w inbox.SignIn) (link string, paste bool, err error) {
	b, err := s.Connections.Begin(ctx, connections.Wish{ConnectionID: w.ID, By: w.By.Key(), Reader: connections.Reader{Name: w.By.Name, Language: w.Language}})
	return b.URL, true, err
}

func (s signIns) Callback() string { return s.Redirect }

// signsIn adds the server crm, at which each person signs in, and signs people in there.
func (o *env) signsIn(people ...string) {
	o.t.Helper()
	s := signIns{connections.New(connections.Config{
		Store: o.store, Sealer: seal.NewKeyring(nil, seal.NewKey()), Redirect: "http://localhost:1/connections/callback",
		SignsIn: func(string) bool { return true }, Now: o.clock,
	})}
	s.Authorizer("crm", "", tools.ServerConfig{URL: oauthfake.New(o.t, "crm").URL + "/mcp", Auth: &tools.Auth{Type: tools.AuthOAuth, Identity: tools.IdentityPerson}})
	o.inbox.SignIns = s
	for _, person := range people {
		link, _, err := s.Begin(o.t.Context(), inbox.SignIn{ID: tasks.ConnectionID{Server: "crm", Person: person}, By: bot.Person{Platform: "phone", ID: strings.TrimPrefix(person, "phone:")}, Language: "en"})
		if err == nil {
			_, err = s.Finish(o.t.Context(), oauthfake.Agree(o.t, link, person).Query(), person)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
}

// TestEverybodysSignIns: an admin sees who has signed in at a server, and ends all of it;
// others may not.
func TestEverybodysSignIns(t *testing.T) {
	o := newEnv(t)
	own := private("boss")
	o.signsIn("phone:ann", "phone:bob")
	if got := o.say("boss", own, "/connections"); !strings.Contains(got, "`crm`: not connected; signed in: 2") {
		t.Errorf("the admin's list is %q", got)
	}
	h := o.send(o.press("boss", own, o.button("People: crm")))
	day := o.clock().UTC().Format("2006-01-02")
	want := fmt.Sprintf("**Sign-ins at `crm`**\n* `phone:ann`: since %[1]s; rights: read; not used yet\n* `phone:bob`: since %[1]s; rights: read; not used yet", day)
	if got := h.text(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	end := o.button("End all")
	for name, m := range map[string]bot.Message{
		"the command of another person": o.by("ann", private("ann"), "/connections crm"), "the button of another person": o.press("ann", private("ann"), end),
	} {
		if got := o.send(m).text(); got != o.text("error.admin_needed", nil) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := o.say("boss", room("hall"), "/connections crm"); got != o.text("error.connect_private", map[string]any{"Command": "/connections"}) {
		t.Errorf("in a group: got %q", got)
	}
	if got := o.say("boss", own, "/connections x"); got != o.text("error.no_sign_in", map[string]any{"Name": "`x`", "Allowed": "crm"}) {
		t.Errorf("another server: got %q", got)
	}
	if got := o.send(o.press("boss", own, end)).text(); got != o.text("notice.ended_all", map[string]any{"Server": "`crm`", "Count": 2, "Revoked": true}) {
		t.Errorf("ending all: got %q", got)
	}
	if got := o.say("boss", own, "/connections crm"); got != o.text("connections.no_people", map[string]any{"Server": "`crm`"}) {
		t.Errorf("in the end: got %q", got)
	}
	entries, err := o.store.AuditLog(t.Context(), 0, 10)
	entries = slices.DeleteFunc(entries, func(e tasks.AuditEntry) bool { return e.Action != "connection.end" })
	if err != nil || len(entries) != 2 || entries[0].Who != "phone:boss" || entries[0].Target != "crm" || entries[1].Detail != "phone:ann" {
		t.Errorf("the audit log has %+v, %v; want the ends of two sign-ins", entries, err)
	}
}

// TestForgetSignIns: /forget in a private chat ends the sign-ins of its person alone.
func TestForgetSignIns(t *testing.T) {
	o := newEnv(t)
	o.signsIn("phone:ann", "phone:bob")
	want := o.text("notice.forgotten_sign_ins", map[string]any{"Count": 1})
	if got := o.say("ann", private("ann"), "/forget yes"); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
	list, err := o.store.Connections(t.Context())
	if err != nil || len(list) != 1 || list[0].Person != "phone:bob" {
		t.Errorf("got the sign-ins %+v, %v; want that of bob", list, err)
	}
}
