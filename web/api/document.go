package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/web/problem"
)

// document is the OpenAPI document without its calls.
func (c *calls) document() *huma.OpenAPI {
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "legwork", Version: c.Version, License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
			Description: "Tasks and their contexts: people, programs and agents work on the same task. Every request carries a token: `Authorization: Bearer TOKEN`. " +
				"Errors are problem documents (RFC 9457) whose `code` is for programs and whose `detail` is for people. Ignore fields that you do not know: there may be more of them later.",
		},
		Components: &huma.Components{
			Schemas:         huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "A token of the config, made by `legwork token new`."}},
		},
		Tags: []*huma.Tag{
			{Name: "tasks", Description: "Start tasks, read them, end them."},
			{Name: "context", Description: "The messages of a task: who said and did what."},
			{Name: "state", Description: "Keys and values that all who work on a task share."},
			{Name: "events", Description: "Follow what happens, as server-sent events."},
			{Name: "approvals", Description: "What waits for a person."},
			{Name: "reports", Description: "Groups, spending, the audit log, the token itself."},
		},
	}
	d.Servers = []*huma.Server{{URL: cmp.Or(strings.TrimSuffix(c.Public, "/"), "/")}}
	return d
}

// hasParameter reports whether a path names something.
func hasParameter(path string) bool { return strings.Contains(path, "{") }

// problemResponse refers to the response that tells a problem of one of the codes.
// Calls share them.
func problemResponse(shared *huma.Components, codes []problem.Code) *huma.Response {
	slices.Sort(codes)
	codes = slices.Compact(codes)
	var names []string
	for _, one := range codes {
		names = append(names, string(one))
	}
	name := strings.Join(names, "-or-")
	if shared.Responses == nil {
		shared.Responses = map[string]*huma.Response{}
	}
	if shared.Responses[name] == nil {
		shared.Responses[name] = problems(codes)
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

// problems is a response that tells a problem, with an example of each code.
func problems(codes []problem.Code) *huma.Response {
	media := &huma.MediaType{Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}, Examples: map[string]*huma.Example{}}
	var titles []string
	r := &huma.Response{Content: map[string]*huma.MediaType{"application/problem+json": media}}
	for _, one := range codes {
		p := problem.New(one, "")
		titles = append(titles, p.Title)
		if one == problem.Invalid {
			p.Errors = []problem.Wrong{{Location: "body.goal", Message: "expected length >= 1"}}
		}
		switch one {
		case problem.Media:
			header(r, "Accept", "Content types that are taken.")
		case problem.Precondition:
			header(r, "ETag", "The version that the state has now.")
		}
		media.Examples[string(one)] = &huma.Example{Value: p}
		for name := range p.GetHeaders() {
			header(r, name, "Seconds after which it may be otherwise.")
		}
	}
	r.Description = strings.Join(titles, ", or: ") + "."
	return r
}

// header documents a header of a response.
func header(r *huma.Response, name, text string) {
	if r.Headers == nil {
		r.Headers = map[string]*huma.Param{}
	}
	r.Headers[name] = &huma.Param{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
}

// describe adds to the document what huma does not know of a call.
func (o operation) describe(d *huma.OpenAPI) {
	op := registered(d, o.method, o.path)
	success := op.Responses[strconv.Itoa(op.DefaultStatus)]
	success.Description = "As asked."
	media := success.Content["application/json"]
	if o.tag == "events" {
		success.Description = "A stream of server-sent events."
		media = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		success.Content = map[string]*huma.MediaType{"text/event-stream": media}
	}
	media.Example = o.answer
	for name := range success.Headers {
		delete(success.Headers, name)
	}
	for name, text := range o.headers {
		header(success, name, text)
	}
	if o.waits {
		header(success, "Preference-Applied", "How long the request would have waited: `wait=60`.")
	}
	for _, more := range o.also {
		r := &huma.Response{Description: more.text}
		if more.bodied {
			r.Content = success.Content
		}
		for name, text := range more.headers {
			header(r, name, text)
		}
		if o.waits {
			header(r, "Preference-Applied", "How long the request would have waited: `wait=60`.")
		}
		op.Responses[strconv.Itoa(more.status)] = r
	}
	if op.RequestBody != nil {
		json := op.RequestBody.Content["application/json"]
		json.Example = o.body
		if o.method == http.MethodPatch {
			op.RequestBody.Content[mergePatch] = json
		}
	}
	for _, p := range op.Parameters {
		p.Description = parameters()[p.Name]
		if p.Name == "id" && o.tag == "approvals" {
			p.Description = "Id of the approval."
		}
		if p.Schema.Type == huma.TypeArray {
			p.Schema.Nullable = false
		}
	}
}

// registered is an operation of the document.
func registered(d *huma.OpenAPI, method, path string) *huma.Operation {
	item := d.Paths[path]
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	}
	panic(fmt.Sprintf("no operation is registered for %s", method))
}

// parameters says what parameters mean, wherever they stand.
func parameters() map[string]string {
	return map[string]string{
		"id":              "Id of the task.",
		"seq":             "Number of the message.",
		"state":           "Only tasks in one of these states, with commas between them.",
		"chat":            "Only tasks of this chat, such as `slack:C1` or `api:ops`.",
		"limit":           "At most so many.",
		"cursor":          "`next_cursor` of the page before.",
		"after":           "Only what is newer than this.",
		"type":            "Only messages of these types, with commas between them.",
		"keys":            "Only these keys, with commas between them.",
		"offset":          "Where in the content to begin, in bytes.",
		"task":            "Only of this task.",
		"by":              "What to sum up by, with commas between: user, chat, model, day.",
		"from":            "The first day, such as `2026-11-01`.",
		"to":              "The last day.",
		"Prefer":          "`wait=60`: wait up to so many seconds; at most 300.",
		"Idempotency-Key": "Names the request, so that it can be sent again without being done twice; the same as `idempotency_key` of the body. One for all calls of a token.",
		"If-Match":        "Only when the state has one of these versions: ETags of replies, with commas between, or `*`.",
		"If-None-Match":   "The version that is known already: ETag of a reply.",
		"Last-Event-ID":   "`id` of the last event that was received.",
	}
}
