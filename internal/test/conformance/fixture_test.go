package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// image is a PNG of one pixel.
	image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	// sound is a WAV of one sample.
	sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

// newFixture starts the server that the suite describes, and returns its address. It is
// built on the protocol library as legwork's own servers are: the tools validate their
// arguments, and a panic in one ends only its call.
func newFixture(t *testing.T) string {
	t.Helper()
	s := server.NewMCPServer("legwork-fixture", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithCompletions(), server.WithLogging(), server.WithElicitation(), server.WithRecovery(), server.WithInputSchemaValidation())
	s.EnableSampling()
	f := fixture{s}
	f.addContent()
	f.addMessages()
	f.addQuestions()
	f.addSchemas()
	f.addResources()
	f.addPrompts()
	handler := server.NewStreamableHTTPServer(s, server.WithStateful(true), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		if err := handler.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return web.URL + "/mcp"
}

// fixture adds what the scenarios call.
type fixture struct{ *server.MCPServer }

// tool adds a tool without arguments.
func (f fixture) tool(name string, answer func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	f.AddTool(mcp.NewTool(name, mcp.WithDescription("Used by the scenario of this name.")), answer)
}

// addContent adds tools that return one kind of content each.
func (f fixture) addContent() {
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":     {mcp.NewImageContent(image, "image/png")},
		"test_audio_content":     {mcp.NewAudioContent(sound, "audio/wav")},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(image, "image/png"),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
	} {
		f.tool(name, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	f.tool("test_error_handling", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
}

func embedded(uri, mimeType, text string) mcp.EmbeddedResource {
	return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text})
}

// pause lets the library send a message. The scenarios ask for such pauses: a message
// right before the next one or before the result may overtake it in mcp-go.
func pause(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}

// addMessages adds tools that send messages while they run, or make the server send some.
func (f fixture) addMessages() {
	logs := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := f.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "fixture", text)); err != nil {
				return nil, err
			}
			pause(ctx)
		}
		return mcp.NewToolResultText("logged"), nil
	}
	f.tool("test_tool_with_logging", logs)
	f.tool("test_logging_tool", logs)
	f.tool("test_tool_with_progress", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			for _, percent := range []int{0, 50, 100} {
				if err := f.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": percent, "total": 100}); err != nil {
					return nil, err
				}
				pause(ctx)
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	f.tool("test_trigger_tool_change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.tool("added", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("added"), nil
		})
		return mcp.NewToolResultText("changed"), nil
	})
	f.tool("test_trigger_prompt_change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.prompt("added", nil, func(map[string]string) []mcp.Content { return nil })
		return mcp.NewToolResultText("changed"), nil
	})
}

// addSchemas adds tools whose schemas matter.
func (f fixture) addSchemas() {
	f.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}`)), said("called"))
	f.AddTool(mcp.NewToolWithRawSchema("test_custom_header", "Has a parameter that travels in a header too.", json.RawMessage(`{
		"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}`)), said("called"))
}

func said(text string) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(text), nil
	}
}

// form asks a person for values.
func form(message, properties string, required ...string) mcp.InputRequest {
	return mcp.NewElicitationInputRequest(mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": json.RawMessage(properties), "required": append([]string{}, required...), // never null
	}})
}

// sample asks the model of the client.
func sample(prompt string) mcp.InputRequest {
	return mcp.NewSamplingInputRequest(mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(prompt)}}})
}

var errState = errors.New("the request state is not one that the server gave")

// ask adds a tool that asks the client one or more times, and then returns the last
// answers. Clients of older revisions are asked by requests of the server.
func (f fixture) ask(tool mcp.Tool, rounds func(mcp.CallToolRequest) []mcp.InputRequests) {
	f.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		list, round := rounds(r), 0
		if state := r.Params.RequestState; state != "" {
			round = slices.IndexFunc(list, func(q mcp.InputRequests) bool { return stateOf(q) == state })
			if round < 0 {
				return nil, errState
			}
		}
		if answered(list[round], r.Params.InputResponses) {
			round++
		}
		if round == len(list) {
			text, err := json.Marshal(r.Params.InputResponses)
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText("state-ok " + string(text)), nil
		}
		result := &mcp.CallToolResult{}
		result.ResultType, result.InputRequests, result.RequestState = mcp.ResultTypeInputRequired, list[round], stateOf(list[round])
		return result, nil
	})
}

// stateOf is the request state while questions are open.
func stateOf(q mcp.InputRequests) string {
	return "waits for " + strings.Join(slices.Sorted(maps.Keys(q)), ",")
}

// answered reports whether each question has an answer that fits it.
func answered(q mcp.InputRequests, answers mcp.InputResponses) bool {
	for id, question := range q {
		answer, ok := answers[id]
		if !ok || answer.DecodeFor(question.Method) != nil || answer.Elicitation != nil && answer.Elicitation.Action == "" {
			return false
		}
	}
	return true
}

