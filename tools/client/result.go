package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/llm"
)

// Result is the outcome of a call, in words that a model can read.
type Result struct {
	Text    string      // valid UTF-8, at most Call.Keep bytes
	Failed  bool        // Text says what went wrong
	Unknown bool        // the call was sent and nobody knows whether it took effect; Failed is set too
	Bytes   int         // of the whole result when Text had to be cut; 0 otherwise
	Show    int         // how many bytes of Text go to the model at first; set by package tools
	Images  []llm.Image // in the order in which Text mentions them; a megabyte together at most

	// Question, when set, is what the server wants to know from a person before
	// it goes on; nothing else is set then but State. A call with Resume goes on.
	Question *form.Question
	State    json.RawMessage // opaque, for Resume
}

// result is what a model reads of what a server returned.
func (s *Server) result(got captured, d *Definition, call Call) (Result, error) {
	if d.Own && d.Name == listResources {
		var a struct {
			Filter string `json:"filter"`
		}
		_ = json.Unmarshal(call.Arguments, &a)
		text, err := listed(got.pages, a.Filter)
		return finish(clean(text), call.Keep, got.cut), err
	}
	r := reader{dropped: got.cut, maxString: s.dialer.maxString(), pictures: maxPictures}
	if cat := s.Catalog(); cat.Tools[readResource] != nil {
		r.read = s.full(readResource)
	}
	if d.Own {
		return r.contents(got.raw(), call.Keep)
	}
	res, structured, err := r.call(got.raw(), call.Keep)
	if err != nil || res.Failed || got.cut > 0 {
		return res, err
	}
	if err := d.checkOutput(structured); err != nil {
		s.log.Warn("a result does not fit what the server announced", "tool", d.Name, "err", err)
		note := clip.Bytes(clean(fmt.Sprintf("\n[This does not fit the form of results that the server announced: %v]", err)), 500)
		res.Text += note
	}
	return res, nil
}

// checkOutput tells whether structured output is what the tool announced.
func (d *Definition) checkOutput(structured json.RawMessage) error {
	if d.output == nil {
		return nil
	}
	if len(structured) == 0 {
		return errors.New("it has no structured part")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(structured))
	if err != nil {
		return err
	}
	return d.output.check(v, structured)
}

// content is one entry of a result; the fields of all its types together.
type content struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Data        string    `json:"data"`
	MIMEType    string    `json:"mimeType"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Resource    *resource `json:"resource"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// reader turns what a server returned into words and pictures.
type reader struct {
	dropped   int    // bytes that were left out on the way
	maxString int    // longer strings were cut
	pictures  int    // bytes of pictures that may still be kept
	read      string // the tool that reads resources; empty: there is none
	images    []llm.Image
}

// call reads a result of tools/call.
func (r *reader) call(raw []byte, most int) (Result, json.RawMessage, error) {
	var c struct {
		Content    []entry         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Result{}, nil, fmt.Errorf("reading the result: %w", err)
	}
	parts, text := r.entries(c.Content)
	if string(c.Structured) == "null" {
		c.Structured = nil
	}
	if !text && len(c.Structured) > 0 {
		parts = append(parts, string(c.Structured))
	}
	res := finish(clean(strings.Join(parts, "\n")), most, r.dropped)
	res.Failed, res.Images = c.IsError, r.images
	return res, c.Structured, nil
}

// contents reads a result of resources/read.
func (r *reader) contents(raw []byte, most int) (Result, error) {
	var c struct {
		Contents []resource `json:"contents"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Result{}, fmt.Errorf("reading the resource: %w", err)
	}
	var parts []string
	for _, one := range c.Contents {
		if len(c.Contents) == 1 && one.Text != nil {
			parts = append(parts, *one.Text)
			continue
		}
		part, _ := r.words(content{Type: "resource", Resource: &one})
		parts = append(parts, part)
	}
	res := finish(clean(strings.Join(parts, "\n")), most, r.dropped)
	res.Images = r.images
	return res, nil
}

// finish cuts a text.
func finish(whole string, most, dropped int) Result {
	res := Result{Text: clip.Bytes(whole, most)}
	if len(res.Text) < len(whole) || dropped > 0 {
		res.Bytes = len(whole) + dropped
	}
	if whole == "" {
		res.Text = "The tool returned nothing."
	}
	return res
}

// inWords is the content of a message, one entry or several, without pictures.
func inWords(raw json.RawMessage) string {
	var entries []entry
	if json.Unmarshal(raw, &entries) != nil {
		entries = make([]entry, 1)
		_ = json.Unmarshal(raw, &entries[0])
	}
	parts, _ := (&reader{}).entries(entries)
	return clean(strings.Join(parts, "\n"))
}

// entry is content of which one that cannot be read does not spoil the rest.
type entry struct {
	content
	bad bool
}

func (e *entry) UnmarshalJSON(b []byte) error {
	e.bad = json.Unmarshal(b, &e.content) != nil
	return nil
}

// entries are the entries of a result as text; whether one of them is text of
// its own accord.
func (r *reader) entries(all []entry) (parts []string, text bool) {
	for _, e := range all {
		if e.bad {
			parts = append(parts, "[an entry that cannot be read]")
			continue
		}
		part, words := r.words(e.content)
		text = text || words
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts, text
}

// words is an entry as text; whether it is text of its own accord or only a
// note about something else.
func (r *reader) words(c content) (string, bool) {
	switch c.Type {
	case "text":
		return c.Text, c.Text != ""
	case "image":
		return r.image("image", c.MIMEType, c.Data), false
	case "audio":
		return r.audio(c.MIMEType, c.Data), false
	case "resource_link":
		return r.link(c), false
	case "resource":
		return r.embedded(c.Resource)
	}
	return fmt.Sprintf("[content of type %q, not shown]", c.Type), false
}

func (r *reader) link(c content) string {
	about := strings.TrimSpace(strings.Join([]string{c.Name, c.URI, c.Description}, " "))
	if r.read == "" || c.URI == "" {
		return "[resource: " + about + "]"
	}
	args, err := json.Marshal(map[string]string{"uri": c.URI})
	if err != nil {
		return "[resource: " + about + "]"
	}
	return fmt.Sprintf("[resource: %s. Read it with %s %s]", strings.TrimSuffix(about, "."), r.read, args)
}

func (r *reader) embedded(one *resource) (string, bool) {
	switch {
	case one == nil:
		return "[a resource without content]", false
	case one.Text != nil && one.URI == "":
		return *one.Text, *one.Text != ""
	case one.Text != nil:
		return "[resource: " + one.URI + "]\n" + *one.Text, *one.Text != ""
	case strings.HasPrefix(one.MIMEType, "image/"):
		return r.image("resource: "+one.URI, one.MIMEType, one.Blob), false
	}
	return fmt.Sprintf("[resource: %s, %s, %d bytes, not shown]", one.URI, orUnknown(one.MIMEType), r.decoded(one.Blob)), false
}

// clean makes s valid UTF-8 without NUL bytes.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}
