package builtin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Zones finds time zones by the names that people use for places, as the server
// "clock" does. It is safe for concurrent use.
type Zones struct{ places places }

// NewZones makes a finder; its index is made at the first use.
func NewZones() *Zones { return &Zones{} }

// Find returns the IANA zones that a name means at a time: a city, a country, a
// zone in any spelling, or a whole number of hours such as "UTC+3". There are
// several when a country has several times. When there are none, near is a known
// name that is spelt almost alike, or empty.
func (z *Zones) Find(name string, now time.Time) (zones []string, near string) {
	spots, err := z.places.find(name, now)
	if err != nil {
		return nil, z.places.similar(name)
	}
	for _, s := range spots {
		zone := s.loc.String()
		if offset(strings.TrimSpace(name)) != nil {
			if zone = etcZone(s.loc, now); zone == "" {
				return nil, ""
			}
		}
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	return zones, ""
}

// etcZone is the IANA zone of a fixed offset, whose sign is the opposite there; empty
// where there is none.
func etcZone(loc *time.Location, now time.Time) string {
	_, secs := now.In(loc).Zone()
	name := fmt.Sprintf("Etc/GMT%+d", -secs/3600)
	if secs == 0 {
		name = "UTC"
	}
	if _, err := time.LoadLocation(name); err != nil || secs%3600 != 0 {
		return ""
	}
	return name
}
