package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/fakes/webhookfake"
)

const hookSecret = "whsec_c2VjcmV0LW9mLXRoZS13ZWJob29rLW9mLWUyZQ=="

// alertsEnv is an environment whose alerts go to a webhook, too, that may not be there.
type alertsEnv struct {
	*telegramEnv
	hook *webhookProxy // of the webhook
}

func newAlertsEnv(t *testing.T, p options, section string) *alertsEnv {
	t.Helper()
	hook := newWebhookProxy(t)
	p.more += fmt.Sprintf("alerts: {%s webhooks: {ops: {url: %q, secret: %q}}}\n", section, hook.URL+"/hook", hookSecret)
	b := newTelegramEnv(t, telegramOptions{options: p, http: fmt.Sprintf(", tokens: [%s, %s]", tokenLine("ops", "operator"), tokenLine("writer", "agent"))})
	return &alertsEnv{b, hook}
}

// listens opens the webhook.
func (p *alertsEnv) listens() *webhookfake.Receiver {
	r := webhookfake.New(p.t, "", hookSecret)
	p.hook.leads(strings.TrimSuffix(strings.TrimPrefix(r.URL, "http://"), "/hook"))
	return r
}

// program is a caller of the API.
func (p *alertsEnv) program(s *serving, name string) outsider {
	f := newWebhookProxy(p.t)
	f.leads(s.address)
	return outsider{p.t, f.URL, tokenOf(name)}
}

// refusing is a model whose endpoint turns away questions about refusals.
func refusing(r llmfake.Request) llmfake.Response {
	if goal, _ := r.Tagged("goal"); strings.Contains(goal, "refuse") {
		return llmfake.Status(http.StatusUnauthorized)
	}
	brain := llmfake.Brain{}
	return brain.Respond(r)
}

// tells are the ids of requests of a type by the tasks that they are about.
func tells(t *testing.T, list []webhookfake.Request, kind string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, q := range list {
		if q.Type != kind {
			continue
		}
		if was, again := ids[q.Task()]; again && was != q.ID {
			t.Errorf("%s of task %s came as %s and as %s", kind, q.Task(), was, q.ID)
		}
		ids[q.Task()] = q.ID
	}
	return ids
}

// TestAlertsOverAKill: a task fails and one answers while the webhook is down; the
// daemon is killed; once both are back each is told, under one id and signed. The
// admin reads of the failure.
func TestAlertsOverAKill(t *testing.T) {
	t.Parallel()
	b := newAlertsEnv(t, options{think: refusing}, "")
	s := b.opens()
	ops := b.program(s, "ops")
	b.Say(b.bob.ID, b.bob, "please refuse this")
	b.sees(b.bob.ID, b.says("problem.refused", nil))
	var asked, failed struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal":"q1: hello","notify":{"webhook":"ops"}}`, &asked)
	ops.outcome(asked.ID, &asked)
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal":"refuse this as well","notify":{"webhook":"ops"}}`, &failed)
	ops.outcome(failed.ID, &failed)
	if asked.State != "done" || failed.State != "failed" {
		t.Fatalf("the tasks are %+v and %+v, want done and failed", asked, failed)
	}
	b.sees(b.ann.ID, "failed", "please refuse this")
	s.until("that the webhook is down", func() bool { return strings.Contains(s.err.String(), "delivery failed") })
	b.passes() // it is stored that the admin was told
	s.kill()
	r := b.listens()
	s = b.opens()
	r.Until("all were told", func(list []webhookfake.Request) bool {
		return len(tells(t, list, "task.failed")) >= 2 && len(tells(t, list, "task.done")) == 1
	})
	done := tells(t, r.Taken(), "task.done")
	if id := done[asked.ID]; id != "notify-"+asked.ID {
		t.Errorf("of %s the webhook was told under %q: %s", asked.ID, id, webhookfake.Show(r.Requests()))
	}
	if id := tells(t, r.Taken(), "task.failed")[failed.ID]; id != "notify-"+failed.ID {
		t.Errorf("of the failure of %s the webhook was told under %q", failed.ID, id)
	}
	for _, q := range r.Taken() {
		var p struct {
			Data struct {
				Task struct{ State, Answer string }
			}
		}
		if err := json.Unmarshal(q.Body, &p); err != nil {
			t.Error(err)
		}
		if q.Task() == asked.ID && (p.Data.Task.State != "done" || !strings.Contains(p.Data.Task.Answer, "[q1]")) {
			t.Errorf("the outcome came without its answer: %s", q.Body)
		}
	}
	s.stops()
	if n := b.count(b.ann.ID, "please refuse this"); n != 1 {
		t.Errorf("the admin read of the failure %d times", n)
	}
}

// TestAlertsOfWaiting: the admins and the webhook learn of a task that waits for a
// person, and at once of a review that agents ask for.
func TestAlertsOfWaiting(t *testing.T) {
	t.Parallel()
	b := newAlertsEnv(t, shopping(orders{}, "book"), "after: 1s,")
	r := b.listens()
	s := b.opens()
	ops, writer := b.program(s, "ops"), b.program(s, "writer")
	b.Say(b.bob.ID, b.bob, `q1: shop book {"item":"a boat"}`)
	b.sees(b.ann.ID, "has been waiting for a person", "telegram:2")
	var context struct {
		ID string `json:"id"`
	}
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal":"write about boats","run":false}`, &context)
	writer.calls(http.MethodPatch, "/v1/tasks/"+context.ID+"/state", `{"status":"NEEDS_HUMAN_REVIEW"}`, nil)
	r.Until("all were told", func(list []webhookfake.Request) bool {
		return len(tells(t, list, "task.review")) == 1 && len(tells(t, list, "task.waiting")) >= 1
	})
	if tells(t, r.Taken(), "task.review")[context.ID] == "" {
		t.Errorf("the review that was told is of another task: %s", webhookfake.Show(r.Requests()))
	}
	s.stops()
}

