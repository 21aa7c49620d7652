package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

type (
	stateRequest struct {
		TaskPath
		Keys        []string    `query:"keys" maxItems:"100" minLength:"1" maxLength:"256" doc:"Only these keys, separated by commas."`
		After       optionalInt `query:"after" doc:"Only newer entries than this one."`
		IfNoneMatch string      `header:"If-None-Match" doc:"The version that you already have: the ETag of a reply."`
		Prefer      string      `header:"Prefer" doc:"'wait=60': wait for up to so many seconds; at most 300."`
	}
	stateReply struct {
		Status  int
		ETag    string `header:"ETag" doc:"The version of the state, such as '\"3\"', for If-Match and If-None-Match."`
		Applied string `header:"Preference-Applied" doc:"The time that the request could wait: 'wait=60'."`
		Body    api.State
	}
	mergeRequest struct {
		TaskPath
		IfMatch string                     `header:"If-Match" doc:"Only if the state has one of these versions: values of ETag, separated by commas, or '*'."`
		Body    map[string]json.RawMessage `minProperties:"1" maxProperties:"100"`
	}
	patchRequest struct {
		TaskPath
		IfMatch     string                     `header:"If-Match" doc:"Only if the state has one of these versions: values of ETag, separated by commas, or '*'."`
		ContentType string                     `header:"Content-Type" hidden:"true"`
		Body        map[string]json.RawMessage `minProperties:"1" maxProperties:"100"`
	}
	mergeReply struct {
		ETag string `header:"ETag" doc:"The version of the state, such as '\"3\"', for If-Match and If-None-Match."`
		Body api.State
	}
)

// state reads the shared state: at once, or as soon as it has changed since a version
// that the request names.
func (c *calls) state(ctx context.Context, in *stateRequest) (*stateReply, error) {
	known, err := readTags("If-None-Match", in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	who := api.Caller(ctx)
	now, err := c.Service.State(ctx, who, in.id())
	if err != nil {
		return nil, err
	}
	since := in.After.or(known.newest(now.Version))
	wait := preferredWait(in.Prefer)
	if since < 0 {
		return &stateReply{Status: http.StatusOK, ETag: etag(now.Version), Body: now.Only(in.Keys)}, nil
	}
	if now, err = c.awaitState(ctx, in, since, wait); err != nil {
		return nil, err
	}
	out := &stateReply{Status: http.StatusOK, ETag: etag(now.Version), Applied: applied(wait), Body: now.Only(in.Keys)}
	if !in.After.given && !now.Changed {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// awaitState reads the shared state when it has changed since a version, at the latest
// after a while.
func (c *calls) awaitState(ctx context.Context, in *stateRequest, since int, wait time.Duration) (api.State, error) {
	bounded, done := c.waitContext(ctx, wait)
	if wait == 0 {
		done() // it reads the state once
	}
	defer done()
	now, err := c.Service.AwaitState(bounded, api.Caller(ctx), in.id(), in.Keys, since)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the client is gone, or its token was revoked
	}
	return now, err
}

// merge sets keys of the shared state if it has one of the versions of If-Match.
func (c *calls) merge(ctx context.Context, in *mergeRequest) (*mergeReply, error) {
	match, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if match.any {
		return c.mergeAt(ctx, in.id(), nil, in.Body)
	}
	now, err := c.Service.State(ctx, api.Caller(ctx), in.id())
	if err != nil {
		return nil, err
	}
	if !match.matches(now.Version) {
		return nil, &api.PreconditionError{Version: now.Version}
	}
	return c.mergeAt(ctx, in.id(), &now.Version, in.Body)
}

// patch applies a merge patch. It reads the state, applies the patch to it and sets the
// result if the state has not changed meanwhile; otherwise it starts again.
func (c *calls) patch(ctx context.Context, in *patchRequest) (*mergeReply, error) {
	if in.ContentType != mergePatch {
		return c.merge(ctx, &mergeRequest{in.TaskPath, in.IfMatch, in.Body})
	}
	match, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	for {
		now, err := c.Service.State(ctx, api.Caller(ctx), in.id())
		if err != nil {
			return nil, err
		}
		if !match.matches(now.Version) {
			return nil, &api.PreconditionError{Version: now.Version}
		}
		out, err := c.mergeAt(ctx, in.id(), &now.Version, applyPatch(now.Values, in.Body))
		if !errors.Is(err, api.ErrPrecondition) || ctx.Err() != nil {
			return out, err
		}
	}
}

// mergeAt sets keys of the shared state if it has that version; nil: any.
func (c *calls) mergeAt(ctx context.Context, id tasks.ID, version *int, values map[string]json.RawMessage) (*mergeReply, error) {
	merged, err := c.Service.Merge(ctx, api.Caller(ctx), id, version, values)
	if wrong, ok := errors.AsType[*api.InvalidError](err); ok { // the body is the state
		return nil, invalid("body"+strings.TrimPrefix(wrong.Field, "state"), wrong.Detail)
	}
	return &mergeReply{ETag: etag(merged.Version), Body: merged}, err
}

// applyPatch returns the new values of the keys of a merge patch (RFC 7396): objects
// are merged at every depth.
func applyPatch(values, patch map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(patch))
	for key, change := range patch {
		out[key] = patchValue(values[key], change)
	}
	return out
}

func patchValue(value, change json.RawMessage) json.RawMessage {
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
			merged[key] = patchValue(merged[key], change)
		}
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		panic(err) // the values were decoded from JSON
	}
	return raw
}

