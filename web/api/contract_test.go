package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/bot"
	"legwork/tasks/api"
	webapi "legwork/web/api"
)

// contract is the OpenAPI document.
type contract struct {
	Paths      map[string]map[string]call
	Components struct {
		Schemas   map[string]schema
		Responses map[string]reply
	}

	mu       sync.Mutex // of compiler
	compiler *jsonschema.Compiler
}

type call struct {
	OperationID          string
	Summary, Description string
	Tags                 []string
	Security             []map[string][]string
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]reply
}

type reply struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     map[string]any
	Content     map[string]media
}

type media struct {
	Schema   schema
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Description  string
	Properties           map[string]schema
	Required             []string
	Items                *schema
	Enum                 []any
	Minimum, Maximum     *float64
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	MinProperties        *int
	MaxProperties        *int
	Default              any
}

func readContract(t testing.TB, a *webapi.API) *contract {
	t.Helper()
	raw, err := a.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	return parseContract(t, raw)
}

func parseContract(t testing.TB, raw []byte) *contract {
	t.Helper()
	c := &contract{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(raw, c); err != nil {
		t.Fatalf("reading the document: %v", err)
	}
	for _, methods := range c.Paths {
		for _, one := range methods {
			for status, r := range one.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					one.Responses[status] = c.Components.Responses[name]
				}
			}
		}
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	// Replies have no fields beside those of the document, although clients must
	// expect more.
	for _, s := range whole.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		s.(map[string]any)["additionalProperties"] = false
	}
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource("openapi.json", whole); err != nil {
		t.Fatal(err)
	}
	return c
}

// at finds the call of a request.
func (c *contract) at(method, path string) (pattern string, one call, found bool) {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for pattern, methods := range c.Paths {
		names := strings.Split(pattern, "/")
		fits := len(names) == len(parts) && methods[strings.ToLower(method)].OperationID != ""
		for i := 0; fits && i < len(names); i++ {
			fits = names[i] == parts[i] || strings.HasPrefix(names[i], "{")
		}
		if fits {
			return pattern, methods[strings.ToLower(method)], true
		}
	}
	return "", call{}, false
}

// resolve follows a reference.
func (c *contract) resolve(s schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return c.Components.Schemas[name]
	}
	return s
}

// usual are the headers that every reply may have.
var usual = []string{"Date", "Content-Length", "Content-Type", "Cache-Control", "X-Content-Type-Options", "X-Accel-Buffering", "Allow"}

