package alerts

import (
	"slices"
	"time"
)

// mostOften is how many waiting tasks of one program are told in an hour, by kind: a
// program that asks for one review after the other is not to hold up everything
// else.
const mostOften = 20

// often knows what was told in this hour. What is told again, because it could not
// be queued, counts once.
type often struct {
	hour int64
	ids  map[string][]string
}

// many is how often something was told in this hour: few times, so often that it is
// the last time, or too often.
type many int

const (
	few many = iota
	last
	tooMany
)

// told notes an occasion.
func (o *often) told(what, id string, now time.Time) many {
	if hour := now.Unix() / 3600; o.ids == nil || hour != o.hour {
		o.hour, o.ids = hour, map[string][]string{}
	}
	at := slices.Index(o.ids[what], id)
	if at < 0 {
		if at = len(o.ids[what]); at == mostOften {
			return tooMany
		}
		o.ids[what] = append(o.ids[what], id)
	}
	if at == mostOften-1 {
		return last
	}
	return few
}
