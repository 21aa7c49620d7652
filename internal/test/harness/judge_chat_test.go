package harness_test

import (
	"slices"
	"testing"
	"time"

	"legwork/internal/test/harness"
)

// scene is the record of a run on a chat platform in which Ann asked one plain
// and one planned question; somebody may have stopped the second.
func scene(front string, stopped bool, posts ...harness.Post) harness.Record {
	r := harness.Record{Front: front, Posts: posts, Inputs: []harness.Input{
		{Kind: harness.Plain, ID: "q1", Chat: "ann", Text: "q1: hello"},
		{Kind: harness.Planned, ID: "q2", Chat: "ann", Text: "q2: lookup alpha", Gate: "q1"},
	}}
	if stopped {
		r.Inputs = append(r.Inputs, harness.Input{Kind: harness.Stop, ID: "s3", Chat: "ann", Gate: "q2"})
	}
	r.Lives = []harness.Life{{Start: moment(0), End: moment(100)}}
	return r
}

// moment is a time so many tenths of a second after the start.
func moment(tenths int) time.Time {
	return time.Unix(0, 0).Add(time.Duration(tenths) * time.Second / 10)
}

// killed lets the first life end at a moment, after it passed the failpoints.
func killed(r harness.Record, at int, hits ...string) harness.Record {
	r.Lives = []harness.Life{
		{Start: moment(0), End: moment(at), Killed: true, Hits: append(hits, "commit.after.opened")},
		{Start: moment(at), End: moment(200)},
	}
	return r
}

func said(at int, text string, buttons ...string) harness.Post {
	return harness.Post{Chat: "ann", ID: text + moment(at).String(), Text: text, Buttons: buttons, Posted: moment(at), At: moment(at)}
}

func plain(at int) harness.Post   { return said(at, "[q1] answers: q1: hello") }
func planned(at int) harness.Post { return said(at, "[q2] value of q2 lookup alpha", "Details") }
func board(at int) harness.Post   { return said(at, "q2: lookup alpha", "Stop") }

func with(p harness.Post, change func(*harness.Post)) harness.Post {
	change(&p)
	return p
}

func torn(p *harness.Post) { p.Torn = true }

func TestJudgeOfChatsAcquits(t *testing.T) {
	tests := map[string]struct {
		record                 harness.Record
		doubles, torn, orphans int
	}{
		"all is well":               {record: scene(harness.Slack, false, plain(10), said(20, "Done: 1 sub-task"), planned(30))},
		"stopped before any result": {record: scene(harness.Telegram, true, plain(10), said(30, "The task was stopped."))},
		"an answer around a kill": {
			record: killed(scene(harness.Telegram, false, plain(10), plain(12), planned(30)), 11, "post.before.answer"), doubles: 1,
		},
		"a lost reply": {record: scene(harness.Telegram, false, with(plain(10), torn), plain(12), planned(30)), torn: 1},
		"a board around a kill": {
			record: killed(scene(harness.Telegram, false, plain(5), board(10), planned(30)), 11, "post.before.board"), orphans: 1,
		},
		"a board whose reply was lost": {record: scene(harness.Telegram, false, plain(5), with(board(10), torn), planned(30)), orphans: 1},
	}
	for name, test := range tests {
		got := harness.Judge(test.record)
		if len(got.Violations) > 0 || got.Doubles != test.doubles || got.Torn != test.torn || got.Orphans != test.orphans {
			t.Errorf("%s: got %v, %d doubles, %d torn, %d orphans, want no violation, %d, %d, %d", name,
				got.Violations, got.Doubles, got.Torn, got.Orphans, test.doubles, test.torn, test.orphans)
		}
	}
}

func TestJudgeOfChatsAccuses(t *testing.T) {
	rude := scene(harness.Telegram, false, plain(10), planned(30))
	rude.Rude = []string{"empty text"}
	unconfirmed := scene(harness.Slack, false, plain(10), planned(30))
	unconfirmed.Waits = []string{"message Ev1"}
	tests := []struct {
		name, rule string
		record     harness.Record
	}{
		{"no answer", harness.RuleAnswered, scene(harness.Slack, false, plain(10), said(20, "Done: 1 sub-task"))},
		{"the first words only", harness.RuleContent, scene(harness.Slack, false, plain(10), said(20, "[q2] value"))},
		{"stopped by nobody", harness.RuleAnswered, scene(harness.Slack, false, plain(10), said(20, "The task was stopped."))},
		{"two answers", harness.RuleOnce, scene(harness.Telegram, false, plain(10), plain(12), planned(30))},
		{"two answers long before a kill", harness.RuleOnce, killed(scene(harness.Telegram, false, plain(10), plain(52), planned(60)), 50, "post.before.answer")},
		{"two answers though it was stored", harness.RuleOnce, killed(scene(harness.Telegram, false, plain(10), plain(12), planned(30)), 11, "post.before.answer", "keep.after.answer")},
		{"two answers that can be found", harness.RuleOnce, killed(scene(harness.Slack, false, plain(10), plain(12), planned(30)), 11, "post.before.answer")},
		{"another thread", harness.RuleChat, scene(harness.Slack, false, plain(10), with(planned(30), func(p *harness.Post) { p.Chat = "ben" }))},
		{"a board is left", harness.RuleTidy, scene(harness.Telegram, false, plain(5), board(10), planned(30))},
		{"a board is left though it was stored", harness.RuleTidy, killed(scene(harness.Telegram, false, plain(5), board(10), planned(30)), 11, "post.before.board", "keep.after.board")},
		{"a stream goes on", harness.RuleTidy, scene(harness.Slack, false, plain(10), with(planned(30), func(p *harness.Post) { p.Live = true }))},
		{"answered out of order", harness.RuleOrder, scene(harness.Slack, false, planned(10), plain(30))},
		{"the platform complains", harness.RuleProtocol, rude},
		{"a delivery is not confirmed", harness.RuleTidy, unconfirmed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := harness.Judge(test.record).Violations
			if !slices.ContainsFunc(got, func(v harness.Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("got %v, want a violation of %q", got, test.rule)
			}
		})
	}
}
