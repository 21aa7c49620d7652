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

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/telemetry"
)

const (
	callTimeout   = 30 * time.Second
	uploadTimeout = 2 * time.Minute // for the largest file on a slow line
	maxReply      = 16 << 20        // bytes of an answer

	// sentGrace is how long a message that is on its way may still take after its
	// context ended: without its id it could not be changed later.
	sentGrace = 2 * time.Second
)

// client calls methods of the Bot API (core.telegram.org/bots/api). None of its
// errors holds the token.
type client struct {
	endpoint string // base address of the methods; it holds the token
	http     *http.Client
	secrets  *strings.Replacer
	metrics  *telemetry.Metrics
}

// params are the parameters of a method.
type params map[string]string

// set adds a parameter unless its value is empty.
func (p params) set(name, value string) {
	if value != "" {
		p[name] = value
	}
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
		endpoint: cfg.APIURL + "/bot" + cfg.Token + "/",
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
// nil. Where the Bot API refuses, the error holds an *apiError.
func (c *client) call(ctx context.Context, timeout time.Duration, method string, p params, result any) error {
	if method == "sendMessage" {
		var done context.CancelFunc
		ctx, done = bot.WithGrace(ctx, sentGrace)
		defer done()
	}
	form := url.Values{}
	for name, value := range p {
		form.Set(name, value)
	}
	return c.post(ctx, timeout, method, strings.NewReader(form.Encode()), "application/x-www-form-urlencoded", result)
}

// upload calls a method with a document.
func (c *client) upload(ctx context.Context, method string, p params, f *bot.File, result any) error {
	var body bytes.Buffer // writing to it never fails
	w := multipart.NewWriter(&body)
	for name, value := range p {
		_ = w.WriteField(name, value)
	}
	if part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("document", f.BaseName())},
		"Content-Type":        {f.MediaType()},
	}); err == nil {
		_, _ = part.Write(f.Content)
	}
	_ = w.Close()
	return c.post(ctx, uploadTimeout, method, &body, w.FormDataContentType(), result)
}

// post makes one measured call.
func (c *client) post(ctx context.Context, timeout time.Duration, method string, body io.Reader, contentType string, result any) error {
	ctx, done := c.measure(ctx, method)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	failpoint.Hit("telegram.before." + method)
	raw, err := c.exchange(ctx, method, body, contentType)
	failpoint.Hit("telegram.after." + method)
	done(err)
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, c.redact(err))
	}
	return nil
}

// exchange sends a request and reads the whole answer, so that the connection
// can be used again. It returns the answer's result.
func (c *client) exchange(ctx context.Context, method string, body io.Reader, contentType string) (json.RawMessage, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint+method, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	var reply reply
	err = json.Unmarshal(data, &reply)
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices && (err != nil || reply.OK == nil):
		return nil, statusError(resp.StatusCode) // a proxy's page, for example
	case err != nil:
		return nil, err
	case reply.OK == nil || !*reply.OK:
		return nil, reply.refusal()
	}
	return reply.Result, nil
}

// redact removes secrets from an error: one of net/http holds the address, and
// with it the token.
func (c *client) redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if refused, ok := asAPIError(err); ok {
		clean := *refused
		clean.text = c.secrets.Replace(clean.text)
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
	refused, ok := asAPIError(err)
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
