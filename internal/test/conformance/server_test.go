package conformance_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

// lacking are the scenarios that the fixture does not pass, by the start of their name,
// and why.
var lacking = map[string]string{
	"server-sse-polling":          "mcp-go cannot end the stream of a running call; no server of legwork needs that",
	"server-stateless":            "mcp-go gives a tool no way to answer with code -32021; the suite's other checks pass",
	"sep-2164-resource-not-found": "mcp-go leaves the address out of the error; the code is right",
	"sep-2640-":                   "skills are an extension that mcp-go does not have",
	"tasks-":                      "mcp-go has the tasks of 2025-11-25, not the extension",
}

// reason is why the fixture does not pass a scenario; empty: it has to.
func (c scenario) reason() string {
	for start, why := range lacking {
		if strings.HasPrefix(c.name, start) {
			return why
		}
	}
	return ""
}

// TestServer runs the scenarios for servers against the fixture.
func TestServer(t *testing.T) {
	suites := build(t)
	tables := make([]string, len(suites))
	t.Run("suites", func(t *testing.T) {
		for i, s := range suites {
			t.Run(s.version, func(t *testing.T) {
				t.Parallel()
				tables[i] = "### Suite " + s.version + ", servers\n\n" + s.serveAll(t)
			})
		}
	})
	if !t.Failed() && !slices.Contains(tables, "") { // -run may have chosen one
		compare(t, filepath.Join(need.Root(t), "docs", "conformance.md"), "server", strings.Join(tables, "\n"))
	}
}

// serveAll runs all server scenarios of a suite and returns the table of them. A dated
// suite runs each by 2025-11-25, where it knows it, and by 2026-07-28.
func (s suite) serveAll(t *testing.T) string {
	t.Helper()
	all := s.list(t, "--server")
	outcomes := make([]outcome, len(all))
	s.serve(t, all, outcomes)
	if s.dated {
		s.serve(t, all, outcomes, "--spec-version", "2026-07-28")
	}
	var b strings.Builder
	b.WriteString("| scenario | revisions | result | checks that fail | reason |\n| --- | --- | --- | --- | --- |\n")
	for i, c := range all {
		o := outcomes[i]
		switch {
		case o.passed() && c.reason() != "":
			t.Errorf("%s passes; it is not lacking", c.name)
		case !o.passed() && c.reason() == "":
			t.Errorf("%s: got %s, want at least one check, and each to pass; the checks are %+v", c.name, o.missing(), o.ran())
		}
		passed, ran := o.count()
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s | %s |\n", c.name, c.revisions, passed, ran, o.missing(), c.reason())
	}
	return b.String()
}

// serve runs all scenarios in one process, one after the other, against one fixture, and
// adds their checks to the outcomes.
func (s suite) serve(t *testing.T, all []scenario, outcomes []outcome, more ...string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), s.node, append([]string{s.program, "server", "--url", newFixture(t), "--suite", "all", "--output-dir", dir}, more...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("running the suite: %v", err)
	}
	for i, c := range all {
		found, err := filepath.Glob(filepath.Join(dir, "server-"+c.name+"-20*", "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			// That messages fit the schema says nothing about the scenario.
			outcomes[i].checks = append(outcomes[i].checks, slices.DeleteFunc(readChecks(t, path), func(c check) bool { return c.ID == "wire-schema-valid" && c.Status == "SUCCESS" })...)
		}
	}
	if len(outcomes[0].checks) == 0 {
		t.Fatalf("the suite ran nothing; it said:\n%s", out)
	}
}
