package api

import "time"

// Time is a moment as programs read it: RFC 3339 in UTC, to the millisecond and
// always of the same length, so that as texts they sort as they came.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}
