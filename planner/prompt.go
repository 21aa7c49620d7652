package planner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
)

// Journal gives the event of a sequence number, with its whole body.
type Journal func(seq int) Event

// PromptInput is the input of a prompt beyond the journal: the state of the world at
// the moment of the call. Its zero value makes a valid, if poor, prompt.
type PromptInput struct {
	Texts             *i18n.Texts
	Instructions      string                                // the admin's, for every prompt
	ChatInstructions  string                                // the admin's for this chat
	Groups            []i18n.Group                          // plan and review: what work can be given to
	GroupInstructions string                                // work
	LendsFiles        bool                                  // work: tools of the group may be given files
	Tools             []llm.Tool                            // work: the group's tools, without the machine's own
	Missing           string                                // work: what cannot be reached of the group's tools, and why
	Model             string                                // a configured model in place of the role's
	Vision            bool                                  // a model of the role vision is there, for prompts with images
	Picture           func(files.ID) (data []byte, ok bool) // reads a picture of a file; nil: no model can see
	Makes             *Makes                                // plan, work and answer: the files that can be made; nil: none
	EarlierFiles      []EarlierFile                         // plan and review: files of earlier tasks, the newest first; work: those that it is given
	Past                                                    // plan, review and answer
	Earlier           []Earlier                             // plan, review and work: results of earlier tasks, the newest first
	SharedState       bool                                  // work: offer the tools of the shared state also while there is none
	Delegate          bool                                  // work: offer delegate
	MaxBytes          int                                   // of all messages together; 0 for no limit
}

// Makes says what make_file can make.
type Makes struct {
	Pictures bool // a model paints what a text describes
	Speech   bool // a model speaks a text

	Kinds  string          // for prompts: "docx, pdf, xlsx"
	Schema json.RawMessage // of the arguments of make_file
}

// ErrTooLong says that a question does not fit into the model's context.
var ErrTooLong = errors.New("the question is too long for the model")

// Prompt builds the request for a model action. Fixed texts come first, and later
// prompts only add messages to earlier ones, so that endpoints can cache the common
// beginning. The request is valid for every state: each
// tool call is followed by its result. ErrTooLong means that the question alone
// takes too much of input.MaxBytes: answering a part of it would mislead.
func Prompt(s State, journal Journal, a Action, input PromptInput) (llm.Request, error) {
	b := builder{s: s, journal: journal, input: input, opening: journal(1)}
	b.opening.Opening = Whole(b.opening.Opening, eventsAt(journal, s.Parts))
	b.lang = b.opening.Opening.Language
	if goal := len(b.goal()); input.MaxBytes > 0 && goal > input.MaxBytes/4*3 {
		return llm.Request{}, fmt.Errorf("%w: %d bytes of %d", ErrTooLong, goal, input.MaxBytes)
	}
	var err error
	if a.Role == llm.RoleWork {
		err = b.work(a)
	} else {
		err = b.decision(a)
	}
	if err != nil {
		return llm.Request{}, fmt.Errorf("building prompt of %q: %w", a.ID, err)
	}
	role := a.Role
	if b.pictures {
		role, b.model = llm.RoleVision, ""
		b.messages.unseen = b.text("prompt.pictures_left_out", nil)
	}
	return llm.Request{
		Role: role, Model: b.model, Tools: b.tools, TextTools: b.text("prompt.text_tools", nil),
		Messages: merged(b.messages.plain().fitting(input.MaxBytes)),
	}, nil
}

// builder writes one prompt from the journal.
type builder struct {
	s         State
	journal   Journal
	input     PromptInput
	opening   Event
	lang      string
	model     string
	messages  contents
	tools     []llm.Tool
	pictures  bool // one of the messages holds images
	namesMore bool // one of them names what read_result reads
	hasFiles  bool // one of them holds or names files
	plans     bool // it is for a plan or a review
}

func (b *builder) text(key string, data any) string { return b.input.Texts.Text(b.lang, key, data) }

