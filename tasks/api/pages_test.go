package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// TestContextPages: what a page costs is bounded, whatever a context holds and
// whatever is chosen of it.
func TestContextPages(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	content := raw(fmt.Sprintf("%q", strings.Repeat("x", 15<<10)))
	for range 50 {
		if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: api.TypeObservation, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1050 {
		if _, err := w.Merge(t.Context(), agent, id, nil, values{"n": raw(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		types           []string
		messages, pages int
	}{{nil, 1101, 3}, {[]string{api.TypeObservation}, 50, 3}, {[]string{api.TypePlan}, 0, 2}} {
		q := api.ContextQuery{Types: c.types, Limit: 1000}
		pages, messages := 0, 0
		for more := true; more; pages++ {
			page, err := w.Context(t.Context(), viewer, id, q)
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, m := range page.Messages {
				bytes += len(m.Content)
			}
			if bytes > 600<<10 || len(page.Messages) > 1000 {
				t.Errorf("a page has %d messages of %d bytes", len(page.Messages), bytes)
			}
			messages += len(page.Messages)
			if more = page.Next != nil; more {
				if *page.Next <= q.After || *page.Next > q.After+1000 {
					t.Fatalf("after %d it goes on after %d", q.After, *page.Next)
				}
				q.After = *page.Next
			}
		}
		if messages != c.messages || pages != c.pages {
			t.Errorf("of the types %v: %d messages on %d pages, want %d on %d", c.types, messages, pages, c.messages, c.pages)
		}
	}
}

// TestPagesOfApprovals: pages go on behind the last of the one before, within a task
// and from task to task, whatever was decided meanwhile.
func TestPagesOfApprovals(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		books(1)(k)
		answer := k.Model.Answer
		k.Model.Answer = func(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Reply, error) {
			if r.Role == llm.RolePlan {
				return llm.Reply{Text: `{"plan":[{"name":"book","description":"one","after":[]},{"name":"book","description":"two","after":[]},{"name":"book","description":"three","after":[]}]}`}, nil
			}
			return answer(ctx, r, delta)
		}
	})
	var want []string // newest task first
	for range 3 {
		id := w.shares().ID
		if _, err := w.Merge(t.Context(), agent, id, nil, values{planner.KeyStatus: raw(`"` + planner.NeedsHumanReview + `"`)}); err != nil {
			t.Fatal(err)
		}
		want = append([]string{w.asked(id, "").ID}, want...)
	}
	task := w.starts(agent, api.NewTask{Goal: "book thrice"}).ID
	var three []api.Approval
	w.until(task, "three calls are asked about", func(planner.State) bool {
		three = w.page(api.ApprovalQuery{Task: task})
		return len(three) == 3
	})
	for i := range three {
		want = append([]string{three[2-i].ID}, want...)
	}
	for size := 1; size <= len(want)+1; size++ {
		var got []string
		q := api.ApprovalQuery{Limit: size}
		for more := true; more; more = q.After != "" {
			list, next, err := w.Approvals(t.Context(), operator, q)
			if err != nil || len(list) > size {
				t.Fatalf("a page of %d: got %d, %v", size, len(list), err)
			}
			for _, a := range list {
				got = append(got, a.ID)
			}
			q.After = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %q, want %q", size, got, want)
		}
	}
	list, next, err := w.Approvals(t.Context(), operator, api.ApprovalQuery{Task: task, Limit: 2})
	if err != nil || len(list) != 2 || next != list[1].ID {
		t.Fatalf("two of a task: got %+v, %q, %v", list, next, err)
	}
	if rest := w.page(api.ApprovalQuery{Task: task, After: next}); len(rest) != 1 || rest[0].ID != want[2] {
		t.Errorf("the rest of a task: got %+v", rest)
	}
	for _, id := range []string{want[1], want[3]} {
		if _, err := w.Decide(t.Context(), operator, id, api.Decision{}); err != nil {
			t.Fatal(err)
		}
		if rest := w.page(api.ApprovalQuery{After: id}); len(rest) == 0 || rest[0].ID != want[slices.Index(want, id)+1] {
			t.Errorf("after what was decided: got %+v", rest)
		}
	}
	for _, q := range []api.ApprovalQuery{{After: "x"}, {Task: task, After: want[4]}} {
		_, _, err := w.Approvals(t.Context(), operator, q)
		wrong(t, "the cursor "+q.After, err, "cursor")
	}
	_, _, err = w.Approvals(t.Context(), operator, api.ApprovalQuery{Limit: 201})
	wrong(t, "a page too long", err, "limit")
	if list, _, err := w.Approvals(t.Context(), stranger, api.ApprovalQuery{After: want[3]}); err != nil || len(list) != 0 {
		t.Errorf("a stranger with another's cursor: got %+v, %v", list, err)
	}
}

// page lists approvals that must be listed.
func (w *env) page(q api.ApprovalQuery) []api.Approval {
	w.t.Helper()
	list, _, err := w.Approvals(w.ctx(), operator, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestLongApprovals: a page of long ones ends early, and the next one goes on.
func TestLongApprovals(t *testing.T) {
	w := newEnv(t, nil)
	draft := raw(fmt.Sprintf("%q", strings.Repeat("x", 50<<10)))
	want := map[string]bool{}
	for range 25 {
		id := w.shares().ID
		if _, err := w.Merge(t.Context(), agent, id, nil, values{"draft": draft, planner.KeyStatus: raw(`"` + planner.NeedsHumanReview + `"`)}); err != nil {
			t.Fatal(err)
		}
		want[w.asked(id, "").ID] = true
	}
	pages := 0
	for q, more := (api.ApprovalQuery{Limit: 200}), true; more; pages++ {
		list, next, err := w.Approvals(t.Context(), operator, q)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, a := range list {
			if bytes += len(a.Details); !want[a.ID] {
				t.Errorf("%s is there twice, or was never asked", a.ID)
			}
			delete(want, a.ID)
		}
		if bytes > 600<<10 {
			t.Errorf("a page has %d bytes", bytes)
		}
		q.After, more = next, next != ""
	}
	if len(want) > 0 || pages != 3 {
		t.Errorf("%d are missing on %d pages, want none on 3", len(want), pages)
	}
}
