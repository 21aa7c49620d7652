package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"legwork/internal/telemetry"
	"legwork/tasks"
)

// maxReply is the number of bytes that are read of a reply.
const maxReply = 64 << 10

// maxRetryAfter is the longest wait that a receiver can ask for with Retry-After.
const maxRetryAfter = 6 * time.Hour

// The outcomes of a request.
const (
	delivered = "delivered" // 2xx
	gone      = "gone"      // 410: the receiver wants no more deliveries
	refused   = "refused"   // any other status: the reason may be this delivery alone
	away      = "away"      // no answer in time, or 429, 502, 503, 504: the reason is the receiver
	givenUp   = "given_up"  // a day of tries failed
)

// result is the result of one request.
type result struct {
	outcome string
	problem string        // for people; never contains the address
	wait    time.Duration // from Retry-After
	limited bool          // 429
}

// counted is the outcome for metrics.
func (r result) counted() string {
	switch {
	case r.outcome == delivered:
		return telemetry.OK
	case r.outcome == gone:
		return telemetry.Gone
	case r.limited:
		return telemetry.Limited
	}
	return telemetry.Failed
}

// sender makes signed requests.
type sender struct {
	client  *http.Client
	version string
	now     func() time.Time
}

func newSender(transport http.RoundTripper, timeout time.Duration, version string, now func() time.Time) sender {
	return sender{&http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, version, now}
}

// newTransport makes a transport with few connections, each for a short time:
// requests are rare.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 15 * time.Second,
		MaxResponseHeaderBytes: maxReply,
	}
}

// sendOnce sends alerts that cannot be stored.
func (a *Alerts) sendOnce(ctx context.Context, list []tasks.Delivery) {
	s := newSender(a.Transport, a.Timing.Request, a.Version, a.Now)
	for _, d := range list {
		w, ok := a.config.Load().Webhooks[d.Webhook]
		if !ok {
			continue
		}
		r := s.send(ctx, w, d.ID, d.Body)
		a.Metrics.Delivered(d.Webhook, r.counted())
		if r.outcome != delivered {
			a.Log.ErrorContext(ctx, "delivery failed", "webhook", d.Webhook, "kind", d.Kind, "cause", r.problem)
		}
	}
}

// send makes one request according to Standard Webhooks (standardwebhooks.com).
func (s sender) send(ctx context.Context, w Webhook, id string, payload []byte) result {
	r, err := s.request(ctx, w, id, payload)
	if err != nil {
		return result{outcome: refused, problem: err.Error()}
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return result{outcome: away, problem: s.away(err)}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // read it, so that the connection can be used again
	return resultOf(resp, s.now())
}

func (s sender) request(ctx context.Context, w Webhook, id string, payload []byte) (*http.Request, error) {
	raw, problem := signingKey(w.Secret)
	if problem != "" {
		return nil, errors.New("its secret " + problem)
	}
	signer, err := standardwebhooks.NewWebhookRaw(raw)
	if err != nil {
		return nil, fmt.Errorf("preparing its secret: %w", err)
	}
	at := s.now()
	signature, err := signer.Sign(id, at, payload)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(payload))
	if err != nil {
		return nil, errors.New("its url is not the address of a program")
	}
	r.Header.Set("Content-Type", "application/json")
	if at := telemetry.Traceparent(ctx); at != "" {
		r.Header.Set("Traceparent", at)
	}
	r.Header.Set("User-Agent", strings.TrimSuffix("legwork/"+s.version, "/"))
	r.Header.Set(standardwebhooks.HeaderWebhookID, id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return r, nil
}

// away is the reason why the receiver did not answer, without the address.
func (s sender) away(err error) string {
	var outer *url.Error
	if errors.As(err, &outer) {
		if outer.Timeout() {
			return "it did not answer within " + s.client.Timeout.String()
		}
		err = outer.Err
	}
	return err.Error()
}

// resultOf reads a reply.
func resultOf(resp *http.Response, now time.Time) result {
	r := result{outcome: refused, problem: "it answered " + resp.Status, wait: retryAfter(resp.Header.Get("Retry-After"), now), limited: resp.StatusCode == http.StatusTooManyRequests}
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return result{outcome: delivered}
	case status == http.StatusGone:
		r.outcome = gone
		r.problem += ": it wants no more deliveries; remove it from alerts.webhooks"
	case status >= 300 && status < 400:
		r.problem += ", and redirects are not followed; set url to where it leads"
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		r.outcome = away
	}
	return r
}

// retryAfter parses a Retry-After header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	seconds, err := strconv.Atoi(strings.TrimSpace(header))
	wait := time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	if err != nil {
		at, err := http.ParseTime(header)
		if err != nil {
			return 0
		}
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Try sends a ping to a webhook and returns an error if it did not arrive.
func Try(ctx context.Context, w Webhook, version string, now func() time.Time) error {
	transport := newTransport()
	defer transport.CloseIdleConnections()
	at := now()
	payload := body(Ping, at, Data{Summary: "This is a test: nothing has happened."})
	r := newSender(transport, Timing{}.withDefaults().Request, version, now).send(ctx, w, fmt.Sprintf("ping-%d", at.UnixNano()), payload)
	if r.outcome == delivered {
		return nil
	}
	return errors.New(r.problem)
}
