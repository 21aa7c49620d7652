package alerts

import "time"

// mostOften is how many waiting tasks of one program are told in an hour, by kind: a
// program that asks for one review after the other is not to hold up everything
// else.
const mostOften = 20

// often counts what was told in this hour.
type often struct {
	hour  int64
	count map[string]int
}

// many is how often something was told in this hour: few times, so often that it is
// the last time, or too often.
type many int

const (
	few many = iota
	last
	tooMany
)

// told counts once more.
func (o *often) told(what string, now time.Time) many {
	if hour := now.Unix() / 3600; o.count == nil || hour != o.hour {
		o.hour, o.count = hour, map[string]int{}
	}
	o.count[what]++
	switch n := o.count[what]; {
	case n < mostOften:
		return few
	case n == mostOften:
		return last
	}
	return tooMany
}
