package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// State is the shared state of a task.
type State struct {
	Values   map[string]json.RawMessage `json:"state" doc:"Keys and their values."`
	Version  int                        `json:"version" doc:"The version, which grows by one with each change; also in ETag."`
	Versions map[string]int             `json:"versions" doc:"For each key, the version that last changed it."`
	Over     bool                       `json:"over" doc:"The task is over and the state no longer changes."`
	// Changed is set by AwaitState when one of the keys was changed or deleted after the
	// version.
	Changed bool `json:"-"`
}

// Only is the state with only some keys; no keys: all.
func (s State) Only(keys []string) State {
	if len(keys) > 0 {
		s.Values, s.Versions = maps.Clone(s.Values), maps.Clone(s.Versions)
		maps.DeleteFunc(s.Values, func(key string, _ json.RawMessage) bool { return !slices.Contains(keys, key) })
		maps.DeleteFunc(s.Versions, func(key string, _ int) bool { return !slices.Contains(keys, key) })
	}
	return s
}

// Limits of keys and values, in bytes.
const (
	maxStateKey   = 256
	maxStateValue = 64 << 10
)

// State reads the shared state.
func (s *Service) State(ctx context.Context, p Principal, id tasks.ID) (State, error) {
	if _, err := s.authorize(ctx, p, policy.OpRead, id); err != nil {
		return State{}, err
	}
	return s.readState(ctx, id)
}

// sharedState are the values of the shared state, without escapes of the store.
func (t translator) sharedState() map[string]json.RawMessage {
	values := planner.SharedState(t.state, t.journal)
	for key, value := range values {
		values[key] = unescaped(value)
	}
	return values
}

// AwaitState returns the state when one of the keys (none: any) was changed after a
// version, when the task is over, or when ctx ends, without an error. With a ctx
// that has ended it reads the state once.
func (s *Service) AwaitState(ctx context.Context, p Principal, id tasks.ID, keys []string, since int) (State, error) {
	reading := context.WithoutCancel(ctx)
	if _, err := s.authorize(reading, p, policy.OpRead, id); err != nil {
		return State{}, err
	}
	looked := max(since, 0) // versions up to this one do not touch the keys
	for {
		changed := s.Store.Changed(id)
		state, err := s.foldedState(reading, id)
		if err != nil {
			return State{}, err
		}
		touched, err := s.touches(reading, id, state, keys, looked)
		if err != nil {
			return State{}, err
		}
		if touched || state.Settled() || state.Version < since || ctx.Err() != nil {
			shared, err := s.stateOf(reading, id, state)
			shared.Changed = touched || state.Version < since
			return shared, err
		}
		looked = max(looked, len(state.Changes))
		select {
		case <-changed:
		case <-ctx.Done(): // the loop reads the state once more
		}
	}
}

// touches reports whether a version after since changed one of the keys. The state
// knows that for existing keys; for deleted ones it reads the events.
func (all journals) touches(ctx context.Context, id tasks.ID, state planner.State, keys []string, since int) (bool, error) {
	if since >= len(state.Changes) || len(keys) == 0 {
		return since < len(state.Changes), nil
	}
	var gone []string
	for _, key := range keys {
		switch value, known := state.Shared[key]; {
		case !known:
			gone = append(gone, key)
		case versionAt(state, value.Seq) > since:
			return true, nil
		}
	}
	if len(gone) == 0 {
		return false, nil
	}
	for _, seq := range slices.Compact(slices.Clone(state.Changes[since:])) {
		e, err := all.store.Event(ctx, id, seq)
		if err != nil {
			return false, readError(id, err)
		}
		for _, key := range gone {
			if sets(e, key) {
				return true, nil
			}
		}
	}
	return false, nil
}

// sets reports whether an event sets or deletes a key of the shared state.
func sets(e planner.Event, key string) bool {
	if _, ok := e.Values[key]; ok {
		return true
	}
	if e.Reply == nil {
		return false
	}
	return slices.ContainsFunc(e.Reply.Calls, func(c planner.Call) bool {
		if c.Update == nil {
			return false
		}
		_, ok := c.Update.Values[key]
		return ok
	})
}

