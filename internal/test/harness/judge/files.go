package judge

import (
	"path/filepath"
	"slices"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
)

// fileJudge holds the rules about files.
type fileJudge struct{ *judge }

// The rules about files. That files of people are read is RuleContent's.
const (
	RuleMade     = "made"     // a file that was asked for comes whole and once; again only when a kill or a lost reply hid the first
	RuleUploaded = "uploaded" // an upload that was answered with 201 is there
	RuleDisk     = "disk"     // exactly the contents are stored that journals refer to, and nothing half-written
)

// files judges the files that were made and what is stored.
func (j *fileJudge) files() {
	again := make([]int, len(j.r.Lives)) // files that came again, by the life that sent the one before
	for _, in := range j.r.Inputs {
		for _, m := range in.Makes() {
			switch j.r.Client {
			case record.Telegram, record.Slack, record.Web:
				j.inChat(in, m, again)
			case record.API:
				j.inContext(in, m)
			default:
				j.inFolder(in, m, again)
			}
		}
	}
	for i, l := range j.r.Lives {
		j.FilesAgain += again[i]
		if free := unstoredFiles(l); len(l.Hits) > 0 && again[i] > max(0, free) {
			j.violated(RuleMade, "%d files of life %d came again, but only %d were not stored as sent", again[i], i, free)
		}
	}
	for _, u := range j.r.Uploads {
		if u.Found != u.Sent {
			j.violated(RuleUploaded, "the upload %s of %s, taken in life %d, has %d bytes in the end, want %d", u.ID, u.Input, u.Life, len(u.Found), len(u.Sent))
		}
	}
	j.disk()
}

// unstoredFiles is how many files a life may have sent whose messages it did not store.
func unstoredFiles(l record.Life) int {
	return record.Count(l, "post.before.file") - record.Count(l, "keep.after.file")
}

// missing judges a file of which there is nothing. A person who stops a task gets no file.
func (j *fileJudge) missing(in record.Input, m llmfake.Made) {
	if !record.EndedEarly(in, j.r.Inputs) {
		j.violated(RuleMade, "%s of %s did not come", m.Name, in.ID)
	}
}

// whole judges the content of a file.
func (j *fileJudge) whole(m llmfake.Made, s record.Sent) {
	if !record.Holds(m, s.Content) {
		j.violated(RuleMade, "%s holds %.60q (%d bytes), want the file of %q", s.Name, s.Content, len(s.Content), m.Says)
	}
}

func (j *fileJudge) inChat(in record.Input, m llmfake.Made, again []int) {
	var before *record.Post
	for i := range j.r.Posts {
		p := &j.r.Posts[i]
		if p.File == nil || p.File.Name != m.Name {
			continue
		}
		j.Files++
		j.whole(m, *p.File)
		if p.Chat != in.Chat {
			j.violated(RuleChat, "%s was asked for in %q and came to %q", m.Name, in.Chat, p.Chat)
		}
		switch {
		case before == nil:
		case before.Torn:
			j.FilesTorn++
		case !j.killedAfter(j.lifeAt(before.Posted), before.Posted):
			j.violated(RuleMade, "%s came again, and no kill fell right after life %d had sent it", m.Name, j.lifeAt(before.Posted))
		default:
			again[j.lifeAt(before.Posted)]++
		}
		before = p
	}
	if before == nil {
		j.missing(in, m)
	}
}

// inFolder looks at the folder of the terminal. A kill between saving and telling may leave
// a copy without an event.
func (j *fileJudge) inFolder(in record.Input, m llmfake.Made, again []int) {
	told := map[string]int{} // lives, by the name
	for _, e := range j.r.Events {
		for _, path := range e.Files {
			if name := filepath.Base(path); record.IsCopy(name, m) {
				told[name] = e.Life
				if e.Chat != in.Chat {
					j.violated(RuleChat, "%s was asked for in %q and came to %q", m.Name, in.Chat, e.Chat)
				}
			}
		}
	}
	if len(told) == 0 {
		j.missing(in, m)
	}
	var copies []record.Sent
	for _, s := range j.r.Saved {
		if record.IsCopy(s.Name, m) {
			copies = append(copies, s)
			j.whole(m, s)
		}
	}
	slices.SortStableFunc(copies, func(a, b record.Sent) int { return len(a.Name) - len(b.Name) }) // the oldest first
	j.Files += len(copies)
	for _, s := range copies[:max(0, len(copies)-1)] {
		life, ok := told[s.Name]
		if !ok { // a kill came before it was told
			life = len(j.r.Lives) - 1
			for i, l := range j.r.Lives {
				if l.Cut() && unstoredFiles(l) > again[i] {
					life = i
				}
			}
		}
		if !j.r.Lives[life].Cut() {
			j.violated(RuleMade, "%s was saved %d times, and no kill fell after %s was", m.Name, len(copies), s.Name)
			continue
		}
		again[life]++
	}
}

func (j *fileJudge) inContext(in record.Input, m llmfake.Made) {
	found := 0
	for _, s := range j.r.Made[in.ID] {
		if s.Name == m.Name {
			found++
			j.whole(m, s)
		}
	}
	if j.Files += found; found == 0 {
		j.missing(in, m)
	}
}

// disk compares the stored contents with the records and with the journals.
func (j *fileJudge) disk() {
	d := j.r.Disk
	if d.Stored != nil {
		j.same("when legwork has ended, the records", d.Known, d.Stored)
	}
	if d.Swept != nil {
		j.same("when the time of uploads is over, the journals", d.Referred, d.Swept)
	}
	for _, name := range d.Left {
		j.violated(RuleDisk, "left behind: %s", name)
	}
}

func (j *fileJudge) same(who string, named, stored []string) {
	for _, id := range named {
		if !slices.Contains(stored, id) {
			j.violated(RuleDisk, "%s name the content %s, which is not stored", who, id)
		}
	}
	for _, id := range stored {
		if !slices.Contains(named, id) {
			j.violated(RuleDisk, "%s do not name the content %s, which is stored", who, id)
		}
	}
}
