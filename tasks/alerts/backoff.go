package alerts

import (
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"legwork/tasks"
)

// fewestTries is how often a delivery is tried before it is given up, however old
// it is: legwork itself may have been away.
const fewestTries = 6

// mostRefusals is how many requests in succession a receiver may refuse before it
// is left alone for a while, and mostFirst how often what it does not answer keeps
// its place before all others: it may be why there is no answer.
const (
	mostRefusals = 3
	mostFirst    = 20
)

// spread makes a wait up to a fifth shorter or longer, so that what failed
// together does not come again together.
func spread(wait time.Duration) time.Duration {
	return wait*4/5 + time.Duration(rand.Int64N(int64(wait)*2/5+1)) //nolint:gosec // no secret
}

// over reports that a delivery need not be tried again after this time.
func (p Pace) over(d tasks.Delivery, now time.Time) bool {
	return d.Tries+1 >= fewestTries && now.Sub(d.At) >= p.GiveUp
}

// chunks parts a sorted list by webhook.
func chunks(list []tasks.Delivery) iter.Seq[[]tasks.Delivery] {
	return func(yield func([]tasks.Delivery) bool) {
		for len(list) > 0 {
			n := slices.IndexFunc(list, func(d tasks.Delivery) bool { return d.Webhook != list[0].Webhook })
			if n < 0 {
				n = len(list)
			}
			if !yield(list[:n:n]) {
				return
			}
			list = list[n:]
		}
	}
}
