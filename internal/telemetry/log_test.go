package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"legwork/internal/telemetry"
)

// TestLogHandler: lines say which task and chat they are about, once.
func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(telemetry.LogHandler(slog.NewTextHandler(&out, nil))).With("part", "p")
	ctx := telemetry.About(t.Context(), telemetry.Subject{Chat: "slack:C1", Request: "r1"})
	ctx = telemetry.About(ctx, telemetry.Subject{Task: "01TASK"})
	tracer := newTracer(t, telemetry.TraceConfig{Endpoint: "http://127.0.0.1:1"})
	traced, span := tracer.Begin(ctx, telemetry.Internal, "x", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	for _, c := range []struct{ line, want string }{
		{"", "msg=x part=p a=1 task=01TASK chat=slack:C1 request=r1\n"},
		{"own", "msg=own part=p a=1 task=other chat=slack:C1 request=r1\n"},
		{"bare", "msg=bare part=p a=1\n"},
		{"traced", "msg=traced part=p a=1 task=01TASK chat=slack:C1 request=r1 trace=0af7651916cd43dd8448eb211c80319c\n"},
	} {
		out.Reset()
		switch c.line {
		case "":
			log.InfoContext(ctx, "x", "a", 1)
		case "own":
			log.InfoContext(ctx, "own", "a", 1, "task", "other")
		case "bare":
			log.InfoContext(t.Context(), "bare", "a", 1)
		case "traced":
			log.InfoContext(traced, "traced", "a", 1)
		}
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("got %q, want it to end with %q", out.String(), c.want)
		}
	}
	span.End(nil)
}
