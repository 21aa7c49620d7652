package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a tab waits for what a test wants to see. It is long, since
// only a broken page lets it pass.
const patience = 2 * time.Minute

//go:embed changes.js
var changes string

// Tab is a tab in one test. What the page does wrong fails the test when it ends.
type Tab struct {
	t     testing.TB
	ctx   context.Context //nolint:containedctx // chromedp keeps a tab in a context
	view  View
	close func()

	mu       sync.Mutex
	mistakes []string
	allowed  []*regexp.Regexp
	requests []string // URLs in order
	dialogs  sync.WaitGroup
	folder   string            // of downloads
	names    map[string]string // of downloads, by id
	saved    chan string       // paths of files
}

// Tab opens a tab for a test. It is closed when the test ends.
func (b *Browser) Tab(t testing.TB, v View) *Tab {
	t.Helper()
	tab := &Tab{t: t, view: v, names: map[string]string{}}
	var err error
	tab.ctx, tab.close, err = b.NewTab(v, tab.note)
	tab.begin(err)
	return tab
}

// Another opens one more tab of the same person: with the same cookies and storage.
func (tab *Tab) Another() *Tab {
	tab.t.Helper()
	other := &Tab{t: tab.t, view: tab.view, names: map[string]string{}, allowed: slices.Clone(tab.allowed)}
	var err error
	other.ctx, other.close, err = open(tab.ctx, tab.view, other.note)
	other.begin(err)
	return other
}

func (tab *Tab) begin(err error) {
	tab.t.Helper()
	if err != nil {
		tab.t.Fatal(err)
	}
	tab.t.Cleanup(func() {
		if tab.t.Failed() {
			tab.keep("failed")
		}
		tab.close()
		tab.dialogs.Wait()
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, mistake := range tab.mistakes {
			if !slices.ContainsFunc(tab.allowed, func(r *regexp.Regexp) bool { return r.MatchString(mistake) }) {
				tab.t.Errorf("the page (%v): %s", tab.view, mistake)
			}
		}
	})
}

// Close closes the tab before the test ends.
func (tab *Tab) Close() { tab.close() }

// Allow says which mistakes of the page the test causes on purpose, by a pattern:
// "console: .*status of 401".
func (tab *Tab) Allow(pattern string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.allowed = append(tab.allowed, regexp.MustCompile(pattern))
}

// Mistakes are what the page did wrong so far.
func (tab *Tab) Mistakes() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.mistakes)
}

// Requests are the URLs that the page asked for so far, in order.
func (tab *Tab) Requests() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.requests)
}

// note looks at the events of the tab.
func (tab *Tab) note(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	wrong := func(format string, a ...any) { tab.mistakes = append(tab.mistakes, fmt.Sprintf(format, a...)) }
	tab.noteDownload(event)
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong("exception: %s", thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			wrong("console: %s", said(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			wrong("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		if e.Type != page.DialogTypeBeforeunload { // that one guards a text that is not saved
			wrong("dialog: %s", e.Message)
		}
		tab.dialogs.Go(func() {
			yes := page.HandleJavaScriptDialogParams{Accept: true}
			_, _ = chromedp.Call(tab.ctx, page.HandleJavaScriptDialog, yes) // the tab may be closed
		})
	case *network.EventRequestWillBeSent:
		tab.requests = append(tab.requests, e.Request.URL)
		if u, err := url.Parse(e.Request.URL); err != nil || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && !slices.Contains([]string{"data", "blob", "about"}, u.Scheme) {
			wrong("request to another host: %s", e.Request.URL)
		}
	}
}

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

func said(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if a.Description != "" {
			words = append(words, a.Description)
		} else {
			words = append(words, string(a.Value))
		}
	}
	return strings.Join(words, " ")
}

// Go opens a page and waits until it is loaded.
func (tab *Tab) Go(address string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		tab.t.Fatalf("opening %s: %v", address, err)
	}
}

// Reload loads the page again.
func (tab *Tab) Reload() {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
		tab.t.Fatalf("reloading: %v", err)
	}
}

// Look changes the view.
func (tab *Tab) Look(v View) {
	tab.t.Helper()
	if err := Show(tab.ctx, v); err != nil {
		tab.t.Fatal(err)
	}
	tab.view = v
}

