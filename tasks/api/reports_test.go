package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// TestContext: pages of a context make the whole of it.
func TestContext(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	for i := range 20 {
		if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: []string{"thought", "action"}[i%2], Content: raw(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Merge(t.Context(), agent, id, nil, values{"a": raw(`1`)}); err != nil {
		t.Fatal(err)
	}
	var seqs []int
	for q, pages := (api.ContextQuery{Limit: 7}), 1; ; pages++ {
		c, err := w.Context(t.Context(), viewer, id, q)
		if err != nil || c.TaskID != id || c.Version != 1 || string(c.Shared["a"]) != "1" {
			t.Fatalf("got %+v, %v", c, err)
		}
		for _, m := range c.Messages {
			seqs = append(seqs, m.Seq)
		}
		if c.Next == nil {
			if pages != 4 {
				t.Errorf("it has %d pages, want 4", pages)
			}
			break
		}
		q.After = *c.Next
	}
	if len(seqs) != 22 || !slices.IsSorted(seqs) || seqs[0] != 1 || seqs[21] != 22 {
		t.Errorf("pages have messages %v, want 1 to 22", seqs)
	}
	c, err := w.Context(t.Context(), viewer, id, api.ContextQuery{Types: []string{"action"}, Limit: 5, After: 2})
	if err != nil || len(c.Messages) != 5 || c.Next == nil || c.Messages[0].Seq != 3 {
		t.Errorf("by type: got %+v, %v", c, err)
	}
	if c, err = w.Context(t.Context(), viewer, id, api.ContextQuery{After: 1000}); err != nil || len(c.Messages) != 0 || c.Messages == nil || c.Next != nil {
		t.Errorf("after the end: got %+v, %v", c, err)
	}
	for _, q := range []api.ContextQuery{{Limit: 1001}, {Limit: -1}, {After: -1}, {Types: []string{"nonsense"}}} {
		if _, err := w.Context(t.Context(), viewer, id, q); err == nil {
			t.Errorf("%+v is taken", q)
		}
	}
}

// TestContent: parts of a long content make the whole of it.
func TestContent(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("añ日😀<&>\u2028", 1500), "who": "me"})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "observation", Content: long})
	if err != nil || m.Bytes == 0 || len(m.Content) > 16<<10 || !strings.Contains(string(m.Content), `"truncated":true`) {
		t.Fatalf("got %d of %d bytes, %v", len(m.Content), m.Bytes, err)
	}
	for _, limit := range []int{501, 1000, 0} {
		var whole strings.Builder
		for offset := 0; ; {
			part, next, bytes, err := w.Content(t.Context(), viewer, id, m.Seq, offset, limit)
			if err != nil || bytes != m.Bytes || strings.ContainsRune(part, '\ufffd') {
				t.Fatalf("from %d on, %d bytes: got %q of %d, %v", offset, limit, part, bytes, err)
			}
			whole.WriteString(part)
			if next == 0 {
				break
			}
			offset = next
		}
		var got, want any
		if err := json.Unmarshal([]byte(whole.String()), &got); err != nil || whole.Len() != m.Bytes {
			t.Errorf("limit %d: %d bytes came, %v; want %d", limit, whole.Len(), err, m.Bytes)
		}
		if err := json.Unmarshal(long, &want); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("limit %d: another content came", limit)
		}
	}
	for _, c := range []struct{ seq, offset, limit int }{{0, 0, 0}, {3, 0, 0}, {-1, 0, 0}, {2, -1, 0}, {2, 1 << 30, 0}, {2, 0, -1}, {2, 0, 2 << 20}} {
		if _, _, _, err := w.Content(t.Context(), viewer, id, c.seq, c.offset, c.limit); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestUsageByGroup: a sub-task pays for its tool group, or for llm_tool, and plans and
// reviews for none.
func TestUsageByGroup(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		planned := enginetest.Planned(`{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"llm_tool","description":"sum up"}]}`)
		k.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
			reply, err := planned(ctx, r, stream)
			reply.Usage = llm.Usage{Input: 10, Output: 2}
			return reply, err
		}
	})
	w.ends(w.starts(operator, api.NewTask{Goal: "x"}).ID)
	got, err := w.Usage(t.Context(), viewer, []string{"group"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, row := range got {
		groups = append(groups, fmt.Sprint(row.Group, " ", row.Calls))
	}
	if want := []string{" 2", "llm_tool 1", "look 2"}; !slices.Equal(groups, want) {
		t.Errorf("the groups are %q, want %q", groups, want)
	}
}

func TestUsage(t *testing.T) {
	var next atomic.Pointer[llm.Usage]
	next.Store(&llm.Usage{Input: 10, Output: 2})
	w := newEnv(t, func(k *enginetest.Env) {
		k.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: "hello", Usage: *next.Load()}, nil
		}
	})
	w.ends(w.starts(operator, api.NewTask{Goal: "x"}).ID)
	w.ends(w.starts(operator, api.NewTask{Goal: "y"}).ID)
	w.kit.Ask(t, enginetest.Message("1", "hi", time.Now()))
	w.kit.Answers(t, 1)
	rows, _, err := w.List(t.Context(), operator, api.Query{Chat: "recorder:room"})
	if err != nil || len(rows) != 1 {
		t.Fatal(err)
	}
	w.ends(rows[0].ID)
	all, err := w.Usage(t.Context(), viewer, nil, "", "")
	if err != nil || len(all) != 1 || all[0].Calls != 3 || all[0].InputTokens != 30 || all[0].OutputTokens != 6 {
		t.Errorf("all is %+v, %v", all, err)
	}
	if err == nil && (all[0].USD == nil || *all[0].USD != 0 || all[0].Unpriced) {
		t.Errorf("what costs nothing is %v dollars, want 0", all[0].USD)
	}
	by, err := w.Usage(t.Context(), viewer, []string{"user", "day"}, "", "")
	if err != nil || len(by) != 2 || by[0].User != "api:ops" || by[0].Calls != 2 || by[1].User != "recorder:ann" || by[1].Day != inbox.Today(w.kit.Inbox) || by[1].Chat != "" {
		t.Errorf("by user and day it is %+v, %v", by, err)
	}
	narrow := viewer
	narrow.Chats = []string{"api:*"}
	if by, err = w.Usage(t.Context(), narrow, []string{"chat"}, "", ""); err != nil || len(by) != 1 || by[0].Chat != "api:ops" {
		t.Errorf("who sees one chat reads %+v, %v", by, err)
	}
	if by, err = w.Usage(t.Context(), viewer, nil, "2020-01-01", "2020-01-02"); err != nil || len(by) != 0 || by == nil {
		t.Errorf("long ago it was %+v, %v", by, err)
	}
	_, err = w.Usage(t.Context(), viewer, []string{"moon"}, "", "")
	wrong(t, "by", err, "by")
	_, err = w.Usage(t.Context(), viewer, nil, "yesterday", "")
	wrong(t, "from", err, "from")
	_, err = w.Usage(t.Context(), viewer, nil, "", "2026-13-01")
	wrong(t, "to", err, "to")
	_, err = w.Usage(t.Context(), viewer, nil, "2026-11-02", "2026-11-01")
	wrong(t, "order", err, "from")
	_, err = w.Usage(t.Context(), agent, nil, "", "")
	refused(t, "an agent", err, api.ErrForbidden)
	for i, c := range []struct {
		usage llm.Usage
		want  string
	}{
		{llm.Usage{Input: 10, Output: 2, Unpriced: true}, `"usd":null,"unpriced":true`},
		{llm.Usage{Input: 10, Output: 2, Cost: 20_000}, `"usd":0.02,"unpriced":true`},
		{llm.Usage{Input: 10, Output: 2, Cost: 20_000, Images: 2, AudioSeconds: 61, Characters: 5}, `"images":2,"audio_seconds":61,"spoken_characters":5,"usd":0.04,"unpriced":true`},
	} {
		next.Store(&c.usage)
		w.ends(w.starts(admin, api.NewTask{Goal: fmt.Sprint("price ", i)}).ID)
		rows, err := w.Usage(t.Context(), viewer, []string{"user"}, "", "")
		text, bad := json.Marshal(rows)
		if err != nil || bad != nil || strings.Count(string(text), c.want) != 1 {
			t.Errorf("after %+v the usage is %s, %v, %v, want %s once", c.usage, text, err, bad, c.want)
		}
	}
}

