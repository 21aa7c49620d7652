package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/planner"
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
		s.Description = types()[name]
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
		"Approval.kind": {string(planner.SubjectCalls), string(planner.SubjectQuestion), string(planner.SubjectForm), string(planner.SubjectPlan), string(planner.SubjectBudget), string(planner.SubjectReview)},
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
		p.Description = marked(p.Description)
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

// marked is a text of a doc tag with its code marked as in Markdown: tags cannot
// hold the character for it, and have ' in its place.
func marked(text string) string { return strings.ReplaceAll(text, "'", "`") }

// types says what the schemas mean, by their names. Their fields have doc tags.
func types() map[string]string {
	return map[string]string{
		"NewTask":         "A task to be started.",
		"Notify":          "A chat or a webhook, by name.",
		"Retry":           "Says more about starting a task anew.",
		"Answer":          "An answer that is handed in.",
		"Task":            "A task.",
		"Subtask":         "A part of a plan.",
		"Usage":           "What model calls cost.",
		"TaskSummary":     "A task in a list.",
		"Context":         "A part of a task's context.",
		"Message":         "One message of a context.",
		"NewMessage":      "Something to be added to a context.",
		"ContentPart":     "A part of the content of one message.",
		"State":           "The shared state of a task.",
		"Approval":        "Something that waits for a person.",
		"ApprovalCall":    "A call of a tool that is to be allowed.",
		"Decision":        "What a person decides.",
		"FeedMessage":     "A message in the order of all tasks.",
		"Lost":            "Says that messages between the cursor of a request and now are no longer kept.",
		"Group":           "A tool group.",
		"GroupServer":     "A server of a group.",
		"GroupTool":       "A tool.",
		"UsageRow":        "What was spent, by what was asked for; fields that were not are left out.",
		"AuditEntry":      "Who decided or changed something.",
		"Me":              "The token of the request.",
		"Problem":         "An error, as RFC 9457 has it.",
		"ProblemDetail":   "One thing that is wrong with a request.",
		"PageTaskSummary": "Tasks.",
		"PageApproval":    "Approvals.",
		"PageGroup":       "Groups.",
		"PageUsageRow":    "What was spent.",
		"PageAuditEntry":  "Entries of the audit log.",
	}
}
