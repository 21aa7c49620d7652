package cards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/bot"
	"legwork/files"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// PressApproval begins the data of an approval's buttons. The task's id and the
// seq of the question follow, then one of the verbs below.
const PressApproval = "p"

// The verbs of an approval's buttons.
const (
	VerbOnce   = "o"
	VerbTask   = "t"
	VerbDeny   = "n"
	VerbWhy    = "w" // deny, and say why
	VerbAlways = "c"
)

// MaxShownArguments is the maximum length, in characters, of the arguments that an
// approval shows in the chat. Longer ones go into a file where the platform
// accepts files.
const MaxShownArguments = 2500

// calls lists the calls that a question is about.
func (c Card) calls(seq int) []bot.Call {
	e := c.View.Event(seq)
	if e.Question == nil {
		return nil
	}
	made, own := turnOf(c.View, e.Action)
	about := e.Question.Calls
	if len(about) == 0 {
		about = []planner.Approval{{Call: own}}
	}
	var list []bot.Call
	for _, a := range about {
		if a.Call >= 0 && a.Call < len(made) {
			m := made[a.Call]
			call := bot.Call{Tool: cmp.Or(a.Tool, m.Tool, m.Name), Arguments: jsonOf(m.Arguments)}
			if len(a.Leaves) > 0 {
				call.Reason, call.Detail = policy.ReasonLeaves, c.leaves(a.Leaves)
			}
			list = append(list, call)
		}
	}
	return list
}

// turnOf finds the calls of the turn of an action, and the index of the action's
// own call.
func turnOf(v *tasks.View, action planner.ActionID) (made []planner.Call, call int) {
	seq, _ := v.State.ReplySeq(action)
	if reply := v.Event(seq).Reply; reply != nil {
		return reply.Calls, action.Call - 1
	}
	return nil, 0
}

// jsonOf is the arguments of a call as JSON. Arguments that are no valid JSON
// become a JSON string.
func jsonOf(arguments string) json.RawMessage {
	arguments = cmp.Or(strings.TrimSpace(arguments), "{}")
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	quoted, err := json.Marshal(arguments)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}

// approval is the draft that asks whether calls may be made. It contains their
// full arguments, in the text or in its file.
func (c Card) approval(seq int, files bool) bot.Draft {
	opening := c.View.Opening()
	calls := c.calls(seq)
	d := bot.Draft{
		Kind: bot.KindQuestion, Task: string(c.View.ID), ReplyTo: opening.Message, Mark: c.mark(planner.AskID(planner.SubjectCalls, seq).String()), Calls: calls,
		Buttons: c.approvalButtons(seq),
	}
	if files {
		d.File = callsFile(calls, seq)
	}
	d.Text = strings.Join([]string{c.callsText(calls, d.File), c.approvalFoot(seq)}, "\n\n")
	return d
}

// callsFile is a file with the calls if they are too long for the chat, or else
// nil.
func callsFile(calls []bot.Call, seq int) *bot.File {
	length := 0
	for _, c := range calls {
		length += utf8.RuneCountInString(bot.VisibleJSON(c.Arguments))
	}
	if length <= MaxShownArguments {
		return nil
	}
	all, err := json.Marshal(calls)
	if err != nil {
		return nil
	}
	content := bot.VisibleJSON(all) + "\n"
	if len(content) > bot.MaxFile {
		return nil
	}
	return &bot.File{Name: fmt.Sprintf("calls-%d.json", seq), Type: "application/json", Content: []byte(content)}
}

