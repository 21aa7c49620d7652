package llm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// media is a config whose one model plays every role, with a price of every unit.
func media(url string) llm.Config {
	picture, minute, thousand := 0.04, 0.006, 0.015
	return llm.Config{
		Models: map[string]llm.ModelConfig{"main": {
			BaseURL: url, Model: "whisper-1", APIKey: "sk-secret",
			Price: &llm.Price{Input: 1, Output: 2, Image: &picture, AudioMinute: &minute, Speech1K: &thousand},
		}},
		Roles: map[string]string{llm.RoleTranscribe: "main", llm.RoleSpeech: "main", llm.RoleImage: "main"},
	}
}

func sound(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}

// listen is a small valid transcription.
func listen() llm.Transcription {
	return llm.Transcription{Audio: sound(llmfake.OGG(2)), Type: "audio/ogg", Language: "en", Length: 2 * time.Second}
}

// mediaCall makes one of the calls; what it made is its text or its data.
type mediaCall struct {
	name string
	make func(context.Context, *llm.Models, func() error) (made string, used llm.Usage, err error)
	most llm.Usage // of one attempt, priced as media says
}

func mediaCalls() []mediaCall {
	return []mediaCall{
		{"transcribe", func(ctx context.Context, m *llm.Models, again func() error) (string, llm.Usage, error) {
			r := listen()
			r.BeforeRetry = again
			out, err := m.Transcribe(ctx, r)
			return out.Text, out.Usage, err
		}, llm.Usage{AudioSeconds: 2, Cost: 200}},
		{"speech", func(ctx context.Context, m *llm.Models, again func() error) (string, llm.Usage, error) {
			out, err := m.Speak(ctx, llm.Speech{Text: "Grüße", Format: "opus", BeforeRetry: again})
			return string(out.Data), out.Usage, err
		}, llm.Usage{Characters: 5, Cost: 75}},
		{"image", func(ctx context.Context, m *llm.Models, again func() error) (string, llm.Usage, error) {
			out, err := m.Paint(ctx, llm.Painting{Prompt: "A cat", BeforeRetry: again})
			return string(out.Data), out.Usage, err
		}, llm.Usage{Images: 1, Cost: 40000}},
	}
}

func TestTranscribe(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Key: "sk-secret", Media: func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: " Good morning. ", Language: "english", Seconds: 2.4}
	}})
	m, _ := open(t, media(s.URL))
	got, err := m.Transcribe(t.Context(), listen())
	want := llm.Transcript{Text: "Good morning.", Language: "english", Length: 2400 * time.Millisecond, Model: "main", Usage: llm.Usage{AudioSeconds: 3, Cost: 300}}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	sent := s.Requests()[0]
	if sent.File != "audio.ogg" || !bytes.Equal(sent.Audio, llmfake.OGG(2)) || sent.Fields["language"] != "en" || sent.Fields["response_format"] != "verbose_json" {
		t.Errorf("sent %s with %v", sent.File, sent.Fields)
	}
}

// TestTranscribeByTokens: models that know one format alone are asked for that one,
// and the tokens that they report are counted, too.
func TestTranscribeByTokens(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: "Hi", Usage: &llmfake.Usage{Input: 20, Output: 5}}
	}})
	cfg := media(s.URL)
	main := cfg.Models["main"]
	main.Model = "gpt-4o-transcribe"
	cfg.Models["main"] = main
	m, _ := open(t, cfg)
	got, err := m.Transcribe(t.Context(), listen())
	if want := (llm.Usage{Input: 20, Output: 5, AudioSeconds: 2, Cost: 230}); err != nil || got.Usage != want || got.Length != 2*time.Second {
		t.Errorf("got %+v, %v; want usage %+v", got, err, want)
	}
}

