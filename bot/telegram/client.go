package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/telemetry"
)

// How long calls may take, and how long an answer may be.
const (
	callTimeout = 30 * time.Second
	maxReply    = 16 << 20
)

// client calls methods of the Bot API. No error of it holds the token.
type client struct {
	token    string
	endpoint string // base address as the library wants it, with verbs for token and method
	http     *http.Client
	secrets  *strings.Replacer
	metrics  *telemetry.Metrics
}

// newClient makes a client; a nil transport is a usual one that keeps a few
// idle connections. close gives them back.
func newClient(cfg Config, transport http.RoundTripper) *client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost, own.MaxIdleConns = 16, 16
		own.IdleConnTimeout = time.Minute
		// Everything may share one connection: it must not be dead for long.
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
		secrets:  strings.NewReplacer(pairs...),
		http: &http.Client{
			Transport: transport,
			// Another address would get the token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// sentWait is how long the answer to a message that is on its way is waited for
// when nobody wants the message any more: without its id it could not be changed.
const sentWait = 2 * time.Second

// call calls a method within timeout and decodes its result, unless result is
// nil. An answer that is not ok is a *tgbotapi.Error inside the error.
func (c *client) call(ctx context.Context, timeout time.Duration, method string, params tgbotapi.Params, result any) error {
	if method == "sendMessage" {
		var done context.CancelFunc
		ctx, done = bot.WithGrace(ctx, sentWait)
		defer done()
	}
	ctx, done := c.measured(ctx, method)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	api := &tgbotapi.BotAPI{Token: c.token, Client: sender(func(r *http.Request) (*http.Response, error) {
		return c.send(r.WithContext(ctx))
	})}
	api.SetAPIEndpoint(c.endpoint)
	failpoint.Hit("telegram.before." + method)
	reply, err := api.MakeRequest(method, params)
	failpoint.Hit("telegram.after." + method)
	done(err)
	return c.conclude(method, reply, err, result)
}

// conclude decodes the result of a call that went well.
func (c *client) conclude(method string, reply *tgbotapi.APIResponse, err error, result any) error {
	if err == nil && result != nil {
		err = json.Unmarshal(reply.Result, result)
	}
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, c.redact(err))
	}
	return nil
}

// sender lets a function stand where the library wants an HTTP client.
type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(r *http.Request) (*http.Response, error) { return s(r) }

// send reads the whole answer, so that the connection can be used again, and
// tells by its status one that is none of the Bot API, such as a proxy's page.
func (c *client) send(r *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	var reply struct {
		OK *bool `json:"ok"`
	}
	if resp.StatusCode >= http.StatusMultipleChoices && (json.Unmarshal(body, &reply) != nil || reply.OK == nil) {
		return nil, statusError(resp.StatusCode)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// statusError is an answer that the Bot API would not give.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", int(s), http.StatusText(int(s)))
}

// redact takes secrets out of an error: the library's errors hold the address,
// and with it the token.
func (c *client) redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if api, ok := errors.AsType[*tgbotapi.Error](err); ok {
		clean := *api
		clean.Message = c.secrets.Replace(api.Message)
		return &clean
	}
	if text := err.Error(); c.secrets.Replace(text) != text {
		return errors.New(c.secrets.Replace(text))
	}
	return err
}
