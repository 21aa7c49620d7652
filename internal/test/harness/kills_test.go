package harness_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/faults"
	"legwork/internal/test/harness"
	"legwork/internal/test/need"
)

var (
	kills  = flag.Int("kills", 10, "how often TestKills kills")
	plant  = flag.Bool("faults", false, "run TestPlantedFaults")
	front  = flag.String("front", "all", "where people talk to it: terminal, telegram, slack, api or all")
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
	need.Check(t)
	h := build(t)
	for _, name := range fronts() {
		t.Run(name, func(t *testing.T) {
			report, err := h.Campaign(t.Context(), harness.Campaign{Front: name, Seed: *seed, Kills: *kills})
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
			if random := report.By["random"]; float64(random.Doubled) > max(3, float64(random.Kills)/100) {
				t.Errorf("%d answers came twice by %d kills at random moments, want less than 1 %%", random.Doubled, random.Kills)
			}
		})
	}
}

// fronts are those that the tests are asked for.
func fronts() []string {
	if *front == "all" {
		return harness.Fronts()
	}
	return []string{*front}
}

// planted are the faults of package faults, and the rules of which the judge
// must find at least one broken.
var planted = []struct {
	front string
	fault string
	what  string
	rules []string
}{
	{harness.Terminal, "dedupe-off", "the store takes a message again", []string{harness.RuleOnce, harness.RuleGuidance}},
	{harness.Terminal, "intake-not-stored", "a message is accepted before it is stored", []string{harness.RuleAnswered, harness.RuleGuidance}},
	{harness.Terminal, "shown-not-stored", "that an answer went out is lost", []string{harness.RuleOnce, harness.RuleEnds}},
	{harness.Terminal, "shown-too-early", "that an answer went out is stored before it does", []string{harness.RuleAnswered}},
	{harness.Terminal, "started-not-stored", "a call that must not run twice leaves no trace before it is made", []string{harness.RuleBookOnce}},
	{harness.Terminal, "unknown-repeats", "a call of unknown outcome is made again", []string{harness.RuleBookOnce}},
	{harness.Terminal, "result-dropped", "a tool's result does not reach the prompts", []string{harness.RuleContent}},
	{harness.Terminal, "returned-not-stored", "a tool's result is forgotten once in a while", []string{harness.RuleToolOnce, harness.RuleBookOnce, harness.RuleContent}},
	{harness.Terminal, "replied-not-stored", "a model's reply is forgotten once in a while", []string{harness.RuleModelOnce}},
	{harness.Terminal, "resume-off", "live tasks are not taken up at the start", []string{harness.RuleAnswered, harness.RuleEnds}},
	{harness.Terminal, "release-lost", "a queued task is never released", []string{harness.RuleAnswered, harness.RuleEnds}},
	{harness.Terminal, "lane-off", "decisions do not wait for those before them", []string{harness.RuleOrder, harness.RuleHistory}},
	{harness.Terminal, "history-lost", "answers do not enter the history", []string{harness.RuleHistory}},
	{harness.Terminal, "guidance-lost", "guidance does not reach the prompts", []string{harness.RuleGuidance}},
	{harness.Terminal, "wrong-chat", "answers go to another conversation", []string{harness.RuleChat}},
	{harness.Terminal, "result-orphaned", "a tool call is sent without its result", []string{harness.RuleProtocol}},
	{harness.Terminal, "approval-skipped", "a call that needs a yes is made without asking", []string{harness.RuleApproved}},
	{harness.Terminal, "answer-forgotten", "what was answered in the midst of a call is forgotten by a restart", []string{harness.RuleAskedOnce, harness.RuleAnswered}},
	{harness.Terminal, "answer-swapped", "a server is told something else than what was pressed", []string{harness.RuleTold}},
	{harness.Terminal, "decision-twice", "a second press counts as well", []string{harness.RuleBookOnce, harness.RuleContent}},
	{harness.Terminal, "reserve-lost", "nothing is set aside for a call", []string{harness.RuleLedger}},
	{harness.Terminal, "settle-lost", "what a call has cost does not take the place of what was set aside", []string{harness.RuleLedger}},
	{harness.Telegram, "anybody-decides", "a press of somebody else counts", []string{harness.RuleApproved, harness.RuleTold}},
	{harness.Telegram, "card-left", "a question that is over keeps its buttons", []string{harness.RuleTidy}},
	{harness.Slack, "answer-forgotten", "what was answered in the midst of a call is forgotten by a restart", []string{harness.RuleAskedOnce}},
	{harness.Slack, "card-left", "a question that is over keeps its buttons", []string{harness.RuleTidy}},
	{harness.Telegram, "pause-leaky", "calls are made while everything is paused", []string{harness.RulePaused}},
	{harness.Telegram, "pause-not-stored", "a restart forgets that everything is paused, for it was not stored", []string{harness.RulePaused}},
	{harness.Slack, "pause-forgotten", "a restart does not ask whether everything is paused", []string{harness.RulePaused}},
	{harness.Telegram, "lift-not-stored", "a restart pauses everything again", []string{harness.RuleEnds, harness.RuleAnswered}},
	{harness.Telegram, "fire-early", "a schedule fires before its time", []string{harness.RuleFired}},
	{harness.Telegram, "fire-lost", "a schedule moves on without its task", []string{harness.RuleAnswered, harness.RuleEnds}},
	{harness.Telegram, "fire-twice", "a fire time is taken again", []string{harness.RuleOnce, harness.RuleModelOnce, harness.RuleBookOnce, harness.RuleToolOnce}},
	{harness.Telegram, "offset-early", "updates are confirmed before they are stored", []string{harness.RuleAnswered, harness.RuleGuidance}},
	{harness.Telegram, "dedupe-off", "an update that comes again is taken again", []string{harness.RuleOnce, harness.RuleGuidance, harness.RuleAskedOnce}},
	{harness.Telegram, "shown-not-stored", "that an answer went out is lost", []string{harness.RuleOnce}},
	{harness.Telegram, "board-left", "a board never folds", []string{harness.RuleTidy}},
	{harness.Telegram, "failure-ignored", "what did not go out counts as shown", []string{harness.RuleAnswered, harness.RuleContent, harness.RuleTidy}},
	{harness.Slack, "ack-early", "deliveries are acknowledged before they are stored", []string{harness.RuleAnswered, harness.RuleGuidance}},
	{harness.Slack, "dedupe-off", "an event that comes again is taken again", []string{harness.RuleOnce, harness.RuleGuidance, harness.RuleAskedOnce}},
	{harness.Slack, "find-off", "a message that may be out is not looked for", []string{harness.RuleOnce, harness.RuleTidy}},
	{harness.Slack, "wrong-thread", "answers leave the thread of their question", []string{harness.RuleChat}},
	{harness.Slack, "stream-forgotten", "a stream that an earlier life began is never stopped", []string{harness.RuleTidy, harness.RuleAnswered, harness.RuleContent}},
	{harness.Slack, "board-left", "a board never folds", []string{harness.RuleTidy}},
	{harness.Slack, "failure-ignored", "what did not go out counts as shown", []string{harness.RuleAnswered, harness.RuleContent, harness.RuleTidy}},
	{harness.API, "idempotency-lost", "an idempotency key does not count", []string{harness.RuleOneTask}},
	{harness.API, "dedupe-off", "what is sent again is taken again", []string{harness.RuleOneTask, harness.RuleNoted}},
	{harness.API, "stream-gap", "a stream that goes on leaves out a message", []string{harness.RuleStream}},
	{harness.API, "stream-again", "a stream that goes on tells a message again", []string{harness.RuleStream}},
	{harness.API, "feed-gap", "the stream of all tasks leaves out a message when it goes on", []string{harness.RuleStream}},
	{harness.API, "match-ignored", "the version in If-Match does not count", []string{harness.RuleMerged}},
	{harness.API, "note-lost", "what an agent adds does not reach the prompts", []string{harness.RuleNoted}},
	{harness.API, "guidance-lost", "guidance does not reach the prompts", []string{harness.RuleGuidance}},
	{harness.API, "review-forgotten", "a review that is wanted is not held", []string{harness.RuleReviewed}},
	{harness.API, "approval-skipped", "a call that needs a yes is made without asking", []string{harness.RuleApproved}},
	{harness.API, "delivery-lost", "no webhook is told of an outcome", []string{harness.RuleDelivered}},
	{harness.API, "delivery-not-stored", "a webhook is told of an outcome again and again", []string{harness.RuleDelivered}},
	{harness.API, "resume-off", "live tasks are not taken up at the start", []string{harness.RuleAnswered, harness.RuleEnds}},
}

