package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"legwork/internal/test/browser"
)

var ask = browser.Box("Ask something")

// TestChat asks for something that needs a plan and an approval, and finds all of it
// again after a reload and a restart.
func TestChat(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Fill(ask, "Please get me a boat")
	tab.Press(kb.Enter)
	tab.Sees("look boats up")
	tab.Sees("book of the server desk")
	tab.Sees("a boat")
	tab.Click(browser.Button("Allow once"))
	tab.See(browser.Heading("Boats"))
	tab.Sees("You have a boat now.")
	tab.See(browser.Element{Role: "cell", Name: "oar"})
	tab.Accessible("a conversation")

	tab.Reload()
	tab.See(browser.Heading("Boats"))
	tab.Allow(`status of 502|ERR_|status of 503`) // while legwork is away
	e.restart()
	tab.Reload()
	tab.Sees("You have a boat now.")
	tab.Fill(ask, "Are you still there?")
	tab.Press(kb.Enter)
	tab.Sees("You said: Are you still there?")
}

// TestSteer guides a task while it works, and stops it.
func TestSteer(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Narrow)
	tab.Fill(ask, "Please wait for the tide")
	tab.Click(browser.Button("Send"))
	tab.Sees("wait for the tide")
	guide := browser.Box("Add to the running task")
	tab.Fill(guide, "Take an umbrella along")
	tab.Click(browser.Button("Send"))
	tab.Sees("Take an umbrella along")
	tab.Click(browser.Button("Stop"))
	tab.See(ask)
	tab.Gone(browser.Button("Stop"))
}

// TestFilesUpAndDown sends a file, and takes it back from the conversation.
func TestFilesUpAndDown(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	path := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(path, []byte("bread and butter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab.See(ask)
	tab.Choose("input[type=file]", path)
	tab.Sees("list.txt")
	tab.Fill(ask, "What is on my list?")
	tab.Click(browser.Button("Send"))
	tab.Sees("You said: What is on my list?")
	tab.Reload()
	tab.Sees("list.txt")
}

// TestStreamsAreShared: all tabs of a browser share one stream of events, which goes on
// after it was cut, and shows what was said meanwhile.
func TestStreamsAreShared(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Fill(ask, "one")
	tab.Press(kb.Enter)
	tab.Sees("You said: one")
	address := tab.Address()
	tabs := []*browser.Tab{tab}
	for range 49 {
		other := tab.Another()
		other.Go(address)
		tabs = append(tabs, other)
	}
	for _, tab := range tabs {
		tab.Sees("You said: one")
	}
	if now, _ := e.open(); now > 1 {
		t.Errorf("%d streams are open for %d tabs of a browser, want 1", now, len(tabs))
	}
	for _, tab := range tabs {
		tab.Allow("ERR_|Failed to load|network error")
	}
	e.cut()
	tab.Fill(ask, "two")
	tab.Press(kb.Enter)
	for _, tab := range tabs {
		tab.Sees("You said: two")
	}
}

// TestLongAnswer shows an answer of 200 kB.
func TestLongAnswer(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Fill(ask, "Write a long text")
	tab.Press(kb.Enter)
	tab.Until(`document.querySelector("main").textContent.length > 190000`)
}

// TestWithoutJavaScript: the page says what it needs.
func TestWithoutJavaScript(t *testing.T) {
	e := newEnv(t, "")
	tab := chromium.Browser(t).Tab(t, browser.Wide)
	tab.WithoutScripts()
	tab.Go(e.URL + "/console/")
	tab.Sees("This page needs JavaScript.")
	tab.Until(`document.querySelector(".noscript").getBoundingClientRect().bottom < innerHeight`)
}
