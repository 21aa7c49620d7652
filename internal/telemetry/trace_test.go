package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/telemetry"
)

// receiver takes spans by OTLP, after it has refused some requests.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	refuses []int // statuses of the next answers
	tries   int
	spans   []sent
	raw     string
}

type sent struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
	Status struct {
		Code    int
		Message string
	}
}

func newReceiver(t *testing.T, refuses ...int) *receiver {
	t.Helper()
	to := &receiver{refuses: refuses}
	to.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		to.mu.Lock()
		defer to.mu.Unlock()
		to.tries++
		if len(to.refuses) > 0 {
			w.WriteHeader(to.refuses[0])
			to.refuses = to.refuses[1:]
			return
		}
		var batch struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sent } }
		}
		if err := json.Unmarshal(body, &batch); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		to.raw += string(body)
		for _, of := range batch.ResourceSpans {
			for _, in := range of.ScopeSpans {
				to.spans = append(to.spans, in.Spans...)
			}
		}
	}))
	t.Cleanup(to.Close)
	return to
}

// got are the spans that came, by name.
func (to *receiver) got() map[string]sent {
	to.mu.Lock()
	defer to.mu.Unlock()
	all := map[string]sent{}
	for _, s := range to.spans {
		all[s.Name] = s
	}
	return all
}

func newTracer(t *testing.T, c telemetry.TraceConfig) *telemetry.Tracer {
	t.Helper()
	if c.Sample == 0 {
		c.Sample = 1
	}
	tracer, err := telemetry.NewTracer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(context.WithoutCancel(t.Context())) })
	return tracer
}

// TestSpans: what begins with a message, goes on in another process and ends
// with the task is one tree.
func TestSpans(t *testing.T) {
	to := newReceiver(t)
	first := newTracer(t, telemetry.TraceConfig{Endpoint: to.URL})
	ctx, message := first.Begin(t.Context(), telemetry.Consumer, "message", "")
	at := telemetry.Traceparent(ctx)
	message.End(nil)
	_, plan := telemetry.Start(first.Resume(t.Context(), "01TASK", at), telemetry.Internal, "plan")
	plan.Number("n", 7)
	plan.Bool("b", true)
	plan.End(errors.New("it broke"))
	first.Close(t.Context())

	second := newTracer(t, telemetry.TraceConfig{Endpoint: to.URL + "/v1/traces"})
	shown, show := telemetry.Start(second.Resume(t.Context(), "01TASK", at), telemetry.Internal, "show")
	_, send := telemetry.Start(shown, telemetry.Client, "send")
	send.End(context.Canceled)
	show.End(nil)
	opened := time.Now().Add(-time.Minute)
	second.TaskSpan(t.Context(), "01TASK", at, opened).EndAt(opened.Add(time.Second))
	second.Close(t.Context())

	all := to.got()
	for child, parent := range map[string]string{"task": "message", "plan": "task", "show": "task", "send": "show"} {
		if all[child].ParentSpanID != all[parent].SpanID || all[child].SpanID == "" || all[child].TraceID != all["message"].TraceID {
			t.Errorf("%s is %+v, want it below %s, %+v", child, all[child], parent, all[parent])
		}
	}
	if all["message"].ParentSpanID != "" || all["message"].Kind != 5 || all["send"].Kind != 3 {
		t.Errorf("the kinds or the first parent are wrong: %+v", all)
	}
	if all["plan"].Status.Code != 2 || all["plan"].Status.Message != "it broke" || all["send"].Status.Code != 0 {
		t.Errorf("what failed is told as %+v, what was given up as %+v", all["plan"].Status, all["send"].Status)
	}
	if took := all["task"].EndTimeUnixNano; took != nanos(opened.Add(time.Second)) || all["task"].StartTimeUnixNano != nanos(opened) {
		t.Errorf("the task ended at %s", took)
	}
	if text, _ := json.Marshal(all["plan"].Attributes); !strings.Contains(string(text), `{"Key":"n","Value":{"intValue":"7"}}`) {
		t.Errorf("attributes: %s", text)
	}
}

func nanos(at time.Time) string {
	text, _ := json.Marshal(at.UnixNano())
	return string(text)
}