// scripted is a toolbox under a name that is no method's, and stocked one that tells how its groups are.
type scripted = enginetest.Tools

type stocked struct{ scripted }

func (*stocked) Inventory() []tools.GroupStatus {
	return []tools.GroupStatus{
		{Name: "look", Description: "Looks things up.", Approve: "writes", Servers: []tools.ServerStatus{
			{Name: "look", Tools: []tools.ToolStatus{{Name: "look.up", Description: " Looks up.\n", ReadOnly: true}}},
			{Name: "other", Problem: "dial tcp 10.0.0.1: refused"},
		}},
		{Name: "secret", Approve: "always"},
	}
}

func TestGroups(t *testing.T) {
	k := enginetest.NewEnv(t, nil)
	inbox := inbox.New(inbox.Config{Texts: k.Texts, Log: k.Log, Now: time.Now, Tools: &stocked{}})
	s := api.New(api.Config{Inbox: inbox, Now: time.Now})
	for _, c := range []struct {
		who     api.Principal
		names   string
		problem string
	}{
		{admin, "look secret", "dial tcp 10.0.0.1: refused"},
		{operator, "look", "dial tcp 10.0.0.1: refused"},
		{agent, "look", "it cannot be used now"},
		{viewer, "look", "it cannot be used now"},
	} {
		groups, err := s.Groups(t.Context(), c.who)
		if err != nil || len(groups) == 0 {
			t.Fatalf("%s: %+v, %v", c.who.Name, groups, err)
		}
		var names []string
		for _, g := range groups {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != c.names || groups[0].Servers[1].Problem != c.problem || groups[0].Servers[1].Healthy || groups[0].Servers[1].Tools == nil {
			t.Errorf("%s: got %s, %+v", c.who.Name, got, groups[0])
		}
		if tool := groups[0].Servers[0].Tools[0]; tool != (api.GroupTool{Name: "look.up", Description: "Looks up.", ReadOnly: true}) {
			t.Errorf("the tool is %+v", tool)
		}
	}
	none := operator
	none.Groups = []string{}
	if groups, err := s.Groups(t.Context(), none); err != nil || len(groups) != 0 || groups == nil {
		t.Errorf("a token without groups: got %+v, %v", groups, err)
	}
}

func TestAuditLog(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	if _, err := w.Merge(t.Context(), agent, id, nil, values{"status": raw(`"NEEDS_HUMAN_REVIEW"`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Decide(t.Context(), operator, w.asked(id, "").ID, api.Decision{Approve: true}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []api.Principal{viewer, operator, agent} {
		_, err := w.AuditLog(t.Context(), p, 0, 0)
		refused(t, string(p.Role), err, api.ErrForbidden)
	}
	if err := w.kit.Store.Record(t.Context(), tasks.AuditEntry{At: w.kit.Now(), Action: "data.backup"}); err != nil {
		t.Fatal(err)
	}
	near := admin
	near.Chats = []string{"slack:C9"}
	_, err := w.AuditLog(t.Context(), near, 0, 0)
	refused(t, "an admin of some chats", err, api.ErrForbidden)
	log, err := w.AuditLog(t.Context(), admin, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log {
		got = append(got, e.Who+" "+e.Action)
	}
	if want := "legwork data.backup, api:ops task.decide, agent:scout state.set, agent:scout task.start"; strings.Join(got, ", ") != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// TestFailure: a task that failed says why, in a word and in a sentence.
func TestFailure(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		k.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Problem: llm.Refused, Err: fmt.Errorf("key sk-123 is wrong")}
		}
	})
	task := w.ends(w.starts(operator, api.NewTask{Goal: "x", Language: "ru"}).ID)
	if task.State != "failed" || task.Reason != "refused" || !strings.Contains(task.Problem, "ключ") || task.Answer != nil {
		t.Errorf("it is %+v", task)
	}
	if got := fmt.Sprint(w.messages(task.ID)); strings.Contains(got, "sk-123") {
		t.Errorf("the context tells the cause: %s", got)
	}
	w.until(task.ID, "it is over", func(s planner.State) bool { return s.Finished() })
}

// FuzzAdd: whatever is added is told as what it was.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(`{"a":[1,"<b>",null]}`), "thought", 3)
	f.Add([]byte(`"\u003c\\u003c"`), "human_input", 0)
	f.Add([]byte(`1e400`), "status_update", 1)
	w := newEnv(f, nil)
	id := w.shares().ID
	f.Fuzz(func(t *testing.T, content []byte, kind string, limit int) {
		if _, err := w.kit.Store.State(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		m, _, err := w.Add(t.Context(), operator, id, api.NewMessage{Type: kind, Content: content})
		if err != nil {
			if kind == "thought" && json.Valid(content) && len(content) < 1000 && !strings.Contains(err.Error(), "at most") && !strings.Contains(err.Error(), "valid JSON") && !strings.Contains(err.Error(), "most") {
				t.Errorf("%q is refused: %v", content, err)
			}
			return
		}
		part, _, bytes, err := w.Content(t.Context(), operator, id, m.Seq, 0, max(limit, 1)&0xffff)
		if err != nil || bytes < len(part) && part != "" {
			t.Errorf("%q: got %q of %d bytes, %v", content, part, bytes, err)
		}
		var want, got any
		if kind != api.TypeHumanInput && m.Bytes == 0 && json.Unmarshal(content, &want) == nil {
			if err := json.Unmarshal(m.Content, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q is told as %q, %v", content, m.Content, err)
			}
		}
	})
}

// TestEarlier: a task shows the messages that its question brought along.
func TestEarlier(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) { k.Model.Answer = enginetest.Plain("hello") })
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := enginetest.Message("1", "is that right?", time.Now())
	m.Earlier = []bot.Quoted{{From: "Bob", Text: "The tide turns at noon.", At: at}, {Text: "It turns at one.", Pointed: true}}
	w.kit.Ask(t, m)
	w.kit.Answers(t, 1)
	rows, _, err := w.List(t.Context(), operator, api.Query{Chat: "recorder:room"})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	got := w.ends(rows[0].ID)
	want := []api.Quoted{{From: "Bob", Text: "The tide turns at noon.", At: &api.Time{Time: at}}, {Text: "It turns at one.", Pointed: true}}
	if diff := cmp.Diff(want, got.Earlier); diff != "" {
		t.Errorf("earlier (-want +got):\n%s", diff)
	}
}
