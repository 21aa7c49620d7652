package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
)

const (
	callTimeout   = 30 * time.Second
	uploadTimeout = 2 * time.Minute // and a second more for so many bytes:
	slowUpload    = 128 << 10
	maxReply      = 16 << 20 // bytes of an answer

	// sentGrace is how long a message that is on its way may still take after its
	// context ended: without its id it could not be changed later.
	sentGrace = 2 * time.Second
)

// client calls methods of the Bot API (core.telegram.org/bots/api). The library
// makes the requests and reads the answers. It is of 2021, so the types of newer
// updates and the parameters of newer methods are this package's own. None of the
// client's errors holds the token.
type client struct {
	token    string
	endpoint string        // base address as the library wants it, with verbs for token and method
	files    string        // base address of downloads; it holds the token
	stall    time.Duration // after which a download that brings nothing is cut
	http     *http.Client
	secrets  *strings.Replacer
	metrics  *telemetry.Metrics
}

// newClient makes a client; a nil transport stands for one that keeps a few
// idle connections.
func newClient(cfg Config, transport http.RoundTripper) *client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost, own.MaxIdleConns = 16, 16
		own.IdleConnTimeout = time.Minute
		// All calls may share one connection, so a dead one must be noticed soon.
		own.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
		transport = own
	}
	var pairs []string
	_, half, _ := strings.Cut(cfg.Token, ":")
	for _, secret := range []string{cfg.Token, url.QueryEscape(cfg.Token), half, cfg.Webhook.Secret} {
		if secret != "" {
			pairs = append(pairs, secret, "[secret]")
		}
	}
	return &client{
		token:    cfg.Token,
		endpoint: strings.ReplaceAll(cfg.APIURL, "%", "%%") + "/bot%s/%s",
		files:    cfg.APIURL + "/file/bot" + cfg.Token + "/",
		stall:    bot.StallTimeout,
		secrets:  strings.NewReplacer(pairs...),
		http: &http.Client{
			Transport: transport,
			// A redirect would give the token to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// call calls a method within timeout and decodes its result, unless result is
// nil. Where the Bot API refuses, the error holds a *tgbotapi.Error.
func (c *client) call(ctx context.Context, timeout time.Duration, method string, p tgbotapi.Params, result any) error {
	if method == "sendMessage" || method == richMethod {
		var done context.CancelFunc
		ctx, done = retry.WithGrace(ctx, sentGrace)
		defer done()
	}
	return c.request(ctx, timeout, method, p, c.send, result)
}

// upload calls a method with a file in a field. The library's own uploads lose the
// codes of errors, and leak a goroutine when the server answers early. So the
// library makes a request without parameters, and a form with the file is sent in
// its place.
func (c *client) upload(ctx context.Context, method string, p tgbotapi.Params, field string, f *bot.File, result any) error {
	ctx, done := retry.WithGrace(ctx, sentGrace)
	defer done()
	var frame bytes.Buffer // the form without the content; writing to it never fails
	w := multipart.NewWriter(&frame)
	for name, value := range p {
		_ = w.WriteField(name, value)
	}
	_, _ = w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(field, f.BaseName())},
		"Content-Type":        {f.MediaType()},
	})
	before := frame.Len()
	_ = w.Close()
	timeout := uploadTimeout + time.Duration(len(f.Content)/slowUpload)*time.Second
	return c.request(ctx, timeout, method, nil, func(r *http.Request) (*http.Response, error) {
		head, tail := frame.Bytes()[:before], frame.Bytes()[before:]
		body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(f.Content), bytes.NewReader(tail))
		form, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), body)
		if err != nil {
			return nil, err
		}
		form.ContentLength = int64(frame.Len() + len(f.Content))
		form.Header.Set("Content-Type", w.FormDataContentType())
		return c.send(form)
	}, result)
}

// sender lets a function be the HTTP client of the library.
type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(r *http.Request) (*http.Response, error) { return s(r) }