// near are the failpoints at which a fault can be found: all, or a few where
// only a kill there can show it.
func near(all harness.Points, fault string) harness.Points {
	intake := []string{"commit.before.opened", "commit.before.said"}
	only := map[string][]string{
		"offset-early": intake, "ack-early": intake, "unknown-repeats": {"commit.after.started", "commit.before.returned"}, "started-not-stored": {"commit.before.returned"},
		"answer-forgotten": {"commit.after.decided", "commit.before.returned"}, "fire-twice": {"commit.after.fired"},
	}[fault]
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name string, _ int) bool { return only != nil && !slices.Contains(only, name) })
	return some
}

// enough is how many kills a planted fault may hide from: most show within 20,
// some only when the platform fails in the right moment.
const enough = 200

// TestFaultsAreTried: TestPlantedFaults tries every fault that there is.
func TestFaultsAreTried(t *testing.T) {
	tried := map[string]bool{}
	for _, p := range planted {
		tried[p.fault] = true
	}
	got, want := slices.Sorted(maps.Keys(tried)), slices.Sorted(slices.Values(faults.Names()))
	if !slices.Equal(got, want) {
		t.Errorf("TestPlantedFaults tries %q, want %q", got, want)
	}
}

// TestPlantedFaults proves that the judge sees what it is there for.
func TestPlantedFaults(t *testing.T) {
	if !*plant {
		t.Skip("takes minutes: run it with go test ./internal/test/harness -run PlantedFaults -faults")
	}
	h := build(t)
	clean := map[string]*harness.Report{}
	for _, name := range fronts() {
		report, err := h.Campaign(t.Context(), harness.Campaign{Front: name, Seed: *seed, Kills: 1, First: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Broken) > 0 {
			t.Fatalf("without any fault: %s", report)
		}
		clean[name] = report
	}
	for _, p := range planted {
		t.Run(p.front+" "+p.fault, func(t *testing.T) {
			if clean[p.front] == nil {
				t.Skip("another front was asked for")
			}
			report, err := h.Campaign(t.Context(), harness.Campaign{
				Front: p.front, Seed: *seed, Kills: enough, First: true, Want: p.rules, Fault: p.fault, Patience: 4 * time.Second, Points: near(clean[p.front].Points, p.fault), Span: clean[p.front].Span,
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
