package builtin_test

import (
	"slices"
	"testing"
	"time"

	"legwork/tools/builtin"
)

func TestZones(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	z := builtin.NewZones()
	for _, c := range []struct {
		name  string
		zones []string
		near  string
	}{
		{"Europe/Paris", []string{"Europe/Paris"}, ""},
		{"europe/paris", []string{"Europe/Paris"}, ""},
		{"Tokyo", []string{"Asia/Tokyo"}, ""},
		{"токио", []string{"Asia/Tokyo"}, ""},
		{"东京", []string{"Asia/Tokyo"}, ""},
		{"UTC+3", []string{"Etc/GMT-3"}, ""},
		{"gmt-5", []string{"Etc/GMT+5"}, ""},
		{"UTC", []string{"UTC"}, ""},
		{"+0", []string{"UTC"}, ""},
		{"UTC+5:30", nil, ""},
		{"Brazil", []string{"America/Manaus", "America/Noronha", "America/Rio_Branco", "America/Sao_Paulo"}, ""},
		{"Brasil capital", nil, ""},
		{"Amsterdem", nil, "Amsterdam"},
		{"", nil, ""},
		{"Local", nil, ""},
	} {
		zones, near := z.Find(c.name, now)
		if len(c.zones) == 4 { // which of the zones that keep the same time stands for them is the table's business
			if len(zones) != 4 {
				t.Errorf("Find(%q) = %q, want 4 zones", c.name, zones)
			}
			continue
		}
		if !slices.Equal(zones, c.zones) || near != c.near {
			t.Errorf("Find(%q) = %q, %q; want %q, %q", c.name, zones, near, c.zones, c.near)
		}
		for _, zone := range zones {
			if _, err := time.LoadLocation(zone); err != nil {
				t.Errorf("Find(%q) names the zone %q: %v", c.name, zone, err)
			}
		}
	}
}