// TestAlertsOfTheConfig: a bad reload is told, and that it is mended.
func TestAlertsOfTheConfig(t *testing.T) {
	t.Parallel()
	b := newAlertsEnv(t, options{}, "")
	r := b.listens()
	s := b.opens()
	was := b.config
	b.configure(strings.Replace(was, "access: ", "acces: ", 1))
	r.Until("the mistake was told", func(list []webhookfake.Request) bool {
		return slices.ContainsFunc(list, func(q webhookfake.Request) bool {
			return q.Type == "reload.failed" && strings.Contains(string(q.Body), "acces: unknown key")
		})
	})
	b.configure(was)
	r.Until("that it is mended was told", func(list []webhookfake.Request) bool { return list[len(list)-1].Type == "reload.fixed" })
	if n := b.count(b.ann.ID, "is in use again"); n > 1 {
		t.Errorf("the admin was told %d times", n)
	}
	s.stops()
}

// TestProbeOfWebhooks: legwork check --probe sends each webhook a signed ping, and
// says what came of it without telling the address.
func TestProbeOfWebhooks(t *testing.T) {
	t.Parallel()
	b := newAlertsEnv(t, options{}, "")
	r := b.listens()
	b.configure(strings.Replace(b.config, b.hook.URL+"/hook", r.URL, 1)) // who stands before it answers when it is closed
	_, out, _ := b.finish("", "check", "--probe")
	if fields := rowOf(out, "ops"); len(fields) < 7 || fields[1] != "webhook" || fields[len(fields)-1] != "ok" {
		t.Errorf("the table is\n%s", out)
	}
	if list := r.Taken(); len(list) != 1 || list[0].Type != "ping" {
		t.Errorf("the webhook got %s", webhookfake.Show(list))
	}
	r.Close()
	code, out, _ := b.finish("", "check", "--probe")
	if row := strings.Join(rowOf(out, "ops"), " "); code != 1 || !strings.Contains(row, "connection refused") || strings.Contains(row, "/hook") {
		t.Errorf("without a person: exit code %d and\n%s", code, out)
	}
}

// rowOf are the fields of a line of a table.
func rowOf(table, name string) []string {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == name {
			return fields
		}
	}
	return nil
}

// TestReadyTells: a daemon that is paused or lacks a server or a model is degraded,
// says which, and still hears people.
func TestReadyTells(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: refusing, more: "  odd: {description: Is never there., servers: [odd]}\n"}})
	b.configure(strings.Replace(b.config, "  desk: {command:", "  odd: {command: \"/no/such/program\"}\n  desk: {command:", 1))
	s := b.serve(telegramToken)
	is := func(what string, fits func(readiness) bool) {
		t.Helper()
		s.becomes(what, patience, func(r readiness) bool { return r.Code == http.StatusOK && r.Status == "degraded" && fits(r) })
	}
	is("degraded by a server", func(r readiness) bool {
		return r.Parts["servers"] == "degraded: down: odd" && r.Parts["telegram"] == "ok" && r.Parts["store"] == "ok" && r.Parts["work"] == "ok" && r.Parts["disk"] == "ok"
	})
	for i := range 3 {
		b.Say(b.bob.ID, b.bob, fmt.Sprintf("refuse this %d", i))
		b.until("the failure", func(v telegramfake.View) bool {
			return len(slices.DeleteFunc(slices.Clone(v.Chat(b.bob.ID).Bots()), func(m telegramfake.Message) bool {
				return !strings.Contains(m.Text, b.says("problem.refused", nil))
			})) > i
		})
	}
	is("degraded by a model", func(r readiness) bool { return r.Parts["models"] == "degraded: down: main" })
	b.Say(b.ann.ID, b.ann, "/pause")
	is("paused", func(r readiness) bool { return strings.Contains(r.Parts["work"], "paused since") })
	b.Say(b.ann.ID, b.ann, "/resume")
	is("going on", func(r readiness) bool { return r.Parts["work"] == "ok" })
	if code, body := s.get("/healthz"); code != http.StatusOK || body != "ok" {
		t.Errorf("/healthz: got %d %q", code, body)
	}
	s.stops()
}

// TestReadyForPrograms: where programs have tokens, a chat service that is away keeps
// no requests from them.
func TestReadyForPrograms(t *testing.T) {
	t.Parallel()
	o := telegramOptions{http: ", tokens: [" + tokenLine("ops", "viewer") + "]"}
	b := newTelegramEnv(t, o)
	s := b.serve(telegramToken)
	s.readyAgain(patience)
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultDown, Count: telegramfake.Forever})
	s.becomes("degraded by Telegram", patience, func(r readiness) bool {
		return r.Code == http.StatusOK && r.Status == "degraded" && strings.HasPrefix(r.Parts["telegram"], "degraded: no connection to Telegram")
	})
	if code, _ := (outsider{t, "http://" + s.address, tokenOf("ops")}).sends(http.MethodGet, "/v1/tasks", ""); code != http.StatusOK {
		t.Errorf("a program got %d", code)
	}
	b.Heal()
	s.becomes("ready", patience, func(r readiness) bool { return r.Status == "ready" })
	s.stops()
}
