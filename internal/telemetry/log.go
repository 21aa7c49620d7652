package telemetry

import (
	"cmp"
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Subject is the subject of some work, for the lines of the log. Empty fields are
// unknown.
type Subject struct {
	Task    string // id
	Chat    string // key
	Request string // id of the HTTP request
}

// subject is the key of the Subject of a context.
type subject struct{}

// About adds the subject of the work to a context.
func About(ctx context.Context, s Subject) context.Context {
	known, _ := ctx.Value(subject{}).(Subject)
	return context.WithValue(ctx, subject{}, Subject{
		Task: cmp.Or(s.Task, known.Task), Chat: cmp.Or(s.Chat, known.Chat), Request: cmp.Or(s.Request, known.Request),
	})
}

// LogHandler returns a log handler that adds task, chat, request and trace of the
// context to each line, unless the line has them.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if s, ok := ctx.Value(subject{}).(Subject); ok {
		said := map[string]bool{"": true}
		record.Attrs(func(a slog.Attr) bool {
			said[a.Key] = true
			return true
		})
		for _, a := range []slog.Attr{slog.String("task", s.Task), slog.String("chat", s.Chat), slog.String("request", s.Request)} {
			if a.Value.String() != "" && !said[a.Key] {
				record.AddAttrs(a)
			}
		}
	}
	if at := trace.SpanContextFromContext(ctx); at.IsSampled() {
		record.AddAttrs(slog.String("trace", at.TraceID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
