package browser_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"legwork/internal/test/browser"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
)

// TestDemo uses legwork for the first time, without a shell: the link of the demo, an answer,
// an MCP server that is added in the editor, and the tool of that server in the chat.
func TestDemo(t *testing.T) {
	server := need.NPM(t, "mcp-server-everything")
	demo := startDemo(t)
	link := said(t, demo, `(http://127\.0\.0\.1:\d+/console/enter#\w+)`)
	base, _, _ := strings.Cut(link, "enter#")

	tab := chromium.Browser(t).Tab(t, browser.Wide)
	tab.Allow(`status of 401 .*/v1/session$`) // the page asks who is signed in
	tab.Go(link)
	tab.Click(browser.Button("Sign in"))
	tab.Fill(ask, "What is 17*23?")
	tab.Press(kb.Enter)
	tab.Sees("391")

	tab.Go(base + "config")
	tab.Click(browser.Button("Add an MCP server"))
	var chosen string
	tab.Eval(`(() => {
		const kind = document.querySelector("dialog select");
		kind.value = "stdio";
		kind.dispatchEvent(new Event("change", {bubbles: true}));
		return kind.value;
	})()`, &chosen)
	tab.Fill(browser.Box("Command"), server)
	tab.Fill(browser.Box("Name"), "everything")
	tab.Press(kb.Enter)
	tab.Gone(browser.Button("Put into the editor"))
	tab.Click(browser.Button("Save"))
	tab.Click(browser.Button("Show the code"))
	tab.Fill(browser.Box("Code"), said(t, demo, `enter the code (\w+)`))
	tab.Press(kb.Enter)
	tab.Sees("No mistakes. This is the file as it is now.")

	tab.Go(base + "tools")
	tab.Sees("everything")
	tab.Go(base + "chat")
	tab.Fill(ask, `Echo "hello from the new server"`)
	tab.Press(kb.Enter)
	tab.Click(browser.Button("Allow once"))
	tab.Sees("Echo: hello from the new server")
	tab.Accessible("the chat of the demo")
}

// startDemo runs "legwork demo" for a program until the test ends.
func startDemo(t *testing.T) *watch.Log {
	t.Helper()
	out := &watch.Log{}
	demo := exec.Command(programs.Path(t, "legwork/cmd/legwork"), "demo")
	demo.Dir = t.TempDir()
	demo.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + demo.Dir, "USER=tester", "TMPDIR=" + t.TempDir()}
	demo.Stdout, demo.Stderr = out, out
	in, err := demo.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the demo leaves then
		if err := demo.Wait(); err != nil {
			t.Errorf("the demo ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the demo said:\n%s", out)
		}
	})
	return out
}

// said waits until the group of a pattern is there.
func said(t *testing.T, by *watch.Log, pattern string) (found string) {
	t.Helper()
	fits := regexp.MustCompile(pattern)
	watch.Until(t, pattern, func() bool {
		groups := fits.FindStringSubmatch(by.String())
		if groups != nil {
			found = groups[1]
		}
		return groups != nil
	})
	return found
}
