package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form is what ask_form wants to know.
const form = `{"type":"object","properties":{
	"class":{"type":"string","title":"Class","description":"Where to sit","enum":["economy","business","first"],"enumNames":["Economy","Business","First"]},
	"window":{"type":"boolean","title":"Window seat","default":true},
	"bags":{"type":"integer","title":"Bags","minimum":0,"maximum":3},
	"email":{"type":"string","title":"E-mail","format":"email"},
	"note":{"type":"string","title":"Note","maxLength":40}},
	"required":["class","bags","email"]}`

// choices holds the newer ways to choose, and the other formats of a text.
const choices = `{"type":"object","properties":{
	"seat":{"type":"string","title":"Seat","oneOf":[{"const":"w","title":"At the window"},{"const":"a","title":"At the aisle"}]},
	"meals":{"type":"array","title":"Meals","items":{"type":"string","enum":["breakfast","lunch","dinner"]},"minItems":1,"maxItems":2,"default":["lunch"]},
	"extras":{"type":"array","title":"Extras","items":{"anyOf":[{"const":"p","title":"Pillow"},{"const":"b","title":"Blanket"}]}},
	"price":{"type":"number","title":"At most","exclusiveMinimum":0,"maximum":999.5,"default":99.5},
	"day":{"type":"string","title":"Day","format":"date"},
	"at":{"type":"string","title":"At","format":"date-time"},
	"site":{"type":"string","title":"Site","format":"uri"},
	"code":{"type":"string","title":"Code","minLength":2,"maxLength":4,"default":"none"}},
	"required":["seat"]}`

const confirm = `{"type":"object","properties":{"sure":{"type":"boolean","title":"Really?"}},"required":["sure"]}`

// offerQuestions offers tools that ask the client: people, its model, or where
// it works.
func (f *fake) offerQuestions() {
	add := func(name, description string, handle server.ToolHandlerFunc) {
		f.askers[name] = f.done(handle)
		f.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription(description)), f.askers[name])
	}
	add("ask_form", "Asks for a seat.", f.asks(question{id: "seat", form: form, message: "Which seat would you like?"}))
	add("ask_url", "Asks to sign in.", f.asks(question{id: "login", url: f.login, message: "Please sign in to the shop."}))
	add("ask_twice", "Asks for a seat, then whether it is meant.", f.asks(
		question{id: "seat", form: form, message: "Which seat would you like?"}, question{id: "sure", form: confirm, message: "Shall I book it?"}))
	add("ask_choices", "Asks for many things that have choices.", f.asks(question{id: "choices", form: choices, message: "How would you like to travel?"}))
	add("ask_both", "Asks for a seat and whether it is meant, at once.", f.both)
	add("ask_first", "Wants a person to sign in before the first call.", f.first)
	add("sample", "Has the client's model write a poem.", f.sample)
	add("roots", "Asks which folders it may use.", f.roots)
}

// question is one elicitation: a form or a URL.
type question struct{ id, message, form, url string }

func (q question) params() mcp.ElicitationParams {
	if q.url != "" {
		return mcp.ElicitationParams{Mode: mcp.ElicitationModeURL, Message: q.message, ElicitationID: q.id, URL: q.url}
	}
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: q.message, RequestedSchema: json.RawMessage(q.form)}
}

// asks handles a call that asks questions one after the other and returns what
// it was told. Earlier answers travel in the state, which is signed, so that
// another process may take the rest.
func (f *fake) asks(questions ...question) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		told, err := f.open(r)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if n := len(told); n > 0 || r.Params.RequestState != "" {
			answer := server.ElicitationResponse(r.Params.InputResponses, questions[n].id)
			if answer == nil {
				return f.accuse(r, "no answer to "+questions[n].id), nil
			}
			if wrong := f.check(questions[n], answer.ElicitationResponse); wrong != "" {
				return f.accuse(r, wrong), nil
			}
			b, _ := json.Marshal(answer.ElicitationResponse)
			f.log.write(entry{Event: "told", Tool: r.Params.Name, Args: b, Note: questions[n].id})
			told = append(told, b)
			if answer.Action != mcp.ElicitationResponseActionAccept || len(told) == len(questions) {
				b, _ := json.Marshal(told)
				return mcp.NewToolResultText(string(b)), nil
			}
		}
		next := questions[len(told)]
		if !canElicit(ctx, next) {
			return mcp.NewToolResultError("the client cannot ask people"), nil
		}
		f.log.write(entry{Event: "asked", Tool: r.Params.Name, Note: next.id})
		return server.NewInputRequestBuilder(seal(r.Params.Name, told)).Elicit(next.id, next.params()).ToolResult(), nil
	}
}

// check says what is wrong with an answer.
func (f *fake) check(q question, a mcp.ElicitationResponse) string {
	switch {
	case a.Action == "decline" || a.Action == "cancel" || a.Action == "accept" && q.url != "":
		return ""
	case a.Action != "accept":
		return fmt.Sprintf("the action %q", a.Action)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(q.form))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		err = c.AddResource("form.json", schema)
		if err == nil {
			var s *jsonschema.Schema
			if s, err = c.Compile("form.json"); err == nil {
				err = s.Validate(a.Content)
			}
		}
	}
	if err != nil {
		return "content that does not fit the form: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return ""
}

