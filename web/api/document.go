package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"legwork/planner"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// document is the OpenAPI document without operations.
func (c *calls) document() *huma.OpenAPI {
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "legwork", Version: c.Version, License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
			Description: "Tasks and their contexts: people, programs and agents work on the same task. Every request carries a token: `Authorization: Bearer TOKEN`. " +
				"Errors are problem documents (RFC 9457) whose `code` is for programs and whose `detail` is for people. Ignore unknown fields: later versions may add some.",
		},
		Components: &huma.Components{
			Schemas:         huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "A token of the config; `legwork token new` makes one."}},
		},
		Tags: []*huma.Tag{
			{Name: "tasks", Description: "Start tasks, read them, end them."},
			{Name: "context", Description: "The messages of a task: everything that people, agents and legwork said and did."},
			{Name: "state", Description: "Keys and values that everybody who works on a task shares."},
			{Name: "files", Description: "Files for tasks, and files of tasks."},
			{Name: "events", Description: "Follow tasks by server-sent events."},
			{Name: "approvals", Description: "Decisions that wait for a person."},
			{Name: "operations", Description: "Servers, models, people, schedules and the process, for those who operate legwork."},
			{Name: "connections", Description: "Sign-ins of people at tool servers."},
			{Name: "reports", Description: "Groups, spending, the audit log, the token itself."},
			{Name: "config", Description: "The config file, with secrets hidden."},
		},
	}
	d.Servers = []*huma.Server{{URL: cmp.Or(strings.TrimSuffix(c.Public, "/"), "/")}}
	return d
}

// problemResponse refers to the response for problems with one of the codes.
// Operations share these responses.
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

// problems is a response for problems, with an example of each code.
func problems(codes []problem.Code) *huma.Response {
	media := &huma.MediaType{Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}, Examples: map[string]*huma.Example{}}
	var titles []string
	r := &huma.Response{Content: map[string]*huma.MediaType{"application/problem+json": media}}
	for _, one := range codes {
		p := problem.New(one, "")
		titles = append(titles, p.Title)
		if one == problem.Invalid {
			p.Errors = []problem.Mistake{{Location: "body.goal", Message: "expected length >= 1"}}
		}
		switch one {
		case problem.Media:
			header(r, "Accept", "Accepted content types.")
		case problem.Precondition:
			header(r, "ETag", "The current version of the state. The config file has none here.")
		}
		media.Examples[string(one)] = &huma.Example{Value: p}
		for name := range p.GetHeaders() {
			header(r, name, map[string]string{"Retry-After": "Seconds after which to try again.", problem.CodeHeader: "'needed': the request needs a code; the role may do it."}[name])
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

// describe adds to the document what huma cannot derive from an operation.
func (o operation) describe(op *huma.Operation) {
	success := op.Responses[strconv.Itoa(op.DefaultStatus)]
	success.Description = "Success."
	media := success.Content["application/json"]
	if o.tag == "events" {
		success.Description = "A stream of server-sent events."
		media = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		success.Content = map[string]*huma.MediaType{"text/event-stream": media}
	}
	if o.binary {
		media = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
		success.Content = map[string]*huma.MediaType{"*/*": media}
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
		if more.withBody {
			r.Content = success.Content
		}
		op.Responses[strconv.Itoa(more.status)] = r
	}
	if o.upload { // huma does not read this body
		file := &huma.Schema{Type: huma.TypeObject, Required: []string{"file"}, Properties: map[string]*huma.Schema{
			"file": {Type: huma.TypeString, Format: "binary", Description: "The content, with a file name."},
		}}
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: file}}}
	} else if op.RequestBody != nil {
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

// schemaName is the name of the schema of a type.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[problem.Error]():
		return "Problem"
	case reflect.TypeFor[problem.Mistake]():
		return "ProblemDetail"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// complete finishes the document after all operations were registered.
func complete(d *huma.OpenAPI) {
	all := d.Components.Schemas
	for _, t := range []reflect.Type{reflect.TypeFor[problem.Error](), reflect.TypeFor[api.FeedMessage](), reflect.TypeFor[Lost]()} {
		all.Schema(t, true, "")
	}
	delete(all.Map(), "ErrorModel")
	delete(all.Map(), "ErrorDetail")
	sent := map[string]bool{}
	for _, item := range d.Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put, item.Patch} {
			if op != nil && op.RequestBody != nil {
				if json := op.RequestBody.Content["application/json"]; json != nil {
					addRequestSchemas(all, sent, json.Schema)
				}
			}
		}
	}
	for name, s := range all.Map() {
		s.Description = types()[name]
		if !sent[name] {
			s.AdditionalProperties = nil // replies may get more fields later
		}
		completeFields(name, s)
	}
}

