package contexts_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"legwork/tasks/contexts"
)

// TestOddJSON: by whatever way it comes, no JSON is kept that some programs read
// this way and others that way, or cannot hold.
func TestOddJSON(t *testing.T) {
	w := newWorld(t, nil)
	id := w.shares().ID
	for _, odd := range []string{`"a\u0000b"`, `{"a\u0000":1}`, `{"a":1,"a":2}`, `[{"b":{"a":1,"\u0061":2}}]`, `1e999999`, `[-1e-999999]`} {
		_, _, err := w.Add(t.Context(), agent, id, contexts.NewMessage{Type: "observation", Content: raw(odd)})
		wrong(t, "a message "+odd, err, "content")
		_, err = w.Merge(t.Context(), agent, id, nil, map[string]json.RawMessage{"k": raw(odd)})
		wrong(t, "a value "+odd, err, "state.k")
	}
	for _, plain := range []string{`"a\\u0000b"`, `[{"a":1},{"a":2}]`, `12345678901234567890.5e300`} {
		if _, _, err := w.Add(t.Context(), agent, id, contexts.NewMessage{Type: "observation", Content: raw(plain)}); err != nil {
			t.Errorf("%s: %v", plain, err)
		}
	}
}

// TestFarAfter: nothing comes after what no task reaches, and nothing breaks.
func TestFarAfter(t *testing.T) {
	w := newWorld(t, nil)
	id := w.shares().ID
	got, err := w.Context(t.Context(), operator, id, contexts.ContextQuery{After: math.MaxInt})
	if err != nil || len(got.Messages) != 0 || got.Next != nil {
		t.Errorf("the context is %+v, %v; want no messages", got, err)
	}
	if _, err := w.Answer(t.Context(), agent, id, "done"); err != nil {
		t.Fatal(err)
	}
	w.ends(id)
	err = w.Follow(t.Context(), operator, id, math.MaxInt, nil, time.Hour, func(m contexts.Message) error {
		t.Errorf("message %d is sent", m.Seq)
		return nil
	}, func() error { return nil })
	if err != nil {
		t.Error(err)
	}
}
