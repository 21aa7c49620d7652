package policy

import (
	"slices"
	"strings"
	"sync"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy/flow"
)

// Origins of texts that no server returned. Names of servers hold no colon.
const (
	OriginHistory = planner.OriginHistory // the earlier conversation of the chat
	OriginProgram = planner.OriginProgram // agents and programs from outside
	OriginFile    = planner.OriginFile    // files of people
)

// Sources lists the texts that the model of a sub-task has read, the earliest first:
// the question with what it brought along, what the plan was made from, the results
// that the sub-task came after, and its own. The words of the people of the chat
// are included wherever they stand.
func Sources(v *tasks.View, subtask int) []flow.Source {
	r := reader{v: v, subtasks: map[int]bool{}, seqs: map[int]bool{}}
	if subtask < len(v.State.Subtasks) {
		r.subtask(subtask)
	}
	if len(v.State.Changes) > 0 { // each sub-task sees the shared state, and so what went into it
		for i, w := range v.State.Subtasks {
			if slices.ContainsFunc(w.Turns, func(t planner.Turn) bool { _, ok := slices.BinarySearch(v.State.Changes, t.Seq); return ok }) {
				r.subtask(i)
			}
		}
	}
	for _, e := range v.Events {
		r.event(e)
	}
	return r.sources
}

// Reading returns a function that gives the Sources. It collects them the first time, for
// all calls of a turn.
func Reading(v *tasks.View, subtask int) func() []flow.Source {
	return sync.OnceValue(func() []flow.Source { return Sources(v, subtask) })
}

// Linkable returns a test for the addresses in texts that a task shows to people:
// whether they stood in anything that the task has read (flow.Linkable), or in what the
// prompt held of earlier tasks. It is nil, and every address is known, while the task has
// not read both outside and private texts.
func Linkable(v *tasks.View, prompt planner.PromptInput) func(address string) bool {
	before := prompt.Labels()
	if v.State.Tainted == 0 && !before.Outside || len(v.State.Private) == 0 && len(before.Private) == 0 {
		return nil
	}
	known := sync.OnceValue(func() func(string) bool {
		r := reader{v: v, until: v.State.Seq, shown: true}
		r.past(prompt.Past)
		for _, e := range v.Events {
			r.event(e)
		}
		return flow.Linkable(r.sources)
	})
	return func(address string) bool { return known()(address) }
}

// reader collects what a sub-task has read.
type reader struct {
	v        *tasks.View
	subtasks map[int]bool // already followed
	until    int          // the plan was made from all events up to this seq
	seqs     map[int]bool // further events
	shown    bool         // the sources are for addresses in an answer
	sources  []flow.Source
}

// subtask follows what a sub-task was made from.
func (r *reader) subtask(i int) {
	if r.subtasks[i] {
		return
	}
	w := r.v.State.Subtasks[i]
	r.subtasks[i], r.seqs[w.EndSeq] = true, true
	if w.Parent == nil {
		r.until = max(r.until, w.Source)
	} else {
		r.subtask(w.Parent.Subtask)
	}
	for _, j := range w.After {
		r.subtask(j)
	}
	for _, turn := range w.Turns {
		r.seqs[turn.Seq] = true
		for c, state := range turn.Calls {
			r.seqs[state.Result] = true
			if state.Kind == planner.CallDelegate {
				r.subtask(state.Child)
			}
			if calls := r.v.Event(turn.Seq).Reply.Calls; c < len(calls) && calls[c].Read != nil {
				r.seqs[calls[c].Read.Result] = true
			}
		}
	}
}

// event adds the texts of an event.
func (r *reader) event(e planner.Event) {
	read := e.Seq <= r.until || r.seqs[e.Seq]
	switch {
	case e.Type == planner.Opened:
		r.opened()
	case e.Type == planner.PromptExpanded:
		server, _, _ := strings.Cut(r.v.Opening().Prompt.Name, "/")
		r.add(flow.Source{Labels: flow.Both, Origin: server, Text: e.Text})
	case e.Type == planner.GuidanceAdded:
		r.words(e.By, e.Text)
		r.quoted(e.Earlier)
	case e.Type == planner.FileRead:
		r.file(e)
	case e.Type == planner.Decided:
		r.words(e.By, typedText(r.v, e)+"\n"+typedValue(r.v, e)+typedPlan(e))
	case e.Type == planner.NoteAdded:
		r.add(flow.Source{Labels: flow.Both, Origin: OriginProgram, Text: string(e.Note.Content)})
	case e.Type == planner.StateSet:
		var text strings.Builder
		for key, value := range e.Values {
			text.WriteString(key + " " + string(value) + "\n")
		}
		r.add(flow.Source{Labels: flow.Both, Origin: OriginProgram, Text: text.String()})
	case read && e.Reply != nil:
		r.replied(e)
	case read && e.Result != nil:
		r.returned(e)
	}
}

// file adds the text of a file, or the beginning of it, for every sub-task. The words
// that a person spoke are those of the message's author.
func (r *reader) file(e planner.Event) {
	switch {
	case e.Read.Spoken:
		r.words(r.v.Event(e.Action.Seq).By, e.Read.Text)
	case e.Read.Text != "" || len(e.Read.Pictures) > 0:
		r.add(flow.Source{Labels: flow.Both, Origin: OriginFile, Text: e.Read.Name + "\n" + e.Read.Text})
	}
}

// returned adds the result of a call. One without labels is legwork's own, such as a
// refusal that quotes the arguments of the call: the server has not seen these.
func (r *reader) returned(e planner.Event) {
	s := flow.Source{Labels: labels(e.Result.Untrusted, len(e.Result.Private) > 0), Search: e.Result.Sources, Text: e.Result.Text}
	if s.Labels != 0 {
		s.Origin = serverOf(r.v, e)
	}
	r.add(s)
}