// enums are the possible values of fields of replies, by schema and field.
func enums() map[string][]string {
	var codes []string
	for _, one := range problem.Codes() {
		codes = append(codes, string(one))
	}
	senders := []string{"human", "agent", "tool", "system"}
	return map[string][]string{
		"Problem.code": codes,
		"Task.state":   api.States(), "TaskSummary.state": api.States(),
		"Subtask.state":       {"todo", "working", "waiting", "done", "failed", "skipped"},
		"Message.sender_type": senders, "FeedMessage.sender_type": senders,
		"Message.type": api.Types(), "FeedMessage.type": api.Types(),
		"Me.role":       roleNames(),
		"Approval.kind": {string(planner.SubjectCalls), string(planner.SubjectQuestion), string(planner.SubjectForm), string(planner.SubjectPlan), string(planner.SubjectBudget), string(planner.SubjectReview), string(planner.SubjectGoal)},
	}
}

func roleNames() []string {
	var names []string
	for _, role := range policy.Roles() {
		names = append(names, string(role))
	}
	return names
}

// addRequestSchemas adds the schemas that occur in requests to a set.
func addRequestSchemas(all huma.Registry, sent map[string]bool, s *huma.Schema) {
	if name := strings.TrimPrefix(s.Ref, "#/components/schemas/"); s.Ref != "" && !sent[name] {
		sent[name] = true
		s = all.SchemaFromRef(s.Ref)
	}
	for _, field := range s.Properties {
		addRequestSchemas(all, sent, field)
	}
}

// completeFields completes the descriptions of the fields of a schema. Lists are
// never null.
func completeFields(name string, s *huma.Schema) {
	for field, p := range s.Properties {
		p.Description = marked(p.Description)
		if field == "at" || field == "timestamp" || strings.HasSuffix(field, "_at") {
			p.Format = "date-time"
		}
		if p.Type == huma.TypeArray {
			p.Nullable = false
		}
		for _, one := range enums()[name+"."+field] {
			p.Enum = append(p.Enum, one)
		}
	}
}

// marked is the text of a doc tag with backquotes around code. A struct tag cannot
// contain a backquote, so that tags have ' in its place.
func marked(text string) string { return strings.ReplaceAll(text, "'", "`") }

