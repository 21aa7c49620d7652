package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
)

// work builds the prompt of a sub-task's turn: its description, the results that it
// comes after, and its own turns so far.
func (b *builder) work(a Action) error {
	w := b.s.Subtasks[a.Place.Subtask]
	system, err := b.input.Texts.Prompt(b.lang, llm.RoleWork, i18n.PromptData{
		Instructions: b.input.Instructions, ChatInstructions: b.input.ChatInstructions,
		GroupInstructions: Plain(b.input.GroupInstructions), Final: a.Final,
	})
	if err != nil {
		return err
	}
	b.model = b.input.Model
	b.messages.add(llm.System, ownMarks(system))
	description := Description(w, b.journal)
	if w.Name != LLMTool {
		b.addEarlier("prompt.earlier_work", b.named(description))
	}
	b.messages.add(llm.User, b.asker())
	if a.Final {
		b.addGoal()
	} else {
		filePart{b}.that(func(i int) bool { return NamesFile(description, FileName(i)) })
	}
	filePart{b}.given()
	if len(w.After) > 0 {
		results := make([]string, 0, len(w.After))
		for _, i := range w.After {
			results = append(results, b.result(b.s.Subtasks[i]))
		}
		b.messages.add(llm.User, b.text("prompt.results_intro", nil)+"\n"+strings.Join(results, "\n"))
	}
	if b.input.Makes != nil && makesFiles(b.s, w, b.journal) {
		filePart{b}.listReturned()
	}
	b.messages.add(llm.User, tag("task", description))
	for _, turn := range w.Turns {
		b.addTurn(w, turn)
	}
	b.addSharedState(stateInWork)
	if b.input.Missing != "" {
		b.messages.add(llm.User, b.text("prompt.tool_unavailable", map[string]any{"Tool": w.Name, "Reason": b.input.Missing}))
	}
	if a.LastTurn {
		b.messages.add(llm.User, b.text("prompt.last_turn", nil))
	} else {
		b.tools = append(plainTools(b.input.Tools), toolList{b}.machine(w)...)
	}
	b.addBadReplies(w.BadReplies)
	return nil
}

// Description is the description of a sub-task, from the event that holds it. That of the
// closing answer names the files that it makes first.
func Description(w Work, journal Journal) string {
	r := journal(w.Source).Reply
	switch {
	case w.Closing:
		return firstFiles(r.Calls)
	case w.Parent != nil:
		return r.Calls[w.Index].Delegate.Description
	}
	return r.Plan[w.Index].Description
}

// addTurn adds one reply of the sub-task's model and a result for each of its
// calls.
func (b *builder) addTurn(w Work, t Turn) {
	r := b.journal(t.Seq).Reply
	m := llm.Message{Role: llm.Assistant, Content: r.Text}
	for _, c := range r.Calls {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments(c.Arguments)})
	}
	b.messages.list = append(b.messages.list, m)
	for i, c := range r.Calls {
		b.messages.addResult(llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: b.callResult(w, c, t.Calls[i])})
	}
	for _, state := range t.Calls {
		if state.Kind == CallAsk && state.Step == StepDone {
			filePart{b}.of(state.Result) // of the answer
		}
	}
	if b.input.Vision {
		b.addImages(r.Calls, t)
	}
}

// addImages adds the pictures that a turn's calls returned, each with the name of
// its call: the messages of tools themselves can hold text alone.
func (b *builder) addImages(calls []Call, t Turn) {
	for i, c := range calls {
		state := t.Calls[i]
		if state.Kind != CallTool || state.Step != StepDone {
			continue
		}
		e := b.journal(state.Result)
		if e.Result == nil || len(e.Result.Images) == 0 {
			continue
		}
		b.pictures = true
		b.messages.addPictures(llm.Message{
			Role: llm.User, Content: b.text("prompt.images", map[string]any{"Tool": c.Name}), Images: e.Result.Images,
		}, false)
	}
}

// arguments makes a model's arguments fit to be sent again: endpoints refuse
// arguments that are not a JSON object.
func arguments(s string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) != nil || object == nil {
		return "{}"
	}
	return s
}

// callResult is the result of a call for the model. It is never empty, since some
// endpoints refuse that.
func (b *builder) callResult(w Work, c Call, state CallState) string {
	switch {
	case state.Kind == CallTooMany:
		return b.tooMany(c)
	case state.Kind == CallGuarded:
		return b.text("prompt.state_guarded", nil)
	case state.Reviewed > 0:
		return b.reviewResult(state)
	case c.Refusal != "":
		return c.Refusal
	case c.Update != nil:
		return b.text("prompt.state_updated", map[string]any{"Version": state.Version})
	case c.Get != nil:
		return b.stateResult(*c.Get, state)
	case c.Read != nil:
		b.namesMore = true
		return b.read(w, *c.Read)
	case c.Look != nil:
		return b.look(*c.Look)
	case state.Step != StepDone:
		return b.text("prompt.result_missing", nil)
	case state.Kind == CallDelegate:
		return b.result(b.s.Subtasks[state.Child])
	}
	return b.returned(c, state)
}

