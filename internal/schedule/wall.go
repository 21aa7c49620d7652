package schedule

import "time"

// wallOf is what the clock on the wall shows, as a time in UTC: there every
// minute comes exactly once.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// moment is when the clock on the wall shows a time: the first time when that
// comes twice, and the first moment after the gap when it never does.
func moment(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	switch shown := wallOf(t); {
	case shown.After(wall): // it was counted by the offset before the gap
		return start
	case shown.Before(wall):
		return end
	case start.IsZero():
		return t
	}
	_, offset := start.Add(-time.Nanosecond).Zone()
	if earlier := wall.Add(-time.Duration(offset) * time.Second).In(zone); earlier.Before(start) {
		return earlier
	}
	return t
}
