package api_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// TestOddJSON: by whatever way it comes, no JSON is kept that some programs read
// this way and others that way, or cannot hold.
func TestOddJSON(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	for _, odd := range []string{`"a\u0000b"`, `{"a\u0000":1}`, `{"a":1,"a":2}`, `[{"b":{"a":1,"\u0061":2}}]`, `1e999999`, `1e309`, `[-1e-999999]`, `{"a":"b\ud800"}`} {
		_, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "observation", Content: raw(odd)})
		wrong(t, "a message "+odd, err, "content")
		_, err = w.Merge(t.Context(), agent, id, nil, map[string]json.RawMessage{"k": raw(odd)})
		wrong(t, "a value "+odd, err, "state.k")
	}
	for _, plain := range []string{`"a\\u0000b"`, `[{"a":1},{"a":2}]`, `12345678901234567890.5e280`, `-1e-400`, `"\ud83d\ude00"`} {
		if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "observation", Content: raw(plain)}); err != nil {
			t.Errorf("%s: %v", plain, err)
		}
	}
}

// TestManyChanges: no program can make the journal of a task grow without end,
// yet a person's word about a review is always taken.
func TestManyChanges(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) { k.Limits.Changes = 3 })
	id := w.shares().ID
	sets := func(p api.Principal, key, value string) error {
		_, err := w.Merge(t.Context(), p, id, nil, map[string]json.RawMessage{key: raw(value)})
		return err
	}
	for i, value := range []string{`1`, `2`, `"NEEDS_HUMAN_REVIEW"`} {
		if err := sets(agent, []string{"k", "k", "status"}[i], value); err != nil {
			t.Fatal(value, err)
		}
	}
	for _, p := range []api.Principal{agent, operator} {
		err := sets(p, "k", "3")
		refused(t, "a change too many by "+p.Name, err, api.ErrConflict)
		if err == nil || !strings.Contains(err.Error(), "changed 3 times") {
			t.Errorf("it says %v, want the limit", err)
		}
	}
	if err := sets(operator, "status", `"APPROVED"`); err != nil {
		t.Errorf("a person's word: %v", err)
	}
}

// TestUnderReview: what a person looks at is what they decide about: no agent puts
// something else in its place meanwhile.
func TestUnderReview(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	sets := func(p api.Principal, values string) error {
		var v map[string]json.RawMessage
		if err := json.Unmarshal(raw(values), &v); err != nil {
			t.Fatal(err)
		}
		_, err := w.Merge(t.Context(), p, id, nil, v)
		return err
	}
	if err := sets(agent, `{"draft":"good","sources":1,"status":"NEEDS_HUMAN_REVIEW"}`); err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{`{"draft":"bad"}`, `{"sources":null}`, `{"more":1,"draft":"bad"}`, `{"status":"NEEDS_HUMAN_REVIEW","draft":"bad"}`} {
		refused(t, "an agent's "+values, sets(agent, values), api.ErrConflict)
	}
	if err := sets(agent, `{"more":1,"draft":"good"}`); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if err := sets(operator, `{"draft":"better"}`); err != nil {
		t.Errorf("a person's own draft: %v", err)
	}
	review := w.asked(id, "").ID
	_, err := w.Decide(t.Context(), operator, review, api.Decision{Approve: true, Version: new(1)})
	refused(t, "a yes to what was changed since", err, api.ErrPrecondition)
	if _, err := w.Decide(t.Context(), operator, review, api.Decision{Approve: true, Version: new(3)}); err != nil {
		t.Fatal(err)
	}
	if err := sets(agent, `{"draft":"best"}`); err != nil {
		t.Errorf("after the review: %v", err)
	}
}

// TestFarAfter: nothing comes after what no task reaches, and nothing breaks.
func TestFarAfter(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	got, err := w.Context(t.Context(), operator, id, api.ContextQuery{After: math.MaxInt})
	if err != nil || len(got.Messages) != 0 || got.Next != nil {
		t.Errorf("the context is %+v, %v; want no messages", got, err)
	}
	if _, err := w.Answer(t.Context(), agent, id, "done"); err != nil {
		t.Fatal(err)
	}
	w.ends(id)
	err = w.Follow(t.Context(), operator, id, math.MaxInt, nil, time.Hour, func(m api.Message) error {
		t.Errorf("message %d is sent", m.Seq)
		return nil
	}, func() error { return nil })
	if err != nil {
		t.Error(err)
	}
}

// TestTime: times are texts of one length, which sort as they came.
func TestTime(t *testing.T) {
	second := time.Date(2026, time.November, 21, 9, 30, 0, 0, time.FixedZone("", -3600))
	for at, want := range map[time.Time]string{
		second:                             `"2026-11-21T10:30:00.000Z"`,
		second.Add(120 * time.Millisecond): `"2026-11-21T10:30:00.120Z"`,
		second.Add(time.Second - 1):        `"2026-11-21T10:30:00.999Z"`,
	} {
		raw, err := json.Marshal(struct{ At *api.Time }{&api.Time{Time: at}})
		if err != nil || string(raw) != `{"At":`+want+`}` {
			t.Errorf("got %s, %v; want %s", raw, err, want)
		}
		var read struct{ At api.Time }
		if err := json.Unmarshal(raw, &read); err != nil || !read.At.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s is read as %v, %v", raw, read.At, err)
		}
	}
}
