package planner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/files"
	"legwork/llm"
)

// The files of a task. A message brings attachments along, and the task fetches and
// reads each of them (FileRead) before it decides anything that the message is for.

// OriginFile is the origin of private data that was read from files of people.
const OriginFile = ":file"

// ReadFile is the body of FileRead: a file as it was found, or why it could not be
// read.
type ReadFile struct {
	files.File        // its ID is empty when there is no content
	Kind       string `json:"kind,omitempty"` // "PDF", "DOCX", as people call it

	Text      string `json:"text,omitempty"`       // of the file, or the beginning of it
	TextBytes int64  `json:"text_bytes,omitempty"` // of the whole text, when Text is not all of it
	// Parts name the pages, sheets or sections, at most maxOutline of them; Total is how
	// many there are.
	Parts []string `json:"parts,omitempty"`
	Total int      `json:"total,omitempty"`
	// Whole is the content that holds the whole text, in parts, for read_attachment.
	Whole files.ID `json:"whole,omitempty"`
	// Pictures are for a model that can see: of the file, or of its pages.
	Pictures []Picture `json:"pictures,omitempty"`
	// Spoken says that Text is what a person said as this message: their own words.
	Spoken  bool      `json:"spoken,omitempty"`
	Problem string    `json:"problem,omitempty"` // key of the sentence that says what was not read, and why
	Limit   int64     `json:"limit,omitempty"`   // that Problem is about, in bytes
	Usage   llm.Usage `json:"usage,omitzero"`
}

// Picture is a picture whose content is kept.
type Picture struct {
	ID   files.ID `json:"id"`
	Type string   `json:"type"`           // as llm.Image.Type
	Name string   `json:"name,omitempty"` // of the page that it shows
}

// MaxOutline is how many names of parts a ReadFile holds at most.
const MaxOutline = 60

// Attached is a file that came with the event Source.
type Attached struct {
	Source int  // seq of the event
	Index  int  // among its attachments
	Read   int  // seq of the event that says what is in it; 0: not read yet
	Empty  bool // Read, and nothing of it could be read
	Gone   bool // the person took the message back
}

// Attachments lists the files that an event brings along: those of its own message,
// and those of the messages that it quotes.
func Attachments(e Event) []bot.Attachment {
	list, earlier := e.Files, e.Earlier
	if e.Opening != nil {
		list, earlier = e.Opening.Files, e.Opening.Earlier
	}
	list = slices.Clip(list)
	for _, q := range earlier {
		for _, a := range q.Files {
			if !q.Own {
				a.Others, a.From = true, cmp.Or(a.From, q.From)
			}
			list = append(list, a)
		}
	}
	return list
}

// FileName is how prompts and people call the file of that index among those of the
// task: "f1". FileIndex is the opposite; -1 for any other name.
func FileName(index int) string { return "f" + strconv.Itoa(index+1) }

// FileIndex is the index of the file of that name.
func FileIndex(name string) int {
	digits, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(name)), "f")
	if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && digits[0] != '0' {
		return n - 1
	}
	return -1
}

// attach notes the files that an event brings along.
func attach(s State, e Event) State {
	for i := range Attachments(e) {
		s.Files = append(slices.Clip(s.Files), Attached{Source: e.Seq, Index: i})
	}
	return s
}

// fetching reports that a file of the task is not read yet.
func (s *State) fetching() bool {
	return slices.ContainsFunc(s.Files, func(f Attached) bool { return f.Read == 0 && !f.Gone })
}

// awaitsFiles reports that a person has answered a question of the sub-task with files
// that are not read yet.
func awaitsFiles(s State, w Work) bool {
	if len(w.Turns) == 0 {
		return false
	}
	calls := w.Turns[len(w.Turns)-1].Calls
	return slices.ContainsFunc(s.Files, func(f Attached) bool {
		return f.Read == 0 && !f.Gone && slices.ContainsFunc(calls, func(c CallState) bool { return c.Result == f.Source })
	})
}

// detach notes that the person took back what the event of that seq brought along.
func detach(s State, source int) State {
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		s.Files[i].Gone = s.Files[i].Gone || s.Files[i].Source == source
	}
	return s
}

// fetchActions are the files that are to be read.
func fetchActions(s State) (list []Action) {
	switch s.Phase {
	case PhaseDeciding, PhaseAnswering, PhaseProposed, PhaseWorking:
	default:
		return nil
	}
	for _, f := range s.Files {
		if f.Read == 0 && !f.Gone {
			list = append(list, Action{ID: FetchID(f.Source, f.Index), Kind: KindFetch})
		}
	}
	return list
}

// fileRead folds what is in a file. A person's spoken words are a part of the question
// that they came with. A question that is nothing but files of which none can be read
// ends the task.
func fileRead(s State, e Event) State {
	s.Files = slices.Clone(s.Files)
	i := slices.IndexFunc(s.Files, func(f Attached) bool { return FetchID(f.Source, f.Index) == e.Action })
	s.Files[i].Read = e.Seq
	if e.Read.Spoken {
		if source := s.Files[i].Source; source == 1 || slices.Contains(s.Parts, source) {
			s.Parts, s.Wordless = append(slices.Clip(s.Parts), e.Seq), false
		}
		return s
	}
	if e.Read.Text == "" && len(e.Read.Pictures) == 0 {
		s.Files[i].Empty = true
		if s.asksGoal() && !slices.ContainsFunc(s.Files, func(f Attached) bool { return !f.Empty && !f.Gone }) {
			return settle(s, Failed, ReasonFiles)
		}
		return s
	}
	return labelled(s, e.Seq, Labels{Outside: true, Private: Origins{OriginFile}})
}

// asksGoal reports that a person sent files without words, and is asked what to do
// with them.
func (s *State) asksGoal() bool { return s.Phase == PhaseDeciding && s.Wordless && !s.fetching() }

// goalID is the id of the question what to do with the files. Further files that come
// while it is open make it another question.
func goalID(s State) ActionID { return AskID(SubjectGoal, s.Cause) }

// asksForGoal reports whether a slot is of the message that asks what to do with files.
func asksForGoal(slot string) bool {
	id, err := ParseActionID(slot)
	return err == nil && id.Kind == KindAsk && id.Subject == SubjectGoal
}

// goalDecided folds what a person wants done with the files.
func goalDecided(s State, e Event) State {
	s.Wordless = false
	if !e.Decision.Approve || e.Decision.Text == "" {
		return halt(s, e, ReasonStopped)
	}
	s.Parts = append(slices.Clip(s.Parts), e.Seq)
	return decide(s, e.Seq)
}

// Contents lists the contents that an event refers to.
func (e Event) Contents() (list []files.ID) {
	for _, a := range Attachments(e) {
		if id, kept := a.Kept(); kept {
			list = append(list, files.ID(id))
		}
	}
	if r := e.Read; r != nil {
		list = append(list, r.ID, r.Whole)
		for _, p := range r.Pictures {
			list = append(list, p.ID)
		}
	}
	if e.Result != nil {
		for _, f := range slices.Concat(e.Result.Files, e.Result.Returned) {
			list = append(list, f.ID)
		}
	}
	slices.Sort(list)
	return slices.Compact(slices.DeleteFunc(list, func(id files.ID) bool { return id == "" }))
}
