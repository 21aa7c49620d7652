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
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"legwork/internal/clip"
)

// Limits of exporting a batch: the time of all tries together, and of each.
const (
	exportTime = 30 * time.Second
	tryTime    = 10 * time.Second
)

// exporter sends spans by OTLP over HTTP in its JSON form. Every receiver accepts
// it, and the form with Protocol Buffers would be the largest part of the process.
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

// ExportSpans implements the SDK's SpanExporter. It drops spans that the receiver does
// not accept: they are worth less than the memory for them.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := json.Marshal(e.batch(spans))
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, e.try(ctx, body) }, backoff.WithMaxTries(4))
	if err != nil {
		e.metrics.spansDone(Failed, len(spans))
		e.log.WarnContext(ctx, "exporting spans failed", "count", len(spans), "cause", err)
		return nil // the log has it
	}
	e.metrics.spansDone(OK, len(spans))
	return nil
}

// Shutdown implements the SDK's SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// try sends a batch once. Its error is permanent when another try would not help.
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
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be reused
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

// The spans of a batch have the names of opentelemetry-proto's
// ExportTraceServiceRequest in JSON: ids in hexadecimal, enums as numbers, 64-bit
// numbers as texts. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
type (
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"` // one entry, whose key is the type
	}
	wireSpan struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Flags      uint32      `json:"flags,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []keyValue  `json:"attributes,omitempty"`
		Events     []wireEvent `json:"events,omitempty"`
		Status     wireStatus  `json:"status"`
	}
	wireEvent struct {
		Time       string     `json:"timeUnixNano"`
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	wireStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
)

// batch is the request that sends spans.
func (e *exporter) batch(spans []sdktrace.ReadOnlySpan) any {
	list := make([]wireSpan, 0, len(spans))
	var about []keyValue
	for _, s := range spans {
		list = append(list, e.span(s))
		about = e.keyValues(s.Resource().Attributes())
	}
	type object map[string]any
	return object{"resourceSpans": []object{{
		"resource": object{"attributes": about}, "scopeSpans": []object{{"scope": object{"name": "legwork"}, "spans": list}},
	}}}
}

func (e *exporter) span(s sdktrace.ReadOnlySpan) wireSpan {
	out := wireSpan{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		Name: e.clean(s.Name()), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Flags: uint32(s.SpanContext().TraceFlags()), Attributes: e.keyValues(s.Attributes()),
	}
	if parent := s.Parent(); parent.SpanID().IsValid() {
		out.ParentID = parent.SpanID().String()
	}
	for _, event := range s.Events() {
		out.Events = append(out.Events, wireEvent{nanos(event.Time), e.clean(event.Name), e.keyValues(event.Attributes)})
	}
	switch status := s.Status(); status.Code {
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = wireStatus{e.text(status.Description), 2}
	case codes.Unset:
	}
	return out
}

func (e *exporter) keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		out = append(out, keyValue{string(a.Key), e.value(a.Value)})
	}
	return out
}

func (e *exporter) value(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	}
	return map[string]any{"stringValue": e.text(v.String())}
}

// maxText limits the text of an attribute, in bytes.
const maxText = 1024

func (e *exporter) text(s string) string { return clip.Bytes(e.clean(s), maxText) }

func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