// callsText describes each call. With a file, only the file contains the
// arguments: a part of them in the text could hide the rest.
func (c Card) callsText(calls []bot.Call, file *bot.File) string {
	v, lang, texts := c.View, c.View.Opening().Language, c.Texts
	lines := []string{"**" + texts.Text(lang, "approval.ask", map[string]any{"Count": len(calls)}) + "**"}
	for i, c := range calls {
		head := texts.Text(lang, "approval.line", map[string]any{"Tool": callLine(texts, lang, c), "Reason": reasonText(texts, lang, c)})
		if len(calls) > 1 {
			head = fmt.Sprintf("**%d.** %s", i+1, head)
		}
		lines = append(lines, head)
		if file == nil {
			lines = append(lines, strings.TrimSuffix(bot.Fence(bot.VisibleJSON(c.Arguments), "json"), "\n"))
		}
		if lent := lentFiles(v, c.Arguments); lent != "" {
			lines = append(lines, texts.Text(lang, "approval.lent", map[string]any{"Names": lent}))
		}
	}
	if file != nil {
		lines = append(lines, texts.Text(lang, "approval.file", map[string]any{"Path": file.Name, "Bytes": len(file.Content)}))
	}
	return strings.Join(lines, "\n\n")
}

// lentFiles names the files that the arguments of a call stand for; a file of an earlier
// task by its reference alone. It is empty for none.
func lentFiles(v *tasks.View, arguments json.RawMessage) string {
	var names []string
	for _, name := range planner.LentFiles(arguments) {
		if i := planner.FileIndex(name); i >= 0 && i < len(v.State.Files) && v.State.Files[i].Read > 0 {
			f := v.Event(v.State.Files[i].Read).Read
			name += " – " + PlainText(f.Name) + ", " + files.Size(f.Bytes)
		}
		names = append(names, name)
	}
	return strings.Join(names, "; ")
}

// callLine names the tool of a call, and its server.
func callLine(texts *i18n.Texts, lang string, c bot.Call) string {
	server, tool, ok := strings.Cut(c.Tool, ".")
	if !ok {
		return InCode(c.Tool)
	}
	return texts.Text(lang, "approval.call", map[string]any{"Server": InCode(server), "Tool": InCode(tool)})
}

// reasonText says why a call needs an approval.
func reasonText(texts *i18n.Texts, lang string, c bot.Call) string {
	if c.Reason == policy.ReasonLeaves {
		return c.Detail
	}
	return texts.Text(lang, "approval.writes", nil)
}

// maxLeaves is how many values and origins a card names.
const maxLeaves = 5

// leaves says which values of a call can carry private data out, where to, and where
// the data came from.
func (c Card) leaves(list []planner.Leaves) string {
	lang := c.View.Opening().Language
	var values, from []string
	for _, l := range list {
		values = append(values, c.Texts.Text(lang, "approval.leaves_value", map[string]any{"Parameter": InCode(l.Parameter), "To": InCode(l.To)}))
	}
	for _, o := range list[0].From {
		name := c.origin(lang, o.Name)
		if o.Lines > 0 {
			name = c.Texts.Text(lang, "approval.leaves_lines", map[string]any{"Name": name, "Count": o.Lines})
		}
		from = append(from, name)
	}
	return c.Texts.Text(lang, "approval.leaves", map[string]any{"Values": firstOf(values, "; "), "From": firstOf(from, ", ")})
}

// origin names where private data came from.
func (c Card) origin(lang, name string) string {
	if key, ok := strings.CutPrefix(name, ":"); ok {
		return c.Texts.Text(lang, "approval.origin_"+key, nil)
	}
	return InCode(name)
}

// firstOf joins the first few of a list.
func firstOf(list []string, separator string) string {
	if len(list) > maxLeaves {
		list = append(slices.Clone(list[:maxLeaves]), "…")
	}
	return strings.Join(list, separator)
}

// approvalFoot names the asker and the goal, who can decide, and until when.
func (c Card) approvalFoot(seq int) string {
	opening := c.View.Opening()
	name := PlainText(NameOf(opening.From.Name, opening.From.Key()))
	lines := []string{c.Texts.Text(opening.Language, "approval.for", map[string]any{"Name": name, "Goal": PlainText(Title(opening.Goal))})}
	if until := c.until(seq); until != "" {
		lines = append(lines, until)
	}
	key := "approval.how"
	switch q := c.View.Event(seq).Question; {
	case !c.Lasts:
		key = "approval.how_here"
	case q.Person != "":
		key = "approval.how_person"
	}
	data := c.decidersData()
	if key == "approval.how_person" {
		data = map[string]any{"Name": name}
	}
	return strings.Join(append(lines, c.Texts.Text(opening.Language, key, data)), "\n")
}

