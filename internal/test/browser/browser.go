// Package browser drives Chromium for tests and measurements of the page. A tab
// finds elements as people who use a screen reader do, by role and accessible name,
// and waits for the page to change; no test sleeps. A tab fails its test when the
// page logs an error, throws, opens a dialog of JavaScript, breaks its
// Content-Security-Policy, or asks another host for anything.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"legwork/internal/test/need"
)

// flags are those that Chromium gets beside chromedp's own. No name but those of
// this machine resolves, so nothing leaves it.
var flags = map[string]any{
	"headless":                   "new",
	"no-sandbox":                 os.Geteuid() == 0, // Chromium refuses root inside its sandbox
	"host-resolver-rules":        "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
	"disable-component-update":   true,
	"disable-domain-reliability": true,
	"font-render-hinting":        "none", // the same shapes on every machine
	"force-device-scale-factor":  "1",
	"hide-scrollbars":            true,
	"lang":                       "en-US",
	"no-pings":                   true,
}

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps a browser in a context
	close func()
}

// Start starts Chromium with an empty profile. It is found as chromium or
// google-chrome.
func Start(ctx context.Context) (*Browser, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	allocated, end := chromedp.NewExecAllocator(ctx, options...)
	browsing, quit := chromedp.NewContext(allocated)
	if err := chromedp.Do(browsing); err != nil {
		quit()
		end()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return &Browser{browsing, func() { quit(); end() }}, nil
}

func program() (string, error) {
	for _, name := range []string{"chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is not installed: apt-get install chromium")
}

// Close ends Chromium.
func (b *Browser) Close() { b.close() }

// View is how a tab looks at pages.
type View struct {
	Width, Height int64
	Dark          bool
}

// The views in which all pages are looked at.
var (
	Narrow     = View{Width: 390, Height: 844}
	Wide       = View{Width: 1440, Height: 900}
	DarkNarrow = View{Width: 390, Height: 844, Dark: true}
	DarkWide   = View{Width: 1440, Height: 900, Dark: true}
)

// String is the view's name in files: "390-dark".
func (v View) String() string {
	if v.Dark {
		return fmt.Sprint(v.Width, "-dark")
	}
	return fmt.Sprint(v.Width, "-light")
}

// Show makes a tab's pages look as in v. Nothing moves.
func Show(ctx context.Context, v View) error {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		return fmt.Errorf("setting the theme: %w", err)
	}
	_, err = chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.Width, Height: v.Height, DeviceScaleFactor: 1})
	if err != nil {
		return fmt.Errorf("setting the size: %w", err)
	}
	return nil
}

// NewTab opens a tab that shares no cookies and no storage with others, and
// returns its context for chromedp. listen gets its events.
func (b *Browser) NewTab(v View, listen func(any)) (ctx context.Context, stop func(), err error) {
	return open(b.ctx, v, listen, chromedp.WithNewBrowserContext())
}

// open opens a tab whose pages can be waited for.
func open(parent context.Context, v View, listen func(any), options ...chromedp.ContextOption) (ctx context.Context, stop func(), err error) {
	ctx, stop = chromedp.NewContext(parent, append(options, chromedp.WithListener(listen))...)
	_, err = chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: changes})
	if err = errors.Join(err, Show(ctx, v)); err != nil {
		stop()
		return nil, nil, fmt.Errorf("opening a tab: %w", err)
	}
	return ctx, stop, nil
}

// Shared is the Chromium that the tests of a package share. The zero value is ready
// for use.
type Shared struct {
	start sync.Once
	open  *Browser
	err   error
}

// Browser starts Chromium when the first test asks for it. It does so in make
// check.
func (s *Shared) Browser(t testing.TB) *Browser {
	t.Helper()
	need.Check(t)
	if _, err := program(); err != nil {
		need.Command(t, "chromium", "apt-get install chromium")
	}
	s.start.Do(func() { s.open, s.err = Start(context.Background()) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.open
}

// Around runs tests and ends Chromium after them: an argument for need.Programs.
func (s *Shared) Around(m *testing.M) need.Tests { return around{s, m} }

type around struct {
	shared *Shared
	tests  *testing.M
}

func (a around) Run() int {
	code := a.tests.Run()
	if a.shared.open != nil {
		a.shared.open.Close()
	}
	return code
}