// decision builds the prompts of plan, review and answer.
func (b *builder) decision(a Action) error {
	groups := slices.Clone(b.input.Groups)
	for i := range groups {
		groups[i].Description = Plain(groups[i].Description) // a server's words, perhaps
	}
	data := i18n.PromptData{
		Groups: groups, MaxSubtasks: b.s.Limits.Subtasks,
		Instructions: b.input.Instructions, ChatInstructions: b.input.ChatInstructions,
	}
	if b.input.Makes != nil {
		data.Makes = b.input.Makes.Kinds
	}
	name := llm.RolePlan // also for a review, so that its prompt begins as that of the plan did
	if a.Role == llm.RoleAnswer {
		name = llm.RoleAnswer
	}
	system, err := b.input.Texts.Prompt(b.lang, name, data)
	if err != nil {
		return err
	}
	review, err := b.input.Texts.Prompt(b.lang, llm.RoleReview, data)
	if err != nil {
		return err
	}
	review = strings.TrimSpace(review)
	b.messages.question = review
	b.plans = a.Role != llm.RoleAnswer
	b.model = b.input.Model
	b.messages.add(llm.System, ownMarks(system))
	if a.Role != llm.RoleAnswer {
		b.tools = []llm.Tool{toolList{b}.plan()}
	}
	b.addPast()
	if a.Role != llm.RoleAnswer {
		b.addEarlier("prompt.earlier_plan", b.input.Earlier)
	}
	if a.Role != llm.RoleAnswer {
		filePart{b}.listEarlier(b.input.EarlierFiles)
	}
	b.messages.add(llm.User, b.asker())
	b.addGoal()
	guidance, notes := b.s.Guidance, b.visibleNotes()
	for _, plan := range b.s.Rejected {
		notes = b.addNotes(notes, plan)
		guidance = b.addGuidance(guidance, plan)
		b.messages.add(llm.Assistant, planText(b.journal(plan).Reply.Plan))
		b.messages.add(llm.User, b.text("prompt.plan_rejected", nil))
	}
	for i, plan := range b.s.Planned {
		notes = b.addNotes(notes, plan)
		guidance = b.addGuidance(guidance, plan)
		if a.Role != llm.RoleAnswer {
			if i > 0 {
				b.messages.add(llm.User, ownMarks(review))
			}
			b.messages.add(llm.Assistant, planText(b.journal(plan).Reply.Plan))
		}
		b.addRound(i + 1)
	}
	b.addNotes(notes, b.s.Seq+1)
	b.addGuidance(guidance, b.s.Seq+1)
	filePart{b}.that(func(i int) bool { return b.journal(b.s.Files[i].Source).Decision != nil })
	b.addSharedState(stateInDecision)
	switch a.Role {
	case llm.RoleAnswer:
		if b.input.Makes != nil && b.s.WantsFile {
			filePart{b}.listReturned()
		}
		b.messages.add(llm.User, b.text(answerKey(b.s.Reason), nil))
	case llm.RoleReview:
		b.messages.add(llm.User, ownMarks(review))
	}
	if a.ID.Subject == SubjectWork { // the answer has called tools
		w := b.s.Subtasks[a.Place.Subtask]
		for _, turn := range w.Turns {
			b.addTurn(w, turn)
		}
		if a.LastTurn {
			b.messages.add(llm.User, b.text("prompt.last_turn", nil))
		}
		b.addBadReplies(w.BadReplies)
	}
	if a.Role == llm.RoleAnswer && !a.LastTurn {
		b.tools = toolList{b}.files(workOf(b.s, a))
	}
	b.addBadReplies(b.s.BadReplies)
	return nil
}

// addGoal adds the goal, below the messages that it brings along.
func (b *builder) addGoal() {
	b.addQuoted(b.opening.Opening.Earlier)
	filePart{b}.that(func(i int) bool {
		source := b.s.Files[i].Source
		return source == 1 || slices.Contains(b.s.Parts, source)
	})
	b.messages.add(llm.User, tag("goal", b.goal()))
}

// addQuoted adds messages that a question or guidance brings along: first those that
// were said in the chat before, then those that the person points at.
func (b *builder) addQuoted(list []bot.Quoted) {
	for _, kind := range []struct {
		pointed bool
		intro   string
	}{{false, "prompt.earlier_messages"}, {true, "prompt.pointed_at"}} {
		var texts []string
		for _, q := range list {
			if q.Pointed == kind.pointed {
				texts = append(texts, b.quoted(q))
			}
		}
		if len(texts) > 0 {
			b.messages.add(llm.User, b.text(kind.intro, nil)+"\n"+strings.Join(texts, "\n"))
		}
	}
}

