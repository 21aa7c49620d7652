package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

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
			return form.Question{}, errors.New("the question has an address that does not begin with https:// or http://")
		}
		if len(e.URL) > maxAddress {
			return form.Question{}, fmt.Errorf("the question has an address of %d bytes; the limit is %d", len(e.URL), maxAddress)
		}
		q.URL = e.URL
	default:
		return form.Question{}, fmt.Errorf("legwork does not know questions of the mode %q", clean(e.Mode))
	}
	return q, nil
}

// elicited is the answer as servers want it.
type elicited struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content,omitzero"`
}

// readAnswer checks a person's answer against the question, so that nothing
// reaches the server that it did not ask for. A field that was left out has
// its default.
func readAnswer(q form.Question, a form.Answer) (elicited, error) {
	switch a.Action {
	case form.Decline, form.Cancel:
		return elicited{Action: a.Action}, nil
	case form.Accept:
	default:
		return elicited{}, fmt.Errorf("legwork does not know the answer %q", a.Action)
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
func (c *connection) elicit(ctx context.Context, f *inFlightCall, params json.RawMessage) (any, error) {
	q, err := readElicitation(params)
	if err != nil {
		return nil, invalidParams(err)
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
		c.log.Warn("answer not sent to the server", "cause", err)
		return elicited{Action: form.Cancel}, nil
	}
	return e, nil
}

// inputRequests are questions that a server of the stateless revisions (2026-07-28)
// returned in place of a result. It wants the same request again with the answers.
// As JSON it is a Result's State.
type inputRequests struct {
	State    json.RawMessage            `json:"state,omitempty"` // of the server, given back as it came
	Requests []inputRequest             `json:"requests,omitempty"`
	Answers  map[string]json.RawMessage `json:"answers,omitempty"` // by id of the request
	Visit    bool                       `json:"visit,omitempty"`   // the one request is an address; then the call is made anew
	Task     string                     `json:"task,omitempty"`    // id of the server's task that wants to know, or goes on
	Pause    time.Duration              `json:"pause,omitempty"`   // Task: before the next look at it
}

// inputRequest is one thing that a server wants to know.
type inputRequest struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

const maxRounds = 20 // of questions and answers in one call

var (
	errRounds     = errors.New("it keeps asking questions")
	errNotVisited = errors.New("the person did not open the address that it needs")
	errAskedAgain = errors.New("it asks again for something that legwork refused")
)

// outcome is what a request led to: a result, or a question.
type outcome struct {
	got      captured
	question *form.Question
	state    json.RawMessage
}

// callWithInputs makes a request, and makes it again with what the server wants to know
// as long as no person has to be asked.
func (c *connection) callWithInputs(ctx context.Context, f *inFlightCall, request requestFunc) (outcome, error) {
	in, err := f.resumed()
	if err != nil {
		return outcome{}, err
	}
	if in.needsPerson() {
		return in.outcome()
	}
	if in.Task != "" {
		return c.continueTask(ctx, f, in)
	}
	busy := newPauses(500 * time.Millisecond)
	refused := map[string]bool{}
	for range maxRounds {
		got := captured{call: f, params: in.params()}
		if err := request(ctx, &got); err != nil {
			if visit, ok := urlElicitation(err); ok {
				return visit.outcome()
			}
			return outcome{}, err
		}
		if t, ok := readTask(got.result()); ok {
			return c.beginTask(ctx, f, t)
		}
		next, asks, err := readInputs(got.result())
		switch {
		case err != nil:
			return outcome{}, err
		case !asks:
			return outcome{got: got}, nil
		case got.dropped > 0:
			return outcome{}, errors.New("its question is too long")
		case len(next.Requests) == 0:
			if err := busy.Sleep(ctx); err != nil { // it is busy
				return outcome{}, err
			}
		}
		if err := c.answerAutomatically(ctx, f, &next, refused); err != nil {
			return outcome{}, err
		}
		if next.needsPerson() {
			return next.outcome()
		}
		in = next
	}
	return outcome{}, errRounds
}

// resumed is the state of a call that goes on, with the answer to its question.
func (f *inFlightCall) resumed() (inputRequests, error) {
	if f.call.Resume == nil {
		return inputRequests{}, nil
	}
	in := inputRequests{Answers: map[string]json.RawMessage{}}
	if err := json.Unmarshal(f.call.Resume.State, &in); err != nil {
		return inputRequests{}, fmt.Errorf("reading the state of the call: %w", err)
	}
	if err := in.answer(f.call.Resume.Answer); err != nil {
		return inputRequests{}, err
	}
	if in.Visit {
		if f.call.Resume.Answer.Action != form.Accept {
			return inputRequests{}, errNotVisited
		}
		return inputRequests{}, nil
	}
	return in, nil
}

// readInputs reads what a server wants to know out of a result, in its order.
func readInputs(result []byte) (in inputRequests, asks bool, err error) {
	if !bytes.Contains(result, []byte(`"resultType"`)) {
		return inputRequests{}, false, nil
	}
	var r struct {
		Type     mcp.ResultType  `json:"resultType"`
		State    json.RawMessage `json:"requestState"`
		Requests json.RawMessage `json:"inputRequests"`
	}
	_ = json.Unmarshal(result, &r) // the reader of a result says why it is wrong
	if r.Type != mcp.ResultTypeInputRequired {
		return inputRequests{}, false, nil
	}
	in = inputRequests{State: r.State, Answers: map[string]json.RawMessage{}}
	if len(r.Requests) == 0 || string(r.Requests) == "null" {
		return in, true, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Requests))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return inputRequests{}, true, errors.New("reading its questions: they are not a JSON object")
	}
	for d.More() && len(in.Requests) <= maxRounds {
		t, err := d.Token()
		if err != nil {
			return inputRequests{}, true, fmt.Errorf("reading its questions: %w", err)
		}
		var one inputRequest
		if err := d.Decode(&one); err != nil {
			return inputRequests{}, true, fmt.Errorf("reading its questions: %w", err)
		}
		one.ID, _ = t.(string)
		in.Requests = append(in.Requests, one)
	}
	return in, true, nil
}

