package browser

import (
	"context"
	"path/filepath"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// Downloads lets the tab save files below a temporary folder.
func (tab *Tab) Downloads() {
	tab.t.Helper()
	tab.saved = make(chan string, 10)
	tab.folder = tab.t.TempDir()
	yes := true
	_, err := chromedp.Call(tab.ctx, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{
		Behavior: protocol.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(tab.ctx).BrowserContextID, DownloadPath: tab.folder, EventsEnabled: &yes,
	})
	if err != nil {
		tab.t.Fatalf("allowing downloads: %v", err)
	}
}

// Downloaded waits until a file is saved, and returns its path.
func (tab *Tab) Downloaded() string {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	select {
	case path := <-tab.saved:
		return path
	case <-ctx.Done():
		tab.t.Fatalf("no file was saved; the page holds:\n%s", tab.Text())
		return ""
	}
}

// noteDownload notes how a download goes.
func (tab *Tab) noteDownload(event any) {
	switch e := event.(type) {
	case *protocol.EventDownloadWillBegin:
		tab.names[e.GUID] = e.SuggestedFilename
	case *protocol.EventDownloadProgress:
		if e.State == protocol.DownloadProgressStateCompleted {
			tab.saved <- filepath.Join(tab.folder, tab.names[e.GUID])
		}
	}
}