// quoted is an earlier message as data.
func (b *builder) quoted(q bot.Quoted) string {
	attributes := []string{"from", q.From}
	if !q.At.IsZero() {
		attributes = append(attributes, "at", q.At.In(b.zone()).Format("2006-01-02 15:04"))
	}
	return tag("earlier_message", q.Text, attributes...)
}

// goal is the person's goal, or the text of the server's prompt that it names.
func (b *builder) goal() string {
	if b.s.PromptSeq > 0 {
		return b.journal(b.s.PromptSeq).Text
	}
	return b.opening.Opening.Goal
}

// answerKey names the text that asks for the closing answer and says why it
// comes now.
func answerKey(why string) string {
	switch why {
	case "":
		return "prompt.answer"
	case ReasonStopped, ReasonExpired, ReasonBudget, ReasonRounds, ReasonReview:
		return "prompt.answer_" + why
	case ReasonUnreadable:
		return "prompt.answer_unreadable"
	}
	return "prompt.answer_broken"
}

// asker holds language, time zone and the date at which the task was opened; the
// moment of the call would spoil the caches.
func (b *builder) asker() string {
	zone := b.zone()
	return b.text("prompt.person", map[string]any{
		"Language": b.opening.Opening.Language, "Timezone": zone.String(),
		"Date": b.opening.At.In(zone),
	})
}

