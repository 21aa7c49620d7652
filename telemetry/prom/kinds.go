package prom

import (
	"math"
	"sort"
	"sync/atomic"
)

// series is one line of a family, or the lines of one histogram. Its fields are
// read while they are written: a scrape may see an observation in the count that
// is not in the sum yet.
type series struct {
	value   atomic.Uint64   // bits of a float64: the value, or the sum of a histogram
	buckets []atomic.Uint64 // of a histogram, the last one for what is above all bounds
}

func newSeries(bounds int) *series {
	s := &series{}
	if bounds > 0 {
		s.buckets = make([]atomic.Uint64, bounds+1)
	}
	return s
}

func (s *series) add(v float64) {
	for {
		old := s.value.Load()
		if s.value.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

func (s *series) load() float64 { return math.Float64frombits(s.value.Load()) }

// Counter only grows. The methods of a nil Counter do nothing; labels are given
// by their values, in the order in which they were named.
type Counter struct{ f *family }

// Counter makes a family of counters. Its name ends in _total.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return &Counter{r.add(&family{name: name, help: help, kind: counter, labels: labels})}
}

// Inc adds one.
func (c *Counter) Inc(values ...string) { c.Add(1, values...) }

// Add adds v; what is not above zero adds nothing, but has the series there.
func (c *Counter) Add(v float64, values ...string) {
	if c != nil {
		c.f.at(values).add(max(v, 0))
	}
}

// Gauge goes up and down. The methods of a nil Gauge do nothing.
type Gauge struct{ f *family }

// Gauge makes a family of gauges.
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	return &Gauge{r.add(&family{name: name, help: help, kind: gauge, labels: labels})}
}

// Set sets the value.
func (g *Gauge) Set(v float64, values ...string) {
	if g != nil {
		g.f.at(values).value.Store(math.Float64bits(v))
	}
}

// Add adds v, which may be below zero.
func (g *Gauge) Add(v float64, values ...string) {
	if g != nil {
		g.f.at(values).add(v)
	}
}

// Clear forgets all series, so that what is not set again is not written.
func (g *Gauge) Clear() {
	if g != nil {
		g.f.clear()
	}
}

// Histogram counts observations by size. The methods of a nil Histogram do
// nothing.
type Histogram struct{ f *family }

// Histogram makes a family of histograms with these upper bounds, ascending and
// without +Inf.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	return &Histogram{r.add(&family{name: name, help: help, kind: histogram, labels: labels, bounds: bounds})}
}

// Observe counts one observation.
func (h *Histogram) Observe(v float64, values ...string) {
	if h == nil {
		return
	}
	s := h.f.at(values)
	s.buckets[sort.SearchFloat64s(h.f.bounds, v)].Add(1)
	s.add(v)
}
