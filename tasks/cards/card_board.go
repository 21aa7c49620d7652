package cards

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// BoardOf draws the board of a running task. ahead is how many tasks a queued one
// waits for. reports holds the progress that servers report of their calls, by action.
func BoardOf(v *tasks.View, texts *i18n.Texts, now time.Time, ahead int, reports map[planner.ActionID]tools.Progress) bot.Board {
	s, opening := v.State, v.Opening()
	known := policy.Linkable(v, planner.PromptInput{})
	b := bot.Board{Title: Title(opening.Goal), Status: StatusText(texts, opening.Language, s, ahead) + boardEstimate(v, texts), Waiting: s.Status() == "waiting", Queued: s.Queued()}
	for i, w := range s.Subtasks {
		b.Items = append(b.Items, bot.Item{
			ID: w.ID, Title: markdown.WithoutAddresses(Line(planner.Description(w, v.Event)), known), Group: w.Name,
			State: string(shownState(w)), Elapsed: elapsed(w, now), Doing: activeTools(v, i, texts, reports, known),
		})
	}
	return b
}

// shownState is the state of a sub-task on a board. A sub-task whose last calls people
// denied has done nothing since: it is shown as skipped.
func shownState(w planner.Work) planner.SubState {
	denied := func(c planner.CallState) bool { // the server may have asked last, in a call that needs no approval
		return c.Kind == planner.CallTool && c.Step == planner.StepDone && c.Asked > c.Elicited && !c.Allowed
	}
	if w.State != planner.SubDone {
		return w.State
	}
	for _, turn := range slices.Backward(w.Turns) {
		if len(turn.Calls) > 0 {
			if !slices.ContainsFunc(turn.Calls, func(c planner.CallState) bool { return !denied(c) }) {
				return planner.SubSkipped
			}
			break
		}
	}
	return w.State
}

// HeldByPause reports whether a pause holds up the work of a task.
func HeldByPause(s planner.State) bool {
	return !s.Settled() && !s.Streamed && s.Status() != "waiting"
}

// StatusText says what a task does now. ahead is how many tasks a queued one waits for.
func StatusText(texts *i18n.Texts, lang string, s planner.State, ahead int) string {
	if key := statusKey(s); key == "status.queued" {
		return texts.Text(lang, key, map[string]any{"Count": max(ahead, 1)})
	}
	all, done := s.PlannedSubtasks()
	return texts.Text(lang, statusKey(s), map[string]any{"Done": done, "Count": all})
}

// statusKey is the key of the text about what a task does now. It is finer than
// State.Status, which programs read.
func statusKey(s planner.State) string {
	switch {
	case s.Settled():
		return "status." + string(s.Outcome)
	case s.Streamed:
		return "status.answering"
	case s.Review > 0:
		return "status.review"
	case s.Status() == "planning" && s.Round > 0:
		return "status.reviewing"
	}
	return "status." + s.Status()
}

// FinalBoard is the board of a task that has ended, in one line.
func FinalBoard(v *tasks.View, texts *i18n.Texts) bot.Board {
	s, opening := v.State, v.Opening()
	text := StatusText(texts, opening.Language, s, 0)
	if all, _ := s.PlannedSubtasks(); s.Outcome == planner.Done && all > 0 {
		text = texts.Text(opening.Language, "board.done", map[string]any{"Count": all, "Elapsed": s.Worked})
	}
	return bot.Board{Title: Title(opening.Goal), Status: text}
}

func elapsed(w planner.Work, now time.Time) time.Duration {
	switch {
	case w.StartedAt.IsZero():
		return 0
	case !w.EndedAt.IsZero():
		return w.EndedAt.Sub(w.StartedAt)
	}
	return max(0, now.Sub(w.StartedAt))
}