// types are the descriptions of the schemas, by name. Those of fields are doc tags.
func types() map[string]string {
	return map[string]string{
		"NewTask":          "A task to start.",
		"Notify":           "A chat or a webhook, by name.",
		"Retry":            "Options for starting a task again.",
		"Answer":           "The answer of an agent from outside.",
		"Task":             "A task.",
		"Quoted":           "A message that a question brought along.",
		"Subtask":          "A part of a plan.",
		"Usage":            "What model calls used.",
		"TaskSummary":      "A task in a list.",
		"Steps":            "The steps of a task.",
		"Step":             "A model call, a tool call, a decision of a person, or what else takes time in a task.",
		"Path":             "The critical path of a task.",
		"Prompt":           "The prompt of a model call.",
		"PromptMessage":    "A message of a prompt.",
		"PromptToolCall":   "A tool call of a model in a prompt.",
		"PromptTool":       "A tool that a model is offered.",
		"Outline":          "The summary of a task.",
		"File":             "A file of a task or message, or an upload.",
		"Context":          "A part of a task's context.",
		"Message":          "One message of a context.",
		"NewMessage":       "A message to add to a context.",
		"ContentPart":      "A part of the content of one message.",
		"State":            "The shared state of a task.",
		"Approval":         "A decision that waits for a person.",
		"ApprovalCall":     "A tool call that needs approval.",
		"Decision":         "The decision of a person.",
		"FeedMessage":      "A message in the order of all tasks.",
		"Lost":             "Messages between the cursor of the request and now are no longer kept.",
		"Group":            "A tool group.",
		"GroupServer":      "A server of a group.",
		"GroupTool":        "A tool.",
		"UsageRow":         "The spending, by the requested keys. Other keys are left out.",
		"AuditEntry":       "A decision or change, and who made it.",
		"Me":               "The token of the request.",
		"Problem":          "An error (RFC 9457).",
		"ProblemDetail":    "One mistake in a request.",
		"Server":           "A tool server.",
		"ServerDetails":    "A tool server with its tools.",
		"ServerTool":       "A tool of a server.",
		"Annotations":      "What a server says about a tool.",
		"ToolRule":         "What the rules of a group say about a tool.",
		"ToolChange":       "A tool whose server has changed its definition.",
		"CallFailure":      "A call that failed.",
		"Latency":          "Durations since legwork started.",
		"Acceptance":       "Changed tools to accept.",
		"Trial":            "A call of a tool by hand.",
		"TriedCall":        "The outcome of a call by hand.",
		"TriedImage":       "A picture in a result.",
		"TriedContent":     "A content in a result that is no text.",
		"Model":            "A language model.",
		"Price":            "The price of a model, in US dollars.",
		"Health":           "The state of the process and of its data.",
		"HealthPart":       "The state of a part of the process.",
		"StoreHealth":      "The size of the stored data.",
		"Backups":          "The backups of the data.",
		"Backup":           "A backup.",
		"AlertHealth":      "What admins and webhooks were told.",
		"Alert":            "An alert.",
		"Queue":            "The work that is to be done.",
		"DayBudget":        "A budget of the whole process for today.",
		"People":           "The people who may talk to legwork.",
		"AccessRule":       "What the config says about a platform.",
		"PersonAccess":     "What admins have decided about a person.",
		"PersonAsks":       "A person who wants access.",
		"PersonDecision":   "A decision about a person.",
		"Schedule":         "A schedule.",
		"ScheduleAction":   "An action on a schedule.",
		"Connection":       "A server at which people sign in.",
		"SignIn":           "A sign-in at a server.",
		"PersonSignIn":     "The sign-in of a person at a server.",
		"BegunSignIn":      "A sign-in that has begun.",
		"EndedSignIns":     "The number of ended sign-ins.",
		"PageServer":       "Tool servers.",
		"PageModel":        "Language models.",
		"PageSchedule":     "Schedules.",
		"PageConnection":   "Servers at which people sign in.",
		"PagePersonSignIn": "Sign-ins at a server.",
		"PageTaskSummary":  "Tasks.",
		"PageApproval":     "Approvals.",
		"PageGroup":        "Groups.",
		"PageUsageRow":     "The spending.",
		"PageAuditEntry":   "Entries of the audit log.",

		"ConfigText":        "The config file.",
		"ConfigMistake":     "A mistake in the config file.",
		"ConfigDraft":       "A text of the config file.",
		"NewConfig":         "A text of the config file to save.",
		"ConfigCheck":       "The mistakes of a text, and what it would change.",
		"ConfigSaved":       "The outcome of saving the config file.",
		"ConfigCode":        "A code was shown to people.",
		"ConfigVersion":     "An earlier content of the config file.",
		"ConfigVersionText": "An earlier content of the config file.",
		"PageConfigVersion": "Earlier contents of the config file.",
	}
}

// docsPage shows the document to people. The tests of this package generate it from
// the document (go test ./web/api -update), so that serving it costs nothing.
//
//go:embed docs.html
var docsPage []byte

// docsPolicy allows the page its own style and nothing else, in particular no scripts.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a reply that stays the same as long as the process runs.
type file struct {
	kind, tag string
	body      []byte
}

func newFile(kind string, body []byte) file {
	hash := sha256.Sum256(body)
	return file{kind, `"` + hex.EncodeToString(hash[:12]) + `"`, body}
}

// Docs serves /openapi.json and /docs. They need no token.
func (a *API) Docs() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path != "/openapi.json" && r.URL.Path != "/docs" {
			problem.New(problem.NotFound, "There is no page at this address; see /docs.").Write(w)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			problem.WriteMethod(w, r, "GET, HEAD")
			return
		}
		p, err := a.docs(), error(nil)
		if r.URL.Path == "/openapi.json" {
			p, err = a.openAPI()
		}
		if err != nil {
			a.calls.Log.ErrorContext(r.Context(), "encoding OpenAPI document failed", "cause", err)
			problem.New(problem.Internal, "The log has the details.").Write(w)
			return
		}
		h.Set("Content-Type", p.kind)
		h.Set("ETag", p.tag)
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.body))
	})
}
