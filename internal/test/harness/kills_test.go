package harness_test

import (
	"context"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/faults"
	"legwork/internal/test/harness"
	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
	"legwork/internal/test/leaks"
	"legwork/internal/test/need"
	"legwork/internal/test/pg"
	"legwork/planner"
)

var (
	kills  = flag.Int("kills", 10, "how often TestKills kills")
	onPG   = flag.Int("postgres-kills", 10, "how often TestKillsOnPostgres kills")
	plant  = flag.Bool("faults", false, "run TestPlantedFaults")
	client = flag.String("client", "all", "where people talk to it: terminal, telegram, slack, api, web or all")
	binary = flag.String("main", "./cmd/legwork", "package of the binary to be killed")
	seed   = flag.Int64("seed", 1, "seed of the first run")
)

// folder holds the binaries and the runs. It stays when a test fails.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "legwork-kills-"); err != nil {
		panic(err)
	}
	code := leaks.Runner{Tests: m}.Run()
	if code == 0 {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

var buildOnce = sync.OnceValues(func() (*harness.Harness, error) {
	return harness.Build(context.Background(), folder, *binary)
})

// build builds the binaries, once for all tests.
func build(t *testing.T) *harness.Harness {
	t.Helper()
	h, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestKills(t *testing.T) {
	need.Check(t)
	h := build(t)
	for _, name := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a run waits most of the time
			report, err := h.Campaign(t.Context(), harness.Campaign{Client: name, Seed: *seed, Kills: *kills, Parallel: 3})
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

// TestKillsOnPostgres keeps the data on Postgres servers, which are killed and cut off
// too.
func TestKillsOnPostgres(t *testing.T) {
	pg.Need(t)
	h := build(t)
	for _, name := range clients() {
		t.Run(name, func(t *testing.T) { // one client after the other: each of its runs has a server of its own
			report, err := h.Campaign(t.Context(), harness.Campaign{Client: name, Store: harness.Postgres, Seed: *seed, Kills: *onPG, Parallel: 5})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", report)
			if len(report.Broken) > 0 {
				t.Errorf("%d runs broke promises", len(report.Broken))
			}
			if report.Kills < *onPG {
				t.Errorf("only %d kills, want %d", report.Kills, *onPG)
			}
			for _, kind := range record.Disturbances() {
				if report.Disturbed[kind] == 0 {
					t.Errorf("%s: never", kind)
				}
			}
		})
	}
}

// clients are those that the tests are asked for.
func clients() []string {
	if *client == "all" {
		return record.Clients()
	}
	return []string{*client}
}

// planted are the faults of package faults, and the rules of which the judge
// must find at least one broken.
var planted = []struct {
	client string
	fault  string
	what   string
	rules  []string
}{
	{record.Terminal, "dedupe-off", "the store takes a message again", []string{judge.RuleOnce, judge.RuleGuidance}},
	{record.Terminal, "intake-not-stored", "a message is accepted before it is stored", []string{judge.RuleAnswered, judge.RuleGuidance}},
	{record.Terminal, "shown-not-stored", "that an answer went out is lost", []string{judge.RuleOnce, judge.RuleEnds}},
	{record.Terminal, "shown-too-early", "that an answer went out is stored before it does", []string{judge.RuleAnswered}},
	{record.Terminal, "started-not-stored", "a call that must not run twice leaves no trace before it is made", []string{judge.RuleBookOnce}},
	{record.Terminal, "unknown-repeats", "a call of unknown outcome is made again", []string{judge.RuleBookOnce}},
	{record.Terminal, "result-dropped", "a tool's result does not reach the prompts", []string{judge.RuleContent}},
	{record.Terminal, "returned-not-stored", "a tool's result is forgotten once in a while", []string{judge.RuleToolOnce, judge.RuleBookOnce, judge.RuleContent}},
	{record.Terminal, "replied-not-stored", "a model's reply is forgotten once in a while", []string{judge.RuleModelOnce}},
	{record.Terminal, "resume-off", "live tasks are not taken up at the start", []string{judge.RuleAnswered, judge.RuleEnds}},
	{record.Terminal, "release-lost", "a queued task is never released", []string{judge.RuleAnswered, judge.RuleEnds}},
	{record.Terminal, "lane-off", "decisions do not wait for those before them", []string{judge.RuleOrder, judge.RuleHistory}},
	{record.Terminal, "history-lost", "answers do not enter the history", []string{judge.RuleHistory}},
	{record.Terminal, "guidance-lost", "guidance does not reach the prompts", []string{judge.RuleGuidance}},
	{record.Terminal, "wrong-chat", "answers go to another conversation", []string{judge.RuleChat}},
	{record.Terminal, "result-orphaned", "a tool call is sent without its result", []string{judge.RuleProtocol}},
	{record.Terminal, "approval-skipped", "a call that needs a yes is made without asking", []string{judge.RuleApproved}},
	{record.Terminal, "answer-forgotten", "an answer in the midst of a call is forgotten by a restart", []string{judge.RuleAskedOnce, judge.RuleAnswered}},
	{record.Terminal, "answer-swapped", "a server is told something else than what was pressed", []string{judge.RuleTold}},
	{record.Terminal, "decision-twice", "a second press counts as well", []string{judge.RuleBookOnce, judge.RuleContent}},
	{record.Terminal, "reserve-lost", "nothing is set aside for a call", []string{judge.RuleLedger}},
	{record.Terminal, "settle-lost", "what a call has cost does not take the place of what was set aside", []string{judge.RuleLedger}},
	{record.Telegram, "anybody-decides", "a press of somebody else counts", []string{judge.RuleApproved, judge.RuleTold}},
	{record.Telegram, "card-left", "a question that is over keeps its buttons", []string{judge.RuleTidy}},
	{record.Slack, "card-left", "a question that is over keeps its buttons", []string{judge.RuleTidy}},
	{record.Telegram, "pause-leaky", "calls are made while everything is paused", []string{judge.RulePaused}},
	{record.Telegram, "pause-not-stored", "a restart forgets that everything is paused, for it was not stored", []string{judge.RulePaused}},
	{record.Slack, "pause-forgotten", "a restart does not ask whether everything is paused", []string{judge.RulePaused}},
	{record.Telegram, "lift-not-stored", "a restart pauses everything again", []string{judge.RuleEnds, judge.RuleAnswered}},
	{record.Telegram, "fire-early", "a schedule fires before its time", []string{judge.RuleFired}},
	{record.Telegram, "fire-lost", "a schedule moves on without its task", []string{judge.RuleAnswered, judge.RuleEnds}},
	{record.Telegram, "fire-twice", "a fire time is taken again", []string{judge.RuleOnce, judge.RuleModelOnce, judge.RuleBookOnce, judge.RuleToolOnce}},
	{record.Telegram, "offset-early", "updates are confirmed before they are stored", []string{judge.RuleAnswered, judge.RuleGuidance}},
	{record.Telegram, "dedupe-off", "an update that comes again is taken again", []string{judge.RuleOnce, judge.RuleGuidance, judge.RuleAskedOnce}},
	{record.Telegram, "shown-not-stored", "that an answer went out is lost", []string{judge.RuleOnce}},
	{record.Telegram, "board-left", "a board never folds", []string{judge.RuleTidy}},
	{record.Telegram, "failure-ignored", "what did not go out counts as shown", []string{judge.RuleAnswered, judge.RuleContent, judge.RuleTidy}},
	{record.Slack, "ack-early", "deliveries are acknowledged before they are stored", []string{judge.RuleAnswered, judge.RuleGuidance}},
	{record.Slack, "dedupe-off", "an event that comes again is taken again", []string{judge.RuleOnce, judge.RuleGuidance, judge.RuleAskedOnce}},
	{record.Slack, "find-off", "a message that may be out is not looked for", []string{judge.RuleOnce, judge.RuleTidy}},
	{record.Slack, "wrong-thread", "answers leave the thread of their question", []string{judge.RuleChat}},
	{record.Slack, "stream-forgotten", "a stream that an earlier life began is never stopped", []string{judge.RuleTidy, judge.RuleAnswered, judge.RuleContent}},
	{record.Slack, "board-left", "a board never folds", []string{judge.RuleTidy}},
	{record.Slack, "failure-ignored", "what did not go out counts as shown", []string{judge.RuleAnswered, judge.RuleContent, judge.RuleTidy}},
	{record.Web, "dedupe-off", "a message that the browser sends again is taken again", []string{judge.RuleOnce, judge.RuleModelOnce, judge.RuleToolOnce}},
	{record.Web, "mark-lost", "a post that may be there already is posted again", []string{judge.RuleOnce, judge.RuleTidy, judge.RuleAskedOnce, judge.RuleMade}},
	{record.Web, "replay-lost", "a stream that goes on leaves out what has changed", []string{judge.RuleAnswered, judge.RuleContent, judge.RuleTidy, judge.RuleMade}},
	{record.API, "idempotency-lost", "an idempotency key does not count", []string{judge.RuleOneTask}},
	{record.API, "dedupe-off", "a repeated message is taken again", []string{judge.RuleOneTask, judge.RuleNoted}},
	{record.API, "stream-gap", "a stream that goes on leaves out a message", []string{judge.RuleStream}},
	{record.API, "stream-again", "a stream that goes on tells a message again", []string{judge.RuleStream}},
	{record.API, "feed-gap", "the stream of all tasks leaves out a message when it goes on", []string{judge.RuleStream}},
	{record.API, "match-ignored", "the version in If-Match does not count", []string{judge.RuleMerged}},
	{record.API, "note-lost", "what an agent adds does not reach the prompts", []string{judge.RuleNoted}},
	{record.API, "guidance-lost", "guidance does not reach the prompts", []string{judge.RuleGuidance}},
	{record.API, "review-forgotten", "a review that is wanted is not held", []string{judge.RuleReviewed}},
	{record.API, "approval-skipped", "a call that needs a yes is made without asking", []string{judge.RuleApproved}},
	{record.API, "delivery-lost", "no webhook hears about an outcome", []string{judge.RuleDelivered}},
	{record.API, "delivery-not-stored", "a webhook hears about an outcome again and again", []string{judge.RuleDelivered}},
	{record.Terminal, "file-unread", "what stands in a person's file does not reach the prompts", []string{judge.RuleContent}},
	{record.Terminal, "made-not-stored", "a file that was made is forgotten once in a while", []string{judge.RuleModelOnce}},
	{record.Telegram, "heard-not-stored", "what was heard in a recording is forgotten once in a while", []string{judge.RuleModelOnce}},
	{record.Telegram, "file-unsent", "a file that was made is not sent", []string{judge.RuleMade}},
	{record.Telegram, "content-lost", "a content is noted and its bytes are not stored", []string{judge.RuleDisk, judge.RuleData}},
	{record.Telegram, "content-early", "a content goes with the first of its uses", []string{judge.RuleDisk, judge.RuleData}},
	{record.Slack, "content-left", "bytes of contents stay for ever", []string{judge.RuleDisk}},
	{record.Slack, "file-sent-not-stored", "that a file was sent is lost", []string{judge.RuleMade}},
	{record.API, "upload-early", "an upload is answered before it is stored", []string{judge.RuleUploaded}},
	{record.API, "resume-off", "live tasks are not taken up at the start", []string{judge.RuleAnswered, judge.RuleEnds}},
}

// onServer is a fault that only a database on a server can show.
var onServer = struct {
	client, fault, what string
	rules               []string
}{record.Telegram, "commit-assumed", "a commit without a reply counts as done", []string{judge.RuleEnds, judge.RuleAnswered, judge.RuleModelOnce, judge.RuleToolOnce, judge.RuleOnce}}

// near are the failpoints at which a fault can be found: all, or a few where
// only a kill there can show it.
func near(all harness.Points, fault string) harness.Points {
	intake := []string{record.Committing(planner.Opened), record.Committing(planner.GuidanceAdded)}
	only := map[string][]string{
		"offset-early": intake, "ack-early": intake, "unknown-repeats": {record.Committed(planner.Started), record.Committing(planner.Returned)}, "started-not-stored": {record.Committing(planner.Returned)},
		"answer-forgotten": {record.Committed(planner.Decided), record.Committing(planner.Returned)}, "fire-twice": {"commit.after.fired"},
		"mark-lost":    {"post.after.board", "post.after.question", "post.after.file"},
		"upload-early": {"commit.before.content.noted", "commit.before.content.kept", "content.placed"},
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
	tried := map[string]bool{onServer.fault: true}
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
	var mu sync.Mutex
	t.Run("none", func(t *testing.T) {
		for _, name := range clients() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				report, err := h.Campaign(t.Context(), harness.Campaign{Client: name, Seed: *seed, Kills: 1, First: true})
				if err != nil {
					t.Fatal(err)
				}
				if len(report.Broken) > 0 {
					t.Fatalf("without any fault: %s", report)
				}
				mu.Lock()
				defer mu.Unlock()
				clean[name] = report
			})
		}
	})
	for _, p := range planted {
		t.Run(p.client+" "+p.fault, func(t *testing.T) {
			t.Parallel()
			if clean[p.client] == nil {
				t.Skip("-run names another client: leave the client out to run this one")
			}
			from, report := *seed, clean[p.client]
			points := near(report.Points, p.fault)
			if len(points) == 0 { // such as a schedule, which not each seed has
				from++
				var err error
				if report, err = h.Campaign(t.Context(), harness.Campaign{Client: p.client, Seed: from, Kills: 1, First: true}); err != nil {
					t.Fatal(err)
				}
				points = near(report.Points, p.fault)
			}
			if len(points) == 0 {
				t.Fatal("no life passed a failpoint at which the fault can show")
			}
			campaign := harness.Campaign{
				Client: p.client, Seed: from, Kills: enough, First: true, Want: p.rules, Fault: p.fault, Patience: 4 * time.Second, Points: points, Span: report.Span, Parallel: 3,
			}
			if p.fault == "pause-not-stored" || p.fault == "pause-forgotten" {
				campaign.Paused, campaign.Patience = true, 0 // a busy machine is silent for seconds before the pause
			}
			report, err := h.Campaign(t.Context(), campaign)
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

// TestPlantedFaultOnPostgres proves the same about a fault that shows when connections
// to a server are cut.
func TestPlantedFaultOnPostgres(t *testing.T) {
	if !*plant {
		t.Skip("run it with go test ./internal/test/harness -run PlantedFaultOnPostgres -faults")
	}
	pg.Need(t)
	report, err := build(t).Campaign(t.Context(), harness.Campaign{
		Client: onServer.client, Store: harness.Postgres, Seed: *seed, Kills: enough, First: true, Want: onServer.rules, Fault: onServer.fault, Patience: 12 * time.Second, Parallel: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	found := report.Rules()
	t.Logf("found after %d kills: %s", report.Kills, strings.Join(found, ", "))
	if !slices.ContainsFunc(found, func(rule string) bool { return slices.Contains(onServer.rules, rule) }) {
		t.Errorf("%s, and the judge found %q, want one of %q\n%s", onServer.what, found, onServer.rules, report)
	}
}
