package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tools"
	"legwork/tools/client"
	webapi "legwork/web/api"
)

// servers is one tool server, "web", with the tool "fetch" and the changed tool "post".
type servers struct{ accepted bool }

const changeID = "5f1c0a9be2d34f67"

func (s *servers) Details() []tools.ServerDetails {
	d := tools.ServerDetails{
		Status: client.Status{Name: "web", Kind: "http", State: client.Ready, Protocol: "2025-11-25"}, Groups: []string{"web"},
		Tools: []tools.ToolDetail{
			{Name: "fetch", Description: "Fetches.", Schema: json.RawMessage(`{"type":"object"}`), Groups: []tools.ToolRule{{Group: "web", ReadOnly: true}}},
			{Name: "post", Description: "Posts.", Quarantined: !s.accepted, Groups: []tools.ToolRule{{Group: "web", Asks: true}}},
			{Name: "odd", NotOffered: "its schema cannot be used"},
		},
		Failures: []tools.Failure{{At: time.Now(), Tool: "web.fetch", Outcome: "failed", Text: "404"}},
	}
	if !s.accepted {
		d.Changes = []tools.Change{{ID: changeID, Tool: "web.post", Difference: "-old\n+new\n"}}
	}
	return []tools.ServerDetails{d}
}

func (s *servers) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	return tools.Result{Text: c.Group + " " + c.Tool + " " + string(c.Arguments) + " " + c.Person}, nil
}

func (s *servers) Accept(context.Context, string) (tools.Change, error) {
	s.accepted = true
	return tools.Change{ID: changeID}, nil
}

// goodCode is the code that people were shown.
const goodCode = "K7WQ2MZT4B"

func newOperations(in *inbox.Inbox) *api.Operations {
	return api.NewOperations(api.OperationsConfig{
		Inbox: in, Tools: &servers{}, ReadUses: func() telemetry.Uses {
			return telemetry.Uses{Tools: map[string]map[string]int{"web.fetch": {"ok": 3, "failed": 1, "given_up": 1}}}
		},
		Confirm: func(_ context.Context, _ []tools.Change, code string) error {
			switch code {
			case "":
				return api.ErrCodeNeeded
			case goodCode:
				return nil
			}
			return api.ErrWrongCode
		},
		ReadModels: func() []api.Model {
			return []api.Model{{Name: "main", Roles: []string{"plan"}, Fallback: []string{}, Since: api.Time{Time: time.Now()}}}
		},
		ReadHealth: func(context.Context) (api.Health, error) {
			return api.Health{
				Version: "1", Started: api.Time{Time: time.Now()}, Parts: []api.HealthPart{{Name: "store", State: "ok"}}, Backups: api.Backups{Items: []api.Backup{}},
				Alerts: api.AlertHealth{Webhooks: []string{}, Recent: []api.Alert{}}, Queue: api.Queue{Tasks: map[string]int{}}, Budgets: []api.DayBudget{},
			}, nil
		},
	})
}

// schedule stores a schedule of a person.
func (e *env) schedule(id string, from bot.Person) {
	e.t.Helper()
	s := tasks.Schedule{
		ID: id, Chat: enginetest.Chat, From: from, Goal: "Sum up.", Spec: "cron 30 9 * * *", Words: "every day at 9:30", Timezone: "UTC", Language: "en",
		Made: time.Now(), Next: time.Now().Add(time.Hour),
	}
	if err := e.Store.PutSchedule(context.Background(), s); err != nil {
		e.t.Fatal(err)
	}
}

// admitted stores that an admin has admitted a person.
func (e *env) admitted(person string) {
	e.t.Helper()
	if err := e.Inbox.Settings.Write(context.Background(), person, tasks.SettingAccess, map[string]any{"allowed": true}); err != nil {
		e.t.Fatal(err)
	}
}

// TestServers: the list sums up what the details tell; only operators and admins see it.
func TestServers(t *testing.T) {
	e := newEnv(t)
	list, _ := want[webapi.Page[api.Server]](e, http.StatusOK, request{method: "GET", path: "/v1/servers", token: "operator"})
	if len(list.Items) != 1 || list.Items[0].Calls != 5 || list.Items[0].Failed != 1 || list.Items[0].Quarantined != 1 {
		t.Errorf("the servers are %+v, want one with 5 calls, of which 1 failed, and 1 quarantined tool", list.Items)
	}
	for _, path := range []string{"/v1/servers", "/v1/servers/web", "/v1/models", "/v1/health", "/v1/people"} {
		for _, token := range []string{"viewer", "agent"} {
			want[problem](e, http.StatusForbidden, request{method: "GET", path: path, token: token})
		}
	}
	want[problem](e, http.StatusForbidden, request{method: "GET", path: "/v1/servers", token: "narrow"})
	want[problem](e, http.StatusForbidden, request{method: "GET", path: "/v1/people", token: "operator"})
	want[problem](e, http.StatusNotFound, request{method: "GET", path: "/v1/servers/none"})
}

// TestAccept: a change is accepted with the code that people were shown, and is in the
// audit log then.
func TestAccept(t *testing.T) {
	e := newEnv(t)
	accept := func(status int, token, code string, ids ...string) (server api.ServerDetails, p problem) {
		got := e.do(request{method: "POST", path: "/v1/servers/web/accept", token: token, body: map[string]any{"changes": ids, "code": code}})
		if got.status != status {
			t.Fatalf("accepting %v as %s with the code %q: got %d %s, want %d", ids, token, code, got.status, got.body, status)
		}
		_, _ = json.Unmarshal(got.body, &server), json.Unmarshal(got.body, &p)
		return server, p
	}
	accept(http.StatusForbidden, "operator", goodCode, changeID)
	if _, p := accept(http.StatusForbidden, "admin", "", changeID); p.Code != "code_needed" {
		t.Errorf("without a code, the problem is %q, want code_needed", p.Code)
	}
	e.audited(t, "tool.code", "web")
	accept(http.StatusUnprocessableEntity, "admin", "WRONG", changeID)
	e.audited(t, "code.wrong", "web")
	accept(http.StatusConflict, "admin", goodCode, "another")
	if server, _ := accept(http.StatusOK, "admin", goodCode, changeID); server.Quarantined != 0 || len(server.Changes) != 0 {
		t.Errorf("after accepting, the server is %+v", server)
	}
	accept(http.StatusConflict, "admin", goodCode, changeID)
	e.audited(t, "tool.accept", "web.post")
}

