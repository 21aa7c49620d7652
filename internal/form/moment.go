package form

import (
	"encoding/json"
	"strings"
	"time"
)

// Ways to write a day that mean the same everywhere: 3/4/2026 does not.
var days = []string{"2006-1-2", "2006/1/2", "2006.1.2", "2.1.2006", "2006年1月2日"}

// Ways to write the time of a day.
var clocks = []string{"15:04", "15:04:05"}

// moment turns a day, or a day and a time in zone, as people write it into what
// the format of a field wants. Anything else stays as it is, for Check to judge.
func (f Field) moment(written string, zone *time.Location) string {
	var schema struct {
		Format string `json:"format"`
	}
	_ = json.Unmarshal(f.Schema, &schema)
	switch schema.Format {
	case Date:
		for _, day := range days {
			if at, err := time.Parse(day, written); err == nil {
				return at.Format(time.DateOnly)
			}
		}
	case DateTime:
		spaced := strings.Join(strings.Fields(strings.NewReplacer(",", " ", "，", " ", "日", "日 ", "T", " ", "：", ":").Replace(written)), " ")
		for _, day := range days {
			for _, clock := range clocks {
				if at, err := time.ParseInLocation(day+" "+clock, spaced, zone); err == nil {
					return at.Format(time.RFC3339)
				}
			}
		}
	}
	return written
}
