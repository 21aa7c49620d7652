package planner

import (
	"fmt"
	"strconv"
	"strings"
)

// ActionID identifies an action of a task. It follows from the journal alone, so
// every driver computes the same id for the same action, before and after a
// crash. Ids are compared with ==. Each constructor says which fields it sets;
// the others are zero.
type ActionID struct {
	Kind    Kind
	Subject Subject
	Seq     int    // of the event that a decision follows, or that asks a person
	Subtask string // "2/a"
	Turn    int    // of the sub-task, from 1
	Call    int    // of the turn, from 1
	Field   int    // of a form, from 0; of a fetch action, the index of the file in its event
	Try     int    // how many unusable replies, or attempts of the call, there were before
}

// Subject is the subject of an action.
type Subject string

// The subjects. Programs read those of ask actions as the kind of an approval.
const (
	SubjectPlan     Subject = "plan"     // model: make the first plan; ask: may it be carried out
	SubjectReview   Subject = "review"   // model: judge the results; ask: look at the shared state
	SubjectAnswer   Subject = "answer"   // model: write the closing answer
	SubjectWork     Subject = "work"     // model: the next turn of a sub-task
	SubjectCall     Subject = "call"     // tool: make a call
	SubjectCalls    Subject = "calls"    // ask: may these calls be made
	SubjectQuestion Subject = "question" // ask: an ask_person call
	SubjectForm     Subject = "form"     // ask: a field of a server's question
	SubjectBudget   Subject = "budget"   // ask: may the budget be extended
	SubjectGoal     Subject = "goal"     // ask: the wish of a person who sent files without words
	SubjectFile     Subject = "file"     // fetch: a file that people sent
	SubjectOutcome  Subject = "outcome"  // show: bring it to the chat
)

// DecisionID is the id of a model action that plans, reviews or answers, because
// of the event of that seq.
func DecisionID(role string, seq, try int) ActionID {
	return ActionID{Kind: KindModel, Subject: Subject(role), Seq: seq, Try: try}
}

// WorkID is the id of a model action for a turn of a sub-task.
func WorkID(subtask string, turn, try int) ActionID {
	return ActionID{Kind: KindModel, Subject: SubjectWork, Subtask: subtask, Turn: turn, Try: try}
}

// CallID is the id of a tool action.
func CallID(subtask string, turn, call, try int) ActionID {
	return ActionID{Kind: KindTool, Subject: SubjectCall, Subtask: subtask, Turn: turn, Call: call, Try: try}
}

// AskID is the id of the ask action about a plan, calls, a budget or a review,
// which the event of that seq asks.
func AskID(about Subject, seq int) ActionID {
	return ActionID{Kind: KindAsk, Subject: about, Seq: seq}
}

// QuestionID is the id of the ask action for an ask_person call of the turn that
// the event of that seq began.
func QuestionID(seq, call int) ActionID {
	return ActionID{Kind: KindAsk, Subject: SubjectQuestion, Seq: seq, Call: call}
}

// FormID is the id of the ask action for a field of a server's question.
func FormID(seq, field int) ActionID {
	return ActionID{Kind: KindAsk, Subject: SubjectForm, Seq: seq, Field: field}
}

// FetchID is the id of the action that reads a file of the event of that seq.
func FetchID(seq, index int) ActionID {
	return ActionID{Kind: KindFetch, Subject: SubjectFile, Seq: seq, Field: index}
}

// ShowID is the id of the action that brings the outcome to the chat.
func ShowID() ActionID { return ActionID{Kind: KindShow, Subject: SubjectOutcome} }

// SameCall reports that both ids name attempts of the same tool call.
func (id ActionID) SameCall(other ActionID) bool {
	id.Try, other.Try = 0, 0
	return id.Kind == KindTool && id == other
}

// String is the id as journals, slots and logs have it: "plan 3.0",
// "work 1/a turn 2.0", "tool 1/a turn 2 call 1.0", "ask calls 7",
// "ask question 7 call 1", "ask form 7.0", "file 1.0", "show"; empty for the zero
// value.
func (id ActionID) String() string {
	seq := strconv.Itoa(id.Seq)
	ask := "ask " + string(id.Subject) + " " + seq
	try := "." + strconv.Itoa(id.Try)
	turn := " " + id.Subtask + " turn " + strconv.Itoa(id.Turn)
	switch {
	case id == ActionID{}:
		return ""
	case id.Kind == KindShow:
		return "show"
	case id.Kind == KindFetch:
		return "file " + seq + "." + strconv.Itoa(id.Field)
	case id.Kind == KindTool:
		return "tool" + turn + " call " + strconv.Itoa(id.Call) + try
	case id.Subject == SubjectWork:
		return "work" + turn + try
	case id.Kind == KindModel:
		return string(id.Subject) + " " + seq + try
	case id.Subject == SubjectQuestion:
		return ask + " call " + strconv.Itoa(id.Call)
	case id.Subject == SubjectForm:
		return ask + "." + strconv.Itoa(id.Field)
	}
	return ask
}

// ParseActionID is the opposite of String. It accepts nothing else.
func ParseActionID(text string) (ActionID, error) {
	id := parseActionID(text)
	if id.String() != text { // numbers that are none, or are written otherwise
		return ActionID{}, fmt.Errorf("parsing action id %q: unknown form", text)
	}
	return id, nil
}

// parseActionID reads the id that text would be. ParseActionID checks that it is.
func parseActionID(text string) ActionID {
	kind, rest, _ := strings.Cut(text, " ")
	switch kind {
	case "":
		return ActionID{}
	case "show":
		return ShowID()
	case "work":
		subtask, last := cutLast(rest, " turn ")
		turn, try, _ := strings.Cut(last, ".")
		return WorkID(subtask, number(turn), number(try))
	case "tool":
		rest, last := cutLast(rest, " call ")
		subtask, turn := cutLast(rest, " turn ")
		call, try, _ := strings.Cut(last, ".")
		return CallID(subtask, number(turn), number(call), number(try))
	case "ask":
		return parseAsk(rest)
	case "file":
		seq, index, _ := strings.Cut(rest, ".")
		return FetchID(number(seq), number(index))
	}
	seq, try, _ := strings.Cut(rest, ".")
	switch about := Subject(kind); about {
	case SubjectPlan, SubjectReview, SubjectAnswer:
		return DecisionID(kind, number(seq), number(try))
	}
	return ActionID{}
}

func parseAsk(text string) ActionID {
	about, rest, _ := strings.Cut(text, " ")
	switch about := Subject(about); about {
	case SubjectPlan, SubjectCalls, SubjectBudget, SubjectReview, SubjectGoal:
		return AskID(about, number(rest))
	case SubjectQuestion:
		seq, call, _ := strings.Cut(rest, " call ")
		return QuestionID(number(seq), number(call))
	case SubjectForm:
		seq, field, _ := strings.Cut(rest, ".")
		return FormID(number(seq), number(field))
	}
	return ActionID{}
}

// number reads a number from 0; -1, which String never writes, when it is none.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n
	}
	return -1
}

// cutLast cuts at the last separator.
func cutLast(text, separator string) (before, after string) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):]
	}
	return text, ""
}

// MarshalText is String, for JSON.
func (id ActionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseActionID, for JSON.
func (id *ActionID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseActionID(string(text))
	return err
}