// activeTools lists the tools that a sub-task waits for now, with their progress.
func activeTools(v *tasks.View, subtask int, texts *i18n.Texts, reports map[planner.ActionID]tools.Progress, known func(string) bool) string {
	w := v.State.Subtasks[subtask]
	if w.State.Ended() || len(w.Turns) == 0 {
		return ""
	}
	turn := w.Turns[len(w.Turns)-1]
	var names []string
	times := map[string]int{}
	for i, c := range turn.Calls {
		if c.Step != planner.StepDone {
			call := v.Event(turn.Seq).Reply.Calls[i]
			name := cmp.Or(call.Tool, call.Name)
			if g, ok := reports[planner.CallID(w.ID, len(w.Turns), i+1, c.Attempt)]; ok {
				g.Message = markdown.WithoutAddresses(g.Message, known)
				name = withProgress(g, name, texts, v.Opening().Language)
			}
			if times[name]++; times[name] == 1 {
				names = append(names, name)
			}
		}
	}
	for i, name := range names {
		if n := times[name]; n > 1 {
			names[i] = fmt.Sprintf("%s × %d", name, n)
		}
	}
	return strings.Join(names, ", ")
}

// SameBoard reports whether two boards look the same except for elapsed times.
func SameBoard(a, b bot.Board) bool {
	if a.Title != b.Title || a.Status != b.Status || a.Waiting != b.Waiting || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		x, y := a.Items[i], b.Items[i]
		x.Elapsed, y.Elapsed = 0, 0
		if x != y {
			return false
		}
	}
	return true
}

// started reports whether at least one sub-task has started.
func started(s planner.State) bool {
	return slices.ContainsFunc(s.Subtasks, func(w planner.Work) bool { return !w.StartedAt.IsZero() })
}

// outcome is the draft with the outcome of a settled task.
func outcome(v *tasks.View, texts *i18n.Texts) bot.Draft {
	s, opening := v.State, v.Opening()
	d := bot.Draft{Kind: bot.KindAnswer, Task: string(v.ID), ReplyTo: opening.Message}
	if all, _ := s.PlannedSubtasks(); all > 0 && started(s) {
		d.Footer = texts.Text(opening.Language, "answer.footer", map[string]any{
			"Count": all, "Elapsed": s.Worked, "Tokens": s.Usage.Tokens(),
			"Price": priceText(texts, opening.Language, s.Usage),
		})
	}
	if s.Answer > 0 {
		e := v.Event(s.Answer)
		if d.Text = planner.ShownAnswer(e); e.Reply == nil { // of an agent from outside
			d.Text = unlinked(v, d.Text)
		}
		said := ""
		switch {
		case s.Outcome == planner.Halted:
			said = "notice.stopped"
		case s.Reason == planner.ReasonUnreadable:
			said = "problem." + s.Reason
		}
		if said != "" {
			d.Footer = strings.TrimSuffix(texts.Text(opening.Language, said, nil)+" "+d.Footer, " ")
		}
	} else {
		d.Failed = s.Outcome == planner.Failed
		d.Text = unlinked(v, problemText(v, texts))
	}
	for _, tool := range unknownEffects(v) {
		d.Text += "\n\n" + texts.Text(opening.Language, "partial.unknown", map[string]any{"Tool": tool})
	}
	if unread := unreadFiles(v, texts); s.Reason == planner.ReasonFiles {
		d.Text = strings.Join(unread, "\n\n")
	} else {
		d.Text = strings.Join(append([]string{d.Text}, unread...), "\n\n")
	}
	d.Text = Introduced(v, texts, d.Text)
	for _, e := range v.Events {
		if e.Result != nil && e.Result.Remembered != "" {
			note := unlinked(v, PlainText(clip.Marked(strings.Join(strings.Fields(e.Result.Remembered), " "), maxShownNote)))
			d.Text += "\n\n" + texts.Text(opening.Language, "answer.remembered", map[string]any{"Text": note})
		}
		if e.Result != nil && e.Result.Secret != "" {
			d.Text += "\n\n" + texts.Text(opening.Language, "answer.secret_declined", map[string]any{"Server": serverOf(v, e), "Text": InCode(clip.Marked(e.Result.Secret, maxChoice))})
		}
	}
	return d
}

// serverOf is the name of the server whose call an event ended.
func serverOf(v *tasks.View, e planner.Event) string {
	seq, ok := v.State.ReplySeq(e.Action)
	if !ok {
		return ""
	}
	server, _, _ := strings.Cut(v.Event(seq).Reply.Calls[e.Action.Call-1].Tool, ".")
	return server
}

