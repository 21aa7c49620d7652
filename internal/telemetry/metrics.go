package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics counts events. It is safe for concurrent use; a nil Metrics counts
// nothing.
type Metrics struct {
	families

	registry registry
	now      func() time.Time
	read     func(context.Context) (Readings, error)
}

// MetricsConfig is the configuration of Metrics.
type MetricsConfig struct {
	Build Build
	Now   func() time.Time // the wall clock
	// Read reads the gauges at each scrape. When it returns an error, the gauges that
	// come from the store are missing. Nil: there are no gauges.
	Read func(context.Context) (Readings, error)
	// Clean keeps secrets out of label values. Nil: they stay as they are.
	Clean func(string) string
}

// NewMetrics makes metrics that start at zero.
func NewMetrics(c MetricsConfig) *Metrics {
	m := &Metrics{registry: newRegistry(c.Clean), now: c.Now, read: c.Read}
	m.families = newFamilies(m.registry)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.build.Set(1, c.Build.Version, c.Build.Commit, c.Build.Go)
	m.followers.Set(0)
	m.reloaded.Set(seconds(c.Now()))
	m.reloadOK.Set(1)
	for _, outcome := range []string{OK, Failed} { // a rate needs a series that begins at zero
		m.reloads.Add(0, outcome)
		m.spans.Add(0, outcome)
	}
	for _, decision := range []string{"approved", "denied", "answered", "lapsed"} {
		m.approvals.Add(0, decision)
	}
	return m
}

// counted returns the metrics; those of nil Metrics count nothing.
func (m *Metrics) counted() *families {
	if m == nil {
		return &families{}
	}
	return &m.families
}

// TaskOpened counts a task of a platform.
func (m *Metrics) TaskOpened(platform string) { m.counted().opened.Inc(platform) }

// TaskEnded counts a task that is over. outcome is its state: done, failed or
// stopped; took is the time since it was opened.
func (m *Metrics) TaskEnded(platform, outcome string, took time.Duration) {
	f := m.counted()
	f.finished.Inc(platform, outcome)
	f.taskTime.Observe(took.Seconds(), outcome)
}

// SlotWaited records how long a task waited until it could work.
func (m *Metrics) SlotWaited(d time.Duration) { m.counted().slotWait.Observe(d.Seconds()) }

// SubtaskEnded counts a sub-task that is over. took is 0 for one that never started.
func (m *Metrics) SubtaskEnded(group, outcome string, took time.Duration) {
	f := m.counted()
	f.subtasks.Inc(group, outcome)
	if took > 0 {
		f.subtaskTime.Observe(took.Seconds(), group)
	}
}

// Decided counts a decision of a person, or the end of the time for one.
func (m *Metrics) Decided(decision string) { m.counted().approvals.Inc(decision) }

// Tokens is the usage of a model call; Cost is in millionths of a US dollar.
type Tokens struct {
	Input, CachedInput, Output       int
	Images, AudioSeconds, Characters int
	Cost                             int64
	Unpriced                         bool // the price is not known
}

// mediaKinds are the labels of what a call uses beside tokens.
func mediaKinds() [3]string { return [3]string{"images", "audio_seconds", "spoken_characters"} }

// tokenKinds are the labels of the fields of Tokens.
func tokenKinds() [3]string { return [3]string{"input", "cached_input", "output"} }

// ModelCalled counts a call of a model with all its attempts.
func (m *Metrics) ModelCalled(model, role, outcome string, took time.Duration) {
	f := m.counted()
	f.modelCalls.Inc(model, role, outcome)
	f.modelTime.Observe(took.Seconds(), model, role)
}

// ModelTried counts one attempt, and its usage.
func (m *Metrics) ModelTried(model, outcome string, used Tokens) {
	if m == nil {
		return
	}
	m.attempts.Inc(model, outcome)
	if used == (Tokens{}) {
		return
	}
	for i, n := range []int{used.Input, used.CachedInput, used.Output} {
		m.tokens.Add(float64(n), model, tokenKinds()[i])
	}
	for i, n := range []int{used.Images, used.AudioSeconds, used.Characters} {
		if n > 0 {
			m.media.Add(float64(n), model, mediaKinds()[i])
		}
	}
	if !used.Unpriced {
		m.cost.Add(float64(used.Cost)/1e6, model)
	}
}

