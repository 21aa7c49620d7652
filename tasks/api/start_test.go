package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

func TestStart(t *testing.T) {
	w := newEnv(t, plans(oneLook))
	task := w.starts(operator, api.NewTask{Goal: " find it\x00 "})
	if task.Goal != "find it" || task.Chat != "api:ops/"+string(task.ID) || task.From != "api:ops" || !task.Run || task.Answer != nil || task.Finished != nil {
		t.Errorf("got %+v", task)
	}
	task = w.ends(task.ID)
	if task.State != "done" || task.Answer == nil || !strings.Contains(*task.Answer, "result of") || task.Problem != "" || task.Rounds != 1 {
		t.Errorf("at the end it is %+v", task)
	}
	if len(task.Subtasks) != 1 || task.Subtasks[0].Description != "look it up" || task.Subtasks[0].Result == nil || task.Subtasks[0].Ended == nil || task.Subtasks[0].After == nil {
		t.Errorf("its sub-tasks are %+v", task.Subtasks)
	}
	if posts := w.kit.Platform.Posts(bot.KindAnswer); len(posts) != 0 {
		t.Errorf("%+v was posted, want nothing", posts)
	}
	if again, err := w.Get(t.Context(), viewer, task.ID); err != nil || *again.Answer != *task.Answer {
		t.Errorf("a viewer reads %+v, %v", again, err)
	}
}

func TestStartRefuses(t *testing.T) {
	w := newEnv(t, nil)
	bound := operator
	bound.Groups = []string{"look"}
	near := operator
	near.Webhooks = []string{"others"}
	for _, c := range []struct {
		name  string
		who   api.Principal
		task  api.NewTask
		field string
	}{
		{"no goal", operator, api.NewTask{Goal: " \n"}, "goal"},
		{"long goal", operator, api.NewTask{Goal: strings.Repeat("x", inbox.MaxGoal+1)}, "goal"},
		{"language", operator, api.NewTask{Goal: "x", Language: "tlh"}, "language"},
		{"group", operator, api.NewTask{Goal: "x", Groups: []string{"nonsense"}}, "groups"},
		{"group for others", operator, api.NewTask{Goal: "x", Groups: []string{"secret"}}, "groups"},
		{"group that the token has not", bound, api.NewTask{Goal: "x", Groups: []string{"book"}}, "groups"},
		{"webhook", operator, api.NewTask{Goal: "x", Notify: &api.Notify{Webhook: "http://example.com"}}, "notify.webhook"},
		{"webhook that the token may not name", near, api.NewTask{Goal: "x", Notify: &api.Notify{Webhook: "ops"}}, "notify.webhook"},
		{"webhook for an agent", agent, api.NewTask{Goal: "x", Notify: &api.Notify{Webhook: "ops"}}, "notify.webhook"},
		{"both", operator, api.NewTask{Goal: "x", Notify: &api.Notify{Webhook: "ops", Chat: "recorder:room"}}, "notify"},
		{"chat", operator, api.NewTask{Goal: "x", Notify: &api.Notify{Chat: "nonsense"}}, "notify.chat"},
		{"chat of no platform", operator, api.NewTask{Goal: "x", Notify: &api.Notify{Chat: "slack:C1"}}, "notify.chat"},
		{"chat of others", agent, api.NewTask{Goal: "x", Notify: &api.Notify{Chat: "recorder:room"}}, "notify.chat"},
		{"key", operator, api.NewTask{Goal: "x", Key: "a\nb"}, "idempotency_key"},
	} {
		_, _, err := w.Start(t.Context(), c.who, c.task)
		wrong(t, c.name, err, c.field)
	}
	for _, chat := range []string{"foo", ":", "slack:", ":C1", "slack:C1/1712345678.000100"} {
		_, _, err := w.List(t.Context(), operator, api.Query{Chat: chat})
		wrong(t, "tasks of "+chat, err, "chat")
	}
	_, _, err := w.Start(t.Context(), viewer, api.NewTask{Goal: "x"})
	refused(t, "a viewer", err, api.ErrForbidden)
	if rows, _, err := w.List(t.Context(), admin, api.Query{}); err != nil || len(rows) != 0 {
		t.Errorf("there are %+v, %v; want no task", rows, err)
	}
}