// maxShownNote is how much of a remembered note the outcome shows, in bytes.
const maxShownNote = 1000

// Streamed is an answer that is still being written, as a chat may show it. An address at
// its end may go on: it is held back, so that no link appears and goes again.
func Streamed(text string, known func(address string) bool) string {
	if known == nil {
		return text
	}
	if last := strings.LastIndexAny(text, " \t\n") + 1; strings.ContainsAny(strings.TrimRight(text[last:], ".!?"), ".:@") {
		text = text[:last]
	}
	closed := markdown.Partial(text)
	if safe := markdown.Unlinked(closed, known); safe != closed {
		return safe
	}
	return text
}

// Introduced adds to a text what the outcome begins with: the first line of a task that
// has one, and the words of voice messages.
func Introduced(v *tasks.View, texts *i18n.Texts, text string) string {
	if text == "" {
		return text
	}
	if said := heard(v, texts); len(said) > 0 {
		text = strings.Join(said, "\n>\n") + "\n\n" + text
	}
	if intro := v.Opening().Intro; intro != "" {
		text = intro + "\n\n" + text
	}
	return text
}

// unknownEffects lists the tools whose call was started when their sub-task was cut
// short, and must not be repeated. legwork does not know whether those calls took
// effect.
func unknownEffects(v *tasks.View) []string {
	var names []string
	for _, w := range v.State.Subtasks {
		if w.State != planner.SubSkipped || len(w.Turns) == 0 {
			continue
		}
		turn := w.Turns[len(w.Turns)-1]
		for i, c := range turn.Calls {
			if c.Step == planner.StepStarted {
				names = append(names, v.Event(turn.Seq).Reply.Calls[i].Tool)
			}
		}
	}
	return names
}

// boardEstimate is the cost estimate on the board, for plans that are not small.
func boardEstimate(v *tasks.View, texts *i18n.Texts) string {
	s := v.State
	if s.Settled() || len(s.Planned) == 0 {
		return ""
	}
	reply := v.Event(s.Planned[len(s.Planned)-1]).Reply
	if reply == nil || reply.Estimate == nil || len(reply.Plan) < estimatedFrom {
		return ""
	}
	return " · " + texts.Text(v.Opening().Language, "board.estimate", map[string]any{"Text": estimateText(texts, v.Opening().Language, *reply.Estimate)})
}

func estimateText(texts *i18n.Texts, lang string, e planner.Estimate) string {
	return CostText(texts, lang, llm.Usage{Input: int(e.Tokens), Cost: e.Cost, Unpriced: e.Unpriced && e.Cost > 0})
}

// planCost is the text about the cost in the question about a plan.
func planCost(v *tasks.View, texts *i18n.Texts, seq int) string {
	reply, lang := v.Event(seq).Reply, v.Opening().Language
	if reply == nil || reply.Estimate == nil {
		return ""
	}
	key := "question.plan_cost"
	if reply.Confirm {
		key = "question.plan_large"
	}
	return "\n\n" + texts.Text(lang, key, map[string]any{"Text": estimateText(texts, lang, *reply.Estimate)})
}

// maxProgress is the maximum width, in columns, of a server's progress message on
// the board.
const maxProgress = 60

// withProgress adds the progress of a call to the name of its tool.
func withProgress(g tools.Progress, tool string, texts *i18n.Texts, lang string) string {
	data := map[string]any{"Tool": tool}
	if percent := 100 * g.Done / g.Total; g.Total > 0 && percent >= 0 && !math.IsInf(percent, 0) {
		data["Done"] = strconv.Itoa(int(min(percent, 100)))
	}
	said := strings.Join(strings.Fields(bot.Visible(strings.ToValidUTF8(clip.Bytes(g.Message, 4*maxProgress), ""))), " ")
	if said != "" {
		data["Text"] = bot.CutText(said, maxProgress)
	}
	return texts.Text(lang, "board.progress", data)
}

// estimatedFrom is the number of sub-tasks from which the board shows a plan's
// estimate.
const estimatedFrom = 3