// request makes one measured call with the library, which sends with send.
func (c *client) request(ctx context.Context, timeout time.Duration, method string, p tgbotapi.Params, send sender, result any) error {
	ctx, done := c.measure(ctx, method)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	api := &tgbotapi.BotAPI{Token: c.token, Client: sender(func(r *http.Request) (*http.Response, error) {
		return send(r.WithContext(ctx))
	})}
	api.SetAPIEndpoint(c.endpoint)
	failpoint.Hit("telegram.before." + method)
	reply, err := api.MakeRequest(method, p)
	failpoint.Hit("telegram.after." + method)
	done(err)
	if err == nil && result != nil {
		err = json.Unmarshal(reply.Result, result)
	}
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, c.redact(err))
	}
	return nil
}

// send sends a request and reads the whole answer, so that the connection can be
// used again. The library does not look at the status: an answer that is none of
// the Bot API, such as a proxy's page, is a statusError.
func (c *client) send(r *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	var reply struct {
		OK *bool `json:"ok"`
	}
	if resp.StatusCode >= http.StatusMultipleChoices && (json.Unmarshal(data, &reply) != nil || reply.OK == nil) {
		return nil, statusError(resp.StatusCode)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// redact removes secrets from an error: one of net/http holds the address, and
// with it the token.
func (c *client) redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if refused, ok := errors.AsType[*tgbotapi.Error](err); ok {
		clean := *refused
		clean.Message = c.secrets.Replace(clean.Message)
		return &clean
	}
	if text := err.Error(); c.secrets.Replace(text) != text {
		return errors.New(c.secrets.Replace(text))
	}
	return err
}

// measure begins the span and the metrics of one call; the caller ends them
// with the function. Polls are counted without their duration, which depends on
// how much people write.
func (c *client) measure(ctx context.Context, method string) (_ context.Context, done func(error)) {
	begin, polls := time.Now(), method == "getUpdates"
	var span *telemetry.Span
	if !polls {
		ctx, span = telemetry.Start(ctx, telemetry.Client, Name+" "+method)
	}
	return ctx, func(err error) {
		outcome := outcomeOf(err)
		span.Text(telemetry.PlatformKey, Name)
		if outcome != telemetry.OK && outcome != telemetry.Given {
			span.Fail(outcome)
		}
		span.End(nil)
		took := time.Since(begin)
		if polls {
			took = 0
		}
		c.metrics.PlatformCalled(Name, method, outcome, took)
	}
}

func outcomeOf(err error) string {
	refused, ok := asRefusal(err)
	switch {
	case err == nil:
		return telemetry.OK
	case errors.Is(err, context.Canceled):
		return telemetry.Given
	case !ok:
		return telemetry.Failed
	case refused.rateLimited():
		return telemetry.Limited
	case refused.code < http.StatusInternalServerError:
		return telemetry.Refused
	}
	return telemetry.Failed
}

// How long legwork waits between calls that fail.
const (
	maxRetryPause   = 25 * time.Second // a random part comes on top
	badTokenPause   = time.Minute
	minConflictWait = 5 * time.Second // after another program polled
)

// newPauses returns the pauses between tries.
func newPauses() *retry.Pauses { return retry.New(250*time.Millisecond, maxRetryPause, 0.2) }

// pauseAfter is how long to wait after an error.
func pauseAfter(err error, pauses *retry.Pauses) time.Duration {
	after := pauses.Next()
	refused, ok := asRefusal(err)
	switch {
	case !ok:
	case refused.badToken():
		after = badTokenPause
	case refused.rateLimited():
		after = max(after, refused.after)
	case isConflict(err):
		after = max(after, minConflictWait)
	}
	return after
}

// isConflict reports whether another program polls too.
func isConflict(err error) bool {
	refused, ok := asRefusal(err)
	return ok && refused.code == http.StatusConflict
}

// retry calls a method until it succeeds, or until failed, which gets each
// error, returns false. It returns false then, and when ctx ended before.
func (c *client) retry(ctx context.Context, method string, p tgbotapi.Params, result any, failed func(error) (again bool)) bool {
	for pauses := newPauses(); ; {
		err := c.call(ctx, callTimeout, method, p, result)
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		if !failed(err) || retry.Sleep(ctx, pauseAfter(err, pauses)) != nil {
			return false
		}
	}
}
