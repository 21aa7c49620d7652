package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds of handing on a batch: how long all tries together may take, and each.
const (
	exportTime = 30 * time.Second
	tryTime    = 10 * time.Second
)

// exporter hands spans on by OTLP over HTTP, in its JSON form: every receiver
// knows it, and the form with Protocol Buffers would be the largest thing in the
// process.
type exporter struct {
	url     string
	headers map[string]string
	clean   func(string) string
	client  *http.Client
	metrics *Metrics
	log     *slog.Logger
}

func newExporter(c TraceConfig) (*exporter, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("reading the address for traces: %q is not like http://localhost:4318", c.Endpoint)
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	e := &exporter{url: u.String(), headers: c.Headers, clean: c.Clean, client: &http.Client{}, metrics: c.Metrics, log: c.Log}
	if e.clean == nil {
		e.clean = func(text string) string { return text }
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	return e, nil
}

// ExportSpans implements the SDK's SpanExporter. Spans that the receiver does not
// take are lost: they are worth less than the memory that they would need.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := json.Marshal(e.batch(spans))
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	again := backoff.NewExponentialBackOff()
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, e.try(ctx, body) }, backoff.WithBackOff(again), backoff.WithMaxTries(4))
	if err != nil {
		e.metrics.spansDone(Failed, len(spans))
		e.log.WarnContext(ctx, "spans are lost", "count", len(spans), "cause", err)
		return nil // it is told here, once
	}
	e.metrics.spansDone(OK, len(spans))
	return nil
}

// Shutdown implements the SDK's SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// try sends a batch once. Its error is final where another try would not help.
func (e *exporter) try(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range e.headers {
		r.Header.Set(name, value)
	}
	resp, err := e.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which may hold a key
		}
		return fmt.Errorf("sending spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	err = fmt.Errorf("sending spans: the receiver answered %s", resp.Status)
	switch {
	case resp.StatusCode < 300:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusBadGateway,
		resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		return err
	}
	return backoff.Permanent(err)
}