// TestMediaFormatLearnt: an endpoint that does not know the response_format is asked
// again without it, at once, and from then on.
func TestMediaFormatLearnt(t *testing.T) {
	t.Parallel()
	for _, call := range mediaCalls() {
		t.Run(call.name, func(t *testing.T) {
			s := llmfake.New(t, llmfake.Options{Media: func(r llmfake.Request) llmfake.Response {
				if f := r.Fields["response_format"]; f != "" && f != "json" {
					return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 400, Message: "response_format is not supported"}}
				}
				if r.Call == llmfake.CallImage {
					return llmfake.Response{Body: `{"data":[{"b64_json":"` + base64.StdEncoding.EncodeToString(llmfake.PNG(2, 2)) + `"}]}`, Type: "application/json"}
				}
				return llmfake.Usual(r)
			}})
			m, w := open(t, media(s.URL))
			for range 2 {
				if _, _, err := call.make(t.Context(), m, nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(s.Requests()); n != 3 || len(w.list) > 0 {
				t.Errorf("%d requests and waits %v, want three and none", n, w.list)
			}
		})
	}
}

func TestSpeak(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Key: "sk-secret"})
	m, _ := open(t, media(s.URL))
	for _, c := range []struct{ format, kind string }{{"opus", "audio/ogg"}, {"mp3", "audio/mpeg"}, {"wav", "audio/wav"}, {"", "audio/mpeg"}} {
		got, err := m.Speak(t.Context(), llm.Speech{Text: "Grüße", Format: c.format, Voice: "nova"})
		if err != nil || got.Type != c.kind || len(got.Data) == 0 || got.Model != "main" || got.Usage != (llm.Usage{Characters: 5, Cost: 75}) {
			t.Errorf("%q: %s of %d bytes, %+v, %v; want %s", c.format, got.Type, len(got.Data), got.Usage, err, c.kind)
		}
	}
	if f := s.Requests()[0].Fields; f["voice"] != "nova" || f["input"] != "Grüße" || f["model"] != "whisper-1" {
		t.Errorf("sent %v", f)
	}
}

func TestPaint(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Media: func(r llmfake.Request) llmfake.Response {
		return llmfake.Response{Data: llmfake.PNG(4, 3), Usage: &llmfake.Usage{Input: 3, Output: 272}}
	}})
	m, _ := open(t, media(s.URL))
	got, err := m.Paint(t.Context(), llm.Painting{Prompt: "A cat", Size: "1024x1024"})
	want := llm.Usage{Images: 1, Input: 3, Output: 272, Cost: 40547}
	if err != nil || got.Type != "image/png" || !bytes.Equal(got.Data, llmfake.PNG(4, 3)) || got.Usage != want {
		t.Errorf("%s of %d bytes, %+v, %v; want usage %+v", got.Type, len(got.Data), got.Usage, err, want)
	}
	if f := s.Requests()[0].Fields; f["size"] != "1024x1024" || f["n"] != "1" || f["response_format"] != "b64_json" {
		t.Errorf("sent %v", f)
	}
}

// TestExtraBodyOfMedia: extra_body changes the fields of these calls, in a form, too.
func TestExtraBodyOfMedia(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{Extra: []string{"vad_filter"}})
	cfg := media(s.URL)
	main := cfg.Models["main"]
	main.ExtraBody = map[string]any{"vad_filter": true, "prompt": "Legwork", "language": nil, "response_format": "json"}
	cfg.Models["main"] = main
	form, _ := open(t, cfg)
	if _, err := form.Transcribe(t.Context(), listen()); err != nil {
		t.Error(err)
	}
	if f := s.Requests()[0].Fields; f["vad_filter"] != "true" || f["prompt"] != "Legwork" || f["response_format"] != "json" || f["language"] != "" {
		t.Errorf("sent %v", f)
	}
	main.ExtraBody = map[string]any{"voice": "af_heart", "response_format": "wav"}
	cfg.Models["main"] = main
	spoken, _ := open(t, cfg)
	got, err := spoken.Speak(t.Context(), llm.Speech{Text: "Hi", Voice: "nova", Format: "opus"})
	if f := s.Requests()[1].Fields; err != nil || f["voice"] != "af_heart" || got.Type != "audio/wav" {
		t.Errorf("sent %v, got %s, %v", f, got.Type, err)
	}
}