// object decodes a JSON object.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var o map[string]json.RawMessage
	return o, len(raw) > 0 && json.Unmarshal(raw, &o) == nil && o != nil
}

func (c *calls) registerState(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/state", id: "getState", tag: "state", waits: true,
		summary: "Read the shared state", op: policy.OpRead,
		text: "Without a version, the reply comes at once. With `Prefer: wait=60` and a version that you already have, it comes when one of the keys (default: any) has changed since then, " +
			"when the task is over, or after so many seconds (300 at most). Send the version as `after=3`, and the reply is always the state; " +
			"or as `If-None-Match: \"3\"`, and it is a 304 when nothing has changed.",
		also:   []reply{{status: http.StatusNotModified, text: "Nothing has changed since the version of If-None-Match."}},
		answer: exampleState(),
	}, c.state)
	merge := operation{
		method: http.MethodPut, path: "/v1/tasks/{id}/state", id: "putState", tag: "state",
		summary: "Set keys of the shared state", op: policy.OpMerge,
		text: "Sets the keys of the body and keeps all others; a null deletes a key. With If-Match only if the state has that version. " +
			"Setting `status` to `NEEDS_HUMAN_REVIEW` makes the task wait for a person and alerts people. While it waits, agents can add keys, but not change existing ones.",
		problems: []problem.Code{problem.Conflict, problem.Precondition}, answer: exampleState(),
		body: map[string]any{"sources": []string{"RFC 9110", "RFC 9457"}, "status": "NEEDS_HUMAN_REVIEW"},
	}
	register(c, h, merge, c.merge)
	merge.method, merge.id, merge.summary = http.MethodPatch, "patchState", "Merge into the shared state"
	merge.text += " With the content type `application/merge-patch+json` the body is a merge patch (RFC 7396): objects in it are merged at every depth."
	register(c, h, merge, c.patch)
}

// etag is the entity tag of a version of a shared state.
func etag(version int) string { return `"` + strconv.Itoa(version) + `"` }

// tags are the entity tags of an If-Match or If-None-Match header; any stands for *.
type tags struct {
	any  bool
	list []string
}

// readTags parses such a header. A malformed header is an error, not one that matches
// nothing: its sender means something else.
func readTags(name, header string) (tags, error) {
	if strings.TrimSpace(header) == "*" {
		return tags{any: true}, nil
	}
	if strings.Trim(header, " \t") == "" {
		return tags{}, nil
	}
	if !tagList.MatchString(header) {
		return tags{}, invalid("header."+name, `expected values of the header ETag of replies, such as "3", separated by commas, or *`)
	}
	return tags{list: oneTag.FindAllString(header, -1)}, nil
}

// The forms of one entity tag and of a list of them (RFC 9110, sections 8.8.3 and
// 5.6.1).
var (
	oneTag  = regexp.MustCompile(`(?:W/)?"[^"]*"`)
	tagList = regexp.MustCompile(`^[ \t]*(?:W/)?"[^"]*"(?:[ \t]*,[ \t,]*(?:W/)?"[^"]*")*[ \t,]*$`)
)

// ifMatch parses an If-Match header; a missing one matches all versions.
func ifMatch(header string) (tags, error) {
	if header == "" {
		return tags{any: true}, nil
	}
	return readTags("If-Match", header)
}

// matches reports whether a version matches by strong comparison (RFC 9110, section
// 8.8.3.2): a weak tag never does.
func (t tags) matches(version int) bool { return t.any || slices.Contains(t.list, etag(version)) }

// newest is the newest version up to a given one that a tag names, by weak comparison;
// -1 for none.
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

// optionalInt is a query parameter that knows whether it was given.
type optionalInt struct {
	Value int
	given bool
}

// Receiver implements huma.ParamWrapper.
func (o *optionalInt) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (o *optionalInt) OnParamSet(given bool, _ any) { o.given = given }

// Schema implements huma.SchemaProvider.
func (*optionalInt) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64)}
}

// or returns the parameter, or other when it was not given.
func (o *optionalInt) or(other int) int {
	if o.given {
		return o.Value
	}
	return other
}
