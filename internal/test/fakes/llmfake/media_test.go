package llmfake_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// part is one part of a form; a file has a name.
type part struct {
	field, file string
	content     []byte
}

func formOf(t *testing.T, parts []part) (body io.Reader, contentType string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		var to io.Writer
		var err error
		if p.file != "" {
			to, err = w.CreateFormFile(p.field, p.file)
		} else {
			to, err = w.CreateFormField(p.field)
		}
		if err == nil {
			_, err = to.Write(p.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out, w.FormDataContentType()
}

// call posts a body to a path and returns the status and the reply.
func call(t *testing.T, s *llmfake.Server, path, contentType string, body io.Reader) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Authorization", "Bearer sk-test")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

func TestRefusesTranscriptions(t *testing.T) {
	t.Parallel()
	model, ogg := part{"model", "", []byte("whisper-1")}, part{"file", "audio.ogg", llmfake.OGG(1)}
	field := func(name, value string) []part { return []part{model, ogg, {name, "", []byte(value)}} }
	for _, c := range []struct {
		name   string
		parts  []part
		status int
		want   string // a part of the message; empty: accepted
	}{
		{"plain", []part{model, ogg}, 200, ""},
		{"everything", append(field("language", "de"), part{"response_format", "", []byte("verbose_json")}, part{"prompt", "", []byte("Legwork")}), 200, ""},
		{"WAV", []part{model, {"file", "a.wav", llmfake.WAV(1)}}, 200, ""},
		{"no model", []part{ogg}, 400, "you must provide model"},
		{"no file", []part{model}, 400, "you must provide file"},
		{"a file without a name", []part{model, {"file", "", llmfake.OGG(1)}}, 400, "one file in the field 'file'"},
		{"two files", []part{model, ogg, ogg}, 400, "one file in the field 'file'"},
		{"a file elsewhere", []part{model, {"audio", "a.ogg", llmfake.OGG(1)}}, 400, "one file in the field 'file'"},
		{"unknown extension", []part{model, {"file", "a.opus", llmfake.OGG(1)}}, 400, "Unrecognized file format"},
		{"no extension", []part{model, {"file", "audio", llmfake.OGG(1)}}, 400, "Unrecognized file format"},
		{"another content", []part{model, {"file", "a.wav", llmfake.OGG(1)}}, 400, "corrupted or unsupported"},
		{"empty", []part{model, {"file", "a.ogg", nil}}, 400, "corrupted or unsupported"},
		{"too large", []part{model, {"file", "a.wav", append(llmfake.WAV(1), make([]byte, 25<<20)...)}}, 413, "Maximum content size limit"},
		{"unknown field", field("voice", "alloy"), 400, "Unrecognized request argument supplied: voice"},
		{"a field twice", append(field("language", "de"), part{"language", "", []byte("de")}), 400, "there twice"},
		{"a language by its name", field("language", "german"), 400, "ISO-639-1"},
		{"unknown format", field("response_format", "yaml"), 400, "Supported values are: json, text"},
		{"a format of another model", []part{{"model", "", []byte("gpt-4o-transcribe")}, ogg, {"response_format", "", []byte("verbose_json")}}, 400, "response_format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, llmfake.Options{})
			body, kind := formOf(t, c.parts)
			response, text, err := call(t, s, "/audio/transcriptions", kind, body)
			if err != nil || response.StatusCode != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%v, %v, %s; want status %d and %q", err, response, text, c.status, c.want)
			}
			if accepted := len(s.Requests()) == 1; accepted != (c.want == "") {
				t.Errorf("accepted: %v, want %v", accepted, c.want == "")
			}
		})
	}
	s := start(t, llmfake.Options{})
	if response, text, err := call(t, s, "/audio/transcriptions", "application/json", strings.NewReader(`{}`)); err != nil || response.StatusCode != http.StatusBadRequest || len(s.Violations()) != 1 {
		t.Errorf("JSON in place of a form: %v, %s, violations %v; want one", err, text, s.Violations())
	}
}

