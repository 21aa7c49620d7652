package browser_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"legwork/internal/test/browser"
)

// TestDownloads saves a file that legwork made, from the conversation and from the page of
// its task.
func TestDownloads(t *testing.T) {
	e := newEnv(t, "")
	tab := e.enter("operator", browser.Wide)
	tab.Downloads()
	tab.Fill(ask, "Make a report")
	tab.Click(browser.Button("Send"))
	tab.Sees("Here is the report.")
	tab.Click(browser.Button("/^report\\.docx/"))
	first := e.saved(tab)
	tab.Click(browser.Link("Details"))
	tab.Click(browser.Link("report.docx"))
	if second := e.saved(tab); !bytes.Equal(first, second) {
		t.Errorf("the conversation gave %d bytes, the page of the task %d others", len(first), len(second))
	}
}

// saved is the next file that is saved, which must be a report.
func (e *env) saved(tab *browser.Tab) []byte {
	e.t.Helper()
	path := tab.Downloaded()
	content, err := os.ReadFile(path)
	if err != nil {
		e.t.Fatal(err)
	}
	if filepath.Ext(path) != ".docx" || !bytes.HasPrefix(content, []byte("PK")) {
		e.t.Errorf("saved %s with %.20q, want a DOCX", path, content)
	}
	return content
}
