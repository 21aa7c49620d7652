package inbox

import (
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// notifiedOnce remembers which notices were given of late, so that they are not
// given with every message.
type notifiedOnce struct{ given *lru.Cache[string, time.Time] }

// noticesKept is how many notices are remembered.
const noticesKept = 16 << 10

// ever is the longest span: a notice is given once as long as it is remembered.
const ever = time.Duration(math.MaxInt64)

func newNotifiedOnce() *notifiedOnce {
	given, err := lru.New[string, time.Time](noticesKept)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &notifiedOnce{given}
}

// first reports that a notice was not given within the time until now, and notes
// that it is given now.
func (o *notifiedOnce) first(notice string, within time.Duration, now time.Time) bool {
	if at, ok := o.given.Get(notice); ok && now.Sub(at) < within {
		return false
	}
	o.given.Add(notice, now)
	return true
}
