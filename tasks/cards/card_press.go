package cards

import (
	"fmt"
	"strconv"
	"strings"

	"legwork/planner"
	"legwork/tasks"
)

// DecisionData is the data of a button that decides about a question: seq is the
// event that asks, field the field of a form, and verb the decision.
func DecisionData(press string, id tasks.ID, seq, field int, verb string) string {
	return fmt.Sprintf("%s:%s:%d.%d:%s", press, id, seq, field, verb)
}

// ReadDecisionData parses the part of DecisionData after the task's id.
func ReadDecisionData(kind planner.Subject, rest string) (about planner.ActionID, verb string, ok bool) {
	numbers, verb, _ := strings.Cut(rest, ":")
	seq, field, _ := strings.Cut(numbers, ".")
	n, bad := strconv.Atoi(seq)
	f, worse := strconv.Atoi(field)
	return planner.ActionID{Kind: planner.KindAsk, Subject: kind, Seq: n, Field: f}, verb, bad == nil && worse == nil
}

// WhySlot is the slot of the message that asks for the reason of a denial.
func WhySlot(seq int) string { return fmt.Sprintf("why.%d", seq) }

// WordsSlot is the slot of the message that asks whether the words of the event seq
// answer a form.
func WordsSlot(seq int, about planner.ActionID, private bool) string {
	slot := fmt.Sprintf("%s%d %s", wordsSlot, seq, about)
	if private {
		slot = PrivateSlot + slot
	}
	return slot
}

const wordsSlot = "words "

// SettledWords is the message of a WordsSlot after a person has said for whom the
// words are.
const SettledWords = "settled"

// AskSlot is what the slot of a question's message says.
type AskSlot struct {
	Action  planner.ActionID // zero: the slot is not of a question
	Private bool             // the question is asked in the private chat of the asker
	Words   bool             // the message asks whether words answer the question
}

// ReadAskSlot parses the slot of a question's message.
func ReadAskSlot(slot string) (s AskSlot) {
	slot, s.Private = strings.CutPrefix(slot, PrivateSlot)
	if slot, s.Words = strings.CutPrefix(slot, wordsSlot); s.Words {
		_, slot, _ = strings.Cut(slot, " ")
	}
	if a, err := planner.ParseActionID(slot); err == nil && a.Kind == planner.KindAsk {
		s.Action = a
	}
	return s
}

// pressData is the data of a button for one choice of a question. It has at most
// 64 bytes, the limit of the strictest platform.
func pressData(id tasks.ID, about planner.ActionID, choice int) string {
	return fmt.Sprintf("%s:%s:%s.%d.%d:%d", PressAnswer, id, about.Subject, about.Seq, about.Call, choice)
}

// ReadAnswer parses the part of pressData after the task's id.
func ReadAnswer(rest string) (about planner.ActionID, choice int, ok bool) {
	question, number, _ := strings.Cut(rest, ":")
	subject, numbers, _ := strings.Cut(question, ".")
	about = planner.ActionID{Kind: planner.KindAsk, Subject: planner.Subject(subject)}
	n, err := fmt.Sscanf(numbers, "%d.%d", &about.Seq, &about.Call)
	choice, bad := strconv.Atoi(number)
	return about, choice, n == 2 && err == nil && bad == nil
}

// The choices about a plan, in the order of their buttons.
const (
	ChoiceRun = iota
	ChoiceEdit
	choiceCancel
)

// PressAnswer begins the data of the buttons under a question.
const PressAnswer = "a"

// These begin the data of the buttons on a task's messages. A colon and the task's
// id follow, then the arguments of the button.
const (
	PressStop    = "s"
	PressDetails = "d"
	PressRetry   = "r"
)

// PrivateSlot begins the slots of questions that are asked in the private chat of
// the task's asker. So the journal names the chat of a message, even after the
// config changes.
const PrivateSlot = "privately "
