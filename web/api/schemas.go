package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

// schemaName names the schema of a type, as programs call it.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[problem.Error]() {
		return "Problem"
	}
	return strings.NewReplacer("Listed", "TaskSummary", "Shared", "State", "Content", "ContentPart", "Wrong", "ProblemDetail").Replace(huma.DefaultSchemaNamer(t, hint))
}

// complete finishes the document when all calls are registered.
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
				note(all, sent, op.RequestBody.Content["application/json"].Schema)
			}
		}
	}
	for name, s := range all.Map() {
		s.Description = descriptions()[name]
		if !sent[name] {
			s.AdditionalProperties = nil // there may be more of them later
		}
		finish(name, s)
	}
}

// words are all that fields of replies can say, by schema and field.
func words() map[string][]string {
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
		"Approval.kind": {tasks.AskCalls, tasks.AskQuestion, tasks.AskForm, tasks.AskPlan, tasks.AskBudget, tasks.AskReview},
	}
}

func roleNames() []string {
	var names []string
	for _, role := range api.Roles() {
		names = append(names, string(role))
	}
	return names
}

// note adds the schemas that requests consist of.
func note(all huma.Registry, sent map[string]bool, s *huma.Schema) {
	if name := strings.TrimPrefix(s.Ref, "#/components/schemas/"); s.Ref != "" && !sent[name] {
		sent[name] = true
		s = all.SchemaFromRef(s.Ref)
	}
	for _, field := range s.Properties {
		note(all, sent, field)
	}
}

// finish describes the fields of a schema, and says of lists that they are never
// null.
func finish(name string, s *huma.Schema) {
	for field, p := range s.Properties {
		if text := descriptions()[name+"."+field]; text != "" {
			p.Description = text
		}
		if field == "at" || field == "timestamp" || strings.HasSuffix(field, "_at") {
			p.Format = "date-time"
		}
		if p.Type == huma.TypeArray {
			p.Nullable = false
		}
		for _, one := range words()[name+"."+field] {
			p.Enum = append(p.Enum, one)
		}
	}
}
