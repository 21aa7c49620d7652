package telemetry

import (
	"cmp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"legwork/internal/clip"
)

// maxLabels is how many labels a metric may have, and maxSeries how many
// series: further ones are counted as "other", so that no name from outside
// makes the process grow.
const (
	maxLabels = 3
	maxSeries = 1000
	maxValue  = 128 // bytes of a label's value
)

// other is the label value of all series beyond maxSeries.
const other = "other"

// registry makes metrics with clean label values and a limited number of series.
type registry struct {
	*prometheus.Registry
	clean func(string) string // nil: label values stay as they are
}

func newRegistry(clean func(string) string) registry {
	return registry{prometheus.NewRegistry(), clean}
}

// counter only grows. Like the other kinds, its zero value counts nothing. Labels
// are given by their values, in the order of their names.
type counter struct{ *family[prometheus.Counter] }

// counter makes a metric that counts. Its name ends in _total.
func (r registry) counter(name, help string, labels ...string) counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(vec)
	c := counter{newFamily(r.clean, labels, vec.WithLabelValues)}
	if len(labels) == 0 {
		c.Add(0) // so that it is there before anything happens
	}
	return c
}

// Inc adds one.
func (c counter) Inc(values ...string) { c.Add(1, values...) }

// Add adds v; a value that is not above zero adds nothing, but creates the
// series.
func (c counter) Add(v float64, values ...string) {
	if c.family != nil {
		c.at(values).Add(max(v, 0))
	}
}

// gauge goes up and down. It is missing until it is set.
type gauge struct{ *family[prometheus.Gauge] }

func (r registry) gauge(name, help string, labels ...string) gauge {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	r.MustRegister(vec)
	return gauge{newFamily(r.clean, labels, vec.WithLabelValues)}
}

// Set sets the value.
func (g gauge) Set(v float64, values ...string) { g.at(values).Set(v) }

// Add adds v, which may be below zero.
func (g gauge) Add(v float64, values ...string) {
	if g.family != nil {
		g.at(values).Add(v)
	}
}

// histogram counts observations by size.
type histogram struct {
	*family[prometheus.Observer]
}

// histogram makes one with these upper bounds, ascending and without +Inf.
func (r registry) histogram(name, help string, bounds []float64, labels ...string) histogram {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	r.MustRegister(vec)
	h := histogram{newFamily(r.clean, labels, vec.WithLabelValues)}
	if len(labels) == 0 {
		h.at(nil) // so that it is there before anything happens
	}
	return h
}

// Observe counts one observation.
func (h histogram) Observe(v float64, values ...string) {
	if h.family != nil {
		h.at(values).Observe(v)
	}
}

// family is all series of one metric, by their label values.
type family[M any] struct {
	labels int
	clean  func(string) string
	begin  func(values ...string) M

	mu     sync.RWMutex
	series map[key]M
}

// key is the label values of a series.
type key [maxLabels]string

func newFamily[M any](clean func(string) string, labels []string, begin func(values ...string) M) *family[M] {
	if len(labels) > maxLabels {
		panic("telemetry: too many labels: " + strings.Join(labels, ", "))
	}
	return &family[M]{labels: len(labels), clean: clean, begin: begin, series: map[key]M{}}
}

// at is the series of these label values.
func (f *family[M]) at(values []string) M {
	var k key
	copy(k[:], values)
	f.mu.RLock()
	s, known := f.series[k]
	f.mu.RUnlock()
	if known {
		return s
	}
	return f.add(k)
}

// add returns the series of new label values.
func (f *family[M]) add(k key) M {
	for i := range f.labels {
		k[i] = f.labelValue(k[i])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, known := f.series[k]
	if !known && len(f.series) >= maxSeries {
		for i := range f.labels {
			k[i] = other
		}
		s, known = f.series[k]
	}
	if !known {
		s = f.begin(k[:f.labels]...)
		f.series[k] = s
	}
	return s
}

// labelValue cleans the value of a label. It is never empty, since Prometheus takes
// an empty label for none.
func (f *family[M]) labelValue(value string) string {
	if f.clean != nil {
		value = f.clean(value)
	}
	return cmp.Or(clip.Bytes(strings.ToValidUTF8(value, "\ufffd"), maxValue), "none")
}
