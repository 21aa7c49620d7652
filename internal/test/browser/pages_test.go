package browser_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/need"
)

// addresses are those of pages that are not called as their folder.
var addresses = map[string]string{
	"enter": "enter#0123456789",
	"task":  "", // below the id of a task
}

// pages are the folders of the page's source.
func pages(t *testing.T) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(need.Root(t), "web", "console", "src", "pages"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names
}

// loaded is true when a page has its title and waits for nothing.
const loaded = `document.querySelector("main h1, main h2") && !document.querySelector("main .spinner-page, main [aria-busy=true]")`

// TestPages looks at every page as an admin, in all views: no mistakes, no serious finding
// of axe-core, nothing wider than the window, and as it was approved. A table may be wider
// than its frame, which scrolls then.
func TestPages(t *testing.T) {
	e := newEnv(t, "")
	e.bought(t)
	tab := e.enter("admin", browser.Wide)
	for _, page := range pages(t) {
		address, named := addresses[page]
		switch {
		case page == "task":
			address = "tasks/" + e.task(t)
		case !named:
			address = page
		}
		for _, v := range []browser.View{browser.Wide, browser.DarkWide, browser.Narrow, browser.DarkNarrow} {
			tab.Look(v)
			tab.Go(e.URL + "/console/" + address)
			tab.Reload() // only the fragment may differ
			tab.Until(loaded)
			var wide int
			if tab.Eval("document.documentElement.scrollWidth - innerWidth", &wide); wide > 0 {
				t.Errorf("%s (%v) is %d pixels wider than the window", page, v, wide)
			}
			tab.Accessible(page)
			tab.Resembles(page, *update)
		}
	}
}

// bought has the operator chat until a boat is bought, so that pages have something to
// show.
func (e *env) bought(t *testing.T) {
	t.Helper()
	tab := e.enter("operator", browser.Wide)
	tab.Fill(ask, "Please get me a boat")
	tab.Click(browser.Button("Send"))
	tab.Click(browser.Button("Allow once"))
	tab.See(browser.Heading("Boats"))
}

// task is the id of the newest task.
func (e *env) task(t *testing.T) string {
	t.Helper()
	var list struct{ Items []struct{ ID string } }
	e.gets("admin", "/v1/tasks", &list)
	if len(list.Items) == 0 {
		t.Fatal("there is no task")
	}
	return list.Items[0].ID
}

// TestRights: people see in the page what they may see elsewhere, and no more.
func TestRights(t *testing.T) {
	e := newEnv(t, "")
	owner := e.enter("operator", browser.Wide)
	owner.Fill(ask, "My secret is a parrot")
	owner.Click(browser.Button("Send"))
	owner.Sees("You said: My secret is a parrot")
	conversation := owner.Address()

	viewer := e.enter("viewer", browser.Wide)
	for _, link := range []string{"Audit log", "People", "Config"} {
		if n := viewer.Count(browser.Link(link)); n > 0 {
			t.Errorf("the navigation shows %q to a viewer", link)
		}
	}
	viewer.Allow("status of 40[34]")
	for _, address := range []string{conversation, e.URL + "/console/audit", e.URL + "/console/people", e.URL + "/console/config"} {
		viewer.Go(address)
		viewer.Until(`document.querySelector("main") && !document.querySelector("main .spinner-page")`)
		viewer.SeesNot("parrot")
	}

	admin := e.enter("admin", browser.Wide)
	admin.Allow("status of 40[34]")
	admin.Go(conversation) // conversations belong to one person
	admin.Sees("This conversation is not there")
	admin.SeesNot("parrot")

	for _, path := range []string{"/v1/audit", "/v1/people", "/v1/config"} {
		if code, text := e.call("viewer", http.MethodGet, path, nil); code != http.StatusForbidden && code != http.StatusNotFound {
			t.Errorf("GET %s as a viewer: got %d %.200s, want 403", path, code, text)
		}
	}
	if code, _ := e.call("viewer", http.MethodPost, "/v1/tasks", map[string]any{"goal": "x", "run": true}); code != http.StatusForbidden {
		t.Errorf("a viewer starts a task: got %d, want 403", code)
	}
}

// TestSessionEnds: a session that is revoked in the middle ends at once, and a draft
// stays until the person signs in again.
func TestSessionEnds(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Allow("status of 401")
	tab.Fill(ask, "one")
	tab.Click(browser.Button("Send"))
	tab.Sees("You said: one")
	tab.Fill(ask, "A draft that must not be lost")

	var list struct{ Items []struct{ ID string } }
	e.gets("admin", "/v1/sessions?all=true", &list)
	for _, s := range list.Items {
		if code, text := e.call("admin", http.MethodDelete, "/v1/sessions/"+s.ID, nil); code != http.StatusNoContent {
			t.Errorf("ending a session: got %d %s", code, text)
		}
	}
	tab.Sees("Your session has ended")
	tab.Fill(browser.Box("Token"), token("operator"))
	tab.Click(browser.Button("Sign in"))
	tab.SeesNot("Your session has ended")
	if got := tab.Value(ask); got != "A draft that must not be lost" {
		t.Errorf("after signing in again, the field holds %q", got)
	}
	tab.Click(browser.Button("Send"))
	tab.Sees("You said: A draft that must not be lost")
}

// TestSignOut: no page of a session is shown after its end, and its cookie is gone.
func TestSignOut(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Allow("status of 401")
	tab.Go(e.URL + "/console/sessions")
	tab.See(browser.Heading("Sessions"))
	tab.Click(browser.Button("/Account and settings/"))
	tab.Click(browser.Element{Role: "menuitem", Name: "Sign out"})
	tab.See(browser.Box("Token"))
	tab.Reload()
	tab.See(browser.Box("Token"))
}
