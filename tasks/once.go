package tasks

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// once remembers what was said of late, so that it is not said to every message.
type once struct{ said *lru.Cache[string, time.Time] }

// onceKept is how much is remembered.
const onceKept = 16 << 10

func newOnce() *once {
	said, err := lru.New[string, time.Time](onceKept)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &once{said}
}

// first reports that it was not said within the time until now, and notes that
// it is said now.
func (o *once) first(what string, within time.Duration, now time.Time) bool {
	if at, ok := o.said.Get(what); ok && now.Sub(at) < within {
		return false
	}
	o.said.Add(what, now)
	return true
}
