package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// page is what the template shows.
type page struct {
	About    string
	Tags     []pageTag
	Problems []problem
	Schemas  []pageSchema
}

type pageTag struct {
	Name, Text string
	Calls      []pageCall
}

type pageCall struct {
	ID, Method, Path, Summary, Text, Roles, Curl string
	Parameters                                   []pageField
	Body                                         *pageReply
	Replies                                      []pageReply
}

type pageReply struct {
	Status, Text, Kind, Example string
	Schema                      *schema
	Headers                     []pageField
}

type pageField struct {
	Name, In, Text string
	Required       bool
	Schema         schema
}

type pageSchema struct {
	Name, Text string
	Fields     []pageField
}

func render(t *testing.T, raw []byte) []byte {
	t.Helper()
	var d struct {
		Info struct{ Description string }
		Tags []struct{ Name, Description string }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	c := parseContract(t, raw)
	p := page{About: d.Info.Description}
	for _, tag := range d.Tags {
		shown := pageTag{Name: tag.Name, Text: tag.Description}
		for path, methods := range c.Paths {
			for method, one := range methods {
				if one.Tags[0] == tag.Name {
					shown.Calls = append(shown.Calls, pageCallOf(strings.ToUpper(method), path, one))
				}
			}
		}
		order := []string{"POST", "GET", "PUT", "PATCH"}
		slices.SortFunc(shown.Calls, func(a, b pageCall) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(slices.Index(order, a.Method), slices.Index(order, b.Method)))
		})
		p.Tags = append(p.Tags, shown)
	}
	p.Problems = problemsOf(t, c)
	for _, name := range slices.Sorted(maps.Keys(c.Components.Schemas)) {
		s := c.Components.Schemas[name]
		shown := pageSchema{Name: name, Text: s.Description}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			shown.Fields = append(shown.Fields, pageField{Name: field, Text: s.Properties[field].Description, Required: slices.Contains(s.Required, field), Schema: s.Properties[field]})
		}
		slices.SortStableFunc(shown.Fields, func(a, b pageField) int { return cmp.Compare(rank(s, a.Name), rank(s, b.Name)) })
		p.Schemas = append(p.Schemas, shown)
	}
	tmpl, err := template.New("docs.tmpl").Funcs(template.FuncMap{"rich": rich, "inline": inline, "kind": kindOf}).ParseFiles("testdata/docs.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rank puts fields that are always there before others, in the order of the
// document.
func rank(s schema, field string) int {
	if i := slices.Index(s.Required, field); i >= 0 {
		return i
	}
	return len(s.Required)
}

func pageCallOf(method, path string, one call) pageCall {
	text, roles, _ := strings.Cut(one.Description, "\n\nRoles: ")
	p := pageCall{ID: one.OperationID, Method: method, Path: path, Summary: one.Summary, Text: text, Roles: strings.TrimSuffix(roles, ".")}
	for _, param := range one.Parameters {
		p.Parameters = append(p.Parameters, pageField{Name: param.Name, In: param.In, Text: param.Description, Required: param.Required, Schema: param.Schema})
	}
	curl := []string{`curl -H "Authorization: Bearer $TOKEN"`}
	if one.Tags[0] == "events" {
		curl[0] = `curl -N -H "Authorization: Bearer $TOKEN"`
	}
	if one.OperationID == "getFile" {
		curl[0] = `curl -OJ -H "Authorization: Bearer $TOKEN"`
	}
	if one.OperationID == "uploadFile" {
		m := one.RequestBody.Content["multipart/form-data"]
		p.Body = &pageReply{Schema: &m.Schema}
		curl = append(curl, `-F file=@offers.pdf`)
	} else if one.RequestBody != nil {
		m := one.RequestBody.Content["application/json"]
		p.Body = &pageReply{Example: indented(m.Example), Schema: &m.Schema}
		curl = append(curl, `-H "Content-Type: application/json" -d '`+string(compacted(m.Example))+`'`)
	}
	if method != http.MethodGet && (method != http.MethodPost || one.RequestBody == nil) {
		curl[0] = strings.Replace(curl[0], "curl ", "curl -X "+method+" ", 1)
	}
	p.Curl = strings.Join(append(curl, `$LEGWORK`+strings.NewReplacer("{id}", "$ID", "{seq}", "1").Replace(path)), " \\\n  ")
	for _, status := range slices.Sorted(maps.Keys(one.Responses)) {
		p.Replies = append(p.Replies, pageReplyOf(status, one))
	}
	return p
}

func pageReplyOf(status string, one call) pageReply {
	response := one.Responses[status]
	r := pageReply{Status: status, Text: response.Description}
	for kind, m := range response.Content {
		r.Kind, r.Schema = kind, &m.Schema
		if m.Example != nil {
			r.Example = indented(m.Example)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(response.Headers)) {
		text, _ := response.Headers[name].(map[string]any)["description"].(string)
		r.Headers = append(r.Headers, pageField{Name: name, Text: text})
	}
	return r
}

// problemsOf are the kinds of problems, by the examples of all replies.
func problemsOf(t *testing.T, c *contract) []problem {
	t.Helper()
	all := map[string]problem{}
	for _, methods := range c.Paths {
		for _, one := range methods {
			for _, r := range one.Responses {
				for _, e := range r.Content["application/problem+json"].Examples {
					var p problem
					if err := json.Unmarshal(e.Value, &p); err != nil {
						t.Fatal(err)
					}
					all[p.Code] = p
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
}

// indented is JSON as people read it; a text as itself.
func indented(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func compacted(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

// rich is paragraphs of inline text.
func rich(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph != "" {
			out.WriteString("<p>" + string(inline(paragraph)) + "</p>")
		}
	}
	return template.HTML(out.String())
}

// inline is text in which `code` is marked.
func inline(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String())
}

// kindOf says in a few words what a schema allows.
func kindOf(s any) template.HTML {
	if p, ok := s.(*schema); ok {
		return kindOf(*p)
	}
	one := s.(schema)
	if name, ok := strings.CutPrefix(one.Ref, "#/components/schemas/"); ok {
		return template.HTML(fmt.Sprintf(`<a href="#schema-%s">%s</a>`, name, name))
	}
	text := "any JSON"
	switch kind := one.Type.(type) {
	case string:
		text = kind
	case []any:
		text = strings.ReplaceAll(strings.Trim(fmt.Sprint(kind), "[]"), " ", " or ")
	}
	if one.Items != nil {
		return "list of " + kindOf(*one.Items)
	}
	if one.Format != "" && one.Format != "int64" && one.Format != "double" {
		text += " (" + one.Format + ")"
	}
	for _, bound := range []struct {
		name string
		n    any
	}{{"from", value(one.Minimum)}, {"to", value(one.Maximum)}, {"at least", value(one.MinLength)}, {"at most", value(one.MaxLength)}, {"usually", one.Default}} {
		if bound.n != nil {
			text += fmt.Sprintf(", %s %v", bound.name, bound.n)
		}
	}
	out := template.HTML(template.HTMLEscapeString(text))
	for i, e := range one.Enum {
		out += template.HTML(map[bool]string{true: ": ", false: ", "}[i == 0] + "<code>" + template.HTMLEscapeString(fmt.Sprint(e)) + "</code>")
	}
	return out
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
