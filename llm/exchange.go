package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// exchange is a call that is no chat: one request, and one reply that comes in one
// piece. It is retried, counted and passed on to fallbacks like a chat.
type exchange struct {
	path  string // below base_url
	most  Usage  // of one attempt
	limit int64  // bytes of the reply
	form  func(*endpoint) (form, error)
	// read reads a reply and returns what it used, also beside a fault that is paid.
	read func(e *endpoint, body []byte) (Usage, *fault)
}

func (m *Models) exchange(ctx context.Context, r Request, invalid error, x exchange) (Reply, error) {
	c := &call{models: m, operation: r.Role, request: r}
	c.once = func(ctx context.Context, e *endpoint) (Reply, *fault) {
		return Reply{Model: e.name}, c.exchange(ctx, e, x)
	}
	return c.do(ctx, invalid)
}

// exchange makes one attempt, and a second at once when the endpoint refused the
// response_format.
func (c *call) exchange(ctx context.Context, e *endpoint, x exchange) *fault {
	ctx, given := traceWrite(ctx)
	begin := time.Now()
	used, f := e.exchange(ctx, x)
	if f != nil && e.refusesFormat(f) {
		begin = time.Now()
		used, f = e.exchange(ctx, x)
	}
	if f != nil {
		f.media = true
	}
	switch {
	case f == nil || f.paid:
	case f.status == 0 && given.Load() && errors.Is(ctx.Err(), context.Canceled):
		// The caller waits no longer, but the endpoint works on the reply.
		used = x.most
		used.Estimated = true
	default:
		used = Usage{}
	}
	if used != (Usage{}) {
		used = e.priced(used)
		c.usage, c.paid = c.usage.Add(used), true
	}
	c.recordAttempt(ctx, e, begin, nil, f, used)
	return f
}

// refusesFormat finds out from an error whether the request can do without its
// response_format, and remembers that.
func (e *endpoint) refusesFormat(f *fault) bool {
	return f.problem == Invalid && f.status != 0 && !e.replaced("response_format") &&
		containsAny(strings.ToLower(f.err.Error()), "response_format", "verbose_json", "response format") && !e.quirks.noFormat.Swap(true)
}

// exchange makes one request. The first byte of its reply comes when the whole work is
// done, so only the timeout of the call limits the wait for it.
func (e *endpoint) exchange(ctx context.Context, x exchange) (Usage, *fault) {
	form, err := x.form(e)
	if err != nil {
		return Usage{}, &fault{problem: Invalid, err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.config.BaseURL, "/")+x.path, form.open())
	if err != nil {
		return Usage{}, &fault{problem: Invalid, err: errors.New(e.doer.redact(err.Error()))}
	}
	req.ContentLength = form.length
	req.GetBody = func() (io.ReadCloser, error) { return form.open(), nil }
	req.Header.Set("Content-Type", form.contentType)
	if e.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+e.config.APIKey)
	}
	resp, err := e.doer.open(req, math.MaxInt64)
	if err != nil {
		f := e.sendFault(err)
		if f.problem == NotFound {
			f.hint += "; check that it has the call " + x.path
		}
		return Usage{}, f
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, x.limit+1))
	switch {
	case err != nil:
		f := e.doer.connectionFault(err)
		if len(body) > 0 {
			f.problem, f.paid = CutOff, true
		}
		return x.most, f
	case int64(len(body)) > x.limit:
		return x.most, &fault{problem: Garbage, paid: true, err: fmt.Errorf("the reply has more than %d bytes", x.limit)}
	}
	return x.read(e, body)
}

// unusable is the fault of a reply that is not what was asked for. A reply that was
// cut off, or an error in the place of one, may come out better the next time.
func (e *endpoint) unusable(body []byte) *fault {
	f := &fault{problem: Garbage, retry: true}
	body = bytes.TrimSpace(body)
	switch said := readAPIError(body); {
	case said.message != "":
		f.err = errors.New("the reply is an error in spite of its status: " + e.doer.redact(said.message))
	case len(body) == 0:
		f.err = &protocolError{}
	case body[0] == '{' && !json.Valid(body):
		f.err = errors.New("the reply is JSON that breaks off or is damaged")
	case !utf8.Valid(body[:min(len(body), utf8.UTFMax)]):
		f.retry, f.err = false, errors.New("the reply is data of an unknown kind")
		f.hint = "set response_format in " + e.doer.key("extra_body")
	default:
		f.retry, f.err, f.hint = false, errors.New(e.doer.redact((&protocolError{body[:min(len(body), 512)]}).Error())), e.doer.addressHint(apiError{})
	}
	return f
}