// opened adds the question, with what the prompt says about the person.
func (r *reader) opened() {
	o := r.v.Opening()
	r.words(o.From.Key(), o.Goal)
	r.quoted(o.Earlier)
	about := strings.Join([]string{o.Language, o.Timezone, r.v.State.Opened.Format("2006-01-02"), r.v.State.Last.Format("2006-01-02")}, "\n")
	r.add(flow.Source{People: true, Text: about})
}

// replied adds what a model has written, and what its prompt and its calls brought
// along of earlier tasks.
func (r *reader) replied(e planner.Event) {
	r.labelled(e.Reply.Past, "")
	var written []string
	for _, s := range e.Reply.Plan {
		written = append(written, s.Description)
	}
	for _, c := range e.Reply.Calls {
		written = append(written, string(tasks.Arguments(c)))
		if c.Look != nil {
			r.add(flow.Source{Labels: flow.Both, Origin: OriginFile, Text: c.Look.Text})
		}
		if c.Read != nil && c.Read.Earlier != "" {
			r.written(planner.Labels{Outside: c.Read.Untrusted, Private: c.Read.Private}, c.Read.Text)
		}
	}
	r.add(flow.Source{Text: strings.Join(written, "\n")})
}

// labelled adds a text with its labels, for each origin of its private data. A text with
// data of several servers is known to none of them.
func (r *reader) labelled(l planner.Labels, text string) {
	if len(l.Private) == 0 {
		r.add(flow.Source{Labels: labels(l.Outside, false), Text: text})
	}
	if len(l.Private) > 1 {
		text = ""
	}
	for _, origin := range l.Private {
		r.add(flow.Source{Labels: labels(l.Outside, true), Origin: origin, Text: text})
	}
}

// written adds a text that the model of an earlier task may have written. It may have put
// private data into an address there.
func (r *reader) written(l planner.Labels, text string) {
	if r.shown && l.Outside && len(l.Private) > 0 {
		text = ""
	}
	r.labelled(l, text)
}

// past adds the earlier conversation. Of an answer it adds the addresses that chats
// showed as links. A summary was written by a model, which may have put private data in it.
func (r *reader) past(p planner.Past) {
	if !p.SummaryTainted || len(p.SummaryPrivate) == 0 {
		r.add(flow.Source{Labels: flow.Outside, Origin: OriginHistory, Text: p.Summary})
	}
	for _, h := range p.History {
		r.add(flow.Source{Labels: flow.Outside, Origin: OriginHistory, Text: h.Goal})
		r.quoted(h.Brought)
		r.add(flow.Source{Labels: flow.Outside, Origin: OriginHistory, Text: strings.Join(markdown.Addresses(h.Answer), "\n")})
	}
}

// words adds what a person wrote, or what an agent from outside did.
func (r *reader) words(by, text string) {
	if planner.ByAgent(planner.Event{By: by}) {
		r.add(flow.Source{Labels: flow.Both, Origin: OriginProgram, Text: text})
		return
	}
	r.add(flow.Source{People: true, Text: flow.Wanted(text)})
}

// quoted adds messages that words point at or bring along.
func (r *reader) quoted(list []bot.Quoted) {
	for _, q := range list {
		if q.Own {
			r.written(planner.LabelsOf(q), q.Text)
		} else {
			r.labelled(planner.LabelsOf(q), q.Text)
		}
	}
}

func (r *reader) add(s flow.Source) { r.sources = append(r.sources, s) }

func labels(outside, private bool) (l flow.Label) {
	if outside {
		l |= flow.Outside
	}
	if private {
		l |= flow.Private
	}
	return l
}

// serverOf names the server that returned a result.
func serverOf(v *tasks.View, e planner.Event) string {
	seq, ok := v.State.ReplySeq(e.Action)
	if reply := v.Event(seq).Reply; ok && reply != nil && e.Action.Call >= 1 && e.Action.Call <= len(reply.Calls) {
		server, _, _ := strings.Cut(reply.Calls[e.Action.Call-1].Tool, ".")
		return server
	}
	return ""
}

// typedText is what a person wrote when deciding. The label of a button is not the
// person's: a model wrote it.
func typedText(v *tasks.View, e planner.Event) string {
	q := v.Event(e.Action.Seq).Question
	if reply := v.Event(e.Action.Seq).Reply; q == nil && reply != nil && e.Action.Call >= 1 && e.Action.Call <= len(reply.Calls) {
		q = reply.Calls[e.Action.Call-1].Ask
	}
	if q != nil && slices.Contains(q.Choices, e.Decision.Text) {
		return ""
	}
	return e.Decision.Text
}

// typedPlan are the descriptions of a plan that a person changed.
func typedPlan(e planner.Event) string {
	var text strings.Builder
	if e.Reply != nil {
		for _, s := range e.Reply.Plan {
			text.WriteString("\n" + s.Description)
		}
	}
	return text.String()
}

// typedValue is the value that a person typed into a field of a server's form.
// Choices and defaults are not included: the server wrote them, and people see
// only their labels.
func typedValue(v *tasks.View, e planner.Event) string {
	about := e.Action
	if about.Subject != planner.SubjectForm {
		return ""
	}
	_, field := tasks.FormOf(v.Event(about.Seq), about)
	if field == nil || len(field.Choices) > 0 || string(field.Default) == string(e.Decision.Value) {
		return ""
	}
	return string(e.Decision.Value)
}
