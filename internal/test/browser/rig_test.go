package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/browser"
)

// site serves one page with a script under the policy of legwork's own page.
func site(t *testing.T, body, script string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Trial</title><link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/style.css"></head><body><main>%s</main><script src="/script.js"></script></body></html>`, body)
	})
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		_, _ = io.WriteString(w, `body { background: white; color: black } .card { margin: 1em; padding: 1em; border: 1px solid gray } @media (prefers-color-scheme: dark) { body { background: black; color: white } }`)
	})
	mux.HandleFunc("GET /icon.svg", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/svg+xml") })
	mux.HandleFunc("GET /script.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, script)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestTab finds elements by role and name and waits for those that come later.
func TestTab(t *testing.T) {
	tab := chromium.Browser(t).Tab(t, browser.Wide)
	tab.Go(site(t, `<h1>Trial</h1><label>Name <input></label><button>Greet</button>`, `
		document.querySelector("button").onclick = () => setTimeout(() => {
			const p = document.createElement("p");
			p.textContent = "Hello, " + document.querySelector("input").value;
			document.querySelector("main").append(p);
			document.querySelector("h1").remove();
		}, 50)`))
	tab.See(browser.Heading("Trial"))
	tab.Fill(browser.Box("Name"), "Ann")
	tab.Click(browser.Button("/^Gr/"))
	tab.Sees("Hello, Ann")
	tab.Gone(browser.Heading("Trial"))
	if got := tab.Value(browser.Box("Name")); got != "Ann" {
		t.Errorf("the field holds %q, want Ann", got)
	}
	if found := tab.Mistakes(); len(found) > 0 {
		t.Errorf("a good page makes the mistakes %q", found)
	}
	if got := tab.Requests(); len(got) != 3 && len(got) != 4 { // the icon is a request of its own
		t.Errorf("the page asked for %q, want itself, its style and its script", got)
	}
}

// TestMistakes shows that a tab notices what pages must not do.
func TestMistakes(t *testing.T) {
	tab := chromium.Browser(t).Tab(t, browser.Wide)
	tab.Allow("") // these pages are wrong on purpose
	for _, c := range []struct{ name, body, script, want string }{
		{"an error in the console", "", `console.error("broken", 7)`, `console: "broken" 7`},
		{"an exception", "", `setTimeout(() => nothing.here)`, "exception: ReferenceError"},
		{"a rejected promise", "", `Promise.reject(new Error("no"))`, "exception: Error: no"},
		{"an inline script", `<script>1</script>`, "", "Content Security Policy"},
		{"an inline style", `<p style="color: red">x</p>`, "", "Content Security Policy"},
		{"another host", "", `fetch("https://example.com/x").catch(() => {})`, "example.com"},
		{"a picture of another host", `<img alt="x" src="https://example.com/x.png">`, "", "example.com"},
		{"a missing file", "", `fetch("/missing")`, "404"},
	} {
		before := len(tab.Mistakes())
		tab.Go(site(t, c.body, c.script+`;setTimeout(() => document.body.append("end"), 100)`))
		tab.Sees("end")
		if found := tab.Mistakes()[before:]; !slices.ContainsFunc(found, func(m string) bool { return strings.Contains(m, c.want) }) {
			t.Errorf("%s: the tab noticed %q, want one that holds %q", c.name, found, c.want)
		}
	}
}

// TestAccessible shows that serious findings of axe-core are told.
func TestAccessible(t *testing.T) {
	tab := chromium.Browser(t).Tab(t, browser.Narrow)
	tab.Go(site(t, `<h1>Trial</h1><input>`, ""))
	witness := &witness{TB: t}
	tab.For(witness).Accessible("trial")
	if !strings.Contains(witness.told, "label, critical") {
		t.Errorf("a field without a name: axe-core told %q", witness.told)
	}
	tab.Go(site(t, `<h1>Trial</h1><label>Name <input></label>`, ""))
	tab.Accessible("a field with a name")
}

// witness is a test that notes what it is told.
type witness struct {
	testing.TB
	told string
}

func (w *witness) Errorf(format string, a ...any) { w.told += fmt.Sprintf(format, a...) }
func (w *witness) Helper()                        {}
