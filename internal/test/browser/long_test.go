package browser_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/browser"
	"legwork/internal/test/longtask"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// storesLong stores a long task while legwork is not running.
func (e *env) storesLong(limits planner.Limits, events int) (address string) {
	e.t.Helper()
	e.kill()
	id := tasks.NewID(time.Now())
	chat := bot.Chat{Platform: tasks.PlatformAPI, ID: string(id)}
	in := tasks.Inbound{Key: string(id), Chat: chat, ID: id, Open: &planner.Event{Type: planner.Opened, Opening: &planner.Opening{
		Goal: "be very long", Chat: chat, From: bot.Person{Platform: tasks.PlatformWeb, ID: "ann"}, Language: "en", Timezone: "UTC", Limits: limits,
	}}}
	s, err := bolt.Open(e.t.Context(), filepath.Join(e.dir, "data"), bolt.Options{})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := longtask.Store(e.t.Context(), s, in, longtask.Journal(*in.Open, events)); err != nil {
		e.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		e.t.Fatal(err)
	}
	e.start()
	return e.URL + "/console/tasks/" + string(id)
}

// rows is true when the list of a page has at least so many rows.
const rows = `document.querySelector("main [aria-setsize]")?.getAttribute("aria-setsize") >= %d`

// TestLongTasks looks at a task of 4,000 events, and at one whose sub-tasks had 2,000
// turns: all views of them show something, and none draws more than is in sight.
func TestLongTasks(t *testing.T) {
	e := newEnv(t, "")
	usual := planner.DefaultLimits()
	deep := usual
	deep.Subtasks, deep.Parallel, deep.Turns = 2, 2, 1000
	for _, task := range []string{e.storesLong(usual, longtask.Events), e.storesLong(deep, 2*1000*3)} {
		tab := e.enter("viewer", browser.Wide)
		light := func(view string) {
			t.Helper()
			var nodes int
			if tab.Eval(`document.querySelectorAll("*").length`, &nodes); nodes > 6000 {
				t.Errorf("%s: the page has %d elements", view, nodes)
			}
		}
		tab.Go(task)
		tab.See(browser.Heading("be very long"))
		tab.See(browser.Link("/^Step 0 of plan 1/"))
		light("overview")
		tab.Click(browser.Element{Role: "tab", Name: "Timeline"})
		tab.Until(fmt.Sprintf(rows, 3000))
		light("timeline")
		tab.Click(browser.Element{Role: "tab", Name: "Events"})
		tab.Until(fmt.Sprintf(rows, longtask.Events))
		light("journal")
		// Rows still arrive, and each moves the end.
		tab.Until(`(() => {
			const box = document.querySelector(".task-window");
			box.scrollTop = box.scrollHeight;
			return [...document.querySelectorAll("main [aria-posinset]")].some((e) => e.getAttribute("aria-posinset") === e.getAttribute("aria-setsize"));
		})()`)
		tab.Fill(browser.Element{Role: "searchbox", Name: "Search"}, "example.org")
		tab.Until(`!(` + fmt.Sprintf(rows, longtask.Events) + `)`)
		tab.Go(task + "/subtasks/1%2F0")
		tab.See(browser.Heading("/^Step 0 of plan 1/"))
		tab.Until(`document.querySelectorAll(".task-message").length > 10`)
		light("a sub-task")
	}
}