// TestMediaFaults: each call fails as a chat does: the same problems, retries, waits
// and hints, and it counts what was paid for.
func TestMediaFaults(t *testing.T) {
	t.Parallel()
	status := func(code int, message string) llmfake.Response {
		return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: code, Message: message}}
	}
	page := func(kind, text string) llmfake.Response { return llmfake.Response{Type: kind, Body: text} }
	for _, c := range []struct {
		name     string
		reply    llmfake.Response
		problem  llm.Problem
		status   int
		requests int
		paid     int // attempts
		hint     string
	}{
		{"400", status(400, "no such voice"), llm.Invalid, 400, 1, 0, ""},
		{"401", status(401, "Incorrect key sk-secret"), llm.Refused, 401, 1, 0, "models.main.api_key"},
		{"402", status(402, "pay"), llm.Refused, 402, 1, 0, "no credit"},
		{"404", status(404, "Not Found"), llm.NotFound, 404, 1, 0, "check that it has the call /"},
		{"413", status(413, "too large"), llm.TooLong, 413, 1, 0, ""},
		{"429", llmfake.Busy("2"), llm.Busy, 429, 4, 0, ""},
		{"429 for an hour", llmfake.Busy("3600"), llm.Busy, 429, 1, 0, "asks to wait for 1h0m0s"},
		{"500", status(500, "oops"), llm.Unreachable, 500, 4, 0, ""},
		{"503", status(503, "oops"), llm.Unreachable, 503, 4, 0, ""},
		{"filtered", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 400, Code: "content_policy_violation"}}, llm.Filtered, 400, 1, 0, ""},
		{"cut", llmfake.Broken(llmfake.FaultCut, 0, "hello"), llm.CutOff, 0, 3, 3, ""},
		{"reset", llmfake.Broken(llmfake.FaultReset, 0, "hello"), llm.CutOff, 0, 3, 3, ""},
		{"a page", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHTML}}, llm.Garbage, 0, 1, 0, "models.main.base_url"},
		{"other JSON", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultGarbage}}, llm.Garbage, 0, 1, 0, "models.main.base_url"},
		{"an error with status 200", page("application/json", `{"error":{"message":"no sk-secret"}}`), llm.Garbage, 0, 4, 0, ""},
		{"half of JSON", page("application/json", `{"text":"hel`), llm.Garbage, 0, 4, 0, ""},
		{"white space", page("text/plain", " \n"), llm.Garbage, 0, 4, 0, ""},
		{"a text", page("text/plain", "OK"), llm.Garbage, 0, 1, 0, "models.main.base_url"},
		{"other data", page("application/octet-stream", "\xfe\x00\x01\x02\xff\xff"), llm.Garbage, 0, 1, 0, "response_format in models.main.extra_body"},
	} {
		for _, call := range mediaCalls() {
			t.Run(c.name+", "+call.name, func(t *testing.T) {
				s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response { return c.reply }})
				m, w := open(t, media(s.URL))
				asked := 0
				_, used, err := call.make(t.Context(), m, func() error { asked++; return nil })
				var e *llm.Error
				if !errors.As(err, &e) {
					t.Fatalf("error %v, want an *Error", err)
				}
				if e.Problem != c.problem || e.Status != c.status || e.Model != "main" || !strings.Contains(e.Hint, c.hint) {
					t.Errorf("error %+v\nwant problem %s, status %d, hint with %q", e, c.problem, c.status, c.hint)
				}
				var want llm.Usage
				for range c.paid {
					want = want.Add(call.most)
				}
				if e.Usage != want || used != want || asked != max(c.paid-1, 0) {
					t.Errorf("usage %+v and %+v, asked %d times; want %+v for %d attempts", e.Usage, used, asked, want, c.paid)
				}
				if n := len(s.Requests()); n != c.requests || len(w.list) != n-1 {
					t.Errorf("%d requests and waits of %v, want %d", n, w.list, c.requests)
				}
				if strings.Contains(err.Error(), "sk-secret") {
					t.Errorf("the error holds a secret: %v", err)
				}
			})
		}
	}
}

