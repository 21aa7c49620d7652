package llmfake

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The calls beside chat.
const (
	CallTranscribe = "transcribe"
	CallSpeech     = "speech"
	CallImage      = "image"
)

// mediaCalls finds a call by its path.
func mediaCalls() map[string]string {
	return map[string]string{
		"/v1/audio/transcriptions": CallTranscribe, "/v1/audio/speech": CallSpeech, "/v1/images/generations": CallImage,
	}
}

// What OpenAI takes at most.
const (
	maxRecording = 25 << 20
	maxSpoken    = 4096  // characters
	maxPrompt    = 32000 // characters
)

var (
	goodLanguage = regexp.MustCompile(`^[a-z]{2}$`)
	goodSize     = regexp.MustCompile(`^(auto|[1-9][0-9]{1,4}x[1-9][0-9]{1,4})$`)
)

// mediaFields are the fields of a call, those that it needs first.
func mediaFields(call string) (needed, optional []string) {
	switch call {
	case CallTranscribe:
		return []string{"model"}, []string{"language", "prompt", "response_format", "temperature", "timestamp_granularities[]", "include[]", "chunking_strategy", "stream"}
	case CallSpeech:
		return []string{"model", "input", "voice"}, []string{"instructions", "response_format", "speed", "stream_format"}
	}
	return []string{"model", "prompt"}, []string{
		"n", "size", "quality", "style", "response_format", "user", "background", "moderation", "output_compression", "output_format", "stream", "partial_images",
	}
}

// readMedia reads and checks a request that is no chat.
func (s *Server) readMedia(r *http.Request, call string) (Request, *refusal) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return Request{}, &refusal{Status: statusGone, Message: "reading the body: " + err.Error()}
	case len(raw) > maxBody:
		return Request{}, &refusal{Status: http.StatusRequestEntityTooLarge, Message: "Maximum content size limit exceeded", lawful: true}
	}
	request := Request{Call: call, Fields: map[string]string{}}
	if call == CallTranscribe {
		if refusal := readForm(&request, raw, r.Header.Get("Content-Type")); refusal != nil {
			return request, refusal
		}
	} else {
		request.Raw = raw
		if refusal := readFields(&request, raw, r.Header.Get("Content-Type")); refusal != nil {
			return request, refusal
		}
	}
	request.Model = request.Fields["model"]
	needed, optional := mediaFields(call)
	for _, name := range slices.Sorted(maps.Keys(request.Fields)) {
		if !slices.Contains(slices.Concat(needed, optional, s.o.Extra), name) {
			return request, bad(name, "Unrecognized request argument supplied: %s", name)
		}
	}
	for _, name := range needed {
		if strings.TrimSpace(request.Fields[name]) == "" {
			return request, bad(name, "you must provide %s", name)
		}
	}
	return request, checkMedia(&request)
}

// readFields reads a JSON body.
func readFields(r *Request, raw []byte, contentType string) *refusal {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil || contentType != "application/json" {
		return bad("", "We could not parse the JSON body of your request: %v; Content-Type is %q", err, contentType)
	}
	for name, value := range fields {
		switch value := value.(type) {
		case string:
			r.Fields[name] = value
		case float64, bool:
			r.Fields[name] = fmt.Sprint(value)
		default:
			return bad(name, "'%s' has the wrong type", name)
		}
	}
	for _, name := range []string{"model", "input", "voice", "prompt", "size", "response_format"} {
		if _, text := fields[name].(string); fields[name] != nil && !text {
			return bad(name, "'%s' is not of type 'string'", name)
		}
	}
	return nil
}

// readForm reads a multipart body with one file.
func readForm(r *Request, raw []byte, contentType string) *refusal {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" {
		return bad("", "Content-Type is %q, want multipart/form-data", contentType)
	}
	reader := multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	for {
		part, err := reader.NextRawPart()
		switch {
		case err == io.EOF: //nolint:errorlint // NextRawPart returns it as it is
			return checkFile(r)
		case err != nil:
			return bad("", "Could not parse multipart form: %v", err)
		}
		content, err := io.ReadAll(part)
		name := part.FormName()
		_, seen := r.Fields[name]
		switch {
		case err != nil:
			return bad("", "Could not parse multipart form: %v", err)
		case name == "file" && r.File == "" && part.FileName() != "":
			r.File, r.Audio = part.FileName(), content
		case name == "file" || part.FileName() != "":
			return bad(name, "expected one file in the field 'file', with a name")
		case seen || !utf8.Valid(content):
			return bad(name, "the field '%s' is there twice, or is no UTF-8", name)
		default:
			r.Fields[name] = string(content)
		}
	}
}

