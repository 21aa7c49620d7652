package llm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Transcription asks for the words in a recording.
type Transcription struct {
	Model string // a configured model's name; empty: that of RoleTranscribe
	// Audio is read from its beginning by each attempt. After a call that failed, the
	// upload may go on for a moment; it then meets a source that is closed.
	Audio    *io.SectionReader
	Type     string        // such as audio/ogg
	Language string        // ISO 639-1, such as de; empty: the model finds out
	Length   time.Duration // 0: not known
	// BeforeRetry is that of a Request.
	BeforeRetry func() error
}

// Transcript is what a model heard.
type Transcript struct {
	Text     string
	Language string        // as the endpoint names it, such as de or german; empty: it does not
	Length   time.Duration // of the recording; 0: not known
	Usage    Usage
	Model    string // name in the config of the model that answered
}

// Speech asks for a text to be spoken.
type Speech struct {
	Model  string // a configured model's name; empty: that of RoleSpeech
	Text   string
	Voice  string // empty: defaultVoice
	Format string // opus, mp3, aac, flac or wav; empty: the endpoint's own, usually mp3
	// BeforeRetry is that of a Request.
	BeforeRetry func() error
}

// Painting asks for a picture.
type Painting struct {
	Model  string // a configured model's name; empty: that of RoleImage
	Prompt string
	Size   string // such as 1024x1024; empty: the endpoint's own
	// BeforeRetry is that of a Request.
	BeforeRetry func() error
}

// Media is a picture or a recording that a model made.
type Media struct {
	// Type is found in Data, whatever was asked for. Speech in Opus is audio/ogg.
	Type  string
	Data  []byte
	Usage Usage
	Model string // name in the config of the model that made it
}

// ErrSilence is in the Error of a transcription without words: its recording is
// silent, or holds no speech.
var ErrSilence = errors.New("the transcription holds no words")

const (
	maxMedia      = 20 << 20 // bytes of a picture or a recording that a model made
	maxTranscript = 16 << 20 // bytes of a reply with times and tokens of every segment
	maxInput      = 1 << 20  // bytes of a text to speak or of the prompt of a picture
)

// defaultVoice is a voice of OpenAI; servers for other models often know it as well.
const defaultVoice = "alloy"

// leastRate is the rate of a recording of unknown length, in bytes per second: few
// recordings of speech have less.
const leastRate = 2000

// Most returns the most that an attempt uses, without its cost: see QuoteUsage.
func (r Transcription) Most() Usage {
	if r.Length <= 0 && r.Audio != nil {
		return Usage{AudioSeconds: int(r.Audio.Size()/leastRate) + 1, Estimated: true}
	}
	return Usage{AudioSeconds: wholeSeconds(r.Length)}
}

// Most returns the most that an attempt uses, without its cost: see QuoteUsage.
func (r Speech) Most() Usage { return Usage{Characters: utf8.RuneCountInString(r.Text)} }

// Most returns the most that an attempt uses, without its cost: see QuoteUsage.
func (r Painting) Most() Usage { return Usage{Images: 1} }

func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func (r Transcription) check() error {
	if r.Audio == nil || r.Audio.Size() == 0 {
		return errors.New("the recording is empty")
	}
	if audioExtension(r.Type) == "" {
		return fmt.Errorf("%q is not the type of a recording", r.Type)
	}
	return nil
}

func (r Speech) check() error {
	if r.Format != "" && !slices.Contains([]string{"opus", "mp3", "aac", "flac", "wav"}, r.Format) {
		return fmt.Errorf("%q is not a format of speech; allowed: opus, mp3, aac, flac, wav", r.Format)
	}
	return checkText(r.Text)
}

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the text is empty")
	case len(text) > maxInput || !utf8.ValidString(text):
		return fmt.Errorf("the text must be UTF-8 of at most %d bytes, and has %d", maxInput, len(text))
	}
	return nil
}

// Transcribe writes down what is said in a recording. Errors are those of Call; one
// with ErrSilence has the Problem Garbage, and the model was paid for it.
func (m *Models) Transcribe(ctx context.Context, r Transcription) (Transcript, error) {
	var out Transcript
	most := r.Most()
	reply, err := m.exchange(ctx, Request{Role: RoleTranscribe, Model: r.Model, BeforeRetry: r.BeforeRetry}, r.check(), exchange{
		path: "/audio/transcriptions", most: most, limit: maxTranscript,
		form: func(e *endpoint) (form, error) {
			format := "verbose_json" // has the language and the length
			if e.quirks.noFormat.Load() || e.billsTokens() {
				format = "json"
			}
			return multipartForm(e.fields(map[string]any{"response_format": format, "language": r.Language}), r.Audio, r.Type)
		},
		read: func(e *endpoint, body []byte) (used Usage, f *fault) {
			out, used, f = e.readTranscript(body, r)
			return used, f
		},
	})
	out.Usage, out.Model = reply.Usage, reply.Model
	return out, err
}

// billsTokens tells, by name, the models of OpenAI that know one response_format
// alone: gpt-4o-transcribe and gpt-image-1, unlike whisper-1 and dall-e-3.
func (e *endpoint) billsTokens() bool { return strings.Contains(e.config.Model, "gpt-") }

