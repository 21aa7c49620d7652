package judge_test

import (
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// drawing is the record of a run on a chat platform in which Ann asked for a picture.
func drawing(posts ...record.Post) record.Record {
	r := scene(record.Telegram, false, append(posts, plain(10), said(40, "[q2] answers\n- make png beta: made", "Details"))...)
	r.Inputs[1].Text = "q2: make png beta"
	return r
}

// shown is the message with the picture.
func shown(at int, content []byte) record.Post {
	p := said(at, "file of make png beta")
	p.File = &record.Sent{Name: "q2-beta.png", Content: content}
	return p
}

func TestJudgeOfFiles(t *testing.T) {
	picture := llmfake.Drawn("q2 make png beta")
	stored := func(d record.Disk) record.Record {
		r := drawing(shown(30, picture))
		r.Disk = d
		return r
	}
	uploaded := func(found string) record.Record {
		r := drawing(shown(30, picture))
		r.Uploads = []record.Upload{{Input: "q2", ID: "a", Sent: "x", Found: found}}
		return r
	}
	for name, test := range map[string]struct {
		record record.Record
		rule   string // empty: none is broken
	}{
		"it came":                 {drawing(shown(30, picture)), ""},
		"it did not come":         {drawing(), judge.RuleMade},
		"half of it came":         {drawing(shown(30, picture[:len(picture)/2])), judge.RuleMade},
		"it came twice":           {drawing(shown(20, picture), shown(30, picture)), judge.RuleMade},
		"a kill doubled it":       {killed(drawing(shown(20, picture), shown(30, picture)), 21, "post.before.file", "post.after.file"), ""},
		"the kill did not":        {killed(drawing(shown(20, picture), shown(30, picture)), 21, "post.before.file", "post.after.file", "keep.after.file"), judge.RuleMade},
		"its reply was lost":      {drawing(with(shown(20, picture), torn), shown(30, picture)), ""},
		"all is stored":           {stored(record.Disk{Stored: []string{"a", "b"}, Known: []string{"a", "b"}, Swept: []string{"a"}, Referred: []string{"a"}}), ""},
		"bytes are lost":          {stored(record.Disk{Stored: []string{}, Known: []string{"a"}}), judge.RuleDisk},
		"bytes are left":          {stored(record.Disk{Stored: []string{"a"}, Known: []string{}}), judge.RuleDisk},
		"an upload stays":         {stored(record.Disk{Swept: []string{"a"}, Referred: []string{}}), judge.RuleDisk},
		"a file of a task goes":   {stored(record.Disk{Swept: []string{}, Referred: []string{"a"}}), judge.RuleDisk},
		"a copy is left":          {stored(record.Disk{Left: []string{"data/tmp/legwork-file-1"}}), judge.RuleDisk},
		"the upload is there":     {uploaded("x"), ""},
		"the upload is not there": {uploaded(""), judge.RuleUploaded},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.record).Violations
			if test.rule == "" && len(v) > 0 || test.rule != "" && (len(v) == 0 || v[0].Rule != test.rule) {
				t.Errorf("the judge says %v, want %q", v, test.rule)
			}
		})
	}
}