// decidersData is the data of a text that says who can decide in a chat besides the
// admins. That is the asker, unless the asker is an admin, or a program, which is in
// no chat.
func (c Card) decidersData() map[string]any {
	if c.AskerIsAdmin || c.View.Opening().Chat.Platform == tasks.PlatformAPI {
		return nil
	}
	return map[string]any{"Name": c.asker()}
}

// until says when a question expires. It is empty for a question without an
// expiry.
func (c Card) until(seq int) string {
	expires := ExpiryOf(c.View.State, seq, c.View.Event(seq).Question)
	if expires.IsZero() {
		return ""
	}
	opening := c.View.Opening()
	return c.Texts.Text(opening.Language, "approval.until", map[string]any{"Date": InZone(expires, opening.Timezone)})
}

// ExpiryOf is the expiry time of the question or review of that seq; zero: never.
func ExpiryOf(s planner.State, seq int, q *planner.Question) time.Time {
	switch {
	case q != nil:
		return q.Expires
	case s.Review == seq:
		return s.ReviewExpires
	}
	return time.Time{}
}

// approvalButtons are the buttons of an approval. A grant is offered only if it
// would make the next question unnecessary. The grant for the chat is offered only
// where an admin can press it.
func (c Card) approvalButtons(seq int) []bot.Button {
	lang := c.View.Opening().Language
	button := func(key, verb, style string) bot.Button {
		return bot.Button{Label: c.Texts.Text(lang, key, nil), Data: DecisionData(PressApproval, c.View.ID, seq, 0, verb), Style: style}
	}
	list := []bot.Button{button("button.allow_once", VerbOnce, bot.StylePrimary)}
	grants := len(policy.GrantsOf(c.View.Event(seq).Question)) > 0
	if grants {
		list = append(list, button("button.allow_task", VerbTask, ""))
	}
	list = append(list, button("button.deny", VerbDeny, bot.StyleDanger), button("button.deny_why", VerbWhy, ""))
	list[len(list)-1].Words = true
	if grants && !c.WithoutBoard && c.OfferAlways {
		list = append(list, button("button.allow_chat", VerbAlways, ""))
	}
	return list
}

// decidedCalls is the text of a closed approval: the calls, with their arguments
// if those were shown in the chat.
func (c Card) decidedCalls(seq int) string {
	lang := c.View.Opening().Language
	calls := c.calls(seq)
	whole := c.callsText(calls, callsFile(calls, seq))
	_, whole, _ = strings.Cut(whole, "\n\n") // without the question
	if len(whole) <= maxClosedText {
		return whole
	}
	var lines []string
	for _, call := range calls {
		lines = append(lines, callLine(c.Texts, lang, call))
	}
	return clip.Marked(strings.Join(lines, "\n"), maxClosedText)
}

// decidedLine says who decided, how, and when.
func decidedLine(v *tasks.View, texts *i18n.Texts, lang string, about planner.ActionID, e *planner.Event) string {
	data := map[string]any{"Name": decider(v, e), "Date": clockIn(e.At, v.Event(about.Seq).At, v.Opening().Timezone), "Reason": PlainText(Line(e.Decision.Text))}
	key := "approval.once"
	switch {
	case about.Subject == planner.SubjectReview:
		return reviewedLine(texts, lang, e, data)
	case about.Subject == planner.SubjectForm:
		return filledLine(v, texts, lang, about, e, data)
	case !e.Decision.Approve:
		key = "approval.denied"
	case e.Decision.Scope == planner.ScopeTask:
		key = "approval.task"
	case e.Decision.Scope == planner.ScopeChat:
		key = "approval.chat"
	}
	return texts.Text(lang, key, data)
}

// decider is the name of the person who decided.
func decider(v *tasks.View, e *planner.Event) string {
	name := e.Decision.Name
	if from := v.Opening().From; from.Key() == e.By {
		name = cmp.Or(name, from.Name)
	}
	return PlainText(NameOf(name, e.By))
}
