package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Kind is the side of a call that a span is on.
type Kind int

// The kinds of spans.
const (
	Internal = Kind(trace.SpanKindInternal)
	Server   = Kind(trace.SpanKindServer)   // something came in
	Client   = Kind(trace.SpanKindClient)   // something goes out, and is answered
	Consumer = Kind(trace.SpanKindConsumer) // a message came in
)

// Span is a piece of work in a trace. On a nil Span, which is what there is without
// traces, all methods do nothing. Spans contain names, sizes and outcomes, but no
// contents.
type Span struct{ span trace.Span }

// Start begins a span below that of the context, if the context is in a trace.
func Start(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	t, _ := ctx.Value(tracing{}).(*Tracer)
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, kind, name)
}

// Text adds a text to the span.
func (s *Span) Text(key, value string) {
	if value != "" {
		s.add(attribute.String(key, value))
	}
}

// Number adds a number to the span.
func (s *Span) Number(key string, value int) { s.add(attribute.Int(key, value)) }

// Bool adds a bool to the span.
func (s *Span) Bool(key string, value bool) { s.add(attribute.Bool(key, value)) }

func (s *Span) add(a attribute.KeyValue) {
	if s != nil {
		s.span.SetAttributes(a)
	}
}

// Name replaces the name of the span.
func (s *Span) Name(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Event adds an event to the span.
func (s *Span) Event(name string) {
	if s != nil {
		s.span.AddEvent(name)
	}
}

// Fail marks the span as failed; why is one word.
func (s *Span) Fail(why string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(ErrorType, why))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span; err is the reason if the work failed. A canceled call is no
// failure.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	switch {
	case errors.Is(err, context.Canceled):
		s.Text(OutcomeKey, Given)
	case err != nil:
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// EndAt ends the span at an earlier time.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.span.End(trace.WithTimestamp(at))
	}
}

// ids makes random ids, except for spans whose ids are known.
type ids struct{}

// fixed is the context key of the ids of the next span.
type fixed struct{}

func (ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if known, ok := ctx.Value(fixed{}).(trace.SpanContext); ok {
		return known.TraceID(), known.SpanID()
	}
	_, _ = rand.Read(id[:]) // it never fails
	_, _ = rand.Read(span[:])
	return id, span
}

func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if known, ok := ctx.Value(fixed{}).(trace.SpanContext); ok {
		return known.SpanID()
	}
	_, _ = rand.Read(id[:])
	return id
}