// TestOnlyGroups: a task has no groups but those it was bound to.
func TestOnlyGroups(t *testing.T) {
	w := newEnv(t, plans(`{"plan":[{"name":"book","description":"book it"}]}`))
	for _, groups := range [][]string{{"look"}, {}} {
		bound := operator
		bound.Groups = groups
		for _, task := range []api.Task{w.starts(bound, api.NewTask{Goal: "book"}), w.starts(operator, api.NewTask{Goal: "book", Groups: groups})} {
			task = w.ends(task.ID)
			if calls := w.kit.Tools.Calls(); len(calls) != 0 {
				t.Errorf("groups %v: %v was called by %+v, want nothing", groups, calls, task)
			}
		}
	}
}

func TestStartAgain(t *testing.T) {
	w := newEnv(t, nil)
	first := w.starts(operator, api.NewTask{Goal: "x", Key: "k"})
	same, again, err := w.Start(t.Context(), operator, api.NewTask{Goal: "x", Key: "k"})
	if err != nil || !again || same.ID != first.ID {
		t.Errorf("the same: got %s, again %v, %v; want %s", same.ID, again, err, first.ID)
	}
	_, _, err = w.Start(t.Context(), operator, api.NewTask{Goal: "y", Key: "k"})
	refused(t, "another request", err, api.ErrKeyReused)
	_, _, err = w.Add(t.Context(), operator, first.ID, api.NewMessage{Type: "thought", Content: raw(`"x"`), Key: "k"})
	refused(t, "another operation", err, api.ErrKeyReused)
	if other := w.starts(admin, api.NewTask{Goal: "x", Key: "k"}); other.ID == first.ID {
		t.Error("another token's key started the same task")
	}
}

// TestRepeatsTakeNoRoom: a request that comes again is told what became of it, also
// when there is no room for new ones.
func TestRepeatsTakeNoRoom(t *testing.T) {
	for _, c := range []struct {
		name string
		want error
		fill func(*env)
	}{
		{"full disk", tasks.ErrFull, func(w *env) { w.kit.Inbox.Full = func() bool { return true } }},
		{"too many tasks", api.ErrBusy, func(w *env) { w.kit.Inbox.Load = func() int { return 1 << 20 } }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newEnv(t, nil)
			wanted, hint := api.NewTask{Goal: "x", External: true, Key: "k"}, api.NewMessage{Type: "human_input", Content: raw(`"hint"`), Key: "hint"}
			first := w.starts(operator, wanted)
			if _, _, err := w.Add(t.Context(), operator, first.ID, hint); err != nil {
				t.Fatal(err)
			}
			for err := error(nil); err == nil; { // as much as the task hears
				_, _, err = w.Add(t.Context(), operator, first.ID, api.NewMessage{Type: "human_input", Content: raw(`"more"`)})
			}
			c.fill(w)
			_, _, err := w.Start(t.Context(), operator, api.NewTask{Goal: "y", External: true})
			refused(t, "another task", err, c.want)
			same, again, err := w.Start(t.Context(), operator, wanted)
			if err != nil || !again || same.ID != first.ID {
				t.Errorf("the same task: got %s, again %v, %v; want %s", same.ID, again, err, first.ID)
			}
			m, again, err := w.Add(t.Context(), operator, first.ID, hint)
			if err != nil || !again || m.Seq != 2 {
				t.Errorf("the same message: got %+v, again %v, %v; want message 2", m, again, err)
			}
		})
	}
}

