package tasks_test

import (
	"context"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/enginetest"
)

// TestStopKeepsShownText: after a stop, the part of the answer that people saw stays
// in the chat and in the history, marked as unfinished.
func TestStopKeepsShownText(t *testing.T) {
	for _, planned := range []bool{false, true} {
		s := newEngineEnv(t)
		s.stop()
		s.tools.open = true
		s.model = &enginetest.Model{Answer: func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
			switch {
			case r.Role == llm.RoleWork:
				return llm.Reply{Text: "a fact"}, nil
			case r.Role == llm.RolePlan && planned:
				return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"},{"name":"look","description":"two"}]}`}, nil
			}
			stream(llm.Delta{Text: "Once upon a time there was"})
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}}
		s.phone.frames = make(chan bot.Draft, 1000)
		s.play()
		id := s.opens("ann", private("ann"), "tell a story")
		for shown := planned; !shown; { // the board's message becomes the answer
			select {
			case d := <-s.phone.frames:
				shown = strings.HasPrefix(d.Text, "Once upon")
			case <-t.Context().Done():
				return
			}
		}
		if planned {
			s.until(id, "the answer has a message", func(state planner.State) bool { return state.Slot(planner.SlotAnswer).Message != "" })
		}
		s.send(s.by("ann", private("ann"), "/stop"))
		s.over(id)
		want := "Once upon a time there was […]\n\n*" + s.text("partial.stopped", nil) + "*"
		state := s.state(id)
		last := s.last(state.Slot(planner.SlotAnswer).Message)
		if last.Text != want || last.Failed {
			t.Errorf("planned %v: the chat shows %+v, want %q", planned, last, want)
		}
		turns, err := s.store.History(t.Context(), private("ann").Key(), "", 1<<10)
		if err != nil || len(turns) != 1 || turns[0].Answer != "Once upon a time there was […]" || !turns[0].Failed {
			t.Errorf("planned %v: the history holds %+v, %v", planned, turns, err)
		}
	}
}
