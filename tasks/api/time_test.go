package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"legwork/tasks/api"
)

// TestTime: times are texts of one length, which sort as they came.
func TestTime(t *testing.T) {
	second := time.Date(2026, time.November, 21, 9, 30, 0, 0, time.FixedZone("", -3600))
	for at, want := range map[time.Time]string{
		second:                             `"2026-11-21T10:30:00.000Z"`,
		second.Add(120 * time.Millisecond): `"2026-11-21T10:30:00.120Z"`,
		second.Add(time.Second - 1):        `"2026-11-21T10:30:00.999Z"`,
	} {
		raw, err := json.Marshal(struct{ At *api.Time }{&api.Time{Time: at}})
		if err != nil || string(raw) != `{"At":`+want+`}` {
			t.Errorf("got %s, %v; want %s", raw, err, want)
		}
		var read struct{ At api.Time }
		if err := json.Unmarshal(raw, &read); err != nil || !read.At.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s is read as %v, %v", raw, read.At, err)
		}
	}
}
