package client

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/llm"
)

// Result is the outcome of a call, in words that a model can read.
type Result struct {
	Text    string         // valid UTF-8, at most Call.Keep bytes
	Failed  bool           // Text says what went wrong
	Unknown bool           // the call was sent, and may have taken effect; Failed is set too
	Bytes   int            // of the whole result when Text had to be cut; 0 otherwise
	Show    int            // how many bytes of Text go to the model at first; set by package tools
	Images  []llm.Image    // in the order in which Text mentions them; a megabyte together at most
	Files   []ReturnedFile // pictures, recordings and other contents that are no text, in the order of Text

	// Question, when set, is what the server wants to know from a person before
	// it goes on; nothing else is set then but State. A call with Resume goes on.
	Question *form.Question
	State    json.RawMessage // opaque, for Resume

	SignIn *SignIn // the call was not made, since a person has to sign in first; set by package tools
}

// ReturnedFile is a content of a result that is no text.
type ReturnedFile struct {
	Name string // such as "image.png", or the last part of the address of a resource
	Type string // MIME type; of pictures found in the content
	Data []byte
}

// result is what a model reads of what a server returned.
func (s *Server) result(got captured, d *Definition, call Call) (Result, error) {
	if d.ForResources && d.Name == listResources {
		var a struct {
			Filter string `json:"filter"`
		}
		_ = json.Unmarshal(call.Arguments, &a)
		text, err := resourceList(got.pages, a.Filter)
		return newResult(clean(text), call.Keep, got.dropped), err
	}
	r := resultReader{dropped: got.dropped, maxString: s.dialer.maxString(), pictures: maxPictures}
	if cat := s.Catalog(); cat.Tools[readResource] != nil {
		r.read = s.full(readResource)
	}
	if d.Reads() {
		res, err := r.contents(got.result(), call.Keep)
		res.Text = d.skillHeading(call.Arguments) + res.Text
		return res, err
	}
	res, structured, err := r.call(got.result(), call.Keep)
	if err != nil || res.Failed || got.dropped > 0 {
		return res, err
	}
	if err := d.checkOutput(structured); err != nil {
		s.log.Warn("result does not match the output schema", "tool", d.Name, "cause", err)
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

// resultReader turns what a server returned into words and pictures.
type resultReader struct {
	dropped   int    // bytes that were left out on the way
	maxString int    // longer strings were cut
	pictures  int    // bytes of pictures that may still be kept
	read      string // the tool that reads resources; empty: there is none
	images    []llm.Image
	files     []ReturnedFile
}

// call reads a result of tools/call.
func (r *resultReader) call(raw []byte, most int) (Result, json.RawMessage, error) {
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
	res := newResult(clean(strings.Join(parts, "\n")), most, r.dropped)
	res.Failed, res.Images, res.Files = c.IsError, r.images, r.files
	return res, c.Structured, nil
}

// contents reads a result of resources/read.
func (r *resultReader) contents(raw []byte, most int) (Result, error) {
	var c struct {
		Contents []resource `json:"contents"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Result{}, fmt.Errorf("reading the resource: %w", err)
	}
	var parts []string
	for _, one := range c.Contents {
		if words, ok := r.words(&one); ok && len(c.Contents) == 1 {
			parts = append(parts, words)
			continue
		}
		part, _ := r.text(content{Type: "resource", Resource: &one})
		parts = append(parts, part)
	}
	res := newResult(clean(strings.Join(parts, "\n")), most, r.dropped)
	res.Images, res.Files = r.images, r.files
	return res, nil
}

// newResult cuts a text.
func newResult(whole string, most, dropped int) Result {
	res := Result{Text: clip.Bytes(whole, most)}
	if len(res.Text) < len(whole) || dropped > 0 {
		res.Bytes = len(whole) + dropped
	}
	if whole == "" {
		res.Text = "The tool returned nothing."
	}
	return res
}

// contentText is the content of a message, one entry or several, without pictures.
func contentText(raw json.RawMessage) string {
	var entries []entry
	if json.Unmarshal(raw, &entries) != nil {
		entries = make([]entry, 1)
		_ = json.Unmarshal(raw, &entries[0])
	}
	parts, _ := (&resultReader{}).entries(entries)
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
func (r *resultReader) entries(all []entry) (parts []string, text bool) {
	for _, e := range all {
		if e.bad {
			parts = append(parts, "[an entry that cannot be read]")
			continue
		}
		part, words := r.text(e.content)
		text = text || words
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts, text
}

// text is an entry as text; whether it is text of its own accord or only a
// note about something else.
func (r *resultReader) text(c content) (string, bool) {
	switch c.Type {
	case "text":
		return c.Text, c.Text != ""
	case "image":
		return r.image("image", "image", c.MIMEType, c.Data), false
	case "audio":
		return r.audio(c.MIMEType, c.Data), false
	case "resource_link":
		return r.link(c), false
	case "resource":
		return r.embedded(c.Resource)
	}
	return fmt.Sprintf("[content of type %q, not shown]", c.Type), false
}

func (r *resultReader) link(c content) string {
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

func (r *resultReader) embedded(one *resource) (string, bool) {
	if one == nil {
		return "[a resource without content]", false
	}
	words, ok := r.words(one)
	switch {
	case ok && one.URI == "":
		return words, words != ""
	case ok:
		return "[resource: " + one.URI + "]\n" + words, words != ""
	case strings.HasPrefix(one.MIMEType, "image/"):
		return r.image("resource: "+one.URI, path.Base(one.URI), one.MIMEType, one.Blob), false
	}
	r.keep(path.Base(one.URI), one.MIMEType, one.Blob)
	return fmt.Sprintf("[resource: %s, %s, %d bytes, not shown]", one.URI, typeOrUnknown(one.MIMEType), r.decoded(one.Blob)), false
}

// words is the text of a resource, which some servers send as a blob.
func (r *resultReader) words(one *resource) (string, bool) {
	if one.Text != nil {
		return *one.Text, true
	}
	if one.Blob == "" || !isText(one.MIMEType) {
		return "", false
	}
	data, truncated := one.Blob, r.isTruncated(one.Blob)
	if truncated {
		data = data[:len(data)&^3]
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", false
	}
	if truncated { // the last character may be incomplete
		b = []byte(clip.Bytes(string(b), len(b)-utf8.UTFMax+1))
	}
	return string(b), utf8.Valid(b)
}

// isText reports whether a type of content is one that people read as text.
func isText(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case kind == "image/svg+xml":
		return false
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		return true
	}
	return slices.Contains([]string{"application/json", "application/xml", "application/yaml"}, kind)
}

// clean makes s valid UTF-8 without NUL bytes.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}

const maxImages = 10 // of one result

// image keeps a picture when it is one that models can see and small enough,
// and returns a note about it.
func (r *resultReader) image(what, name, mime, data string) string {
	note := func(bytes int, why string) string {
		return fmt.Sprintf("[%s: %s, %d bytes%s]", what, typeOrUnknown(mime), bytes, why)
	}
	if r.isTruncated(data) {
		return note(r.decoded(data), ", too large to be shown")
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return note(r.decoded(data), ", not shown: it cannot be read")
	}
	kind := http.DetectContentType(b)
	if strings.HasPrefix(kind, "image/") {
		r.keep(name, kind, data)
	}
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return note(len(b), ", not shown")
	case len(b) > r.pictures || len(r.images) == maxImages:
		return note(len(b), ", too large to be shown")
	}
	r.pictures -= len(b)
	r.images = append(r.images, llm.Image{Type: kind, Data: b})
	return note(len(b), "")
}

// maxFiles is how many contents of one result are kept as files.
const maxFiles = 10

// keep keeps a content that came whole as a file.
func (r *resultReader) keep(name, kind, data string) {
	if data == "" || len(r.files) == maxFiles || r.isTruncated(data) {
		return
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return
	}
	if name == "." || name == "/" {
		name = "file"
	}
	if ext := endings(kind); path.Ext(name) == "" {
		name += ext
	}
	r.files = append(r.files, ReturnedFile{Name: name, Type: kind, Data: b})
}

// endings are those of names of files of a type; empty for others.
func endings(kind string) string {
	kind, _, _ = mime.ParseMediaType(kind)
	return map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/ogg": ".ogg",
		"application/pdf": ".pdf", "application/zip": ".zip",
	}[kind]
}

// audio is a note about a sound.
func (r *resultReader) audio(mime, data string) string {
	r.keep("audio", mime, data)
	length := ""
	if b, err := base64.StdEncoding.DecodeString(data[:min(len(data), 4<<10)&^3]); err == nil {
		if s, ok := wavSeconds(b); ok {
			length = fmt.Sprintf(", %.1f seconds", s)
		}
	}
	return fmt.Sprintf("[audio: %s%s, %d bytes, not shown]", typeOrUnknown(mime), length, r.decoded(data))
}

// wavSeconds reads how long a sound is from the beginning of a WAV file (RIFF).
func wavSeconds(b []byte) (float64, bool) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return 0, false
	}
	rate := uint32(0) // bytes a second
	for p := 12; p+8 <= len(b); {
		name, size := string(b[p:p+4]), binary.LittleEndian.Uint32(b[p+4:])
		switch {
		case name == "fmt " && p+20 <= len(b):
			rate = binary.LittleEndian.Uint32(b[p+16:])
		case name == "data" && rate > 0:
			return float64(size) / float64(rate), true
		}
		if size > uint32(len(b)) {
			return 0, false
		}
		p += 8 + int(size) + int(size&1)
	}
	return 0, false
}

// isTruncated tells whether the end of a string was left out on the way.
func (r *resultReader) isTruncated(data string) bool {
	return r.dropped > 0 && r.maxString > 0 && len(data) >= r.maxString
}

// decoded is the size of Base64 data, including the part that was left out.
func (r *resultReader) decoded(data string) int {
	n := len(strings.TrimRight(data, "="))
	if r.isTruncated(data) {
		n += r.dropped
	}
	return n * 3 / 4
}

func typeOrUnknown(mime string) string {
	if mime == "" {
		return "unknown type"
	}
	return mime
}