// TestSight: what a token may not see is as if it were not there.
func TestSight(t *testing.T) {
	w := newEnv(t, nil)
	task := w.shares()
	chat := enginetest.Message("1", "hello", time.Now())
	w.kit.Ask(t, chat)
	w.kit.Answers(t, 1)
	rows, _, err := w.List(t.Context(), agent, api.Query{})
	if err != nil || len(rows) != 1 || rows[0].ID != task.ID {
		t.Errorf("the agent sees %+v, %v; want its context alone", rows, err)
	}
	if rows, _, err = w.List(t.Context(), operator, api.Query{}); err != nil || len(rows) != 2 {
		t.Errorf("the operator sees %+v, %v; want both", rows, err)
	}
	ofChat := rows[0].ID
	if ofChat == task.ID { // of the same millisecond
		ofChat = rows[1].ID
	}
	for _, c := range []struct {
		who  api.Principal
		chat string
		want int
	}{{operator, "recorder:room", 1}, {operator, "api:*", 1}, {agent, "recorder:room", 0}, {agent, "api:scout", 1}, {stranger, "", 0}, {stranger, "slack:*", 0}, {operator, "slack:*", 0}} {
		if rows, _, err := w.List(t.Context(), c.who, api.Query{Chat: c.chat}); err != nil || len(rows) != c.want {
			t.Errorf("%s lists %q: got %d, %v; want %d", c.who.Name, c.chat, len(rows), err, c.want)
		}
	}
	for name, do := range map[string]func(api.Principal, tasks.ID) error{
		"get":  func(p api.Principal, id tasks.ID) error { _, err := w.Get(t.Context(), p, id); return err },
		"wait": func(p api.Principal, id tasks.ID) error { _, err := w.Wait(t.Context(), p, id); return err },
		"context": func(p api.Principal, id tasks.ID) error {
			_, err := w.Context(t.Context(), p, id, api.ContextQuery{})
			return err
		},
		"content": func(p api.Principal, id tasks.ID) error {
			_, _, _, err := w.Content(t.Context(), p, id, 1, 0, 0)
			return err
		},
		"state": func(p api.Principal, id tasks.ID) error { _, err := w.State(t.Context(), p, id); return err },
		"await": func(p api.Principal, id tasks.ID) error {
			_, err := w.AwaitState(t.Context(), p, id, nil, 0)
			return err
		},
		"cancel": func(p api.Principal, id tasks.ID) error { _, err := w.Cancel(t.Context(), p, id); return err },
		"answer": func(p api.Principal, id tasks.ID) error { _, err := w.Answer(t.Context(), p, id, "x"); return err },
		"retry": func(p api.Principal, id tasks.ID) error {
			_, _, err := w.Retry(t.Context(), p, id, "")
			return err
		},
		"merge": func(p api.Principal, id tasks.ID) error {
			_, err := w.Merge(t.Context(), p, id, nil, map[string]json.RawMessage{"a": raw("1")})
			return err
		},
		"add": func(p api.Principal, id tasks.ID) error {
			_, _, err := w.Add(t.Context(), p, id, api.NewMessage{Type: "thought", Content: raw("1")})
			return err
		},
		"decide": func(p api.Principal, id tasks.ID) error {
			_, err := w.Decide(t.Context(), p, string(id)+".1.0", api.Decision{})
			return err
		},
		"follow": func(p api.Principal, id tasks.ID) error {
			return w.Follow(t.Context(), p, id, 0, nil, time.Minute, func(api.Message) error { return nil }, nil)
		},
	} {
		refused(t, name+" by a stranger", do(stranger, task.ID), api.ErrNotFound)
		if name != "decide" {
			refused(t, name+" of a chat's", do(agent, ofChat), api.ErrNotFound)
		}
		for _, id := range []tasks.ID{"", "x", "\x00", "01ARZ3NDEKTSV4RRFFQ69G5FAV", tasks.ID(strings.Repeat("x", 2000))} {
			refused(t, name+" of no task", do(operator, id), api.ErrNotFound)
		}
	}
}

// TestPaused: a task that is started while everything is paused begins later.
func TestPaused(t *testing.T) {
	var pause *tasks.Pause
	w := newEnv(t, func(k *enginetest.Env) {
		var err error
		if pause, err = tasks.OpenPause(t.Context(), k.Store); err != nil {
			t.Fatal(err)
		}
		k.Pause, k.Setup.Pause = pause, pause
		if _, err := pause.Set(t.Context(), tasks.Paused{Name: "Ann", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	})
	task := w.starts(operator, api.NewTask{Goal: "x"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waited, err := w.Wait(ctx, operator, task.ID)
	if err != nil || !waited.Paused || waited.State != "planning" {
		t.Errorf("while everything is paused it is %+v, %v", waited, err)
	}
	if _, _, err := pause.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if task = w.ends(task.ID); task.State != "done" || task.Paused {
		t.Errorf("afterwards it is %+v", task)
	}
}

// TestRights writes out who may do what, so that a change of it is seen.
func TestRights(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "")
	for _, role := range policy.Roles() {
		fmt.Fprintf(&b, "%-12s", role)
	}
	for _, op := range policy.Ops() {
		fmt.Fprintf(&b, "\n%-12s", op)
		for _, role := range policy.Roles() {
			word := map[policy.Right]string{policy.Never: "-", policy.Own: "own", policy.Always: "yes"}[role.May(op)]
			fmt.Fprintf(&b, "%-12s", word)
		}
		if policy.Role("other").May(op) != policy.Never || policy.Role("").May(op) != policy.Never {
			t.Errorf("%s: no role may do it", op)
		}
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	golden(t, "rights.golden", strings.Join(lines, "\n")+"\n")
}
