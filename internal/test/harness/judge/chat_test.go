package judge_test

import (
	"slices"
	"testing"
	"time"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
	"legwork/planner"
)

// scene is the record of a run on a chat platform in which Ann asked one plain
// and one planned question; somebody may have stopped the second.
func scene(client string, stopped bool, posts ...record.Post) record.Record {
	r := record.Record{Client: client, Posts: posts, Inputs: []record.Input{
		{Kind: record.Plain, ID: "q1", Chat: "ann", Text: "q1: hello"},
		{Kind: record.Planned, ID: "q2", Chat: "ann", Text: "q2: lookup alpha", Gate: "q1"},
	}}
	if stopped {
		r.Inputs = append(r.Inputs, record.Input{Kind: record.Stop, ID: "s3", Chat: "ann", Gate: "q2"})
	}
	r.Lives = []record.Life{{Start: moment(0), End: moment(100)}}
	return r
}

// moment is a time so many tenths of a second after the start.
func moment(tenths int) time.Time {
	return time.Unix(0, 0).Add(time.Duration(tenths) * time.Second / 10)
}

// killed lets the first life end at a moment, after it passed the failpoints.
func killed(r record.Record, at int, hits ...string) record.Record {
	r.Lives = []record.Life{
		{Start: moment(0), End: moment(at), Killed: true, Hits: append(hits, record.Committed(planner.Opened))},
		{Start: moment(at), End: moment(200)},
	}
	return r
}

func said(at int, text string, buttons ...string) record.Post {
	return record.Post{Chat: "ann", ID: text + moment(at).String(), Text: text, Buttons: buttons, Posted: moment(at), At: moment(at)}
}

func plain(at int) record.Post   { return said(at, "[q1] answers: q1: hello") }
func planned(at int) record.Post { return said(at, "[q2] value of q2 lookup alpha", "Details") }
func board(at int) record.Post   { return said(at, "q2: lookup alpha", "Stop") }

func with(p record.Post, change func(*record.Post)) record.Post {
	change(&p)
	return p
}

func torn(p *record.Post) { p.Torn = true }

func TestJudgeOfChatsAcquits(t *testing.T) {
	tests := map[string]struct {
		record                 record.Record
		doubles, torn, orphans int
	}{
		"all is well":               {record: scene(record.Slack, false, plain(10), said(20, "Done: 1 sub-task"), planned(30))},
		"stopped before any result": {record: scene(record.Telegram, true, plain(10), said(30, "The task was stopped."))},
		"an answer around a kill": {
			record: killed(scene(record.Telegram, false, plain(10), plain(12), planned(30)), 11, "post.before.answer"), doubles: 1,
		},
		"a lost reply": {record: scene(record.Telegram, false, with(plain(10), torn), plain(12), planned(30)), torn: 1},
		"a board around a kill": {
			record: killed(scene(record.Telegram, false, plain(5), board(10), planned(30)), 11, "post.before.board"), orphans: 1,
		},
		"a board whose reply was lost": {record: scene(record.Telegram, false, plain(5), with(board(10), torn), planned(30)), orphans: 1},
	}
	for name, test := range tests {
		got := judge.Check(test.record)
		if len(got.Violations) > 0 || got.Doubles != test.doubles || got.Torn != test.torn || got.Orphans != test.orphans {
			t.Errorf("%s: got %v, %d doubles, %d torn, %d orphans, want no violation, %d, %d, %d", name,
				got.Violations, got.Doubles, got.Torn, got.Orphans, test.doubles, test.torn, test.orphans)
		}
	}
}

func TestJudgeOfChatsAccuses(t *testing.T) {
	rude := scene(record.Telegram, false, plain(10), planned(30))
	rude.Misuse = []string{"empty text"}
	unconfirmed := scene(record.Slack, false, plain(10), planned(30))
	unconfirmed.Unconfirmed = []string{"message Ev1"}
	tests := []struct {
		name, rule string
		record     record.Record
	}{
		{"no answer", judge.RuleAnswered, scene(record.Slack, false, plain(10), said(20, "Done: 1 sub-task"))},
		{"the first words only", judge.RuleContent, scene(record.Slack, false, plain(10), said(20, "[q2] value"))},
		{"stopped without a person", judge.RuleAnswered, scene(record.Slack, false, plain(10), said(20, "The task was stopped."))},
		{"two answers", judge.RuleOnce, scene(record.Telegram, false, plain(10), plain(12), planned(30))},
		{"two answers long before a kill", judge.RuleOnce, killed(scene(record.Telegram, false, plain(10), plain(52), planned(60)), 50, "post.before.answer")},
		{"two answers though it was stored", judge.RuleOnce, killed(scene(record.Telegram, false, plain(10), plain(12), planned(30)), 11, "post.before.answer", "keep.after.answer")},
		{"two answers that can be found", judge.RuleOnce, killed(scene(record.Slack, false, plain(10), plain(12), planned(30)), 11, "post.before.answer")},
		{"another thread", judge.RuleChat, scene(record.Slack, false, plain(10), with(planned(30), func(p *record.Post) { p.Chat = "ben" }))},
		{"a board is left", judge.RuleTidy, scene(record.Telegram, false, plain(5), board(10), planned(30))},
		{"a board is left though it was stored", judge.RuleTidy, killed(scene(record.Telegram, false, plain(5), board(10), planned(30)), 11, "post.before.board", "keep.after.board")},
		{"a stream goes on", judge.RuleTidy, scene(record.Slack, false, plain(10), with(planned(30), func(p *record.Post) { p.Live = true }))},
		{"answered out of order", judge.RuleOrder, scene(record.Slack, false, planned(10), plain(30))},
		{"the platform complains", judge.RuleProtocol, rude},
		{"a delivery is not confirmed", judge.RuleTidy, unconfirmed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := judge.Check(test.record).Violations
			if !slices.ContainsFunc(got, func(v judge.Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("got %v, want a violation of %q", got, test.rule)
			}
		})
	}
}
