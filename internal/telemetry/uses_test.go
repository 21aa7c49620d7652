package telemetry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/telemetry"
)

// TestUses: calls are counted by tool and model, whatever the role; durations are summed
// up over all roles.
func TestUses(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	for range 3 {
		m.ToolCalled("web.fetch", telemetry.OK, 2*time.Second)
	}
	m.ToolCalled("web.fetch", telemetry.Failed, 400*time.Second)
	m.ModelCalled("main", "plan", telemetry.OK, time.Second)
	m.ModelCalled("main", "work", "busy", 3*time.Second)
	m.ModelTried("main", "busy", telemetry.Tokens{})
	m.FirstToken("main", 100*time.Millisecond)
	m.Expect(telemetry.Expected{Models: []string{"idle"}})
	got := m.Uses()
	want := map[string]map[string]int{"web.fetch": {"ok": 3, "failed": 1}}
	if diff := cmp.Diff(want, got.Tools); diff != "" {
		t.Errorf("calls of tools (-want +got):\n%s", diff)
	}
	if got := got.Servers["web"]; got.Count != 4 || got.Mean != 101500*time.Millisecond || got.Median < time.Second || got.Median > 2500*time.Millisecond || got.P95 != 300*time.Second {
		t.Errorf("the times of the server are %+v, want 4 calls of 101.5 s on average, a median in the bucket of 2 s, and the last bound as P95", got)
	}
	main := got.Models["main"]
	if diff := cmp.Diff(map[string]int{"ok": 1, "busy": 1}, main.Calls); diff != "" {
		t.Errorf("calls of the model (-want +got):\n%s", diff)
	}
	if main.Time.Count != 2 || main.Time.Mean != 2*time.Second || main.Attempts["busy"] != 1 || main.FirstToken.Count != 1 {
		t.Errorf("the use of the model is %+v", main)
	}
	if idle := got.Models["idle"]; len(idle.Calls)+len(idle.Attempts) > 0 || idle.Time != (telemetry.Times{}) {
		t.Errorf("the use of a model that was never called is %+v", idle)
	}
	var none *telemetry.Metrics
	if got := none.Uses(); len(got.Tools)+len(got.Models) > 0 {
		t.Errorf("without metrics, the uses are %+v", got)
	}
}
