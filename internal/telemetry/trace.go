package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer begins traces and exports their spans. It is safe for concurrent use; a nil
// Tracer makes no traces.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
}

// TraceConfig is the configuration of a Tracer.
type TraceConfig struct {
	// Endpoint is the base address of an OTLP receiver, as
	// OTEL_EXPORTER_OTLP_ENDPOINT has it; spans go to /v1/traces below it. Empty:
	// there are no traces.
	Endpoint string
	// Headers go with every request, such as the key of the receiver.
	Headers map[string]string
	// Sample is the part of the traces that begin here which is kept, from 0 to 1.
	// One that came from outside is kept when it is there.
	Sample  float64
	Version string
	// Clean removes secrets from the names and attributes of spans. May be nil.
	Clean   func(string) string
	Metrics *Metrics     // counts spans; may be nil
	Log     *slog.Logger // called with the number of lost spans; may be nil
}

// exportEvery is the time between two exports.
const exportEvery = 2 * time.Second

// NewTracer makes a tracer; without an endpoint it returns nil and no error. It does
// not connect. Run or Close ends it.
func NewTracer(c TraceConfig) (*Tracer, error) {
	if c.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil Tracer is one that does nothing
	}
	out, err := newExporter(c)
	if err != nil {
		return nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", "legwork"), attribute.String("service.version", c.Version))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = -1 // a text is cut when it holds no secrets any more
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(out, sdktrace.WithBatchTimeout(exportEvery), sdktrace.WithExportTimeout(exportTime)),
		sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Sample))),
	)
	return &Tracer{p, p.Tracer("legwork"), out.log}, nil
}

// Run exports the remaining spans when ctx ends.
func (t *Tracer) Run(ctx context.Context) error {
	<-ctx.Done()
	t.Close(context.WithoutCancel(ctx))
	return nil
}

// closeTime limits the last export.
const closeTime = 3 * time.Second

// Close exports the remaining spans and ends the tracer.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.WarnContext(ctx, "exporting last spans failed", "cause", err)
	}
}

// Flush exports the spans that have ended.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// tracing is the key of the tracer of a context.
type tracing struct{}

// Begin begins the span of a request or message from outside: in the trace of its
// traceparent, or in a new one. Spans that are started with the context belong to
// it.
func (t *Tracer) Begin(ctx context.Context, kind Kind, name, traceparent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = trace.ContextWithRemoteSpanContext(context.WithValue(ctx, tracing{}, t), parse(traceparent))
	return t.start(ctx, kind, name)
}

func (t *Tracer) start(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKind(kind)))
	return ctx, &Span{s}
}

// Resume puts the spans that are started with the context into the trace of a task,
// even of one that another process has begun. traceparent is that of the request or
// message that opened the task; it may be empty.
func (t *Tracer) Resume(ctx context.Context, task, traceparent string) context.Context {
	if t == nil {
		return ctx
	}
	of := taskTrace(task, traceparent).WithSpanID(taskSpanID(task))
	return trace.ContextWithRemoteSpanContext(context.WithValue(ctx, tracing{}, t), of)
}

// TaskSpan returns the span of a task that is over, from its opening to now; the
// spans of Resume are below it. It always has the same id, so that exporting it
// twice does no harm.
func (t *Tracer) TaskSpan(ctx context.Context, task, traceparent string, opened time.Time) *Span {
	if t == nil {
		return nil
	}
	of := taskTrace(task, traceparent)
	ctx = context.WithValue(trace.ContextWithRemoteSpanContext(ctx, of), fixed{}, of.WithSpanID(taskSpanID(task)))
	_, s := t.tracer.Start(ctx, "task", trace.WithTimestamp(opened))
	return &Span{s}
}

// taskTrace is the trace of a task.
func taskTrace(task, traceparent string) trace.SpanContext {
	if from := parse(traceparent); from.IsValid() {
		return from
	}
	sum := sha256.Sum256([]byte("trace " + task))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(sum[:16]), TraceFlags: trace.FlagsSampled, Remote: true})
}

// taskSpanID is the id of the span of a task. It is derived from the task, so that
// each process that works on the task knows it.
func taskSpanID(task string) trace.SpanID {
	sum := sha256.Sum256([]byte("task " + task))
	return trace.SpanID(sum[:8])
}

// parse reads a traceparent; a malformed one is not valid.
func parse(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// Traceparent is the header for a request within the trace of the context; empty
// without one.
func Traceparent(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", at.TraceID(), at.SpanID(), at.TraceFlags()&trace.FlagsSampled)
}