// TestMediaRecovers: after a fault that passes, the same call succeeds, and an attempt
// that the endpoint asked to wait for comes no earlier.
func TestMediaRecovers(t *testing.T) {
	t.Parallel()
	for _, call := range mediaCalls() {
		t.Run(call.name, func(t *testing.T) {
			s := llmfake.New(t, llmfake.Options{Media: func(r llmfake.Request) llmfake.Response {
				switch r.Seq {
				case 1:
					return llmfake.Status(500)
				case 2:
					return llmfake.Busy("3")
				}
				return llmfake.Usual(r)
			}})
			m, w := open(t, media(s.URL))
			made, used, err := call.make(t.Context(), m, nil)
			if err != nil || made == "" || len(w.list) != 2 || w.list[1] < 3*time.Second {
				t.Errorf("made %d bytes, waits %v, %v; want two, the second of 3 s and more", len(made), w.list, err)
			}
			if used.Cost == 0 || used.Unpriced {
				t.Errorf("usage %+v, want one attempt with its cost", used)
			}
		})
	}
}

// TestMediaReplies: replies of one call alone that cannot be used.
func TestMediaReplies(t *testing.T) {
	t.Parallel()
	picture := func(json string) llmfake.Response {
		return llmfake.Response{Type: "application/json", Body: `{"data":[` + json + `]}`}
	}
	for _, c := range []struct {
		name, call string
		reply      llmfake.Response
		requests   int
		used       llm.Usage
		want       string // a part of the error; empty: it is a success
	}{
		{"silence", "transcribe", llmfake.Response{Text: " ", Seconds: 2}, 1, llm.Usage{AudioSeconds: 2, Cost: 200}, "holds no words"},
		{"a length that cannot be", "transcribe", llmfake.Response{Text: "Hi", Seconds: 1e9}, 1, llm.Usage{AudioSeconds: 2, Cost: 200}, ""},
		{"tokens that cannot be", "transcribe", llmfake.Response{Type: "application/json", Body: `{"text":"Hi","usage":{"input_tokens":1e12,"output_tokens":1}}`}, 1, llm.Usage{AudioSeconds: 2, Cost: 200}, ""},
		{"fields of other types", "transcribe", llmfake.Response{Type: "application/json", Body: `{"text":"Hi","language":["en"],"duration":"2","usage":7}`}, 1, llm.Usage{AudioSeconds: 2, Cost: 200}, ""},
		{"null for a text", "transcribe", llmfake.Response{Type: "application/json", Body: `{"text":null}`}, 1, llm.Usage{}, "begins with"},
		{"no pictures", "image", picture(""), 1, llm.Usage{}, "begins with"},
		{"an empty picture", "image", picture(`{"b64_json":""}`), 1, llm.Usage{}, "begins with"},
		{"an address", "image", picture(`{"url":"https://pictures.example/1.png"}`), 1, llm.Usage{Images: 1, Cost: 40000}, "is not fetched (set response_format in models.main.extra_body"},
		{"broken base64", "image", picture(`{"b64_json":"iVBO?"}`), 3, llm.Usage{Images: 3, Cost: 120000}, "decoding the picture"},
		{"text in base64", "image", picture(`{"b64_json":"aGVsbG8="}`), 3, llm.Usage{Images: 3, Cost: 120000}, "of the type text/plain"},
		{"a data URL", "image", picture(`{"b64_json":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(llmfake.PNG(1, 1)) + `"}`), 1, llm.Usage{Images: 1, Cost: 40000}, ""},
		{"too large a recording", "speech", llmfake.Response{Data: append(llmfake.OGG(1), make([]byte, 20<<20)...)}, 1, llm.Usage{Characters: 5, Cost: 75}, "more than 20971520 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response { return c.reply }})
			m, _ := open(t, media(s.URL))
			for _, call := range mediaCalls() {
				if call.name != c.call {
					continue
				}
				_, used, err := call.make(t.Context(), m, nil)
				var e *llm.Error
				if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.Problem != llm.Garbage || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if used != c.used || len(s.Requests()) != c.requests {
					t.Errorf("usage %+v in %d requests, want %+v in %d", used, len(s.Requests()), c.used, c.requests)
				}
				if silent := errors.Is(err, llm.ErrSilence); silent != (c.name == "silence") {
					t.Errorf("silence: %v", silent)
				}
			}
		})
	}
}

// TestInvalidMedia: a request that no endpoint can take is not sent.
func TestInvalidMedia(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{})
	m, _ := open(t, media(s.URL))
	hear := func(data []byte, kind string) error {
		_, err := m.Transcribe(t.Context(), llm.Transcription{Audio: sound(data), Type: kind})
		return err
	}
	speak := func(r llm.Speech) error { _, err := m.Speak(t.Context(), r); return err }
	paint := func(r llm.Painting) error { _, err := m.Paint(t.Context(), r); return err }
	for name, err := range map[string]error{
		"an empty recording": hear(nil, "audio/ogg"), "a picture": hear(llmfake.PNG(1, 1), "image/png"), "a name as a type": hear(llmfake.OGG(1), `audio/"`),
		"no recording":   func() error { _, err := m.Transcribe(t.Context(), llm.Transcription{Type: "audio/ogg"}); return err }(),
		"nothing to say": speak(llm.Speech{Text: " "}), "a strange format": speak(llm.Speech{Text: "Hi", Format: "midi"}), "no UTF-8": speak(llm.Speech{Text: "\xff"}),
		"nothing to paint": paint(llm.Painting{}), "a book": paint(llm.Painting{Prompt: strings.Repeat("a", 2<<20)}), "no such model": paint(llm.Painting{Model: "monet", Prompt: "A cat"}),
	} {
		var e *llm.Error
		if !errors.As(err, &e) || e.Problem != llm.Invalid {
			t.Errorf("%s: error %v, want the problem %s", name, err, llm.Invalid)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	cfg := media(s.URL)
	cfg.Roles = nil
	bare, _ := open(t, cfg)
	if _, err := bare.Paint(t.Context(), llm.Painting{Prompt: "A cat"}); err == nil || !strings.Contains(err.Error(), "set roles.image") {
		t.Errorf("without a model: error %v, want the key to set", err)
	}
}

// TestMediaFallback: the next model is tried also where a larger context would not
// help, and a silent recording is not heard twice.
func TestMediaFallback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		first    llmfake.Response
		requests int
		want     string
	}{
		{"too large", llmfake.Status(413), 1, "hello from the recording"},
		{"no such call", llmfake.Status(404), 1, "hello from the recording"},
		{"silence", llmfake.Response{Text: ""}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response { return c.first }})
			other := llmfake.New(t, llmfake.Options{})
			cfg := media(s.URL)
			main, backup := cfg.Models["main"], cfg.Models["main"]
			main.Fallback, backup.BaseURL = []string{"backup"}, other.URL
			cfg.Models = map[string]llm.ModelConfig{"main": main, "backup": backup}
			m, _ := open(t, cfg)
			got, err := m.Transcribe(t.Context(), listen())
			if got.Text != c.want || len(other.Requests()) != c.requests || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v, %d requests to the fallback; want %q and %d", got.Text, err, len(other.Requests()), c.want, c.requests)
			}
		})
	}
}

