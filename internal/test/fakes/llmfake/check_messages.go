package llmfake

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // with the other two, the formats of decodable
	_ "image/jpeg"
	_ "image/png"
	"maps"
	"slices"
	"strings"
)

// checkMessages walks the conversation. open are the ids of the last
// assistant's calls that have no result yet.
func checkMessages(b *body) *refusal {
	if len(b.Messages) == 0 {
		return bad("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	used, open := map[string]bool{}, map[string]bool{}
	before := ""
	for i := range b.Messages {
		m, at := &b.Messages[i], fmt.Sprintf("messages[%d]", i)
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		if refusal := m.checkPlace(at, before); refusal != nil {
			return refusal
		}
		before = m.Role
		if refusal := m.readContent(at); refusal != nil {
			return refusal
		}
		if m.Role != "assistant" && m.ToolCalls != nil {
			return bad(at+".tool_calls", "Unknown parameter: '%s.tool_calls' of role '%s'.", at, m.Role)
		}
		switch m.Role {
		case "system", "developer", "user":
			if strings.TrimSpace(m.text) == "" {
				return bad(at+".content", "Invalid '%s.content': it is empty.", at)
			}
		case "assistant":
			if refusal := m.checkCalls(at, used, open); refusal != nil {
				return refusal
			}
		case "tool":
			if strings.TrimSpace(m.text) == "" {
				return bad(at+".content", "Invalid '%s.content': it is empty.", at)
			}
			if !open[m.ToolCallID] {
				return bad(at+".role", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls': %q is not one of its calls or has its result already.", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return bad(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.", m.Role)
		}
	}
	switch {
	case len(open) > 0:
		return unanswered(open)
	case before != "user" && before != "tool":
		return bad("messages", "The last message is the %s's: nothing is left to reply to.", before)
	}
	return nil
}

// checkPlace looks at where a message stands. OpenAI takes any order; the
// templates of models that others serve want the system's words first and then
// user and assistant in turns.
func (m *message) checkPlace(at, before string) *refusal {
	instructs := m.Role == "system" || m.Role == "developer"
	switch {
	case len(m.strange) > 0:
		return bad(at, "Unknown parameter: '%s.%s'.", at, m.strange[0])
	case m.Name != nil && !goodAuthor.MatchString(*m.Name):
		return bad(at+".name", "Invalid '%s.name': %q does not match '%s'.", at, *m.Name, goodAuthor)
	case m.Role != "tool" && m.ToolCallID != "":
		return bad(at+".tool_call_id", "Unknown parameter: '%s.tool_call_id' of role '%s'.", at, m.Role)
	case instructs && before != "" && before != "system" && before != "developer":
		return bad(at+".role", "System message must be at the beginning.")
	case m.Role == "assistant" && (before == "" || before == "system" || before == "developer"):
		return bad(at+".role", "Conversation roles must alternate: the user speaks before the assistant.")
	case m.Role == before && (m.Role == "user" || m.Role == "assistant"):
		return bad(at+".role", "Conversation roles must alternate: two messages of role '%s' follow each other.", m.Role)
	}
	return nil
}

func unanswered(open map[string]bool) *refusal {
	return bad("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(slices.Sorted(maps.Keys(open)), ", "))
}

// checkCalls also wants ids that are unique in the whole prompt: OpenAI does
// not care, endpoints that find a result's call by its id alone do.
func (m *message) checkCalls(at string, used, open map[string]bool) *refusal {
	if m.ToolCalls == nil {
		if m.text == "" {
			return bad(at+".content", "Invalid '%s': an assistant message needs content or tool_calls.", at)
		}
		return nil
	}
	if len(*m.ToolCalls) == 0 {
		return bad(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1.", at)
	}
	for i, c := range *m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		switch {
		case c.ID == "" || len(c.ID) > 64:
			return bad(at+".id", "Invalid '%s.id': %q has not 1 to 64 characters.", at, c.ID)
		case used[c.ID]:
			return bad(at+".id", "Duplicate value for 'tool_call_id': %q.", c.ID)
		case c.Type != "function":
			return bad(at+".type", "Invalid value: %q. Supported values are: 'function'.", c.Type)
		case !goodName.MatchString(c.Function.Name):
			return bad(at+".function.name", "Invalid '%s.function.name': %q does not match '%s'.", at, c.Function.Name, goodName)
		case c.Function.Arguments == nil || !isObject(*c.Function.Arguments):
			return bad(at+".function.arguments", "Invalid '%s.function.arguments': not a JSON object.", at)
		}
		used[c.ID], open[c.ID] = true, true
	}
	return nil
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// readContent fills text from a string or from text parts.
func (m *message) readContent(at string) *refusal {
	if m.Content == nil || string(m.Content) == "null" {
		if m.Role == "assistant" && m.ToolCalls != nil {
			return nil
		}
		return bad(at+".content", "Invalid value for 'content': expected a string, got null.")
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		return nil
	}
	var parts []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Image json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil || len(parts) == 0 {
		return bad(at+".content", "Invalid type for '%s.content': expected a string or an array of content parts.", at)
	}
	for i, p := range parts {
		if p.Type != "text" && (p.Type != "image_url" || m.Role != "user" || p.Image == nil) {
			return bad(at+".content", "Invalid '%s.content[%d]': a part of type %q is not allowed here.", at, i, p.Type)
		}
		if p.Image != nil {
			image, err := readImage(p.Image)
			if err != nil {
				return bad(at+".content", "Invalid '%s.content[%d].image_url': %v.", at, i, err)
			}
			m.images = append(m.images, image)
		}
		m.text += p.Text
	}
	return nil
}

// readImage takes images in the request alone: the fake fetches nothing.
func readImage(raw json.RawMessage) (Image, error) {
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	if err := strict(raw, &image); err != nil {
		return Image{}, err
	}
	kind, data, found := strings.Cut(strings.TrimPrefix(image.URL, "data:"), ";base64,")
	content, err := base64.StdEncoding.DecodeString(data)
	if err == nil {
		err = decodable(kind, content)
	}
	switch {
	case !found || !strings.HasPrefix(image.URL, "data:"):
		return Image{}, errors.New("expected a base64-encoded data URL")
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return Image{}, fmt.Errorf("the MIME type %q is not supported", kind)
	case err != nil:
		return Image{}, fmt.Errorf("the data is no image: %w", err)
	case len(content) > maxImage:
		return Image{}, fmt.Errorf("it has %d bytes, more than %d", len(content), maxImage)
	case !slices.Contains([]string{"", "auto", "low", "high"}, image.Detail):
		return Image{}, fmt.Errorf("the detail %q is unknown", image.Detail)
	}
	return Image{Type: kind, Data: content}, nil
}

// decodable looks at whether the beginning of an image is of its type. There is no
// reader of WebP here, so of these it looks at the signature.
func decodable(kind string, content []byte) error {
	if kind == "image/webp" {
		if len(content) < 12 || string(content[:4]) != "RIFF" || string(content[8:12]) != "WEBP" {
			return errors.New("it has no signature of WebP")
		}
		return nil
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(content))
	switch {
	case err != nil:
		return err
	case "image/"+format != kind:
		return fmt.Errorf("it is of the format %s", format)
	case size.Width > maxSide || size.Height > maxSide:
		return fmt.Errorf("it has %d x %d pixels, more than %d on a side", size.Width, size.Height, maxSide)
	}
	return nil
}

func strict(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
