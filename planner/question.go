package planner

// AsksPerson reports that the call at that place is an ask_person call, whose
// answer may be any text.
func AsksPerson(s State, at Place) bool { return callAt(s, at).Kind == CallAsk }

// QuestionSeq is the seq of the event that holds the question of an ask action.
func QuestionSeq(s State, at Place) int {
	if c := callAt(s, at); c.Asked > 0 {
		return c.Asked
	}
	return s.Subtasks[at.Subtask].Turns[at.Turn].Seq
}

// QuestionOf reads the question out of that event.
func QuestionOf(e Event, at Place) Question {
	switch {
	case e.Question != nil:
		return *e.Question
	case e.Reply != nil && at.Call < len(e.Reply.Calls) && e.Reply.Calls[at.Call].Ask != nil:
		return *e.Reply.Calls[at.Call].Ask
	}
	return Question{}
}

func callAt(s State, at Place) CallState {
	return s.Subtasks[at.Subtask].Turns[at.Turn].Calls[at.Call]
}
