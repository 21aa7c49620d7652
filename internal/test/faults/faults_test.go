package faults

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEditsFit: each edit finds its place in the source. make kills compiles them.
func TestEditsFit(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := overlay(root, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	tests := []struct {
		name                 string
		faults, haste, ahead string
		want                 chosen
		bad                  bool
	}{
		{name: "nothing", want: chosen{haste: 1}},
		{name: "faults", faults: "dedupe-off, lane-off", want: chosen{faults: []string{"dedupe-off", "lane-off"}, haste: 1}},
		{name: "unknown fault", faults: "dedupe", bad: true},
		{name: "haste", haste: "60", want: chosen{haste: 60}},
		{name: "haste of zero", haste: "0", bad: true},
		{name: "ahead", ahead: "37s", want: chosen{haste: 1, ahead: 37 * time.Second}},
		{name: "not a duration", ahead: "soon", bad: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := map[string]string{"LEGWORK_FAULT": test.faults, "LEGWORK_HASTE": test.haste, "LEGWORK_AHEAD": test.ahead}
			got, err := read(func(name string) string { return env[name] })
			if (err != nil) != test.bad {
				t.Fatalf("read(%v) fails with %v, want an error: %t", env, err, test.bad)
			}
			if w := test.want; err == nil && (!slices.Equal(got.faults, w.faults) || got.haste != w.haste || got.ahead != w.ahead) {
				t.Errorf("read(%v) = %+v, want %+v", env, got, w)
			}
		})
	}
}