func (e *endpoint) readTranscript(body []byte, r Transcription) (Transcript, Usage, *fault) {
	var said struct {
		Text                      *string
		Language, Duration, Usage json.RawMessage
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Text == nil {
		return Transcript{}, Usage{}, e.unusable(body)
	}
	out := Transcript{Text: strings.TrimSpace(*said.Text), Language: asText(said.Language), Length: r.Length}
	used := r.Most()
	// The length is the endpoint's word for what it bills, unless that cannot be true.
	var length float64
	if json.Unmarshal(said.Duration, &length) == nil && length > 0 && length <= 2*float64(used.AudioSeconds)+60 {
		out.Length = time.Duration(length * float64(time.Second))
		used = Usage{AudioSeconds: wholeSeconds(out.Length)}
	}
	used = e.withTokens(used, said.Usage, int(r.Audio.Size()), len(body))
	if out.Text == "" {
		return Transcript{}, used, &fault{problem: Garbage, paid: true, err: ErrSilence}
	}
	return out, used, nil
}

// withTokens adds the tokens that an endpoint reports beside its reply, unless they
// cannot be true.
func (e *endpoint) withTokens(used Usage, raw json.RawMessage, sent, got int) Usage {
	if tokens, ok := readUsage(raw); ok && e.plausible(tokens, sent, got) {
		used = used.Add(tokens)
	}
	return used
}

// Speak speaks a text. Errors are those of Call.
func (m *Models) Speak(ctx context.Context, r Speech) (Media, error) {
	var out Media
	reply, err := m.exchange(ctx, Request{Role: RoleSpeech, Model: r.Model, BeforeRetry: r.BeforeRetry}, r.check(), exchange{
		path: "/audio/speech", most: r.Most(), limit: maxMedia,
		form: func(e *endpoint) (form, error) {
			format := r.Format
			if e.quirks.noFormat.Load() {
				format = ""
			}
			voice := defaultVoice
			if r.Voice != "" {
				voice = r.Voice
			}
			return jsonForm(e.fields(map[string]any{"input": r.Text, "voice": voice, "response_format": format}))
		},
		read: func(e *endpoint, body []byte) (Usage, *fault) {
			kind := soundType(body)
			if kind == "" {
				return Usage{}, e.unusable(body)
			}
			out = Media{Type: kind, Data: body}
			return r.Most(), nil
		},
	})
	out.Usage, out.Model = reply.Usage, reply.Model
	return out, err
}

// Paint makes one picture. Errors are those of Call.
func (m *Models) Paint(ctx context.Context, r Painting) (Media, error) {
	var out Media
	reply, err := m.exchange(ctx, Request{Role: RoleImage, Model: r.Model, BeforeRetry: r.BeforeRetry}, checkText(r.Prompt), exchange{
		path: "/images/generations", most: r.Most(), limit: int64(base64.StdEncoding.EncodedLen(maxMedia)) + maxErrorBody,
		form: func(e *endpoint) (form, error) {
			format := "b64_json"
			if e.quirks.noFormat.Load() || e.billsTokens() {
				format = ""
			}
			return jsonForm(e.fields(map[string]any{"prompt": r.Prompt, "n": 1, "size": r.Size, "response_format": format}))
		},
		read: func(e *endpoint, body []byte) (used Usage, f *fault) {
			out, used, f = e.readPicture(body, r)
			return used, f
		},
	})
	out.Usage, out.Model = reply.Usage, reply.Model
	return out, err
}

// readPicture takes a picture that stands in the reply. It fetches none from an
// address, because that may be at a host that the config does not name.
func (e *endpoint) readPicture(body []byte, r Painting) (Media, Usage, *fault) {
	var said struct {
		Data []struct {
			Base64 string `json:"b64_json"`
			URL    string
		}
		Usage json.RawMessage
	}
	if err := json.Unmarshal(body, &said); err != nil || len(said.Data) == 0 || said.Data[0].Base64+said.Data[0].URL == "" {
		return Media{}, Usage{}, e.unusable(body)
	}
	used := e.withTokens(r.Most(), said.Usage, len(r.Prompt), len(body))
	broken := &fault{problem: Garbage, paid: true}
	text := said.Data[0].Base64
	if text == "" {
		broken.err = errors.New("the reply holds the address of a picture, which is not fetched")
		broken.hint = "set response_format in " + e.doer.key("extra_body") + " so that the endpoint sends the picture itself"
		return Media{}, used, broken
	}
	if strings.HasPrefix(text, "data:") {
		_, text, _ = strings.Cut(text, ",")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	broken.retry = true
	if err != nil {
		broken.err = fmt.Errorf("decoding the picture: %w", err)
		return Media{}, used, broken
	}
	out := Media{Type: http.DetectContentType(data), Data: data}
	if !slices.Contains(ImageTypes(), out.Type) {
		broken.err = errors.New("the picture is of the type " + out.Type)
		return Media{}, used, broken
	}
	return out, used, nil
}