// check compares a reply with the document.
func (c *contract) check(t testing.TB, method, path string, got answer) {
	t.Helper()
	pattern, one, found := c.at(method, path)
	if !found {
		return
	}
	status := fmt.Sprint(got.status)
	response, known := one.Responses[status]
	if !known {
		t.Errorf("%s %s: the reply %d %s is not in the document", method, path, got.status, got.body)
		return
	}
	told := map[string]bool{}
	for name := range response.Headers {
		told[http.CanonicalHeaderKey(name)] = true
	}
	for name := range got.header {
		if !told[name] && !slices.Contains(usual, name) {
			t.Errorf("%s %s: the header %s of a reply %d is not in the document", method, path, name, got.status)
		}
	}
	if len(response.Content) == 0 || len(got.body) == 0 {
		if len(got.body) > 0 {
			t.Errorf("%s %s: the reply %d has the body %s, want none", method, path, got.status, got.body)
		}
		return
	}
	kind := got.header.Get("Content-Type")
	if _, file := response.Content["*/*"]; file { // the content of a file
		return
	}
	if _, known := response.Content[kind]; !known {
		t.Errorf("%s %s: the content type %q of a reply %d is not in the document", method, path, kind, got.status)
		return
	}
	if kind == "text/event-stream" {
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	if kind == "application/problem+json" {
		c.validate(t, "/components/schemas/Problem", got.body)
		return
	}
	c.validate(t, "/paths/"+escape.Replace(pattern)+"/"+strings.ToLower(method)+"/responses/"+status+"/content/"+escape.Replace(kind)+"/schema", got.body)
}

// validate compares JSON with a schema of the document.
func (c *contract) validate(t testing.TB, pointer string, body []byte) {
	t.Helper()
	c.mu.Lock()
	compiled, err := c.compiler.Compile("openapi.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	c.mu.Unlock()
	if err != nil {
		t.Fatalf("compiling %s: %v", pointer, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s: %q is not JSON: %v", pointer, body, err)
		return
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%s: %s: %v", pointer, body, err)
	}
}

// TestDocumentIsComplete: every call and field has a description, and every body an
// example.
func TestDocumentIsComplete(t *testing.T) {
	c := readContract(t, newEnv(t).api)
	ids := map[string]bool{}
	for path, methods := range c.Paths {
		for method, one := range methods {
			name := method + " " + path
			if one.OperationID == "" || ids[one.OperationID] || one.Summary == "" || one.Description == "" || len(one.Tags) != 1 || len(one.Security) != 1 {
				t.Errorf("%s: got %+v, want an id of its own, summary, description, a tag and security", name, one)
			}
			ids[one.OperationID] = true
			for _, p := range one.Parameters {
				if p.Description == "" {
					t.Errorf("%s: the parameter %s has no description", name, p.Name)
				}
			}
			if one.RequestBody != nil {
				for kind, m := range one.RequestBody.Content {
					checkExamples(t, c, path, method, "/requestBody/content/", kind, m)
				}
			}
			for status, r := range one.Responses {
				if r.Description == "" {
					t.Errorf("%s: the reply %s has no description", name, status)
				}
				for kind, m := range r.Content {
					checkExamples(t, c, path, method, "/responses/"+status+"/content/", kind, m)
				}
			}
		}
	}
	for name, s := range c.Components.Schemas {
		if s.Description == "" {
			t.Errorf("the schema %s has no description", name)
		}
		for field, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("the field %s of the schema %s has no description", field, name)
			}
		}
	}
}

func checkExamples(t *testing.T, c *contract, path, method, place, kind string, m media) {
	t.Helper()
	if kind == "*/*" || kind == "multipart/form-data" {
		return // the content of a file needs no example
	}
	examples := []json.RawMessage{m.Example}
	for _, e := range m.Examples {
		examples = append(examples, e.Value)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	examples = slices.DeleteFunc(examples, func(e json.RawMessage) bool { return e == nil })
	if len(examples) == 0 {
		t.Errorf("%s %s: %s%s has no example", method, path, place, kind)
	}
	for _, e := range examples {
		if kind == "application/problem+json" {
			c.validate(t, "/components/schemas/Problem", e)
			continue
		}
		c.validate(t, "/paths/"+escape.Replace(path)+"/"+method+place+escape.Replace(kind)+"/schema", e)
	}
}

// TestContract sends every call of the document: as described, and with each mistake
// that its schemas do not allow.
func TestContract(t *testing.T) {
	e := newEnv(t)
	for _, pattern := range slices.Sorted(maps.Keys(e.contract.Paths)) {
		for method, one := range e.contract.Paths[pattern] {
			method = strings.ToUpper(method)
			if one.Tags[0] == "events" || one.Tags[0] == "files" {
				continue // see stream_test.go and files_test.go
			}
			t.Run(one.OperationID, func(t *testing.T) {
				e := e.in(t)
				if one.Tags[0] == "connections" {
					e.signsIn(map[string]string{"web": "shared"})
					e.connects("admin", "web", "api:admin")
				}
				good := e.good(method, pattern, one)
				if got := e.do(good); got.status >= 400 {
					t.Fatalf("%s %s with %s: got %d %s, want what the document says", method, good.path, good.body, got.status, got.body)
				}
				for _, wrong := range mistakes(e.contract, good, one) {
					got := e.do(wrong.request)
					if got.status != http.StatusUnprocessableEntity {
						t.Errorf("%s: %s %s with %s: got %d %s, want 422", wrong.name, method, wrong.path, asJSON(t, wrong.body), got.status, got.body)
					}
				}
			})
		}
	}
}

// good returns a request as the document describes it.
func (e *env) good(method, pattern string, one call) request {
	e.t.Helper()
	shared := string(e.share("operator").ID)
	r := request{method: method, path: strings.NewReplacer("{id}", shared, "{seq}", "1", "{server}", "web", "{tool}", "fetch", "{key}", "test:777").Replace(pattern)}
	if one.RequestBody != nil {
		var body map[string]any
		if err := json.Unmarshal(one.RequestBody.Content["application/json"].Example, &body); err != nil {
			e.t.Fatal(err)
		}
		r.body = body
	}
	switch one.OperationID {
	case "retryTask":
		want[api.Task](e, http.StatusOK, request{method: "POST", path: "/v1/tasks/" + shared + "/cancel"})
	case "decidePerson":
		e.admitted("test:777")
		r.body = map[string]any{"decision": "remove"}
	case "changeSchedule":
		e.schedule("s1", bot.Person{Platform: "test", ID: "ann"})
		r.path = "/v1/schedules/s1"
	case "decideApproval":
		r.path = "/v1/approvals/" + e.review(shared)
	case "putConfig":
		r.header = map[string]string{"If-Match": `"1"`}
	case "getPrompt", "summarizeTask":
		done, _ := want[api.Task](e, http.StatusCreated, request{method: "POST", path: "/v1/tasks", header: map[string]string{"Prefer": "wait=60"}, body: map[string]any{"goal": "Say hello."}})
		r.path = strings.NewReplacer("{id}", string(done.ID), "{step}", "plan%201.0").Replace(pattern)
	case "startTask":
		delete(r.body.(map[string]any), "groups") // there are none of that name
	}
	return r
}

// review makes a task wait for a person, and returns the id of the approval.
func (e *env) review(id string) string {
	e.t.Helper()
	want[api.State](e, http.StatusOK, request{method: "PUT", path: "/v1/tasks/" + id + "/state", token: "agent", body: map[string]any{"status": "NEEDS_HUMAN_REVIEW"}})
	list, _ := want[webapi.Page[api.Approval]](e, http.StatusOK, request{method: "GET", path: "/v1/approvals?task=" + id})
	if len(list.Items) != 1 || list.Items[0].Kind != "review" {
		e.t.Fatalf("got approvals %+v, want one review", list.Items)
	}
	return list.Items[0].ID
}
