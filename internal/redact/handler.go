package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Handler returns a log handler that hands records on to next without secrets
// in their messages, names and values. Numbers, times and switches are passed
// on as they are; any other value that has a secret in it becomes a text. What
// a logger was given by With is judged by the secrets of that moment.
func Handler(next slog.Handler, r *Redactor) slog.Handler { return handler{next, r} }

type handler struct {
	next     slog.Handler
	redactor *Redactor
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redactor.String(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.next.WithAttrs(h.attrs(attrs)), h.redactor}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.next.WithGroup(h.redactor.String(name)), h.redactor}
}

func (h handler) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return clean
}

func (h handler) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: h.redactor.String(a.Key), Value: h.value(a.Value.Resolve())}
}

func (h handler) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.redactor.String(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindAny:
		return h.any(v)
	}
	return v
}

// any keeps a value that shows no secret in either of the ways in which it can
// be printed: as text and as JSON.
func (h handler) any(v slog.Value) slog.Value {
	if raw, ok := v.Any().([]byte); ok {
		if clean := h.redactor.String(string(raw)); clean != string(raw) {
			return slog.StringValue(clean)
		}
		return v
	}
	text := fmt.Sprintf("%+v", v.Any())
	if clean := h.redactor.String(text); clean != text {
		return slog.StringValue(clean)
	}
	if _, isError := v.Any().(error); isError { // printed by its text alone
		return v
	}
	if object, err := json.Marshal(v.Any()); err == nil {
		if clean := h.redactor.String(string(object)); clean != string(object) {
			return slog.StringValue(clean)
		}
	}
	return v
}