// Freeze lets the tab sleep, as browsers do with a tab in the background, or wakes
// it up.
func (tab *Tab) Freeze(asleep bool) {
	tab.t.Helper()
	state := page.SetWebLifecycleStateStateActive
	if asleep {
		state = page.SetWebLifecycleStateStateFrozen
	}
	if _, err := chromedp.Call(tab.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}); err != nil {
		tab.t.Fatalf("setting the life cycle of the page: %v", err)
	}
}

// In gives the tab the clock of a time zone.
func (tab *Tab) In(zone string) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone}); err != nil {
		tab.t.Fatalf("setting the time zone: %v", err)
	}
}

// Offline cuts the tab from the network, or connects it again.
func (tab *Tab) Offline(cut bool) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: cut, DownloadThroughput: -1, UploadThroughput: -1}); err != nil {
		tab.t.Fatalf("cutting the network: %v", err)
	}
}

// Eval runs an expression in the page, waits for it when it is a promise, and stores
// its value in the variable that to points at; nil: nowhere.
func (tab *Tab) Eval(expression string, to any) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := Eval(ctx, expression, to); err != nil {
		tab.t.Fatalf("evaluating %.200s: %v", expression, err)
	}
}

// Eval runs an expression in the page of a tab's context; see [Tab.Eval].
func Eval(ctx context.Context, expression string, to any) error {
	yes := true
	result, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes})
	switch {
	case err != nil:
		return err
	case result.ExceptionDetails != nil:
		return errors.New(thrown(result.ExceptionDetails))
	case to == nil:
		return nil
	}
	return json.Unmarshal(result.Result.Value, to)
}

// until tries again after each change of the page until done says yes. An error
// of done, for example about an element that is gone, is tried again too.
func (tab *Tab) until(what string, done func(context.Context) (bool, error)) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for {
		var before int
		_ = Eval(ctx, "changesForTests.count()", &before) // fails between two pages
		ok, err := done(ctx)
		if ok && err == nil {
			return
		}
		if waited := Eval(ctx, fmt.Sprintf("changesForTests.since(%d)", before), nil); ctx.Err() != nil {
			tab.t.Fatalf("waiting for %s: %v %v; the page at %s holds:\n%s", what, err, waited, tab.Address(), tab.Text())
		}
	}
}

// Until waits until an expression in the page is true.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	tab.until(expression, func(ctx context.Context) (ok bool, err error) {
		err = Eval(ctx, "Boolean("+expression+")", &ok)
		return ok, err
	})
}

// Address is the URL in the address bar.
func (tab *Tab) Address() (address string) {
	_ = Eval(tab.ctx, "location.href", &address) // for messages and patterns: empty when it cannot be told
	return address
}

// AddressIs waits until the address bar holds a part.
func (tab *Tab) AddressIs(part string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("location.href.includes(%s)", quote(part)))
}

// Text is what people see of the page, its beginning.
func (tab *Tab) Text() (text string) {
	_ = Eval(tab.ctx, "document.body.innerText.slice(0, 4000)", &text) // for messages: empty when it cannot be told
	return text
}

// Sees waits until the page shows text, anywhere.
func (tab *Tab) Sees(text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("document.body?.innerText.includes(%s)", quote(text)))
}

// SeesNot waits until the page does not show text.
func (tab *Tab) SeesNot(text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("!document.body.innerText.includes(%s)", quote(text)))
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string always has a form
	return string(quoted)
}

// picture is what the tab shows, as PNG.
func picture(ctx context.Context) ([]byte, error) {
	result, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	return result.Data, err
}

// keep writes a picture of the tab among the artifacts of the test.
func (tab *Tab) keep(name string) {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if png, err := picture(ctx); err == nil {
		keepPNG(tab.t, name+"-"+tab.view.String(), png)
	}
}

// keepPNG writes a picture among the artifacts of the test (go test -artifacts), or
// into the folder that LEGWORK_PICTURES names.
func keepPNG(t testing.TB, name string, png []byte) {
	dir := os.Getenv("LEGWORK_PICTURES")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	path := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-"+name+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		t.Log(err)
		return
	}
	t.Log("picture: ", path)
}

// For is the tab seen by another test, which is told what goes wrong from here on.
func (tab *Tab) For(t testing.TB) *Tab {
	return &Tab{t: t, ctx: tab.ctx, view: tab.view, close: tab.close}
}

// WithoutScripts lets the tab run no scripts of pages from here on.
func (tab *Tab) WithoutScripts() {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		tab.t.Fatalf("switching scripts off: %v", err)
	}
}