// accuse logs a violation in an answer and fails the call.
func (f *fake) accuse(r mcp.CallToolRequest, text string) *mcp.CallToolResult {
	f.log.write(entry{Event: "violation", Tool: r.Params.Name, Note: "elicitation: " + text})
	return mcp.NewToolResultError(text)
}

// open reads what seal wrote, byte by byte the same or not at all.
func (f *fake) open(r mcp.CallToolRequest) ([]json.RawMessage, error) {
	state := r.Params.RequestState
	if state == "" {
		if len(r.Params.InputResponses) > 0 {
			f.accuse(r, "answers without the state")
			return nil, fmt.Errorf("answers without the state")
		}
		return nil, nil
	}
	var told []json.RawMessage
	_, body, _ := strings.Cut(state, "\n")
	if err := json.Unmarshal([]byte(body), &told); err != nil || seal(r.Params.Name, told) != state {
		f.accuse(r, fmt.Sprintf("the state came back changed: %q", state))
		return nil, fmt.Errorf("the state came back changed")
	}
	return told, nil
}

// seal is the state of a call: characters that encoders like to touch, a
// signature that any process can check, and what was told.
func seal(tool string, told []json.RawMessage) string {
	if told == nil {
		told = []json.RawMessage{}
	}
	body, _ := json.Marshal(told)
	mac := hmac.New(sha256.New, []byte("a key for tests"))
	fmt.Fprintf(mac, "%s\n%s", tool, body)
	return "\t <&>/+%2F é\u2028😀\\ " + hex.EncodeToString(mac.Sum(nil)) + " \n" + string(body)
}

// both asks two questions in one round.
func (f *fake) both(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	seat, sure := question{id: "seat", form: form, message: "Which seat would you like?"}, question{id: "sure", form: confirm, message: "Shall I book it?"}
	if _, err := f.open(r); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if r.Params.RequestState == "" {
		if !canElicit(ctx, seat) {
			return mcp.NewToolResultError("the client cannot ask people"), nil
		}
		f.log.write(entry{Event: "asked", Tool: r.Params.Name, Note: "seat sure"})
		return server.NewInputRequestBuilder(seal(r.Params.Name, nil)).Elicit("seat", seat.params()).Elicit("sure", sure.params()).ToolResult(), nil
	}
	told := map[string]mcp.ElicitationResponse{}
	for _, q := range []question{seat, sure} {
		answer := server.ElicitationResponse(r.Params.InputResponses, q.id)
		if answer == nil {
			return f.accuse(r, "no answer to "+q.id), nil
		}
		if wrong := f.check(q, answer.ElicitationResponse); wrong != "" {
			return f.accuse(r, wrong), nil
		}
		told[q.id] = answer.ElicitationResponse
	}
	b, _ := json.Marshal(told)
	f.log.write(entry{Event: "told", Tool: r.Params.Name, Args: b})
	return mcp.NewToolResultText(string(b)), nil
}

// first fails the first call with the error that tells where to sign in.
func (f *fake) first(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if f.signedIn.Swap(true) {
		return mcp.NewToolResultText("signed in"), nil
	}
	return nil, mcp.URLElicitationRequiredError{Elicitations: []mcp.ElicitationParams{{Mode: mcp.ElicitationModeURL, Message: "Please sign in.", ElicitationID: "first", URL: "https://shop.example.com/login?first=1"}}}
}

func (f *fake) sample(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.SamplingResponse(r.Params.InputResponses, "poem"); answer != nil {
		b, _ := json.Marshal(answer)
		f.log.write(entry{Event: "told", Tool: r.Params.Name, Args: b})
		return mcp.NewToolResultText(string(b)), nil
	}
	if capabilities(ctx).Sampling == nil {
		return mcp.NewToolResultError("the client has no model to offer"), nil
	}
	f.log.write(entry{Event: "asked", Tool: r.Params.Name})
	return server.NewInputRequestBuilder(seal(r.Params.Name, nil)).Sample("poem", mcp.CreateMessageParams{
		SystemPrompt: "You are a poet.", MaxTokens: 100,
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("A poem about bread.")}},
	}).ToolResult(), nil
}

func (f *fake) roots(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.RootsResponse(r.Params.InputResponses, "roots"); answer != nil {
		b, _ := json.Marshal(answer.Roots)
		f.log.write(entry{Event: "told", Tool: r.Params.Name, Args: b})
		return mcp.NewToolResultText(string(b)), nil
	}
	if capabilities(ctx).Roots == nil {
		return mcp.NewToolResultError("the client has no folders to offer"), nil
	}
	f.log.write(entry{Event: "asked", Tool: r.Params.Name})
	return server.NewInputRequestBuilder(seal(r.Params.Name, nil)).Roots("roots").ToolResult(), nil
}

// capabilities are what the client of a call declared.
func capabilities(ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern && info.ClientCapabilities != nil {
		return *info.ClientCapabilities
	}
	declared, _ := ctx.Value(capabilitiesKey{}).(mcp.ClientCapabilities)
	return declared
}

// canElicit reports whether the client declared the mode of a question; a bare
// declaration means forms alone.
func canElicit(ctx context.Context, q question) bool {
	e := capabilities(ctx).Elicitation
	return e != nil && (q.url != "" && e.URL != nil || q.url == "" && (e.Form != nil || e.URL == nil))
}