// addQuestions adds tools that ask the client.
func (f fixture) addQuestions() {
	const description = "Used by the scenario of this name."
	name := form("What is your name?", `{"name":{"type":"string"}}`, "name")
	confirm := mcp.InputRequests{"confirm": form("Please confirm", `{"ok":{"type":"boolean"}}`, "ok")}
	for tool, rounds := range map[string][]mcp.InputRequests{
		"test_elicitation_sep1034_defaults": {{"form": form("Your data", `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`)}},
		"test_elicitation_sep1330_enums": {{"form": form("Choose", `{
			"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"}]}}}`)}},
		"test_streaming_elicitation":                 {{"user_name": name}},
		"test_input_required_result_elicitation":     {{"user_name": name}},
		"test_input_required_result_sampling":        {{"capital_question": sample("What is the capital of France?")}},
		"test_missing_capability":                    {{"question": sample("Which capability is missing?")}},
		"test_input_required_result_list_roots":      {{"client_roots": mcp.NewRootsInputRequest()}},
		"test_input_required_result_request_state":   {confirm},
		"test_input_required_result_tampered_state":  {confirm},
		"test_input_required_result_multiple_inputs": {{"user_name": name, "greeting": sample("Generate a greeting"), "client_roots": mcp.NewRootsInputRequest()}},
		"test_input_required_result_multi_round": {
			{"step1": form("Step 1: What is your name?", `{"name":{"type":"string"}}`, "name")},
			{"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color")},
		},
	} {
		f.ask(mcp.NewTool(tool, mcp.WithDescription(description)), func(mcp.CallToolRequest) []mcp.InputRequests { return rounds })
	}
	f.ask(mcp.NewTool("test_elicitation", mcp.WithDescription(description), mcp.WithString("message", mcp.Required())), func(r mcp.CallToolRequest) []mcp.InputRequests {
		return []mcp.InputRequests{{"user": form(r.GetString("message", ""), `{"username":{"type":"string"},"email":{"type":"string"}}`, "username", "email")}}
	})
	f.ask(mcp.NewTool("test_sampling", mcp.WithDescription(description), mcp.WithString("prompt", mcp.Required())), func(r mcp.CallToolRequest) []mcp.InputRequests {
		return []mcp.InputRequests{{"model": sample(r.GetString("prompt", ""))}}
	})
	f.ask(mcp.NewTool("test_input_required_result_capabilities", mcp.WithDescription(description)), func(r mcp.CallToolRequest) []mcp.InputRequests {
		q := mcp.InputRequests{}
		if able := r.Params.Meta.ClientCapabilities(); able != nil && able.Sampling != nil {
			q["model"] = sample("Say hello")
		}
		if able := r.Params.Meta.ClientCapabilities(); able != nil && able.Elicitation != nil {
			q["user_name"] = name
		}
		return []mcp.InputRequests{q}
	})
}

// addResources adds what the scenarios read.
func (f fixture) addResources() {
	for name, content := range map[string]mcp.ResourceContents{
		"static-text":      mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"static-binary":    mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: image},
		"watched-resource": mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "watched"},
	} {
		f.AddResource(mcp.NewResource("test://"+name, name, mcp.WithResourceDescription("Read by a scenario.")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{content}, nil
		})
	}
	f.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateDescription("Read by a scenario.")), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)}}, nil
	})
}

// prompt adds a prompt with required arguments.
func (f fixture) prompt(name string, arguments []string, content func(map[string]string) []mcp.Content) {
	p := mcp.NewPrompt(name, mcp.WithPromptDescription("Read by a scenario."))
	for _, argument := range arguments {
		p.Arguments = append(p.Arguments, mcp.PromptArgument{Name: argument, Required: true})
	}
	f.AddPrompt(p, func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		result := &mcp.GetPromptResult{}
		for _, c := range content(r.Params.Arguments) {
			result.Messages = append(result.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
		}
		return result, nil
	})
}

// addPrompts adds what the scenarios get.
func (f fixture) addPrompts() {
	f.prompt("test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent("This is a simple prompt for testing.")}
	})
	f.prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	f.prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), mcp.NewTextContent("Please process the embedded resource above.")}
	})
	f.prompt("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(image, "image/png"), mcp.NewTextContent("Please analyze the image above.")}
	})
	asked := mcp.InputRequests{"user_context": form("What context should the prompt use?", `{"context":{"type":"string"}}`, "context")}
	f.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("Read by a scenario.")), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		result := &mcp.GetPromptResult{}
		if answered(asked, r.Params.InputResponses) {
			result.Messages = []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("With the context."))}
		} else {
			result.ResultType, result.InputRequests = mcp.ResultTypeInputRequired, asked
		}
		return result, nil
	})
}