// TestMissingCallLeavesChat: the breaker of a model does not open because its endpoint
// lacks one call. It opens when the endpoint is down, whichever call finds out.
func TestMissingCallLeavesChat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		down   bool
	}{{404, false}, {500, true}} {
		s := llmfake.New(t, llmfake.Options{
			Respond: func(llmfake.Request) llmfake.Response { return llmfake.Say("Hello") },
			Media:   func(llmfake.Request) llmfake.Response { return llmfake.Status(c.status) },
		})
		m, _ := open(t, media(s.URL))
		for range 3 {
			if _, err := m.Paint(t.Context(), llm.Painting{Prompt: "A cat"}); err == nil {
				t.Fatal("a picture without an endpoint")
			}
		}
		reply, err := m.Call(t.Context(), ask(), nil)
		if (err != nil) != c.down || m.Health()["main"].Down != c.down {
			t.Errorf("after status %d: %q, %v, health %+v; want down %v", c.status, reply.Text, err, m.Health()["main"], c.down)
		}
	}
}

// TestMediaGate: while the gate is closed, nothing is sent.
func TestMediaGate(t *testing.T) {
	t.Parallel()
	s := llmfake.New(t, llmfake.Options{})
	m, err := llm.New(media(s.URL), llm.Options{Gate: func() error { return errors.New("shut") }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, call := range mediaCalls() {
		_, _, err := call.make(t.Context(), m, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Problem != llm.Held {
			t.Errorf("%s: error %v, want the problem %s", call.name, err, llm.Held)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestMediaCancelled: a call that was sent and cancelled is counted by the most that it
// may cost; it ends with the error of its context.
func TestMediaCancelled(t *testing.T) {
	t.Parallel()
	for _, call := range mediaCalls() {
		t.Run(call.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response {
				cancel()
				return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}
			}})
			m, _ := open(t, media(s.URL))
			want := call.most
			want.Estimated = true
			if _, used, err := call.make(ctx, m, nil); !errors.Is(err, context.Canceled) || used != want {
				t.Errorf("usage %+v, error %v; want %+v and that it was cancelled", used, err, want)
			}
		})
	}
}

// TestMediaStalls: a reply that stops ends after idle_timeout, and a reply that does
// not begin after timeout.
func TestMediaStalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		reply    llmfake.Response
		idle     time.Duration
		problem  llm.Problem
		requests int
		hint     string
	}{
		{"in the middle", llmfake.Broken(llmfake.FaultStall, 0, "hello"), 20 * time.Millisecond, llm.CutOff, 3, "models.main.idle_timeout"},
		{"before the reply", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}, 0, llm.Unreachable, 1, "models.main.timeout"},
		{"after the head", llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHead}}, 0, llm.Unreachable, 1, "models.main.timeout"},
	} {
		for _, call := range mediaCalls() {
			t.Run(c.name+", "+call.name, func(t *testing.T) {
				s := llmfake.New(t, llmfake.Options{Media: func(llmfake.Request) llmfake.Response { return c.reply }})
				cfg := media(s.URL)
				main := cfg.Models["main"]
				if main.IdleTimeout = c.idle; c.idle == 0 {
					main.Timeout = 300 * time.Millisecond
				}
				cfg.Models["main"] = main
				m, _ := open(t, cfg)
				_, _, err := call.make(t.Context(), m, nil)
				var e *llm.Error
				if !errors.As(err, &e) || e.Problem != c.problem || !strings.Contains(e.Hint, c.hint) {
					t.Errorf("error %v, want the problem %s and a hint at %s", err, c.problem, c.hint)
				}
				if n := len(s.Requests()); n > c.requests {
					t.Errorf("%d requests, want at most %d", n, c.requests)
				}
			})
		}
	}
}

