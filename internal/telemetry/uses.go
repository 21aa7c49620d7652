package telemetry

import (
	"slices"
	"time"
)

// Uses is what the metrics have counted about tools and models since the start of the
// process.
type Uses struct {
	Tools   map[string]map[string]int // calls by "server.tool" and outcome
	Servers map[string]Times          // of the calls of a tool server
	Models  map[string]ModelUse
}

// ModelUse is what was counted about a model.
type ModelUse struct {
	Calls      map[string]int // by outcome; a call has one or more attempts
	Attempts   map[string]int // by outcome
	Time       Times          // of calls
	FirstToken Times          // from the request to the first piece of the reply
}

// Times sums up durations. Mean, Median and P95 are zero without any; the last two are
// estimates, as exact as the bounds of the histogram.
type Times struct {
	Count             int
	Mean, Median, P95 time.Duration
}

// Uses reads the counters. Those of nil Metrics are empty.
func (m *Metrics) Uses() Uses {
	u := Uses{Tools: map[string]map[string]int{}, Servers: map[string]Times{}, Models: map[string]ModelUse{}}
	if m == nil {
		return u
	}
	all, _ := m.registry.Gather() // what could be read is there beside an error
	models := map[string]*modelSeries{}
	servers := map[string]*buckets{}
	for _, family := range all {
		for _, one := range family.GetMetric() {
			label := map[string]string{}
			for _, l := range one.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			count := int(one.GetCounter().GetValue())
			switch family.GetName() {
			case "legwork_tool_calls_total":
				addCount(u.Tools, label["server"]+"."+label["tool"], label["outcome"], count)
			case "legwork_tool_call_duration_seconds":
				add(entry(servers, label["server"]), one.GetHistogram())
			case "legwork_model_calls_total":
				entry(models, label["model"]).calls.add(label["outcome"], count)
			case "legwork_model_attempts_total":
				entry(models, label["model"]).attempts.add(label["outcome"], count)
			case "legwork_model_call_duration_seconds":
				add(&entry(models, label["model"]).time, one.GetHistogram())
			case "legwork_model_first_token_seconds":
				add(&entry(models, label["model"]).first, one.GetHistogram())
			}
		}
	}
	for name, b := range servers {
		u.Servers[name] = b.times()
	}
	for name, s := range models {
		u.Models[name] = ModelUse{s.calls, s.attempts, s.time.times(), s.first.times()}
	}
	return u
}

// modelSeries collects the series of a model, which differ by role and outcome.
type modelSeries struct {
	calls, attempts outcomes
	time, first     buckets
}

// outcomes counts by outcome; those that never happened are left out.
type outcomes map[string]int

func (o *outcomes) add(outcome string, n int) {
	if n == 0 {
		return
	}
	if *o == nil {
		*o = outcomes{}
	}
	(*o)[outcome] += n
}

func addCount(all map[string]map[string]int, name, outcome string, n int) {
	o := outcomes(all[name])
	if o.add(outcome, n); o != nil {
		all[name] = o
	}
}

// entry returns the entry of a name, and makes it when it is missing.
func entry[V any](all map[string]*V, name string) *V {
	if all[name] == nil {
		all[name] = new(V)
	}
	return all[name]
}

// buckets is a histogram: how many durations are at most each bound.
type buckets struct {
	sum   float64 // seconds
	count uint64
	upTo  map[float64]uint64 // by bound in seconds
}

// add adds a histogram of the library, whose bounds do not differ within a metric.
func add[B interface {
	GetUpperBound() float64
	GetCumulativeCount() uint64
}](b *buckets, h interface {
	GetSampleSum() float64
	GetSampleCount() uint64
	GetBucket() []B
},
) {
	if b.upTo == nil {
		b.upTo = map[float64]uint64{}
	}
	b.sum, b.count = b.sum+h.GetSampleSum(), b.count+h.GetSampleCount()
	for _, one := range h.GetBucket() {
		b.upTo[one.GetUpperBound()] += one.GetCumulativeCount()
	}
}

func (b *buckets) times() Times {
	if b.count == 0 {
		return Times{}
	}
	bounds := make([]float64, 0, len(b.upTo))
	for bound := range b.upTo {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	return Times{int(b.count), asDuration(b.sum / float64(b.count)), b.quantile(bounds, 0.5), b.quantile(bounds, 0.95)}
}

// quantile estimates a quantile as Prometheus does: evenly spread between two bounds.
// Above the last bound it is that bound.
func (b *buckets) quantile(bounds []float64, q float64) time.Duration {
	rank, below, lower := q*float64(b.count), uint64(0), 0.0
	for _, upper := range bounds {
		upTo := b.upTo[upper]
		if float64(upTo) >= rank && upTo > below {
			return asDuration(lower + (upper-lower)*(rank-float64(below))/float64(upTo-below))
		}
		below, lower = upTo, upper
	}
	return asDuration(lower)
}

func asDuration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
