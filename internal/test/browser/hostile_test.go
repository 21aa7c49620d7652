package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"legwork/internal/test/browser"
)

// hostile are 500 strings that try to act in a page: each of some forms of markup, links
// and scripts, within each of some surroundings that might let it escape.
func hostile() (all []string) {
	acts := []string{
		`<script>hacked=1</script>`, `<img src=x onerror=hacked=1>`, `<svg onload=hacked=1>`, `<iframe src="javascript:parent.hacked=1"></iframe>`,
		`<a href="javascript:hacked=1">x</a>`, `[x](javascript:hacked=1)`, `![x](https://example.com/x.png)`, `<style>body{display:none}</style>`,
		`<form action=https://example.com><button>x</button></form>`, `<base href=https://example.com>`, `<meta http-equiv=refresh content="0;url=https://example.com">`,
		`<math><mtext><style><img src=x onerror=hacked=1>`, `<input autofocus onfocus=hacked=1>`, `<object data=https://example.com></object>`,
		`[x](data:text/html,<script>hacked=1</script>)`, `<https://example.com/?"onmouseover="hacked=1>`, `${hacked=1}`, `{{constructor.constructor('hacked=1')()}}`,
		"\u202e<b>hacked</b>\u202c", "\u0000<script>hacked=1</script>", `&lt;script&gt;hacked=1&lt;/script&gt;`, `__proto__`, `constructor`, strings.Repeat("A", 4000), `%3Cscript%3Ehacked=1%3C/script%3E`,
	}
	around := []string{
		"%s", `"%s`, `'%s`, `">%s`, `'>%s`, "`%s`", "```\n%s\n```", "# %s", "> %s", "* %s",
		"| %s | x |\n|---|---|\n| %[1]s | y |", "</textarea>%s", "</title>%s", "</script>%s", "<!--%s-->", "]]>%s", "\\\"%s", "**%s**", "[%s](x)", "\n\n%s\n\n",
	}
	for _, frame := range around {
		for _, act := range acts {
			all = append(all, fmt.Sprintf(frame, act))
		}
	}
	return all
}

// acted is what a page shows of a string that was taken for more than text.
const acted = `window.hacked || document.querySelector('iframe, object, embed, base, meta[http-equiv], main form[action], main style, main script, a[href^="javascript:"], a[href^="data:"], img[src^="http"]:not([src^="' + location.origin + '"])')?.outerHTML || ""`

// TestHostileStrings sends 500 strings as goals, which the model repeats, to the chat and
// by the API, and looks at the pages that show them.
func TestHostileStrings(t *testing.T) {
	e := newEnv(t, "")
	all := hostile()
	if len(all) != 500 {
		t.Fatalf("there are %d strings, want 500", len(all))
	}
	tab := e.enter("operator", browser.Wide)
	for n := 0; n < len(all); n += 50 {
		goal := fmt.Sprintf("%d %s\nend %[1]d", n, strings.ReplaceAll(strings.Join(all[n:n+50], "\n\n"), strings.Repeat("A", 4000), strings.Repeat("A", 400)))
		tab.Fill(ask, goal)
		tab.Click(browser.Button("Send"))
		tab.Until(fmt.Sprintf(`document.querySelector("main").innerText.split("end %d").length > 2`, n))
	}
	e.harmless(tab, "the chat")
	for n := 0; n < len(all); n += 25 {
		body := map[string]any{"goal": all[n], "run": false}
		if code, text := e.call("operator", http.MethodPost, "/v1/tasks", body); code/100 != 2 && code != http.StatusUnprocessableEntity {
			t.Fatalf("POST /v1/tasks with the goal %.100q: got %d %s", all[n], code, text)
		}
	}
	tab = e.enter("admin", browser.Wide)
	for _, page := range []string{"chat", "tasks", "tasks/" + e.task(t), "inbox", "audit", "usage"} {
		tab.Go(e.URL + "/console/" + page)
		tab.Until(`document.querySelector("main") && !document.querySelector("main .spinner-page")`)
		e.harmless(tab, page)
	}
}

func (e *env) harmless(tab *browser.Tab, page string) {
	e.t.Helper()
	var found any
	if tab.Eval(acted, &found); found != "" {
		e.t.Errorf("%s: a string acts: %v", page, found)
	}
}