// checkFile looks at the recording: as OpenAI, it goes by the extension, but the
// content must be what that says.
func checkFile(r *Request) *refusal {
	starts := map[string]string{
		"flac": "fLaC", "ogg": "OggS", "oga": "OggS", "wav": "RIFF", "webm": "\x1aE\xdf\xa3",
		"mp3": "", "mpga": "", "mpeg": "", "mp4": "", "m4a": "",
	}
	extension := strings.TrimPrefix(path.Ext(r.File), ".")
	start, known := starts[extension]
	switch {
	case r.File == "":
		return bad("file", "you must provide file")
	case !known:
		return bad("file", "Unrecognized file format. Supported formats: %q", slices.Sorted(maps.Keys(starts)))
	case len(r.Audio) > maxRecording:
		return &refusal{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("Maximum content size limit (%d) exceeded (%d bytes read)", maxRecording, len(r.Audio)), Type: "server_error", lawful: true}
	case !bytes.HasPrefix(r.Audio, []byte(start)) || len(r.Audio) < 12 || (extension == "mp4" || extension == "m4a") && string(r.Audio[4:8]) != "ftyp":
		return bad("file", "Audio file might be corrupted or unsupported")
	}
	return nil
}

func checkMedia(r *Request) *refusal {
	format, long := r.Fields["response_format"], strings.Contains(r.Model, "gpt-")
	oneOf := func(allowed ...string) *refusal {
		if format == "" || slices.Contains(allowed, format) {
			return nil
		}
		why := bad("response_format", "Invalid value: '%s'. Supported values are: %s. (response_format)", format, strings.Join(allowed, ", "))
		why.lawful = true // the servers of other models know others
		return why
	}
	switch r.Call {
	case CallTranscribe:
		if language, set := r.Fields["language"]; set && !goodLanguage.MatchString(language) {
			return bad("language", "Invalid language '%s'. Language parameter must be specified in ISO-639-1 format.", language)
		}
		if long {
			return oneOf("json", "text")
		}
		return oneOf("json", "text", "srt", "verbose_json", "vtt")
	case CallSpeech:
		if n := utf8.RuneCountInString(r.Fields["input"]); n > maxSpoken {
			why := bad("input", "String should have at most %d characters, got %d", maxSpoken, n)
			why.lawful = true
			return why
		}
		return oneOf("mp3", "opus", "wav")
	}
	size, n := r.Fields["size"], r.Fields["n"]
	switch {
	case size != "" && !goodSize.MatchString(size):
		return bad("size", "Invalid value: '%s'. Supported values are: '1024x1024', '1024x1536', '1536x1024', and 'auto'.", size)
	case n != "" && n != "1":
		return bad("n", "this fake makes one picture, not %s", n)
	case utf8.RuneCountInString(r.Fields["prompt"]) > maxPrompt:
		return bad("prompt", "Invalid 'prompt': string too long.")
	case long && format != "":
		why := unsupported("response_format", "Unknown parameter: 'response_format'.")
		why.lawful = true
		return why
	}
	return oneOf("b64_json", "url")
}

// Usual is the answer to a call beside chat: a short text, a second of silence or a
// small picture.
func Usual(r Request) Response {
	if r.Call == CallTranscribe {
		return Response{Text: "hello from the recording", Language: "english", Seconds: 1}
	}
	return Response{}
}

// media writes the reply to a call beside chat.
func (r *reply) media(ctx context.Context) error {
	kind, content := "application/json", any(nil)
	switch r.request.Call {
	case CallSpeech:
		data := r.Data
		switch r.request.Fields["response_format"] {
		case "opus":
			kind, data = "audio/opus", or(data, OGG(1))
		case "wav":
			kind, data = "audio/wav", or(data, WAV(1))
		default:
			kind, data = "audio/mpeg", or(data, MP3(1))
		}
		return r.document(ctx, kind, data)
	case CallImage:
		picture := map[string]any{"b64_json": base64.StdEncoding.EncodeToString(or(r.Data, PNG(8, 8)))}
		if f := r.request.Fields["response_format"]; f == "url" || f == "" && !strings.Contains(r.request.Model, "gpt-") {
			picture = map[string]any{"url": "https://pictures.example/1.png"}
		}
		content = map[string]any{"created": time.Now().Unix(), "data": []any{picture}, "usage": r.mediaUsage()}
	case CallTranscribe:
		said := map[string]any{"text": r.Text}
		switch r.request.Fields["response_format"] {
		case "text", "srt", "vtt":
			return r.document(ctx, "text/plain; charset=utf-8", []byte(r.Text))
		case "verbose_json":
			said["task"], said["language"], said["duration"], said["segments"] = "transcribe", r.Language, r.Seconds, []any{}
			said["usage"] = map[string]any{"type": "duration", "seconds": int(r.Seconds + 0.999)}
		default:
			said["usage"] = r.mediaUsage()
		}
		content = said
	}
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return r.document(ctx, kind, text)
}

// mediaUsage is the usage in the form of these calls; null when none is set.
func (r *reply) mediaUsage() any {
	if r.Usage == nil {
		return nil
	}
	return map[string]any{"type": "tokens", "input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output}
}

func or(data, usual []byte) []byte {
	if data != nil {
		return data
	}
	return usual
}