// urlElicitation reads the error by which a server of 2025-11-25 says that a person
// has to visit an address first. Others come with the next try.
func urlElicitation(err error) (inputRequests, bool) {
	var refused *rpcError
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if !errors.As(err, &refused) || refused.code != mcp.URL_ELICITATION_REQUIRED || json.Unmarshal(refused.data, &data) != nil {
		return inputRequests{}, false
	}
	for _, e := range data.Elicitations {
		if q, err := readElicitation(e); err == nil && q.URL != "" {
			return inputRequests{Visit: true, Requests: []inputRequest{{ID: "visit", Method: string(mcp.MethodElicitationCreate), Params: e}}, Answers: map[string]json.RawMessage{}}, true
		}
	}
	return inputRequests{}, false
}

// answerAutomatically answers the requests that need no form, and declines questions
// that cannot be shown. It adds the methods that it refuses to refused. A server
// that uses one of them again ends the call, because a person may have said no.
func (c *connection) answerAutomatically(ctx context.Context, f *inFlightCall, in *inputRequests, refused map[string]bool) error {
	var now []string
	for _, r := range in.Requests {
		var result any
		var err error
		if r.Method == string(mcp.MethodElicitationCreate) {
			if _, err = readElicitation(r.Params); err == nil {
				continue
			}
			c.log.Warn("question of the server declined", "cause", err)
			result, err = elicited{Action: form.Decline}, nil
		} else if refused[r.Method] {
			return errAskedAgain
		} else {
			result, err = c.answerRequest(ctx, f, request{Method: r.Method, Params: r.Params})
		}
		if err != nil {
			c.log.Warn("request of the server refused", "method", r.Method, "cause", err)
			now = append(now, r.Method)
			continue // no answer: the server decides what that means
		}
		if b, err := json.Marshal(result); err == nil {
			in.Answers[r.ID] = b
		}
	}
	for _, method := range now {
		refused[method] = true
	}
	return nil
}

// part is one elicitation of a question. prefix is put before the names of its
// fields.
type part struct {
	inputRequest
	question form.Question
	prefix   string
}

// parts are the elicitations that are asked next: all forms together, then one
// address after the other.
func (in inputRequests) parts() []part {
	var forms, visits []part
	for _, r := range in.Requests {
		if _, done := in.Answers[r.ID]; done || r.Method != string(mcp.MethodElicitationCreate) {
			continue
		}
		q, err := readElicitation(r.Params)
		switch {
		case err != nil: // it was declined
		case q.URL != "":
			visits = append(visits, part{inputRequest: r, question: q})
		default:
			forms = append(forms, part{inputRequest: r, question: q, prefix: r.ID + "."})
		}
	}
	switch {
	case len(forms) == 1:
		forms[0].prefix = ""
		return forms
	case len(forms) > 1:
		return forms
	case len(visits) > 1:
		return visits[:1]
	}
	return visits
}

// needsPerson tells that a person has to be asked.
func (in inputRequests) needsPerson() bool { return len(in.parts()) > 0 }

// outcome is the question to a person, and the state by which it goes on.
func (in inputRequests) outcome() (outcome, error) {
	var q form.Question
	var texts []string
	for _, p := range in.parts() {
		texts = append(texts, p.question.Message)
		q.URL = p.question.URL
		for _, f := range p.question.Fields {
			f.Name = p.prefix + f.Name
			q.Fields = append(q.Fields, f)
		}
	}
	q.Message = strings.Join(texts, "\n\n")
	state, err := json.Marshal(in)
	return outcome{question: &q, state: state}, err
}

// answer takes an answer apart again. Who declines is asked nothing more.
func (in inputRequests) answer(a form.Answer) error {
	parts := in.parts()
	if a.Action != form.Accept {
		for _, r := range in.Requests {
			if _, done := in.Answers[r.ID]; !done && r.Method == string(mcp.MethodElicitationCreate) {
				parts = append(parts, part{inputRequest: r})
			}
		}
	}
	for _, p := range parts {
		mine := form.Answer{Action: a.Action, Values: map[string]json.RawMessage{}}
		for name, v := range a.Values {
			if own, ok := strings.CutPrefix(name, p.prefix); ok {
				mine.Values[own] = v
			}
		}
		e, err := readAnswer(p.question, mine)
		if err != nil {
			return err
		}
		if in.Answers[p.ID], err = json.Marshal(e); err != nil {
			return err
		}
	}
	return nil
}

// params are what the request is made again with.
func (in inputRequests) params() map[string]any {
	set := map[string]any{}
	if len(in.Answers) > 0 {
		set["inputResponses"] = in.Answers
	}
	if len(in.State) > 0 && string(in.State) != "null" {
		set["requestState"] = in.State
	}
	return set
}