// audited fails unless an action of the admin is the newest in the audit log.
func (e *env) audited(t *testing.T, action, target string) {
	t.Helper()
	list, _ := want[webapi.Page[api.AuditEntry]](e, http.StatusOK, request{method: "GET", path: "/v1/audit?limit=1"})
	if len(list.Items) != 1 || list.Items[0].Action != action || list.Items[0].Target != target || list.Items[0].Who != "api:admin" {
		t.Errorf("the newest entry of the audit log is %+v, want %s of %s by api:admin", list.Items, action, target)
	}
}

// TestTry: an admin calls a tool as its group allows; others cannot.
func TestTry(t *testing.T) {
	e := newEnv(t)
	try := func(tool, token string, arguments any) request {
		return request{method: "POST", path: "/v1/servers/web/tools/" + tool + "/call", token: token, body: map[string]any{"arguments": arguments}}
	}
	got, _ := want[api.TriedCall](e, http.StatusOK, try("fetch", "admin", map[string]any{"url": "https://go.dev"}))
	if got.Text != `web web.fetch {"url":"https://go.dev"} api:admin` || got.Failed {
		t.Errorf("the result is %+v", got)
	}
	e.audited(t, "tool.call", "web.fetch")
	want[problem](e, http.StatusForbidden, try("fetch", "operator", map[string]any{}))
	want[problem](e, http.StatusConflict, try("post", "admin", map[string]any{})) // quarantined
	want[problem](e, http.StatusConflict, try("odd", "admin", map[string]any{}))
	want[problem](e, http.StatusNotFound, try("none", "admin", map[string]any{}))
	if _, err := e.Inbox.Pause.Set(t.Context(), tasks.Paused{By: "test:ann", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	want[problem](e, http.StatusConflict, try("fetch", "admin", map[string]any{}))
}

// TestPeople: a decision can be taken back; a second one is a conflict.
func TestPeople(t *testing.T) {
	e := newEnv(t)
	e.admitted("test:777")
	people, _ := want[api.People](e, http.StatusOK, request{method: "GET", path: "/v1/people"})
	if len(people.People) != 1 || people.People[0].Key != "test:777" || people.People[0].Access != "allow" {
		t.Fatalf("the people are %+v, want test:777, who is allowed", people.People)
	}
	decide := func(decision string) request {
		return request{method: "POST", path: "/v1/people/test:777", body: map[string]any{"decision": decision}}
	}
	want[problem](e, http.StatusConflict, decide("allow"))
	people, _ = want[api.People](e, http.StatusOK, decide("remove"))
	if len(people.People) != 0 {
		t.Errorf("after the removal, the people are %+v, want none", people.People)
	}
	e.audited(t, "access.remove", "test:777")
	want[problem](e, http.StatusConflict, decide("remove"))
	want[problem](e, http.StatusConflict, decide("allow")) // the person does not ask
	want[problem](e, http.StatusUnprocessableEntity, decide("promote"))
}

// TestSchedules: admins change every schedule, operators only their own; those of the
// config cannot be deleted.
func TestSchedules(t *testing.T) {
	e := newEnv(t)
	e.schedule("s1", bot.Person{Platform: "test", ID: "ann", Name: "Ann"})
	e.schedule("s2", bot.Person{Platform: "api", ID: "operator"})
	list, _ := want[webapi.Page[api.Schedule]](e, http.StatusOK, request{method: "GET", path: "/v1/schedules", token: "operator"})
	if len(list.Items) != 2 || list.Items[0].MayEdit || !list.Items[1].MayEdit || list.Items[0].When != "every day at 9:30" {
		t.Fatalf("the schedules are %+v, want two, of which the operator may change the second", list.Items)
	}
	change := func(id, token, action string) request {
		return request{method: "POST", path: "/v1/schedules/" + id, token: token, body: map[string]any{"action": action}}
	}
	want[problem](e, http.StatusForbidden, change("s1", "operator", "pause"))
	want[problem](e, http.StatusForbidden, change("s2", "viewer", "pause"))
	want[problem](e, http.StatusNotFound, change("s2", "narrow", "pause"))
	want[problem](e, http.StatusNotFound, change("none", "admin", "pause"))
	if s, _ := want[api.Schedule](e, http.StatusOK, change("s2", "operator", "pause")); s.State != "paused" || s.Next != nil {
		t.Errorf("the paused schedule is %+v", s)
	}
	if s, _ := want[api.Schedule](e, http.StatusOK, change("s2", "admin", "resume")); s.State != "active" || s.Next == nil {
		t.Errorf("the resumed schedule is %+v", s)
	}
	ran, _ := want[api.Schedule](e, http.StatusOK, change("s1", "admin", "run"))
	if ran.LastTask == "" {
		t.Errorf("the schedule that ran is %+v, want its task", ran)
	}
	e.Answers(t, 1)
	want[api.Schedule](e, http.StatusOK, change("s1", "admin", "delete"))
	e.audited(t, "schedule.delete", "s1")
	want[problem](e, http.StatusNotFound, change("s1", "admin", "delete"))
}
