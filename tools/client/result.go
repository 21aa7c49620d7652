package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"legwork/form"
)

// Result is the outcome of a call, in words that a model can read.
type Result struct {
	Text    string // valid UTF-8, at most Call.Keep bytes
	Failed  bool   // Text says what went wrong
	Unknown bool   // the call was sent and nobody knows whether it took effect; Failed is set too
	Bytes   int    // of the whole result when Text had to be cut; 0 otherwise
	Images  []Image

	// Question, when set, is what the server wants to know from a person before
	// it goes on; nothing else is set then but State. A call with Resume goes on.
	Question *form.Question
	State    json.RawMessage // opaque, for Resume
}

// Image is a picture of a result.
type Image struct {
	Type string // MIME type, such as image/png
	Data []byte
}

// content is one entry of a result; the fields of all its types together.
type content struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Data        string `json:"data"`
	MIMEType    string `json:"mimeType"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Resource    *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// readResult turns a raw tools/call result into text. dropped is what was left
// out of it on the way.
func readResult(raw []byte, dropped, most int) (Result, error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Result{}, fmt.Errorf("reading the result: %w", err)
	}
	parts, text := []string{}, false
	for _, raw := range r.Content {
		var c content
		if err := json.Unmarshal(raw, &c); err != nil {
			parts = append(parts, "[an entry that cannot be read]")
			continue
		}
		part, words := c.words(dropped)
		text = text || words
		if part != "" {
			parts = append(parts, part)
		}
	}
	if !text && len(r.Structured) > 0 && string(r.Structured) != "null" {
		parts = append(parts, string(r.Structured))
	}
	whole := clean(strings.Join(parts, "\n"))
	res := Result{Failed: r.IsError}
	var short bool
	res.Text, short = cut(whole, most)
	if short || dropped > 0 {
		res.Bytes = len(whole) + dropped
	}
	if whole == "" {
		res.Text = "The tool returned nothing."
	}
	return res, nil
}

// words is an entry as text; whether it is text of its own accord or only a
// note about something that cannot be shown.
func (c content) words(dropped int) (string, bool) {
	switch c.Type {
	case "text":
		return c.Text, c.Text != ""
	case "image", "audio":
		return fmt.Sprintf("[%s: %s, %d bytes, not shown]", c.Type, orUnknown(c.MIMEType), decoded(c.Data, dropped)), false
	case "resource_link":
		return "[resource: " + strings.TrimSpace(strings.Join([]string{c.Name, c.URI, c.Description}, " ")) + "]", false
	case "resource":
		if c.Resource == nil {
			return "[a resource without content]", false
		}
		if c.Resource.Text != nil {
			return *c.Resource.Text, *c.Resource.Text != ""
		}
		return fmt.Sprintf("[resource: %s, %s, %d bytes, not shown]", c.Resource.URI, orUnknown(c.Resource.MIMEType), decoded(c.Resource.Blob, dropped)), false
	}
	return fmt.Sprintf("[content of type %q, not shown]", c.Type), false
}

// decoded is the size of Base64 data of which dropped bytes may be missing.
func decoded(data string, dropped int) int {
	return (len(strings.TrimRight(data, "=")) + dropped) * 3 / 4
}

func orUnknown(mime string) string {
	if mime == "" {
		return "unknown type"
	}
	return mime
}

// clean makes s valid UTF-8 without NUL bytes.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}

// cut returns the first n bytes of s, less what would part a rune.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}
