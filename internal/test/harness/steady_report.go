package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Sample is one measurement of the process. Sizes are in KiB.
type Sample struct {
	At          time.Duration // since the start
	Resident    float64
	Anonymous   float64
	Descriptors float64
	Goroutines  float64
	Store       float64 // size of the data folder
}

// SteadyReport is the result of a Steady.
type SteadyReport struct {
	Order   Steady
	Samples []Sample
	Said    map[string]int // by what people wanted
	Fired   int            // answers that a schedule brought
	Joined  int            // questions that legwork joined with a schedule's
	Lost    []string       // questions without an answer in time
	Rude    []string       // what services would call a bug of legwork
	answers []time.Duration
}

func (r *SteadyReport) count(kind string) {
	if r.Said == nil {
		r.Said = map[string]int{}
	}
	r.Said[kind]++
}

func (r *SteadyReport) took(d time.Duration) { r.answers = append(r.answers, d) }

// look samples the process until ctx ends.
func (c *load) look(ctx context.Context, pid int, data string) {
	status := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(data, "control.sock"))
	}}}
	defer status.CloseIdleConnections()
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s, ok := sampleOf(ctx, status, pid, data); ok {
			s.At = time.Since(c.began)
			c.report.Samples = append(c.report.Samples, s)
			c.Log("%v: %.1f MiB anonymous, %.0f descriptors, %.0f goroutines", s.At.Round(time.Second), s.Anonymous/1024, s.Descriptors, s.Goroutines)
		}
	}
}

// sampleOf reports false when it cannot read the process.
func sampleOf(ctx context.Context, status *http.Client, pid int, data string) (s Sample, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return s, false
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		var n float64
		_, _ = fmt.Sscan(rest, &n) // lines without a number have another name
		switch name {
		case "Rss":
			s.Resident = n
		case "Anonymous":
			s.Anonymous = n
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return s, false
	}
	s.Descriptors = float64(len(files))
	_ = filepath.Walk(data, func(_ string, info os.FileInfo, err error) error { // files come and go
		if err == nil {
			s.Store += float64(info.Size()) / 1024
		}
		return nil
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://legwork/status", nil)
	if err != nil {
		return s, false
	}
	reply, err := status.Do(request)
	if err != nil {
		return s, false
	}
	defer reply.Body.Close()
	var got struct{ Goroutines float64 }
	err = json.NewDecoder(reply.Body).Decode(&got)
	s.Goroutines = got.Goroutines
	return s, err == nil
}

// growth is one figure of the samples after the warm-up.
type growth struct {
	name    string
	unit    float64
	of      func(Sample) float64
	allowed float64 // over the whole time, beside a tenth of the median; 0: only reported
}

var growths = []growth{
	{"anonymous memory, MiB", 1024, func(s Sample) float64 { return s.Anonymous }, 2},
	{"descriptors", 1, func(s Sample) float64 { return s.Descriptors }, 4},
	{"goroutines", 1, func(s Sample) float64 { return s.Goroutines }, 8},
	{"resident memory, MiB", 1024, func(s Sample) float64 { return s.Resident }, 0},
	{"data folder, MiB", 1024, func(s Sample) float64 { return s.Store }, 0},
}

// measure returns the median, the growth over the whole time by the median slope
// of all pairs of samples, which no outlier moves, and whether that is too much.
func (g growth) measure(samples []Sample) (middle, grown float64, tooMuch bool) {
	var values, slopes []float64
	for i, a := range samples {
		values = append(values, g.of(a)/g.unit)
		for _, b := range samples[i+1:] {
			if b.At > a.At {
				slopes = append(slopes, (g.of(b)-g.of(a))/g.unit/(b.At-a.At).Seconds())
			}
		}
	}
	if len(slopes) == 0 {
		return 0, 0, true
	}
	middle = medianOf(values)
	grown = medianOf(slopes) * (samples[len(samples)-1].At - samples[0].At).Seconds()
	return middle, grown, g.allowed > 0 && grown > g.allowed+middle/10
}

func medianOf[T cmp.Ordered](list []T) T {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// Grown names the figures that grew after the warm-up, and other failures.
func (r *SteadyReport) Grown() []string {
	var list []string
	for _, g := range growths {
		if _, grown, tooMuch := g.measure(r.steady()); tooMuch {
			list = append(list, fmt.Sprintf("%s grew by %.1f", g.name, grown))
		}
	}
	for _, lost := range r.Lost {
		list = append(list, "no answer to "+lost)
	}
	return append(list, r.Rude...)
}

// steady are the samples after the warm-up.
func (r *SteadyReport) steady() []Sample {
	return slices.DeleteFunc(slices.Clone(r.Samples), func(s Sample) bool { return s.At < r.Order.Warm })
}

// String is the report in Markdown.
func (r *SteadyReport) String() string {
	var b strings.Builder
	kinds := make([]string, 0, len(r.Said))
	for _, kind := range slices.Sorted(maps.Keys(r.Said)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, r.Said[kind]))
	}
	fmt.Fprintf(&b, "%v with %d people, the first %v of it warm-up: %s; answers brought by schedules %d, to which %d other messages were added; not answered within %v: %d.", r.Order.For, r.Order.People, r.Order.Warm, strings.Join(kinds, ", "), r.Fired, r.Joined, patience, len(r.Lost))
	if len(r.answers) > 0 {
		fmt.Fprintf(&b, " Answers took %v (median).", medianOf(r.answers).Round(time.Millisecond))
	}
	b.WriteString("\n\n| after the warm-up | first | median | last | growth by the median slope | allowed |\n| --- | --- | --- | --- | --- | --- |\n")
	samples := r.steady()
	for _, g := range growths {
		if len(samples) == 0 {
			break
		}
		middle, grown, _ := g.measure(samples)
		allowed := "-"
		if g.allowed > 0 {
			allowed = fmt.Sprintf("%.1f", g.allowed+middle/10)
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %+.1f | %s |\n", g.name, g.of(samples[0])/g.unit, middle, g.of(samples[len(samples)-1])/g.unit, grown, allowed)
	}
	for _, problem := range r.Grown() {
		fmt.Fprintf(&b, "\n- %s", problem)
	}
	return b.String() + "\n"
}
