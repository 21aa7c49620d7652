package tasks_test

import (
	"slices"
	"testing"
	"time"
)

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