// Merge sets keys of the shared state; a null deletes a key. With match it does so
// only if the state has that version: *PreconditionError. A merge that changes
// nothing makes no new version. *InvalidError, ErrConflict, ErrForbidden.
func (s *Service) Merge(ctx context.Context, p Principal, id tasks.ID, match *int, values map[string]json.RawMessage) (State, error) {
	if err := p.Allowed(policy.OpMerge); err != nil {
		return State{}, err
	}
	values, err := normalized(values)
	if err != nil {
		return State{}, err
	}
	if _, err := s.authorize(ctx, p, policy.OpMerge, id); err != nil {
		return State{}, err
	}
	var before planner.State
	var fresh map[string]json.RawMessage
	err = inbox.ChangeTask(ctx, s.Inbox, id, func(state planner.State) ([]planner.Event, error) {
		before = state
		if match != nil && *match != state.Version {
			return nil, &PreconditionError{state.Version}
		}
		var err error
		fresh, err = s.changedValues(ctx, id, state, values)
		if err != nil || len(fresh) == 0 {
			return nil, err
		}
		if state.Settled() {
			return nil, fmt.Errorf("%w: it is over, its shared state stays as it is", ErrConflict)
		}
		return []planner.Event{{Type: planner.StateSet, By: p.Key(), Values: fresh}}, nil
	})
	if errors.Is(err, tasks.ErrRefused) {
		if now, err := s.foldedState(ctx, id); err == nil && now.Finished() {
			before = now
		}
		return State{}, mergeConflict(p, before, fresh)
	}
	if err != nil {
		return State{}, notFound(err)
	}
	return s.readState(ctx, id)
}

// notFound makes ErrNotFound of the error for a task that was deleted meanwhile.
func notFound(err error) error {
	if errors.Is(err, tasks.ErrNoTask) {
		return ErrNotFound
	}
	return err
}

// mergeConflict says why a task did not accept values.
func mergeConflict(p Principal, s planner.State, values map[string]json.RawMessage) error {
	var status string
	_ = json.Unmarshal(values[planner.KeyStatus], &status) // a status that is not a text means nothing to legwork
	asks := status == planner.NeedsHumanReview && s.Review == 0
	switch {
	case s.Finished():
		return fmt.Errorf("%w: it is over, its shared state stays as it is", ErrConflict)
	case asks && (s.Streamed || s.Phase == planner.PhaseAnswering):
		return fmt.Errorf("%w: its answer is being written already, so it is too late for a review", ErrConflict)
	case s.Limits.Changes > 0 && len(s.Changes) >= s.Limits.Changes:
		return fmt.Errorf("%w: its shared state was changed %d times, which is the most", ErrConflict, len(s.Changes))
	case s.Review > 0 && p.Role == policy.RoleAgent:
		return fmt.Errorf("%w: a person reviews the shared state; until they have decided, agents can add keys, as far as there is room, but change none, %q included", ErrConflict, planner.KeyStatus)
	case p.Role == policy.RoleAgent && planner.IsVerdict(values):
		return fmt.Errorf("%w: that the key %q is %s says how a person's review ended; set it to %s to ask for one", ErrForbidden, planner.KeyStatus, clip.Line(string(values[planner.KeyStatus]), 60), planner.NeedsHumanReview)
	case asks && s.Limits.Reviews > 0 && s.Reviews >= s.Limits.Reviews:
		return fmt.Errorf("%w: people were asked to review it %d times, which is the most", ErrConflict, s.Reviews)
	}
	return fmt.Errorf("%w: the shared state holds at most %d keys and %d bytes of keys and values; delete some first", ErrConflict, s.Limits.StateKeys, s.Limits.StateBytes)
}

// changedValues are the values that differ from those of the shared state.
func (all journals) changedValues(ctx context.Context, id tasks.ID, state planner.State, values map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	j := journal{store: all.store, id: id}
	state.Shared = maps.Clone(state.Shared)
	maps.DeleteFunc(state.Shared, func(key string, _ planner.Value) bool { _, wanted := values[key]; return !wanted })
	now := planner.SharedState(state, j.read(ctx)) // with only the values to compare
	fresh := map[string]json.RawMessage{}
	for key, value := range values {
		old, known := now[key]
		if string(value) == "null" && !known || known && bytes.Equal(compact(old), value) {
			continue
		}
		fresh[key] = value
	}
	return fresh, j.err
}

// normalized checks values and returns them as they are stored.
func normalized(values map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch {
		case key == "":
			return nil, &InvalidError{"state", "has a key without a name"}
		case len(key) > maxStateKey || !utf8.ValidString(key) || strings.ContainsRune(key, 0):
			return nil, &InvalidError{"state", fmt.Sprintf("has a key that is not text of at most %d bytes", maxStateKey)}
		}
		if err := checkJSON("state."+key, value); err != nil {
			return nil, err
		}
		out[key] = compact(value)
	}
	return out, nil
}

// checkJSON checks JSON of a request that will be stored.
func checkJSON(field string, value json.RawMessage) error {
	switch {
	case len(value) > maxStateValue:
		return &InvalidError{field, fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), maxStateValue)}
	case !json.Valid(value) || !utf8.Valid(value):
		return &InvalidError{field, "is no valid JSON"}
	}
	if odd := plainjson.Oddity(value); odd != "" {
		return &InvalidError{field, odd}
	}
	return nil
}

// compact removes space and unneeded escapes from valid JSON.
func compact(value json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return unescaped(out.Bytes())
}
