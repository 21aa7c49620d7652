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
	if !o.waits {
		delete(success.Headers, "Preference-Applied")
	}
	for _, h := range success.Headers {
		h.Description, h.Schema.Description = marked(h.Schema.Description), ""
	}
	for _, more := range o.also {
		r := &huma.Response{Description: more.text, Headers: success.Headers}
		if more.bodied {
			r.Content = success.Content
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
		p.Description, p.Schema.Description = marked(p.Description), ""
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
