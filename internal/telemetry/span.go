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

// Kind says which side of a call a span is.
type Kind int

// The kinds of spans.
const (
	Internal = Kind(trace.SpanKindInternal)
	Server   = Kind(trace.SpanKindServer)   // something came in
	Client   = Kind(trace.SpanKindClient)   // something goes out, and is answered
	Consumer = Kind(trace.SpanKindConsumer) // a message came in
)

// Span is a piece of work in a trace. On nil, which is what there is without
// traces, all methods do nothing. What was said, asked or found never goes into
// one: names, sizes and outcomes do.
type Span struct{ span trace.Span }

// Start begins a span below that of the context, where the context is in a trace.
func Start(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	t, _ := ctx.Value(tracing{}).(*Tracer)
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, kind, name)
}

// Text notes a text, Number a number and Truth a fact about the work.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number notes a number.
func (s *Span) Number(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Truth notes whether something is so.
func (s *Span) Truth(key string, value bool) {
	if s != nil {
		s.span.SetAttributes(attribute.Bool(key, value))
	}
}

// Name gives the work a better name than the one that it began with.
func (s *Span) Name(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Event notes a moment of the work.
func (s *Span) Event(name string) {
	if s != nil {
		s.span.AddEvent(name)
	}
}

// Fail says that the work failed, and why in one word.
func (s *Span) Fail(why string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(ErrorType, why))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the work; err is why it failed. That its caller wants it no more is
// no failure.
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

// EndAt ends work that was over at that time.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.span.End(trace.WithTimestamp(at))
	}
}

// ids makes ids by chance, but for spans whose ids are known.
type ids struct{}

// fixed is the key of the ids that the next span must have.
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
