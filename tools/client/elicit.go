package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"legwork/internal/clip"
	"legwork/internal/form"
)

// elicitation is what a server asks of a person: the fields of a form, or to
// visit an address.
type elicitation struct {
	Mode    string          `json:"mode"` // form (also when it is empty) or url
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
	URL     string          `json:"url"`
}

// maxQuestion is what is shown of a question's text, and maxAddress how long the
// address may be that it is about, in bytes: that is shown whole or not at all.
const (
	maxQuestion = 4 << 10
	maxAddress  = 8 << 10
)

// readElicitation reads the params of elicitation/create and makes the question
// of them.
func readElicitation(params json.RawMessage) (form.Question, error) {
	var e elicitation
	if err := json.Unmarshal(params, &e); err != nil {
		return form.Question{}, fmt.Errorf("reading the question: %w", err)
	}
	var q form.Question
	q.Message = clip.Bytes(clean(e.Message), maxQuestion)
	switch e.Mode {
	case "", "form":
		fields, err := form.Parse(e.Schema)
		if err != nil {
			return form.Question{}, err
		}
		q.Fields = fields
	case "url":
		u, err := url.Parse(e.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return form.Question{}, errors.New("the question has an address that is not one of the web")
		}
		if len(e.URL) > maxAddress {
			return form.Question{}, fmt.Errorf("the question has an address of %d bytes; the limit is %d", len(e.URL), maxAddress)
		}
		q.URL = e.URL
	default:
		return form.Question{}, fmt.Errorf("questions of the mode %q are not known", clean(e.Mode))
	}
	return q, nil
}

// elicited is the answer as servers want it.
type elicited struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content,omitzero"`
}

// readAnswer checks a person's answer against the question, so that nothing
// reaches the server that it did not ask for. What was left out has its default.
func readAnswer(q form.Question, a form.Answer) (elicited, error) {
	switch a.Action {
	case form.Decline, form.Cancel:
		return elicited{Action: a.Action}, nil
	case form.Accept:
	default:
		return elicited{}, fmt.Errorf("an answer by %q is not known", a.Action)
	}
	if q.URL != "" {
		return elicited{Action: form.Accept}, nil
	}
	content := map[string]json.RawMessage{}
	for _, f := range q.Fields {
		v := a.Values[f.Name]
		if len(v) == 0 {
			v = f.Default
		}
		switch {
		case len(v) == 0 && f.Required:
			return elicited{}, fmt.Errorf("the answer lacks %q", f.Name)
		case len(v) == 0:
			continue
		}
		if err := f.Check(v); err != nil {
			return elicited{}, fmt.Errorf("the answer's %q does not fit: %w", f.Name, err)
		}
		content[f.Name] = v
	}
	return elicited{Action: form.Accept, Content: content}, nil
}

// elicit brings a question that came in the midst of a call to a person.
func (c *connection) elicit(ctx context.Context, f *flight, params json.RawMessage) (any, error) {
	q, err := readElicitation(params)
	if err != nil {
		return nil, invalid(err)
	}
	if f == nil || f.call.Ask == nil {
		return elicited{Action: form.Decline}, nil
	}
	a, err := f.ask(ctx, q)
	if err != nil {
		return elicited{Action: form.Cancel}, nil //nolint:nilerr // the call ends with it, or the server asks no more
	}
	e, err := readAnswer(q, a)
	if err != nil {
		c.log.Warn("an answer was not passed on to the server", "err", err)
		return elicited{Action: form.Cancel}, nil
	}
	return e, nil
}