func TestRefusesSpeechAndPictures(t *testing.T) {
	t.Parallel()
	const speech, images = "/audio/speech", "/images/generations"
	for _, c := range []struct {
		path, body string
		want       string // a part of the message; empty: accepted
		lawful     bool   // the client could not know
	}{
		{speech, `{"model":"tts-1","input":"Hi","voice":"alloy"}`, "", false},
		{speech, `{"model":"tts-1","input":"Hi","voice":"alloy","response_format":"opus","speed":1.5}`, "", false},
		{speech, `{"model":"tts-1","input":" ","voice":"alloy"}`, "you must provide input", false},
		{speech, `{"model":"tts-1","input":"Hi"}`, "you must provide voice", false},
		{speech, `{"input":"Hi","voice":"alloy"}`, "you must provide model", false},
		{speech, `{"model":"tts-1","input":7,"voice":"alloy"}`, "not of type 'string'", false},
		{speech, `{"model":"tts-1","input":"Hi","voice":"alloy","format":"opus"}`, "Unrecognized request argument supplied: format", false},
		{speech, `{"model":"tts-1","input":"Hi","voice":"alloy","response_format":"ogg"}`, "Invalid value: 'ogg'", true},
		{speech, `{"model":"tts-1","input":"` + strings.Repeat("a", 4097) + `","voice":"alloy"}`, "at most 4096 characters", true},
		{speech, `{"model":`, "could not parse", false},
		{images, `{"model":"dall-e-3","prompt":"A cat","n":1,"size":"1024x1024","response_format":"b64_json"}`, "", false},
		{images, `{"model":"gpt-image-1","prompt":"A cat","size":"auto"}`, "", false},
		{images, `{"model":"gpt-image-1","prompt":"A cat","response_format":"b64_json"}`, "Unknown parameter: 'response_format'", true},
		{images, `{"model":"dall-e-3","prompt":"A cat","response_format":"png"}`, "Invalid value: 'png'", true},
		{images, `{"model":"dall-e-3"}`, "you must provide prompt", false},
		{images, `{"model":"dall-e-3","prompt":"A cat","n":2}`, "one picture, not 2", false},
		{images, `{"model":"dall-e-3","prompt":"A cat","size":"large"}`, "Invalid value: 'large'", false},
		{images, `{"model":"dall-e-3","prompt":"A cat","extra":[1]}`, "wrong type", false},
	} {
		s := start(t, llmfake.Options{})
		response, text, err := call(t, s, c.path, "application/json", strings.NewReader(c.body))
		if err != nil || (response.StatusCode == http.StatusOK) != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v, %s; want %q", c.body, err, text, c.want)
		}
		if got, want := len(s.Violations()) > 0, c.want != "" && !c.lawful; got != want {
			t.Errorf("%s: violations %v", c.body, s.Violations())
		}
	}
}

// TestMediaReplies: what the fake sends is of its type, and faults break it.
func TestMediaReplies(t *testing.T) {
	t.Parallel()
	s := start(t, llmfake.Options{})
	for _, c := range []struct{ format, kind, begin string }{
		{"opus", "audio/opus", "OggS"}, {"wav", "audio/wav", "RIFF"}, {"mp3", "audio/mpeg", "\xff\xfb"},
	} {
		response, text, err := call(t, s, "/audio/speech", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m","input":"Hi","voice":"v","response_format":%q}`, c.format)))
		if err != nil || response.Header.Get("Content-Type") != c.kind || !strings.HasPrefix(text, c.begin) {
			t.Errorf("%s: %v, %v, %.8q", c.format, err, response, text)
		}
	}
	_, text, err := call(t, s, "/images/generations", "application/json", strings.NewReader(`{"model":"m","prompt":"A cat","response_format":"b64_json"}`))
	var pictures struct {
		Data []struct {
			B64 []byte `json:"b64_json"`
		}
	}
	if err != nil || json.Unmarshal([]byte(text), &pictures) != nil || len(pictures.Data) != 1 {
		t.Fatalf("%v, %s; want one picture", err, text)
	}
	if _, err := png.Decode(bytes.NewReader(pictures.Data[0].B64)); err != nil {
		t.Errorf("the picture: %v", err)
	}
	if got := s.Requests()[3]; got.Call != llmfake.CallImage || got.Model != "m" || got.Fields["prompt"] != "A cat" {
		t.Errorf("the request of a picture: %+v", got)
	}
	half := start(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response { return llmfake.Broken(llmfake.FaultCut, 0, "") }})
	if _, text, err := call(t, half, "/audio/speech", "application/json", strings.NewReader(`{"model":"m","input":"Hi","voice":"v","response_format":"wav"}`)); err == nil || len(text) != len(llmfake.WAV(1))/2 {
		t.Errorf("cut: %d bytes, %v; want half of it and an error", len(text), err)
	}
}

// TestOGG: the checksum of the first page was computed by another program.
func TestOGG(t *testing.T) {
	t.Parallel()
	data := llmfake.OGG(3)
	if n := bytes.Count(data, []byte("OggS")); n != 5 {
		t.Errorf("%d pages, want head, tags and three seconds", n)
	}
	if sum := binary.LittleEndian.Uint32(data[22:]); sum != 0x24d96c84 {
		t.Errorf("the checksum of the first page is %x", sum)
	}
	if !slices.Equal(data[28:36], []byte("OpusHead")) || !bytes.Contains(data, []byte("OpusTags")) {
		t.Errorf("the headers are missing: %q", data[:64])
	}
}