// tooMany is the result of a call that was not made, because a limit of the task is
// reached.
func (b *builder) tooMany(c Call) string {
	limits := b.s.Limits
	switch {
	case c.Update != nil && b.s.Reviews >= limits.Reviews && limits.Reviews > 0 && wantsReview(c.Update.Values):
		return b.text("prompt.too_many_reviews", map[string]any{"Max": limits.Reviews})
	case c.Update != nil:
		return b.text("prompt.state_full", map[string]any{"Max": limits.StateKeys, "Bytes": limits.StateBytes})
	case c.Ask != nil:
		return b.text("prompt.too_many_asked", map[string]any{"Max": limits.Asks})
	case c.Read != nil, c.Look != nil:
		return b.text("prompt.too_many_read", map[string]any{"Max": limits.Reads})
	}
	if c.Make != nil {
		return b.text("prompt.too_many_made", map[string]any{"Max": limits.Made})
	}
	return b.text("prompt.too_many_delegated", nil)
}

func (b *builder) returned(c Call, state CallState) string {
	e := b.journal(state.Result)
	switch {
	case e.Type == Expired && c.Ask != nil:
		return b.text("prompt.ask_expired", nil)
	case e.Type == Expired && state.Elicited > 0 && b.journal(state.Elicited).Question.SignIn != nil:
		return b.text("prompt.not_signed_in", nil)
	case e.Type == Expired && state.Elicited > 0 && state.Elicited == state.Asked: // the server asked, so it knows of the call
		return b.text("prompt.result_unanswered", nil)
	case e.Type == Expired:
		return b.text("prompt.result_expired", nil)
	case e.Decision != nil && c.Ask != nil && e.Decision.Approve:
		return tag("guidance", b.said(e))
	case e.Decision != nil && c.Ask != nil:
		return b.text("prompt.ask_denied", map[string]any{"Reason": strings.TrimRight(b.said(e), " .。")})
	case e.Decision != nil:
		return b.text("prompt.result_denied", map[string]any{"Reason": strings.TrimRight(b.said(e), " .。")})
	case e.Result == nil:
		return b.text("prompt.result_missing", nil)
	case e.Result.Unknown && e.Result.Text == "":
		return b.text("prompt.result_unknown", nil)
	}
	return tag("data", b.cut(e.Result.Text, e.Result.Show, e.Result.Bytes, state.Result))
}

// ReadBytes is how much one read_result returns.
const ReadBytes = 16 << 10

// read resolves a read_result call of a sub-task.
func (b *builder) read(w Work, r Read) string {
	if r.Earlier != "" {
		if end := r.Offset + len(r.Text); end < r.Bytes {
			return tag("data", r.Text) + "\n" + b.text("prompt.earlier_more", map[string]any{"Offset": end, "Bytes": r.Bytes, "Name": r.Earlier})
		}
		return tag("data", r.Text)
	}
	if !b.mayRead(w, r.Result) {
		return b.text("prompt.no_result", map[string]any{"Result": r.Result})
	}
	text := ""
	switch e := b.journal(r.Result); {
	case e.Result != nil:
		text = e.Result.Text
	case e.Reply != nil:
		text = e.Reply.Text
	}
	part, offset := Portion(text, r.Offset)
	if part == "" {
		return b.text("prompt.no_result", map[string]any{"Result": r.Result})
	}
	if end := offset + len(part); end < len(text) {
		return tag("data", part) + "\n" + b.text("prompt.result_more", map[string]any{"Offset": end, "Bytes": len(text), "Result": r.Result})
	}
	return tag("data", part)
}

// look is what a call of read_attachment shows.
func (b *builder) look(l Look) string {
	if end := l.Offset + len(l.Text); end < l.Bytes {
		return tag("data", l.Text, "file", l.File) + "\n" + b.text("prompt.file_rest", map[string]any{"Offset": end, "Bytes": l.Bytes})
	}
	return tag("data", l.Text, "file", l.File)
}

// Portion is what one read_result gives of a text from an offset on, and where
// that begins: no character is parted. It is empty when nothing is there.
func Portion(text string, offset int) (part string, from int) {
	if offset < 0 || offset >= len(text) {
		return "", offset
	}
	for offset > 0 && !utf8.RuneStart(text[offset]) {
		offset--
	}
	return clip.Bytes(text[offset:], ReadBytes), offset
}

// mayRead reports that the event of that seq holds a result which the sub-task has
// seen: of its own calls, of a sub-task that it comes after, or of one that it
// delegated. It cannot read the transcripts of other sub-tasks.
func (b *builder) mayRead(w Work, seq int) bool {
	if seq < 1 || seq > b.s.Seq {
		return false
	}
	after := slices.ContainsFunc(w.After, func(i int) bool { return b.s.Subtasks[i].EndSeq == seq })
	return after || slices.ContainsFunc(w.Turns, func(t Turn) bool {
		return slices.ContainsFunc(t.Calls, func(c CallState) bool {
			return c.Step == StepDone && c.Result == seq && c.Kind != CallInstant && c.Kind != CallTooMany
		})
	})
}
