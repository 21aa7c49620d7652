package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"legwork/internal/test/browser"
)

var editor = browser.Box("Config file, YAML")

// secret is the key of the model in the config of a test.
const secret = "sk-secret-page"

// TestConfigEditor: two admins edit the config, and a third one writes the file by hand.
// The editor keeps each text and shows no secret.
func TestConfigEditor(t *testing.T) {
	e := newEnv(t, "")
	ann, bob, reader := e.enter("admin", browser.Wide), e.enter("admin", browser.Wide), e.enter("admin", browser.Wide)
	ann.Allow("status of 412")
	bob.Allow("status of 412")
	for _, tab := range []*browser.Tab{ann, bob, reader} {
		tab.Go(e.URL + "/console/config")
		tab.See(editor)
		e.hides(tab)
	}
	before := ann.Value(editor)
	if !strings.Contains(before, "«hidden:") {
		t.Fatalf("the editor shows no mark in place of the secret:\n%s", before)
	}

	// Both save. The second one sees the difference and keeps their text.
	ann.Fill(editor, before+"language: ru\n")
	bob.Fill(editor, before+"timezone: Europe/Berlin\n")
	bob.Click(browser.Button("Save"))
	bob.See(browser.Heading("Save these changes?"))
	e.saves(ann)
	bob.Click(browser.Button("Save and use"))
	bob.See(browser.Heading("The file has changed meanwhile"))
	bob.Sees("-language: ru")
	bob.Sees("+timezone: Europe/Berlin")
	e.hides(bob)
	bob.Click(browser.Button("Go on with my text"))
	if got := bob.Value(editor); got != before+"timezone: Europe/Berlin\n" {
		t.Errorf("after the conflict, the editor holds:\n%s", got)
	}
	bob.Reload() // a draft survives it
	bob.Until(`document.querySelector("textarea")?.value.includes("Europe/Berlin")`)
	if text := e.config(); !strings.Contains(text, "language: ru") || strings.Contains(text, "Berlin") {
		t.Errorf("the file is not the one of the first admin:\n%s", text)
	}

	// Somebody writes the file by hand meanwhile. The page notices it before it asks.
	e.write("config.yaml", e.config()+"# by hand\n")
	reader.Until(`document.querySelector("textarea").value.includes("# by hand")`)
	bob.Click(browser.Button("Save"))
	bob.See(browser.Heading("The file has changed meanwhile"))
	bob.Sees("-# by hand")
	bob.Click(browser.Button("Take the file, keep my text aside"))
	bob.Until(`document.querySelector("textarea").value.includes("# by hand")`)
	bob.Click(browser.Button("Bring it back"))
	bob.Until(`document.querySelector("textarea").value.includes("Europe/Berlin")`)
	e.saves(bob)
	if text := e.config(); !strings.Contains(text, "Europe/Berlin") || !strings.Contains(text, secret) {
		t.Errorf("the file is not what the second admin saved, or lost its secret:\n%s", text)
	}

	// The first one brings the earliest version back.
	ann.Reload()
	ann.Click(browser.Button("Earlier versions"))
	ann.Until(`document.querySelectorAll(".config-versions li").length >= 2`)
	ann.Click(browser.Button("Show")) // of the last one, which is the oldest
	ann.See(browser.Button("Put into the editor"))
	e.hides(ann)
	ann.Click(browser.Button("Put into the editor"))
	ann.Until(fmt.Sprintf(`document.querySelector("textarea").value === %q`, before))
	e.saves(ann)
	if text := e.config(); strings.Contains(text, "Berlin") || strings.Contains(text, "by hand") || !strings.Contains(text, secret) {
		t.Errorf("the file is not the earliest version:\n%s", text)
	}

	// A mistake is marked at its line.
	lines := strings.Split(before, "\n")
	at := len(lines) // the line after the last one
	ann.Fill(editor, before+"limits: {rounds: many}\n")
	ann.Until(fmt.Sprintf(`document.querySelector(".config-gutter .is-bad")?.textContent.includes("%d")`, at))
	if ann.Count(browser.Button("Save")) != 1 {
		t.Error("there is no button that saves")
	}
	var disabled bool
	if ann.Eval(`[...document.querySelectorAll("button")].find((b) => b.textContent === "Save").disabled`, &disabled); !disabled {
		t.Error("a text with a mistake can be saved")
	}
	ann.Click(browser.Button(fmt.Sprintf("/^%d:/", at)))
	ann.Until(fmt.Sprintf(`(() => { const a = document.activeElement; return a.tagName === "TEXTAREA" && a.value.slice(0, a.selectionStart).split("\n").length === %d })()`, at))
	e.hides(ann)
	ann.Press("s", chromedp.ModifierCtrl) // saves nothing
	ann.Fill(editor, before+"# "+strings.Repeat("long ", 100))
	ann.Until(`document.querySelector(".config-scroll").scrollLeft > 0`)
	ann.Press(kb.Enter) // the line numbers do not cover the new line
	ann.Until(`document.querySelector(".config-scroll").scrollLeft === 0`)

	// Enter saves, as the dialog offers it.
	ann.Fill(editor, before+"# the end\n")
	ann.Until(`![...document.querySelectorAll("button")].find((b) => b.textContent === "Save").disabled`)
	ann.Press("s", chromedp.ModifierCtrl)
	ann.Until(`document.activeElement.textContent === "Save and use"`)
	ann.Press(kb.Enter)
	ann.Gone(browser.Heading("Save these changes?"))
	if !strings.Contains(e.config(), "# the end") {
		t.Error("Enter in the dialog did not save")
	}
	if strings.Contains(e.config(), "many") {
		t.Error("a text with a mistake was saved")
	}
}

// saves saves what the editor holds.
func (e *env) saves(tab *browser.Tab) {
	e.t.Helper()
	tab.Click(browser.Button("Save"))
	tab.See(browser.Heading("Save these changes?"))
	tab.Click(browser.Button("Save and use"))
	tab.Gone(browser.Heading("Save these changes?"))
	tab.Sees("No mistakes. This is the file as it is now.")
	e.hides(tab)
}

// hides checks that no secret is anywhere in the page or kept by it.
func (e *env) hides(tab *browser.Tab) {
	e.t.Helper()
	var all string
	tab.Eval(`[document.documentElement.outerHTML, ...[...document.querySelectorAll("textarea, input")].map((f) => f.value), JSON.stringify(sessionStorage), JSON.stringify(localStorage)].join("\n")`, &all)
	if strings.Contains(all, secret) {
		e.t.Error("the page holds a secret")
	}
}

// config is the config file.
func (e *env) config() string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, "config.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(text)
}
