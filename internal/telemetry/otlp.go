package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"legwork/internal/clip"
)

// The types of a batch have the names of opentelemetry-proto's
// ExportTraceServiceRequest in JSON: ids in hexadecimal, enums as numbers, 64-bit
// numbers as texts.
type (
	traceRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []wireSpan `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	anyValue struct {
		String *string  `json:"stringValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
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

// batch is what is sent of spans.
func (e *exporter) batch(spans []sdktrace.ReadOnlySpan) traceRequest {
	list := make([]wireSpan, 0, len(spans))
	var about []keyValue
	for _, s := range spans {
		list = append(list, e.span(s))
		about = e.pairs(s.Resource().Attributes())
	}
	return traceRequest{[]resourceSpans{{
		Resource: attributes{about}, ScopeSpans: []scopeSpans{{Scope: scope{"legwork"}, Spans: list}},
	}}}
}

func (e *exporter) span(s sdktrace.ReadOnlySpan) wireSpan {
	out := wireSpan{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		Name: e.clean(s.Name()), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Flags: uint32(s.SpanContext().TraceFlags()), Attributes: e.pairs(s.Attributes()),
	}
	if parent := s.Parent(); parent.SpanID().IsValid() {
		out.ParentID = parent.SpanID().String()
	}
	for _, event := range s.Events() {
		out.Events = append(out.Events, wireEvent{nanos(event.Time), e.clean(event.Name), e.pairs(event.Attributes)})
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

func (e *exporter) pairs(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		out = append(out, keyValue{string(a.Key), e.value(a.Value)})
	}
	return out
}

func (e *exporter) value(v attribute.Value) anyValue {
	switch v.Type() {
	case attribute.BOOL:
		is := v.AsBool()
		return anyValue{Bool: &is}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return anyValue{Int: &n}
	case attribute.FLOAT64:
		n := v.AsFloat64()
		return anyValue{Double: &n}
	}
	text := e.text(v.String())
	return anyValue{String: &text}
}

// longestText is how much of a text is handed on, in bytes.
const longestText = 1024

func (e *exporter) text(s string) string { return clip.Bytes(e.clean(s), longestText) }

func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
