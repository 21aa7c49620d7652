package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

type (
	stateRequest struct {
		Addressed
		Keys        []string `query:"keys" maxItems:"100" minLength:"1" maxLength:"256" doc:"Only these keys, with commas between them."`
		After       optional `query:"after" doc:"Only what is newer than this."`
		IfNoneMatch string   `header:"If-None-Match" doc:"The version that is known already: ETag of a reply."`
		Prefer      string   `header:"Prefer" doc:"'wait=60': wait up to so many seconds; at most 300."`
	}
	stateReply struct {
		Status  int
		ETag    string `header:"ETag" doc:"The version of the state, such as '\"3\"', for If-Match and If-None-Match."`
		Applied string `header:"Preference-Applied" doc:"How long the request would have waited: 'wait=60'."`
		Body    api.Shared
	}
	mergeRequest struct {
		Addressed
		IfMatch string                     `header:"If-Match" doc:"Only when the state has one of these versions: ETags of replies, with commas between, or '*'."`
		Body    map[string]json.RawMessage `minProperties:"1" maxProperties:"100"`
	}
	patchRequest struct {
		Addressed
		IfMatch     string                     `header:"If-Match" doc:"Only when the state has one of these versions: ETags of replies, with commas between, or '*'."`
		ContentType string                     `header:"Content-Type" hidden:"true"`
		Body        map[string]json.RawMessage `minProperties:"1" maxProperties:"100"`
	}
	mergeReply struct {
		ETag string `header:"ETag" doc:"The version of the state, such as '\"3\"', for If-Match and If-None-Match."`
		Body api.Shared
	}
)

// state reads the shared state: at once, or as soon as something of it has changed
// since a version that the request names.
func (c *calls) state(ctx context.Context, in *stateRequest) (*stateReply, error) {
	known, err := readTags("If-None-Match", in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	who := api.Caller(ctx)
	now, err := c.Service.Shared(ctx, who, in.id())
	if err != nil {
		return nil, err
	}
	since := in.After.or(known.newest(now.Version))
	wait := waiting(in.Prefer)
	if since < 0 {
		return &stateReply{Status: http.StatusOK, ETag: etag(now.Version), Body: only(now, in.Keys)}, nil
	}
	if now, err = c.awaitState(ctx, in, since, wait); err != nil {
		return nil, err
	}
	out := &stateReply{Status: http.StatusOK, ETag: etag(now.Version), Applied: applied(wait), Body: only(now, in.Keys)}
	if !in.After.given && !now.Changed {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// awaitState reads the shared state when something of it has changed since a
// version, at the latest after a while.
func (c *calls) awaitState(ctx context.Context, in *stateRequest, since int, wait time.Duration) (api.Shared, error) {
	bounded, done := c.until(ctx, wait)
	if wait == 0 {
		done() // it is looked at once
	}
	defer done()
	now, err := c.Service.AwaitShared(bounded, api.Caller(ctx), in.id(), in.Keys, since)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // nobody listens any more, or nobody may
	}
	return now, err
}

// only leaves the keys that were asked for; with none, all of them.
func only(s api.Shared, keys []string) api.Shared {
	if len(keys) == 0 {
		return s
	}
	values, versions := map[string]json.RawMessage{}, map[string]int{}
	for _, key := range keys {
		if v, ok := s.Values[key]; ok {
			values[key] = v
		}
		if v, ok := s.Versions[key]; ok {
			versions[key] = v
		}
	}
	s.Values, s.Versions = values, versions
	return s
}

// merge sets keys of the shared state when it has one of the versions of If-Match.
func (c *calls) merge(ctx context.Context, in *mergeRequest) (*mergeReply, error) {
	match, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if match.any {
		return c.mergeAt(ctx, in.id(), nil, in.Body)
	}
	now, err := c.Service.Shared(ctx, api.Caller(ctx), in.id())
	if err != nil {
		return nil, err
	}
	if !match.strong(now.Version) {
		return nil, &api.PreconditionError{Version: now.Version}
	}
	return c.mergeAt(ctx, in.id(), &now.Version, in.Body)
}

// patch is merge for a merge patch: what it makes of the values that were read is
// set only while they are the same, whatever versions the request is for.
func (c *calls) patch(ctx context.Context, in *patchRequest) (*mergeReply, error) {
	if in.ContentType != mergePatch {
		return c.merge(ctx, &mergeRequest{in.Addressed, in.IfMatch, in.Body})
	}
	match, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	for {
		now, err := c.Service.Shared(ctx, api.Caller(ctx), in.id())
		if err != nil {
			return nil, err
		}
		if !match.strong(now.Version) {
			return nil, &api.PreconditionError{Version: now.Version}
		}
		out, err := c.mergeAt(ctx, in.id(), &now.Version, patched(now.Values, in.Body))
		if !errors.Is(err, api.ErrPrecondition) || ctx.Err() != nil {
			return out, err
		}
	}
}

// mergeAt sets keys of the shared state when it has a version; nil stands for all.
func (c *calls) mergeAt(ctx context.Context, id tasks.ID, version *int, values map[string]json.RawMessage) (*mergeReply, error) {
	merged, err := c.Service.Merge(ctx, api.Caller(ctx), id, version, values)
	if wrong, ok := errors.AsType[*api.InvalidError](err); ok { // the body is the state
		return nil, invalid("body"+strings.TrimPrefix(wrong.Field, "state"), wrong.Detail)
	}
	return &mergeReply{ETag: etag(merged.Version), Body: merged}, err
}

// patched are the values of a merge patch's keys once it is applied, as RFC 7396
// has it: objects are merged at every depth.
func patched(values, patch map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(patch))
	for key, change := range patch {
		out[key] = patchedValue(values[key], change)
	}
	return out
}

func patchedValue(value, change json.RawMessage) json.RawMessage {
	changes, ok := object(change)
	if !ok {
		return change
	}
	merged, _ := object(value)
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	for key, change := range changes {
		if string(change) == "null" {
			delete(merged, key)
		} else {
			merged[key] = patchedValue(merged[key], change)
		}
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		panic(err) // of JSON that was read as such
	}
	return raw
}

// object reads JSON that is an object.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var o map[string]json.RawMessage
	return o, len(raw) > 0 && json.Unmarshal(raw, &o) == nil && o != nil
}

