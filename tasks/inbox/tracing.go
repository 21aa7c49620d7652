package inbox

import (
	"context"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/tasks"
)

// arrivals are the spans of the messages of a batch: each begins a trace of its
// own, which the task that comes of it goes on with.
type arrivals []*telemetry.Span

// begin notes a message.
func (a *arrivals) begin(ctx context.Context, t *telemetry.Tracer, m bot.Message) context.Context {
	ctx, span := t.Begin(about(ctx, m), telemetry.Consumer, "message", "")
	span.Text(telemetry.PlatformKey, m.Chat.Platform)
	span.Bool(telemetry.ChatPrivate, m.Chat.Private)
	*a = append(*a, span)
	return ctx
}

// about has the lines of the log say which chat they are about.
func about(ctx context.Context, m bot.Message) context.Context {
	return telemetry.About(ctx, telemetry.Subject{Chat: m.Chat.Key()})
}

func (a *arrivals) end(err error) {
	for _, span := range *a {
		span.End(err)
	}
}

// trace gives the tasks that are to be opened the trace of what asked for them.
func trace(ctx context.Context, items []tasks.Inbound) {
	at := telemetry.Traceparent(ctx)
	for i := range items {
		if open := items[i].Open; open != nil && at != "" {
			open.Opening.Trace = at
		}
	}
}
