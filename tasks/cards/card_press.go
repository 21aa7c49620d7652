package cards

import (
	"fmt"
	"strconv"
	"strings"

	"legwork/planner"
	"legwork/tasks"
)

// DecisionData names one way to decide about a question for a button: the event
// that asks, the field of a form, and what is done.
func DecisionData(press string, id tasks.ID, seq, field int, verb string) string {
	return fmt.Sprintf("%s:%s:%d.%d:%s", press, id, seq, field, verb)
}

// ReadDecisionData is the opposite of decisionData for what follows the task's id.
func ReadDecisionData(kind planner.Subject, rest string) (about planner.ActionID, verb string, ok bool) {
	numbers, verb, _ := strings.Cut(rest, ":")
	seq, field, _ := strings.Cut(numbers, ".")
	n, bad := strconv.Atoi(seq)
	f, worse := strconv.Atoi(field)
	return planner.ActionID{Kind: planner.KindAsk, Subject: kind, Seq: n, Field: f}, verb, bad == nil && worse == nil
}

// WhySlot names the message that asks for the reason of a denial.
func WhySlot(seq int) string { return fmt.Sprintf("why.%d", seq) }

// pressData names one choice of a question for a button: at most 64 bytes, as
// the narrowest platform wants it.
func pressData(id tasks.ID, about planner.ActionID, choice int) string {
	return fmt.Sprintf("%s:%s:%s.%d.%d:%d", PressAnswer, id, about.Subject, about.Seq, about.Call, choice)
}

// ReadAnswer is the opposite of pressData for what follows the task's id.
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

// PressAnswer begins what the buttons under a question carry.
const PressAnswer = "a"

// What the buttons on a task's messages begin with; the task's id follows after
// a colon, and what the button needs beyond it.
const (
	PressStop    = "s"
	PressDetails = "d"
	PressRetry   = "r"
)

// Privately begins the slots of what is asked in the private chat of the task's
// person, so that the journal says where a message is, whatever the config says
// later.
const Privately = "privately "