func (c *calls) registerState(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/state", id: "getState", tag: "state", waits: true,
		summary: "Read the shared state", does: api.OpRead,
		text: "At once; or, with `Prefer: wait=60` and a version that is known already, when one of the keys (none named: any) has changed since, " +
			"the task is over, or so many seconds have passed (300 at most). The version comes as `after=3`, and then the reply is the state in any case, " +
			"or as `If-None-Match: \"3\"`, and then it is a 304 when nothing has changed.",
		also:   []reply{{status: http.StatusNotModified, text: "Nothing has changed since the version of If-None-Match."}},
		answer: exampleState(),
	}, c.state)
	merge := operation{
		method: http.MethodPut, path: "/v1/tasks/{id}/state", id: "putState", tag: "state",
		summary: "Set keys of the shared state", does: api.OpMerge,
		text: "Sets the keys of the body and leaves all others as they are; a null deletes a key. With If-Match only when the state has that version. " +
			"Setting `status` to `NEEDS_HUMAN_REVIEW` makes the task wait for a person, who is alerted; while it waits, agents can add keys, but change none that is there.",
		problems: []problem.Code{problem.Conflict, problem.Precondition}, answer: exampleState(),
		body: map[string]any{"sources": []string{"RFC 9110", "RFC 9457"}, "status": "NEEDS_HUMAN_REVIEW"},
	}
	register(c, h, merge, c.merge)
	merge.method, merge.id, merge.summary = http.MethodPatch, "patchState", "Merge into the shared state"
	merge.text += " As `application/merge-patch+json` the body is a merge patch as RFC 7396 has it: objects in it are merged at every depth."
	register(c, h, merge, c.patch)
}

// etag is the entity tag of a version of a shared state.
func etag(version int) string { return `"` + strconv.Itoa(version) + `"` }

// tags are the entity tags of an If-Match or If-None-Match header: any for *.
type tags struct {
	any  bool
	list []string
}

// readTags reads one. A header that is no list of entity tags is not taken for
// one that matches nothing: whoever sent it means something else.
func readTags(name, header string) (tags, error) {
	if strings.TrimSpace(header) == "*" {
		return tags{any: true}, nil
	}
	wrong := invalid("header."+name, `expected entity tags as replies have them in ETag, such as "3", with commas between them, or *`)
	var t tags
	for rest := strings.Trim(header, " \t"); rest != ""; {
		weak := strings.HasPrefix(rest, "W/")
		rest = strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(rest, `"`) {
			return tags{}, wrong
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return tags{}, wrong
		}
		tag := rest[:end+2]
		if weak {
			tag = "W/" + tag
		}
		t.list = append(t.list, tag)
		rest = strings.TrimLeft(rest[end+2:], " \t")
		next, more := strings.CutPrefix(rest, ",")
		if rest != "" && !more {
			return tags{}, wrong
		}
		rest = strings.TrimLeft(next, " \t,")
	}
	return t, nil
}

// ifMatch reads an If-Match header; one that is not there is for all versions.
func ifMatch(header string) (tags, error) {
	if header == "" {
		return tags{any: true}, nil
	}
	return readTags("If-Match", header)
}

// strong reports whether a version matches by the strong comparison of RFC 9110,
// which a weak tag never does.
func (t tags) strong(version int) bool { return t.any || slices.Contains(t.list, etag(version)) }

// newest is the newest version up to the one given that a tag names, by the weak
// comparison; -1 for none.
func (t tags) newest(upTo int) int {
	if t.any {
		return upTo
	}
	newest := -1
	for _, tag := range t.list {
		version, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`))
		if err == nil && version <= upTo {
			newest = max(newest, version)
		}
	}
	return newest
}

// optional is a number of a query that may be left out.
type optional struct {
	Value int
	given bool
}

// Receiver implements huma.ParamWrapper.
func (o *optional) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (o *optional) OnParamSet(given bool, _ any) { o.given = given }

// Schema implements huma.SchemaProvider.
func (*optional) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64)}
}

// or is the number, or another where it was left out.
func (o *optional) or(other int) int {
	if o.given {
		return o.Value
	}
	return other
}