// TestUntraced: a task that came of nothing traced has a trace of its own, the
// same for everybody who works on it; one that its caller does not want traced
// has none.
func TestUntraced(t *testing.T) {
	to := newReceiver(t)
	tracer := newTracer(t, telemetry.TraceConfig{Endpoint: to.URL})
	_, plan := telemetry.Start(tracer.Resume(t.Context(), "01TASK", ""), telemetry.Internal, "plan")
	plan.End(nil)
	tracer.TaskSpan(t.Context(), "01TASK", "", time.Now()).End(nil)
	_, unwanted := tracer.Begin(t.Context(), telemetry.Server, "unwanted", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	unwanted.End(nil)
	_, wanted := tracer.Begin(t.Context(), telemetry.Server, "wanted", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	wanted.End(nil)
	if err := tracer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := to.got()
	if all["plan"].ParentSpanID != all["task"].SpanID || all["plan"].TraceID != all["task"].TraceID || all["task"].ParentSpanID != "" || len(all["task"].TraceID) != 32 {
		t.Errorf("got %+v", all)
	}
	if _, there := all["unwanted"]; there || all["wanted"].ParentSpanID != "b7ad6b7169203331" {
		t.Errorf("the traceparents of callers are not kept to: %+v", all)
	}
}

// TestExport: a receiver that is busy is asked again, one that refuses is not;
// lost spans are counted, and no action waits for the export.
func TestExport(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses []int
		tries   int
		counted string
	}{
		{"takes it", nil, 1, `legwork_trace_spans_total{outcome="ok"} 1`},
		{"is busy", []int{503, 429}, 3, `legwork_trace_spans_total{outcome="ok"} 1`},
		{"refuses", []int{400}, 1, `legwork_trace_spans_total{outcome="failed"} 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := newReceiver(t, c.refuses...)
			metrics := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
			tracer := newTracer(t, telemetry.TraceConfig{Endpoint: to.URL, Metrics: metrics})
			_, span := tracer.Begin(t.Context(), telemetry.Internal, "x", "")
			span.End(nil)
			if err := tracer.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if text := scrape(t, metrics); to.tries != c.tries || !strings.Contains(text, c.counted) {
				t.Errorf("got %d tries, want %d and %s", to.tries, c.tries, c.counted)
			}
		})
	}
}

// TestClean: no secret is in anything that is said of spans.
func TestClean(t *testing.T) {
	to := newReceiver(t)
	tracer := newTracer(t, telemetry.TraceConfig{Endpoint: to.URL, Clean: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }})
	_, span := tracer.Begin(t.Context(), telemetry.Internal, "a secret name", "")
	span.Text("k", "a secret value")
	long := strings.Repeat("x", 1020) + "secret" + strings.Repeat("y", 1000) // where it is cut
	span.Text("long", long)
	span.Event("a secret event")
	span.End(errors.New("a secret error: " + long[16:]))
	if err := tracer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(to.raw, "secr") || strings.Count(to.raw, "***") != 6 || strings.Contains(to.raw, "yyyyy") {
		t.Errorf("sent: %s", to.raw)
	}
}

// TestOff: without an endpoint there is no tracer, and nothing that is said to
// it costs anything.
func TestOff(t *testing.T) {
	tracer, err := telemetry.NewTracer(telemetry.TraceConfig{})
	if tracer != nil || err != nil {
		t.Fatalf("got %v, %v, want neither", tracer, err)
	}
	if n := testing.AllocsPerRun(100, func() { off(t.Context(), tracer) }); n > 0 {
		t.Errorf("tracing nothing allocates %v times", n)
	}
	if _, err := telemetry.NewTracer(telemetry.TraceConfig{Endpoint: "localhost:4318"}); err == nil {
		t.Error("an address without a scheme was taken")
	}
	var metrics *telemetry.Metrics
	metrics.TaskOpened("x")
	metrics.ToolCalled("a.b", "ok", time.Second)
	metrics.Followed()()
}

func off(ctx context.Context, tracer *telemetry.Tracer) {
	ctx, message := tracer.Begin(ctx, telemetry.Consumer, "message", "")
	ctx, span := telemetry.Start(tracer.Resume(ctx, "01TASK", telemetry.Traceparent(ctx)), telemetry.Client, "call")
	span.Text(telemetry.Model, "m")
	span.Number(telemetry.InputTokens, 7)
	span.Event("first token")
	span.End(nil)
	tracer.TaskSpan(ctx, "01TASK", "", time.Time{}).End(nil)
	message.End(nil)
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		off(b.Context(), nil)
	}
}

// FuzzTraceparent: whatever a caller says, what is sent on is a traceparent, and
// the caller's trace where it named one.
func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0-0-0", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "\x00"} {
		f.Add(s)
	}
	tracer, err := telemetry.NewTracer(telemetry.TraceConfig{Endpoint: "http://127.0.0.1:1", Sample: 0})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { tracer.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, s string) {
		ctx, _ := tracer.Begin(t.Context(), telemetry.Server, "x", s)
		at := strings.Split(telemetry.Traceparent(ctx), "-")
		if len(at) != 4 || at[0] != "00" || len(at[1]) != 32 || len(at[2]) != 16 || len(at[3]) != 2 {
			t.Fatalf("%q became %q", s, at)
		}
	})
}
