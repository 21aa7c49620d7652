package tasks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
)

// TestListedGroupMoves: everybody in a group that the config lists is heard on
// when the platform gives it another id, and the admins learn of that once.
func TestListedGroupMoves(t *testing.T) {
	o := newOffice(t)
	hall, grown := room("hall"), room("grown")
	o.opens("carol", hall, "before")
	for range 2 {
		m := bot.Message{Key: "moved", Chat: hall, MovedTo: &grown}
		told := o.send(m).posts
		for _, p := range told {
			if !strings.Contains(p.Text, "phone:hall") || !strings.Contains(p.Text, "phone:grown") || !p.Chat.Private {
				t.Errorf("in %s: %q", p.Chat.Key(), p.Text)
			}
		}
		o.restart()
		o.send(o.by("carol", grown, "/task after"))
		o.send(o.by("eve", room("elsewhere"), "/task elsewhere"))
	}
	if got := o.goals(grown); !slices.Equal(got, []string{"before", "after", "after"}) {
		t.Errorf("in the group's new place: %q", got)
	}
	if got := o.goals(room("elsewhere")); len(got) > 0 {
		t.Errorf("in a group that is not listed: %q", got)
	}
	n := 0
	for _, p := range o.phone.posts {
		if strings.Contains(p.Text, "phone:grown") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("two admins were told %d times in all", n)
	}
}

// TestCommandAboveAnothersTask: a command that an admin writes in the thread of
// somebody's running task opens a task of its own, as it says.
func TestCommandAboveAnothersTask(t *testing.T) {
	for _, command := range []string{"/plan", "/task"} {
		o := newOffice(t)
		hall := room("hall")
		o.plans(o.opens("ann", hall, "go"))
		o.pass(time.Minute)
		m := o.by("boss", hall, command+" something")
		m.Overheard, m.Within = true, true
		o.send(m)
		if got := o.goals(hall); !slices.Equal(got, []string{"go", "something"}) {
			t.Errorf("%s of an admin: tasks %q", command, got)
		}
	}
}
