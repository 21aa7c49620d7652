package harness_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/testing/harness"
)

var (
	kills  = flag.Int("kills", 10, "how often TestKills kills")
	faults = flag.Bool("faults", false, "run TestPlantedFaults")
	binary = flag.String("main", "./cmd/legwork", "package of the binary to be killed")
	seed   = flag.Int64("seed", 1, "seed of the first run")
)

// build builds the binaries. The folders of runs with violations are kept.
func build(t *testing.T) *harness.Harness {
	t.Helper()
	dir, err := os.MkdirTemp("", "legwork-kills-") //nolint:usetesting // it stays when the test fails
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	h, err := harness.Build(t.Context(), dir, *binary)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while: run it without -short")
	}
	report, err := build(t).Campaign(t.Context(), harness.Campaign{Seed: *seed, Kills: *kills})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", report)
	if len(report.Broken) > 0 {
		t.Errorf("%d runs broke promises", len(report.Broken))
	}
	if report.Kills < *kills {
		t.Errorf("only %d kills, want %d", report.Kills, *kills)
	}
	if most := 2 + report.Kills/10 + report.AtPoints["commit.before.shown"]; report.Doubles > most {
		t.Errorf("%d answers came twice in %d kills, want at most %d", report.Doubles, report.Kills, most)
	}
}

// planted are faults in the code itself, each at a failpoint.Fault of that
// name, and the rules of which at least one must be found broken.
var planted = []struct {
	fault string
	what  string
	rules []string
}{
	{"dedupe-off", "the store takes a message again", []string{harness.RuleOnce, harness.RuleGuidance}},
	{"intake-not-stored", "a message is accepted before it is stored", []string{harness.RuleAnswered, harness.RuleGuidance}},
	{"shown-not-stored", "that an answer went out is lost", []string{harness.RuleOnce, harness.RuleEnds}},
	{"shown-too-early", "that an answer went out is stored before it does", []string{harness.RuleAnswered}},
	{"started-not-stored", "a call that must not run twice leaves no trace before it is made", []string{harness.RuleBookOnce}},
	{"unknown-repeats", "a call of unknown outcome is made again", []string{harness.RuleBookOnce}},
	{"result-dropped", "a tool's result does not reach the prompts", []string{harness.RuleContent}},
	{"returned-not-stored", "a tool's result is forgotten once in a while", []string{harness.RuleToolOnce, harness.RuleBookOnce}},
	{"replied-not-stored", "a model's reply is forgotten once in a while", []string{harness.RuleModelOnce}},
	{"resume-off", "live tasks are not taken up at the start", []string{harness.RuleAnswered, harness.RuleEnds}},
	{"release-lost", "a queued task is never released", []string{harness.RuleAnswered, harness.RuleEnds}},
	{"lane-off", "decisions do not wait for those before them", []string{harness.RuleOrder, harness.RuleHistory}},
	{"history-lost", "answers do not enter the history", []string{harness.RuleHistory}},
	{"guidance-lost", "guidance does not reach the prompts", []string{harness.RuleGuidance}},
	{"wrong-chat", "answers go to another conversation", []string{harness.RuleChat}},
	{"result-orphaned", "a tool call is sent without its result", []string{harness.RuleProtocol}},
}

// TestPlantedFaults proves that the judge sees what it is there for.
func TestPlantedFaults(t *testing.T) {
	if !*faults {
		t.Skip("takes minutes: run it with go test ./testing/harness -run PlantedFaults -faults")
	}
	h := build(t)
	clean, err := h.Campaign(t.Context(), harness.Campaign{Seed: *seed, Kills: 1, First: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(clean.Broken) > 0 {
		t.Fatalf("without any fault: %s", clean)
	}
	for _, p := range planted {
		t.Run(p.fault, func(t *testing.T) {
			report, err := h.Campaign(t.Context(), harness.Campaign{
				Seed: *seed, Kills: 60, First: true, Fault: p.fault, Patience: 5 * time.Second, Points: clean.Points,
			})
			if err != nil {
				t.Fatal(err)
			}
			found := report.Rules()
			t.Logf("found after %d kills: %s", report.Kills, strings.Join(found, ", "))
			if !slices.ContainsFunc(found, func(rule string) bool { return slices.Contains(p.rules, rule) }) {
				t.Errorf("%s, and the judge found %q, want one of %q\n%s", p.what, found, p.rules, report)
			}
		})
	}
}
