package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/llm"
)

// Value says where a value of the shared state is.
type Value struct {
	Seq   int // of the event that set it
	Call  int // index of its call in that event; -1 when it was set from outside
	Bytes int // of key and value
}

// hasRoom reports that the shared state may take these values. A change that makes
// it smaller is always allowed.
func hasRoom(s State, values map[string]json.RawMessage) bool {
	keys, bytes := len(s.Shared), 0
	for _, v := range s.Shared {
		bytes += v.Bytes
	}
	moreKeys, moreBytes := 0, 0
	for key, value := range values {
		old, known := s.Shared[key]
		switch {
		case deletes(value) && known:
			moreKeys--
			moreBytes -= old.Bytes
		case deletes(value):
		default:
			if !known {
				moreKeys++
			}
			moreBytes += len(key) + len(value) - old.Bytes
		}
	}
	within := func(n, more, limit int) bool { return limit <= 0 || more <= 0 || n+more <= limit }
	return within(keys, moreKeys, s.Limits.StateKeys) && within(bytes, moreBytes, s.Limits.StateBytes)
}

// deletes reports that a value deletes its key.
func deletes(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// setShared folds values that an event gave to the shared state, by its call of that
// index.
func setShared(s State, seq, call int, values map[string]json.RawMessage) State {
	if len(values) == 0 {
		return s
	}
	shared := maps.Clone(s.Shared)
	if shared == nil {
		shared = map[string]Value{}
	}
	s.Version++
	for key, value := range values {
		if _, known := shared[key]; known && (key != KeyStatus || s.Review == 0) { // a review that is asked for again is the same
			s.ChangedVersion = s.Version
		}
		if deletes(value) {
			delete(shared, key)
		} else {
			shared[key] = Value{Seq: seq, Call: call, Bytes: len(key) + len(value)}
		}
	}
	s.Shared = shared
	s.Changes = append(slices.Clip(s.Changes), seq)
	return s
}

// SharedState gathers the values of a task's shared state.
func SharedState(s State, journal Journal) map[string]json.RawMessage {
	return valuesOf(s.Shared, journal)
}

func valuesOf(shared map[string]Value, journal Journal) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(shared))
	for key, at := range shared {
		if v := sharedValue(journal(at.Seq), at, key); len(v) > 0 {
			values[key] = v
		}
	}
	return values
}

// sharedValue is the value that an event gave to a key.
func sharedValue(e Event, at Value, key string) json.RawMessage {
	if at.Call < 0 {
		return e.Values[key]
	}
	if e.Reply == nil || at.Call >= len(e.Reply.Calls) || e.Reply.Calls[at.Call].Update == nil {
		return nil
	}
	return e.Reply.Calls[at.Call].Update.Values[key]
}

// How much of the shared state a prompt holds, in bytes: the prompt of a sub-task,
// which reads the rest with get_state, the prompt of a decision, and one get_state.
const (
	stateInWork     = 4 << 10
	stateInDecision = 16 << 10
	stateRead       = 16 << 10
)

// addSharedState adds the shared state to a prompt, and names the keys of what is
// too much.
func (b *builder) addSharedState(limit int) {
	if values := SharedState(b.s, b.journal); len(values) > 0 {
		b.messages.add(llm.User, b.text("prompt.state_intro", map[string]any{"Version": b.s.Version})+"\n"+b.values(values, limit))
	}
}

// values writes state within a number of bytes: whole values in the order of
// their keys, and the names of those that do not fit.
func (b *builder) values(values map[string]json.RawMessage, limit int) string {
	shown := map[string]json.RawMessage{}
	var left []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if n := len(key) + len(values[key]); n <= limit {
			shown[key] = values[key]
			limit -= n
		} else {
			left = append(left, fmt.Sprintf("%s (%d)", key, n))
		}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		text = []byte("{}")
	}
	out := tag("state", string(text))
	if len(left) > 0 {
		out += "\n" + b.text("prompt.state_more", nil) + "\n" + tag("state", strings.Join(left, ", "))
	}
	return out
}

// stateResult is the result of a get_state call.
func (b *builder) stateResult(g Get, state CallState) string {
	values := valuesOf(state.Shared, b.journal)
	var missing []string
	for _, key := range g.Keys {
		if _, ok := values[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(g.Keys) > 0 {
		maps.DeleteFunc(values, func(key string, _ json.RawMessage) bool { return !slices.Contains(g.Keys, key) })
	}
	out := b.text("prompt.state_read", map[string]any{"Version": state.Version}) + "\n" + b.values(values, stateRead)
	if len(missing) > 0 {
		out += "\n" + b.text("prompt.state_missing", nil) + "\n" + tag("state", strings.Join(missing, ", "))
	}
	return out
}