// TestMediaGoesToItsEndpointAlone: neither the address of a picture nor a redirect is
// followed.
func TestMediaGoesToItsEndpointAlone(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/images/generations") {
			_, _ = io.WriteString(w, `{"data":[{"url":"`+other.URL+`/1.png"}]}`)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	m, _ := open(t, media(s.URL+"/v1"))
	for _, call := range mediaCalls() {
		if _, _, err := call.make(t.Context(), m, nil); err == nil {
			t.Errorf("%s: no error", call.name)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests elsewhere, want none", n)
	}
}

// TestQuoteUsage: the dearest model of the chain counts, and a missing price is noted.
func TestQuoteUsage(t *testing.T) {
	t.Parallel()
	dear, cheap := 0.2, 0.01
	cfg := media("http://127.0.0.1:1/v1")
	main := cfg.Models["main"]
	main.Fallback = []string{"dear"}
	cfg.Models["main"] = main
	cfg.Models["dear"] = llm.ModelConfig{Model: "a", Price: &llm.Price{Image: &dear, AudioMinute: &cheap}}
	cfg.Models["unpriced"] = llm.ModelConfig{Model: "b"}
	cfg.Models["free"] = llm.ModelConfig{Model: "c", Price: &llm.Price{}}
	m, _ := open(t, cfg)
	hour := llm.Transcription{Audio: sound(make([]byte, 10000)), Length: time.Hour}.Most()
	for _, c := range []struct {
		name string
		got  llm.Usage
		want llm.Usage
	}{
		{"a picture", m.QuoteUsage(llm.RoleImage, llm.Painting{}.Most()), llm.Usage{Images: 1, Cost: 200000, Estimated: true}},
		{"an hour", m.QuoteUsage(llm.RoleTranscribe, hour), llm.Usage{AudioSeconds: 3600, Cost: 600000, Estimated: true}},
		{"an unknown length", m.QuoteUsage(llm.RoleTranscribe, llm.Transcription{Audio: sound(make([]byte, 10000))}.Most()), llm.Usage{AudioSeconds: 6, Cost: 1000, Estimated: true}},
		{"speech", m.QuoteUsage(llm.RoleSpeech, llm.Speech{Text: "Grüße"}.Most()), llm.Usage{Characters: 5, Cost: 75, Estimated: true, Unpriced: true}},
		{"no price", m.QuoteUsage("unpriced", llm.Usage{Images: 1}), llm.Usage{Images: 1, Estimated: true, Unpriced: true}},
		{"an empty price", m.QuoteUsage("free", llm.Usage{Images: 1}), llm.Usage{Images: 1, Estimated: true}},
		{"no model", m.QuoteUsage("unknown", llm.Usage{Images: 1}), llm.Usage{Images: 1, Estimated: true, Unpriced: true}},
	} {
		if c.got != c.want {
			t.Errorf("quote of %s = %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

// FuzzMediaReply: whatever an endpoint sends, a call returns what it claims to have, or
// an *Error; it never counts more than its attempts can cost.
func FuzzMediaReply(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"text":"Hi","duration":1e400}`, `{"text":"Hi","duration":-3,"usage":{"input_tokens":5}}`, `{"text":""}`, `{"data":[{"b64_json":"aGk="}]}`,
		`{"data":[{"url":"x"}]}`, `{"data":[null]}`, `{"data":[{"b64_json":"data:"}]}`, `[{"error":{"message":"no"}}]`, "<html>", "OggS", "ID3", "\xff\xfb", "RIFF....WAVE", "\xff",
		string(llmfake.OGG(1)), `{"data":[{"b64_json":"` + base64.StdEncoding.EncodeToString(llmfake.PNG(1, 1)) + `"}]}`,
	} {
		f.Add([]byte(seed))
	}
	var body atomic.Pointer[[]byte]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(*body.Load())
	}))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, reply []byte) {
		body.Store(&reply)
		m, _ := open(t, media(s.URL+"/v1"))
		for _, call := range mediaCalls() {
			made, used, err := call.make(t.Context(), m, nil)
			var e *llm.Error
			if (err == nil) == (made == "") || err != nil && !errors.As(err, &e) {
				t.Errorf("%s: made %d bytes, error %v", call.name, len(made), err)
			}
			if used.Images > 3 || used.Characters > 15 || used.AudioSeconds > 3*64 || used.Cost > 3*45000 {
				t.Errorf("%s: usage %+v", call.name, used)
			}
		}
	})
}