// form is the body of a request, which can be sent several times.
type form struct {
	contentType string
	length      int64
	open        func() io.ReadCloser
}

// fields returns the fields of a request with its model, changed as extra_body says.
// Empty ones are left out.
func (e *endpoint) fields(f map[string]any) map[string]any {
	f["model"] = e.config.Model
	maps.Copy(f, e.config.ExtraBody)
	maps.DeleteFunc(f, func(_ string, v any) bool { return v == nil || v == "" })
	return f
}

func jsonForm(fields map[string]any) (form, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return form{}, err
	}
	return form{"application/json", int64(len(body)), func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }}, nil
}

// multipartForm holds fields and a recording (RFC 7578). It reads the recording while
// the request is sent.
func multipartForm(fields map[string]any, audio *io.SectionReader, contentType string) (form, error) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, text := fields[name].(string)
		if !text {
			raw, err := json.Marshal(fields[name])
			if err != nil {
				return form{}, err
			}
			value = string(raw)
		}
		if err := w.WriteField(name, value); err != nil {
			return form{}, err
		}
	}
	// Endpoints tell formats by the extension. The name that a person gave stays here.
	if _, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="audio.` + audioExtension(contentType) + `"`},
		"Content-Type":        {contentType},
	}); err != nil {
		return form{}, err
	}
	begin := buffer.Len()
	if err := w.Close(); err != nil {
		return form{}, err
	}
	text := buffer.Bytes()
	return form{w.FormDataContentType(), int64(len(text)) + audio.Size(), func() io.ReadCloser {
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:begin]), io.NewSectionReader(audio, 0, audio.Size()), bytes.NewReader(text[begin:])))
	}}, nil
}

// audioExtension returns the extension of files of a type of recordings, as endpoints
// know it; empty for another type. Sound of videos counts.
func audioExtension(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	switch kind {
	case "audio/mpeg":
		return "mp3"
	case "audio/ogg", "audio/opus", "application/ogg", "video/ogg":
		return "ogg"
	case "audio/mp4", "audio/x-m4a", "audio/m4a":
		return "m4a"
	case "audio/wave", "audio/x-wav", "audio/vnd.wave", "audio/wav":
		return "wav"
	case "audio/flac", "audio/x-flac":
		return "flac"
	case "video/mp4", "video/quicktime":
		return "mp4"
	}
	family, rest, _ := strings.Cut(strings.Replace(kind, "/x-", "/", 1), "/")
	if family != "audio" && family != "video" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return rest
}

// soundType finds the type of a recording in its first bytes; empty: it is none. Only
// Ogg with Opus is audio/ogg, as Telegram's voice messages are.
func soundType(data []byte) string {
	has := func(at int, text string) bool {
		return len(data) >= at+len(text) && string(data[at:at+len(text)]) == text
	}
	switch {
	case has(0, "OggS") && has(28, "OpusHead"): // RFC 7845, section 5.1; the first page has one segment
		return "audio/ogg"
	case has(0, "OggS"):
		return "application/ogg"
	case has(0, "ID3"), len(data) > 1 && data[0] == 0xff && data[1]&0xe6 == 0xe2: // MPEG audio, layer III
		return "audio/mpeg"
	case len(data) > 1 && data[0] == 0xff && data[1]&0xf6 == 0xf0: // ADTS
		return "audio/aac"
	case has(0, "RIFF") && has(8, "WAVE"):
		return "audio/wav"
	case has(0, "fLaC"):
		return "audio/flac"
	case has(4, "ftyp"):
		return "audio/mp4"
	}
	return ""
}
