package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/fakes/telegramfake"
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

// TestHostileTools has tools whose names, descriptions, results and errors are hostile, a
// plan and a config with hostile values, and people with hostile names.
func TestHostileTools(t *testing.T) {
	e := newEnv(t, "")
	telegram := telegramfake.New(t, telegramfake.Options{Token: "1000:" + strings.Repeat("A", 35), NoLimits: true})
	e.write("config.yaml", e.config()+fmt.Sprintf("telegram: {token: %q, api_url: %q}\naccess: {admins: [\"telegram:1\"]}\n", telegram.Token, telegram.URL))
	e.withTools()
	eve := telegramfake.User{ID: 7, Name: strings.ReplaceAll(strings.Join(hostile()[:20], " "), "\x00", "")}
	telegram.Say(eve.ID, eve, "hello")
	var offer telegramfake.Message
	err := telegram.WaitFor(t.Context(), func(v telegramfake.View) bool {
		for _, m := range v.Chat(eve.ID).Bots() {
			if len(m.Buttons) > 0 {
				offer = m
			}
		}
		return len(offer.Buttons) > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	telegram.Press(eve.ID, offer.ID, offer.Buttons[0][0].Text, eve)
	tab := e.enter("admin", browser.Wide)
	tab.Fill(ask, "Try the hostile tools")
	tab.Click(browser.Button("Send"))
	tab.See(browser.Link("Details"))
	e.harmless(tab, "the chat")

	task := "tasks/" + e.task(t)
	var steps struct{ Items []struct{ ID, Kind string } }
	e.gets("admin", "/v1/"+task+"/steps", &steps)
	pages := []string{
		"tools", "tools/evil", "tools/evil/tell", "tools/evil/" + url.PathEscape(hostile()[1]), "tools/evil/tool_30", "people", "tasks", "audit", "models", "usage", "health",
		task, task + "/timeline", task + "/journal", task + "/state", task + "/usage", task + "/subtasks/1%2Fa", task + "/subtasks/1%2Fb",
	}
	if n := len(slices.DeleteFunc(slices.Clone(steps.Items), func(s struct{ ID, Kind string }) bool { return s.Kind != "tool" })); n != 2 {
		t.Errorf("%d tools were called, want 2", n)
	}
	for _, s := range steps.Items {
		pages = append(pages, task+"/steps/"+url.PathEscape(s.ID))
	}
	for _, page := range pages {
		tab.Go(e.URL + "/console/" + page)
		tab.Until(loaded)
		tab.Eval(`document.querySelectorAll("main details").forEach((d) => { d.open = true })`, nil)
		tab.Eval(`new Promise(requestAnimationFrame)`, nil)
		e.harmless(tab, page)
	}
	tab.Go(e.URL + "/console/people")
	tab.Until(`document.querySelectorAll(".people-requests li").length === 1`)
	e.harmless(tab, "people")
	tab.Go(e.URL + "/console/" + task + "/journal")
	tab.Click(browser.Button("/result/"))
	e.harmless(tab, "a result")

	tab.Go(e.URL + "/console/config")
	text := tab.Value(editor)
	for n, bad := range []string{
		"groups: {" + encoded(hostile()[1]) + ": {description: x}}\n", "language: " + encoded(strings.Join(hostile()[:18], " ")) + "\n", "# " + strings.ReplaceAll(strings.Join(hostile()[:18], "\n# "), "\x00", "") + "\n",
	} {
		tab.Fill(editor, text+bad)
		if n < 2 {
			tab.Until(`document.querySelector(".config-problems li")`)
		} else {
			tab.Sees("No mistakes.")
		}
		e.harmless(tab, "the config editor")
	}
	tab.Click(browser.Button("Save"))
	tab.See(browser.Button("Save and use"))
	tab.Until(`document.querySelector(".config-diff")`)
	e.harmless(tab, "the changes of the config")
}

// encoded is a text as JSON, which YAML reads too.
func encoded(text string) string {
	quoted, _ := json.Marshal(text) // a string always has a form
	return string(quoted)
}
