// Package prom counts what a process does and writes the counts in the text
// format of Prometheus. It is as small as that: a daemon that idles for days
// should not hold the tables of a protocol that nobody speaks to it.
package prom

import (
	"io"
	"sync"
)

// maxLabels is how many labels a family may have, and maxSeries how many series:
// what comes after is counted as "other", so that no name from outside makes the
// process grow.
const (
	maxLabels = 4
	maxSeries = 1000
	maxValue  = 128 // bytes of a label's value
)

// Other stands for every label value of a series for which there was no room.
const Other = "other"

// Registry holds families of metrics, in the order in which they were made. Its
// zero value is ready; families are made before it is written.
type Registry struct {
	// Clean is applied to the label values of each new series. Nil: they stay as
	// they are.
	Clean func(string) string

	families []*family
}

// kind is what a family is, as the format names it.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// family is all series of one name.
type family struct {
	name, help string
	kind       kind
	labels     []string
	bounds     []float64 // upper ones, ascending, without +Inf; of histograms
	clean      func(string) string

	mu     sync.RWMutex
	series map[key]*series
}

// key is the label values of a series.
type key [maxLabels]string

func (r *Registry) add(f *family) *family {
	if len(f.labels) > maxLabels {
		panic("prom: " + f.name + " has too many labels")
	}
	f.series = map[key]*series{}
	f.clean = func(value string) string {
		if r.Clean != nil {
			value = r.Clean(value)
		}
		return tidy(value)
	}
	r.families = append(r.families, f)
	if len(f.labels) == 0 {
		f.at(nil) // so that it is there, at zero, before anything happens
	}
	return f
}

// at is the series of these label values, which are in the order of the labels.
func (f *family) at(values []string) *series {
	if len(values) != len(f.labels) {
		panic("prom: " + f.name + " was given a wrong number of labels")
	}
	var k key
	copy(k[:], values)
	f.mu.RLock()
	s := f.series[k]
	f.mu.RUnlock()
	if s != nil {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.series[k]; s != nil {
		return s
	}
	shown := f.shown(values)
	if s = f.series[shown]; s == nil {
		if len(f.series) >= maxSeries {
			shown = f.others()
		}
		if s = f.series[shown]; s == nil {
			s = newSeries(len(f.bounds))
			f.series[shown] = s
		}
	}
	return s
}

// shown is what is written of label values.
func (f *family) shown(values []string) (k key) {
	for i, value := range values {
		k[i] = f.clean(value)
	}
	return k
}

func (f *family) others() (k key) {
	for i := range f.labels {
		k[i] = Other
	}
	return k
}

// clear forgets all series.
func (f *family) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.series)
}

// Write writes every family that has a series.
func (r *Registry) Write(w io.Writer) error {
	var page []byte
	for _, f := range r.families {
		page = f.append(page[:0])
		if _, err := w.Write(page); err != nil {
			return err
		}
	}
	return nil
}