// zone is the person's time zone.
func (b *builder) zone() *time.Location {
	zone, err := time.LoadLocation(b.opening.Opening.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// addGuidance adds the guidance before the event of that seq, and returns the rest.
func (b *builder) addGuidance(guidance []int, before int) []int {
	for len(guidance) > 0 && guidance[0] < before {
		e := b.journal(guidance[0])
		b.addQuoted(e.Earlier)
		filePart{b}.of(e.Seq)
		b.messages.add(llm.User, b.guidanceText(e))
		guidance = guidance[1:]
	}
	return guidance
}

// guidanceText is guidance as a prompt holds it.
func (b *builder) guidanceText(e Event) string {
	if e.Decision == nil {
		return b.text("prompt.guidance", nil) + "\n" + tag("guidance", b.said(e))
	}
	d := *e.Decision
	d.Text = b.said(e)
	return b.verdict(d)
}

// said are the words of guidance or of a decision: its text, and what was heard in its
// voice messages.
func (b *builder) said(e Event) string {
	words := []string{e.Text}
	if e.Decision != nil {
		words[0] = e.Decision.Text
	}
	for _, f := range b.s.Files {
		if f.Source == e.Seq && f.Read > 0 {
			if r := b.journal(f.Read).Read; r != nil && r.Spoken {
				words = append(words, r.Text)
			}
		}
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

// addRound adds the results of one round's sub-tasks, in order. The
// result of a delegated sub-task is in that of its caller.
func (b *builder) addRound(n int) {
	var results []string
	for _, w := range b.s.Subtasks {
		inside := w.Parent != nil && b.s.Subtasks[w.Parent.Subtask].State == SubDone
		if w.Round == n && w.State.Ended() && !inside && !w.Closing {
			results = append(results, b.result(w))
		}
	}
	if len(results) > 0 {
		b.messages.addResult(llm.Message{Role: llm.User, Content: b.text("prompt.results_intro", nil) + "\n" + strings.Join(results, "\n")})
	}
}

// maxResult is how much of a sub-task's result other prompts hold at first, in bytes.
const maxResult = 16 << 10

func (b *builder) result(w Work) string {
	return tag("result", b.cut(b.outcome(w), maxResult, 0, w.EndSeq), "id", w.ID, "group", w.Name, "state", string(w.State))
}

// outcome is the text of a sub-task that ended.
func (b *builder) outcome(w Work) string {
	e := b.journal(w.EndSeq)
	switch {
	case w.State == SubDone && e.Reply != nil:
		return e.Reply.Text
	case w.State == SubFailed && e.Reply != nil && e.Reply.Text != "":
		return b.text("prompt.subtask_turns", nil) + "\n" + e.Reply.Text
	case w.State == SubFailed && e.Type == CallFailed && e.Problem.Text != "":
		return b.text("prompt.subtask_cut", map[string]any{"Reason": b.text("problem."+w.Reason, nil)}) + "\n" + e.Problem.Text
	case w.State == SubFailed:
		return b.text("prompt.subtask_failed", map[string]any{"Reason": b.text("problem."+w.Reason, nil)})
	}
	return b.text("prompt.subtask_skipped", nil)
}

// cut shortens a text for the model and says how to read the rest. whole is its full
// size when the stored text is cut already.
func (b *builder) cut(text string, show, whole, seq int) string {
	whole = max(whole, len(text))
	if show <= 0 || len(text) <= show && whole == len(text) {
		return text
	}
	b.namesMore = true
	head := clip.Bytes(text, show)
	return head + "\n" + b.text("prompt.result_cut", map[string]any{"Shown": len(head), "Bytes": whole, "Result": seq})
}

// addBadReplies adds the replies that could not be used and why.
func (b *builder) addBadReplies(seqs []int) {
	for _, seq := range seqs {
		p := b.journal(seq).Problem
		b.messages.add(llm.Assistant, p.Text)
		b.messages.add(llm.User, b.text("prompt.malformed", map[string]any{"Reason": p.Reason}))
	}
}

// planText is a plan as its model would have written it: the ids of its own round
// without the round. Each entry has its "after", since an entry without one may wait
// for all before it.
func planText(plan []Subtask) string {
	type entry struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		After       []string `json:"after"`
	}
	own := make(map[string]string, len(plan))
	for _, p := range plan {
		_, own[p.ID] = splitRound(p.ID)
	}
	list := make([]entry, 0, len(plan))
	for _, p := range plan {
		e := entry{ID: own[p.ID], Name: p.Name, Description: p.Description, After: make([]string, 0, len(p.After))}
		for _, id := range p.After {
			e.After = append(e.After, cmp.Or(own[id], id))
		}
		list = append(list, e)
	}
	return encoded(map[string]any{"plan": list})
}

// How much of the notes from outside a decision sees, in bytes: of one note, and of
// all of them, the newest first.
const (
	maxNote         = 4 << 10
	notesInDecision = 32 << 10
)

// visibleNotes are the seqs of the notes that a decision sees. It adds a message with
// the number of older notes that the decision does not see.
func (b *builder) visibleNotes() []int {
	list, room := b.s.Notes, notesInDecision
	for from := len(list); from > 0; from-- {
		if room -= min(len(b.noteText(list[from-1])), maxNote); room < 0 {
			b.messages.add(llm.User, b.text("prompt.notes_left", map[string]any{"Count": from}))
			return list[from:]
		}
	}
	return list
}

// addNotes adds the notes from outside before the event of that seq, and returns the
// rest.
func (b *builder) addNotes(list []int, before int) []int {
	var texts []string
	from := list
	for len(list) > 0 && list[0] < before {
		e := b.journal(list[0])
		texts = append(texts, tag("data", clip.Marked(b.noteText(e.Seq), maxNote), "from", e.By, "type", e.Note.Type))
		list = list[1:]
	}
	if len(texts) > 0 {
		b.messages.addResult(llm.Message{Role: llm.User, Content: b.text("prompt.notes", nil) + "\n" + strings.Join(texts, "\n")})
	}
	for _, seq := range from[:len(from)-len(list)] {
		filePart{b}.of(seq)
	}
	return list
}

// noteText is the content of a note: a text as it is, other values as JSON.
func (b *builder) noteText(seq int) string {
	content := b.journal(seq).Note.Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	return string(content)
}

// verdict is the outcome of a review.
func (b *builder) verdict(d Decision) string {
	key := "prompt.review_rejected"
	if d.Approve {
		key = "prompt.review_approved"
	}
	if d.Text == "" {
		return b.text(key, nil)
	}
	return b.text(key, nil) + "\n" + tag("guidance", d.Text)
}

// reviewResult is the result of an update_state call that asked for a review.
func (b *builder) reviewResult(call CallState) string {
	out := b.text("prompt.state_updated", map[string]any{"Version": call.Version}) + "\n"
	if e := b.journal(call.Reviewed); e.Decision != nil {
		return out + b.verdict(*e.Decision)
	}
	return out + b.text("prompt.review_ended", nil)
}