// FirstToken records the time until the reply of an attempt began.
func (m *Metrics) FirstToken(model string, after time.Duration) {
	m.counted().firstToken.Observe(after.Seconds(), model)
}

// ToolCalled counts a call of "server.tool".
func (m *Metrics) ToolCalled(tool, outcome string, took time.Duration) {
	f := m.counted()
	server, name, _ := strings.Cut(tool, ".")
	f.toolCalls.Inc(server, name, outcome)
	f.toolTime.Observe(took.Seconds(), server)
}

// Connected adds the series of a platform.
func (m *Metrics) Connected(platform string) {
	f := m.counted()
	f.messages.Add(0, platform)
	f.frames.Add(0, platform)
}

// Expected names the parts of a config.
type Expected struct {
	Platforms, Models, Webhooks []string
	Problems                    []string // that models can have
}

// Expect adds series with the value zero: Prometheus sees no growth in a series that
// starts with its first event.
func (m *Metrics) Expect(e Expected) {
	if m == nil {
		return
	}
	for _, platform := range e.Platforms {
		m.opened.Add(0, platform)
		for _, outcome := range []string{"done", "failed", "stopped"} {
			m.finished.Add(0, platform, outcome)
		}
	}
	for _, model := range e.Models {
		m.attempts.Add(0, model, OK)
		for _, problem := range e.Problems {
			m.attempts.Add(0, model, problem)
		}
		for _, kind := range tokenKinds() {
			m.tokens.Add(0, model, kind)
		}
		m.cost.Add(0, model)
	}
	for _, webhook := range e.Webhooks {
		m.webhooks.Add(0, webhook, OK)
		m.webhooks.Add(0, webhook, Failed)
	}
}

// Received counts messages that came from a platform.
func (m *Metrics) Received(platform string, n int) { m.counted().messages.Add(float64(n), platform) }

// PlatformCalled counts a request to a platform. took is 0 for one that waits for
// people.
func (m *Metrics) PlatformCalled(platform, method, outcome string, took time.Duration) {
	f := m.counted()
	f.platformCalls.Inc(platform, method, outcome)
	if took > 0 {
		f.platformTime.Observe(took.Seconds(), platform)
	}
}

// Paced records how long a request waited for the rate limiter.
func (m *Metrics) Paced(platform string, waited time.Duration) {
	m.counted().paceWait.Observe(waited.Seconds(), platform)
}

// FrameSkipped counts a frame that was left out because of the rate limit.
func (m *Metrics) FrameSkipped(platform string) { m.counted().frames.Inc(platform) }

// Committed counts a transaction and the changes in it.
func (m *Metrics) Committed(changes int, took time.Duration) {
	f := m.counted()
	f.commitTime.Observe(took.Seconds())
	f.batch.Observe(float64(changes))
}

// NotCommitted counts a failed transaction.
func (m *Metrics) NotCommitted() { m.counted().commitErrors.Inc() }

// Stored counts an event of a journal.
func (m *Metrics) Stored(event string) { m.counted().events.Inc(event) }

// Requested counts an HTTP request by the pattern of its route, which may be empty.
// took is 0 for requests that last as long as the client wants.
func (m *Metrics) Requested(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = other
	}
	m.requests.Inc(route, method, strconv.Itoa(status))
	if took > 0 {
		m.requestTime.Observe(took.Seconds(), route, method)
	}
}

// Followed counts an open event stream until left is called.
func (m *Metrics) Followed() (left func()) {
	if m == nil {
		return func() {}
	}
	m.followers.Add(1)
	return sync.OnceFunc(func() { m.followers.Add(-1) })
}

// Delivered counts a delivery to a webhook.
func (m *Metrics) Delivered(webhook, outcome string) { m.counted().webhooks.Inc(webhook, outcome) }

// Reloaded counts a reload of the config; err is the reason why it changed nothing.
func (m *Metrics) Reloaded(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.reloads.Inc(Failed)
		m.reloadOK.Set(0)
	default:
		m.reloads.Inc(OK)
		m.reloadOK.Set(1)
		m.reloaded.Set(seconds(m.now()))
	}
}

// spansDone counts spans that were handed on, or could not be.
func (m *Metrics) spansDone(outcome string, n int) { m.counted().spans.Add(float64(n), outcome) }

// seconds is a time for Prometheus: seconds since 1970.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
