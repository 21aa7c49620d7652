package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"legwork/internal/telemetry"
	"legwork/internal/test/fakes/llmfake"
)

// telemetryOf are the receivers of a rig's telemetry; none by the zero value.
type telemetryOf struct {
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer
}

// openEyes makes eyes that are told everything, with a receiver that takes all spans.
func openEyes() (e telemetryOf, closed func(), err error) {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what cannot be read is not missed
	}))
	e.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	e.tracer, err = telemetry.NewTracer(telemetry.TraceConfig{Endpoint: receiver.URL, Sample: 1, Metrics: e.metrics})
	return e, func() {
		e.tracer.Close(context.Background())
		receiver.Close()
	}, err
}

// pair is two legworks, of which the second is measured and traced.
type pair struct {
	rigs [2]*engineEnv
	eyes telemetryOf
}

// measureWatched asks the same plain questions of a legwork that is measured and
// traced and of one that is not, in alternation: at the pace of the chat
// benchmark, and for the time on processors as fast as they go.
func measureWatched(ctx context.Context, dir string) ([]figure, error) {
	took, err := compare(ctx, filepath.Join(dir, "paced"), tokenDelay, 60, func(p pair, i int) (time.Duration, error) {
		one, _, err := p.rigs[i].ask(ctx, question)
		return one, err
	})
	if err != nil {
		return nil, err
	}
	const block = 25
	used, err := compare(ctx, filepath.Join(dir, "fast"), 0, 16, func(p pair, i int) (time.Duration, error) {
		before := processorTime()
		for range block {
			if _, _, err := p.rigs[i].ask(ctx, question); err != nil {
				return 0, err
			}
		}
		err := p.eyes.tracer.Flush(ctx) // a trace stays within its own block
		return (processorTime() - before) / block, err
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		addedBy("metrics and traces: added to a plain question", took, "3 %"),
		addedBy("the same, time on processors with both ends", used, ""),
	}, nil
}

const question = "How are you?"

// addedBy is by how much the second of two medians is more than the first.
func addedBy(name string, medians [2]time.Duration, limit string) figure {
	part := 100 * float64(medians[1]-medians[0]) / float64(medians[0])
	return figure{name: name, measured: fmt.Sprintf("%.1f %%", part), limit: limit, machine: short(medians[0]) + " without", ok: part < 3}
}

// compare measures both of a pair in alternation, neither always first.
func compare(ctx context.Context, dir string, delay time.Duration, rounds int, one func(p pair, i int) (time.Duration, error)) (medians [2]time.Duration, err error) {
	p, closed, err := newPair(dir, delay)
	if err != nil {
		return medians, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	var took [2][]time.Duration
	for n := range 2 * rounds {
		i := (n + n/2) % 2
		d, err := one(p, i)
		if err != nil {
			return medians, err
		}
		took[i] = append(took[i], d)
	}
	return [2]time.Duration{median(took[0]), median(took[1])}, ctx.Err()
}

func newPair(dir string, delay time.Duration) (p pair, closed func() error, err error) {
	respond := func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: strings.Repeat("word ", 20), PerToken: delay}
	}
	open, closeEyes, err := openEyes()
	if err != nil {
		return p, nil, err
	}
	p.eyes = open
	for i, e := range []telemetryOf{{}, open} {
		if p.rigs[i], err = newObservedEnv(filepath.Join(dir, fmt.Sprint(i)), respond, e); err != nil {
			return p, nil, err
		}
	}
	return p, func() error {
		err := errors.Join(p.rigs[0].close(), p.rigs[1].close())
		closeEyes()
		return err
	}, nil
}

// processorTime is what this process has had of the processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
