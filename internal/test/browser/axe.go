package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"legwork/internal/test/need"
)

// checks are the rules of axe-core that are run: WCAG 2.2 A and AA, and its best
// practices.
const checks = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
	.then((found) => found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({rule: v.id, impact: v.impact, help: v.help, at: v.nodes.slice(0, 5).map((n) => n.target.join(" ") + ": " + n.html.slice(0, 200) + " " + (n.any[0]?.message ?? ""))})))`

// Accessible checks the page as it is with axe-core: it fails on serious and
// critical findings.
func (tab *Tab) Accessible(what string) {
	tab.t.Helper()
	for _, found := range tab.findings() {
		tab.t.Errorf("%s (%v): %s", what, tab.view, found)
	}
}

func (tab *Tab) findings() (all []string) {
	tab.t.Helper()
	source, err := os.ReadFile(filepath.Join(need.NPMPackage(tab.t, "axe-core"), "axe.min.js"))
	if err != nil {
		tab.t.Fatal(err)
	}
	var loaded bool
	if tab.Eval("Boolean(window.axe)", &loaded); !loaded {
		tab.Eval(string(source)+";null", nil)
	}
	var found []struct {
		Rule, Impact, Help string
		At                 []string
	}
	tab.Eval(checks, &found)
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s, %s: %s\n  %s", f.Rule, f.Impact, f.Help, strings.Join(f.At, "\n  ")))
	}
	return all
}
