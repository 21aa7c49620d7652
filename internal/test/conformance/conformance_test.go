// Package conformance_test runs the official MCP conformance suite: its client scenarios
// against legwork's own client, and its server scenarios against a server that is built
// as legwork's own servers are.
package conformance_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

var update = flag.Bool("update", false, "write the table of docs/conformance.md")

// suite is one version of the official suite, and the driver that it starts.
type suite struct {
	node, program, driver string
	version               string
	dated                 bool // it runs a scenario by the revision that it is told
}

// scenario is one scenario and the revisions of the protocol that it is about.
type scenario struct{ name, revisions string }

// auth reports whether a scenario is about signing in.
func (c scenario) auth() bool { return strings.HasPrefix(c.name, "auth/") }

// check is one thing that the suite looked at.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// outcome are the checks of a scenario, without INFO.
type outcome struct {
	checks []check
	output string // of the driver, for a person who looks for the reason
}

func TestConformance(t *testing.T) {
	var tables []string
	for _, s := range build(t) {
		t.Run(s.version, func(t *testing.T) {
			tables = append(tables, "### Suite "+s.version+"\n\n"+s.runAll(t))
		})
	}
	if !t.Failed() && len(tables) == 2 { // -run may have chosen one
		compare(t, filepath.Join(need.Root(t), "docs", "conformance.md"), "client", strings.Join(tables, "\n"))
	}
}

// runAll runs all client scenarios of a suite and returns the table of them.
func (s suite) runAll(t *testing.T) string {
	t.Helper()
	all := s.list(t, "--client")
	outcomes := make([]outcome, len(all))
	// One after the other: they measure how long the client waits. Both ways of
	// connecting must do: as in the daemon, which finds out what the server
	// knows, and with the revision of the scenario.
	for i, c := range all {
		if c.auth() {
			continue
		}
		for _, revision := range s.revisions(c) {
			for _, protocol := range slices.Compact([]string{revision, ""}) {
				t.Run(c.name+"/"+revision+"/"+cmp.Or(protocol, "found out"), func(t *testing.T) {
					outcomes[i] = s.patiently(t, c.name, revision, protocol)
					if !outcomes[i].passed() {
						t.Errorf("got %s, want at least one check, and each to pass; the driver said:\n%s", outcomes[i].missing(), outcomes[i].output)
					}
				})
			}
		}
	}
	t.Run("auth", func(t *testing.T) {
		for i, c := range all {
			if !c.auth() {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				for _, revision := range s.revisions(c) {
					outcomes[i] = s.run(t, c.name, revision, "")
					if !outcomes[i].passed() {
						t.Errorf("revision %s: got %s, want at least one check, and each to pass; the driver said:\n%s", revision, outcomes[i].missing(), outcomes[i].output)
					}
				}
			})
		}
	})
	return table(all, outcomes)
}

// revisions are those by which a scenario is run. Older versions of the suite run each
// by 2025-11-25.
func (s suite) revisions(c scenario) []string {
	if !s.dated {
		return []string{"2025-11-25"}
	}
	if c.revisions == "extension" {
		return []string{""}
	}
	return strings.Split(c.revisions, ", ")
}

// build builds the driver and finds the suites: the latest release and the newest
// pre-release.
func build(t *testing.T) []suite {
	t.Helper()
	node, driver := need.Node22(t), filepath.Join(t.TempDir(), "driver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", driver, "legwork/internal/test/conformance/driver").CombinedOutput(); err != nil {
		t.Fatalf("building the driver: %v: %s", err, out)
	}
	var list []suite
	for _, name := range []string{"@modelcontextprotocol/conformance", "conformance-next"} {
		dir := need.NPMPackage(t, name)
		var about struct{ Version string }
		b, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err := errors.Join(err, json.Unmarshal(b, &about)); err != nil {
			t.Fatal(err)
		}
		list = append(list, suite{node, filepath.Join(dir, "dist", "index.js"), driver, about.Version, name == "conformance-next"})
	}
	return list
}

var listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// list lists the scenarios for one side: --client or --server.
func (s suite) list(t *testing.T, side string) []scenario {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.node, s.program, "list", side).Output()
	if err != nil {
		t.Fatalf("listing scenarios: %v", err)
	}
	var list []scenario
	for _, m := range listed.FindAllStringSubmatch(string(out), -1) {
		list = append(list, scenario{name: m[1], revisions: strings.ReplaceAll(m[2], ",", ", ")})
	}
	if len(list) < 4 {
		t.Fatalf("listing scenarios: got %q, want some", out)
	}
	return list
}

// patiently runs a scenario again when all that it has to say is a warning,
// twice at most: on a busy machine the client may be late without a fault.
func (s suite) patiently(t *testing.T, name, revision, protocol string) outcome {
	t.Helper()
	for range 2 {
		o := s.run(t, name, revision, protocol)
		if o.passed() || slices.ContainsFunc(o.checks, func(c check) bool { return c.Status == "FAILURE" }) {
			return o
		}
	}
	return s.run(t, name, revision, protocol)
}

// run runs a scenario; revision is for a dated suite, and protocol for the driver.
// What its runner says of it is of no interest: it calls
// it a pass when no check ran.
func (s suite) run(t *testing.T, name, revision, protocol string) outcome {
	t.Helper()
	dir := t.TempDir()
	driver := s.driver // the suite splits this at spaces
	if protocol != "" {
		driver += " -protocol " + protocol
	}
	args := []string{s.program, "client", "--command", driver, "--scenario", name, "--output-dir", dir}
	if s.dated && revision != "" {
		args = append(args, "--spec-version", revision)
	}
	cmd := exec.CommandContext(t.Context(), s.node, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("running %s: %v", name, err)
	}
	var o outcome
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		o.checks = readChecks(t, path)
		stderr, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stderr.txt"))
		o.output = string(stderr)
		return err
	})
	if err != nil || o.checks == nil {
		t.Fatalf("reading the checks of %s: %v; the suite said:\n%s", name, err, out)
	}
	return o
}

// readChecks reads the checks of a scenario, without INFO.
func readChecks(t *testing.T, path string) []check {
	t.Helper()
	checks := []check{} // not nil: there was a file
	b, err := os.ReadFile(path)
	if err := errors.Join(err, json.Unmarshal(b, &checks)); err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	return slices.DeleteFunc(checks, func(c check) bool { return c.Status == "INFO" })
}

// ran are the checks that were not skipped.
func (o outcome) ran() []check {
	return slices.DeleteFunc(slices.Clone(o.checks), func(c check) bool { return c.Status == "SKIPPED" })
}

func (o outcome) passed() bool {
	return len(o.ran()) > 0 && !slices.ContainsFunc(o.ran(), func(c check) bool { return c.Status != "SUCCESS" })
}

// count counts the checks by their ids: how often some checks run depends on timing.
func (o outcome) count() (passed, ran int) {
	all, good := map[string]bool{}, map[string]bool{}
	for _, c := range o.ran() {
		all[c.ID] = true
		if c.Status == "SUCCESS" {
			good[c.ID] = true
		}
	}
	return len(good), len(all)
}

// missing names the checks that did not pass.
func (o outcome) missing() string {
	if len(o.ran()) == 0 {
		return "no check ran"
	}
	var list []string
	for _, c := range o.ran() {
		if name := "`" + c.ID + "`"; c.Status != "SUCCESS" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// table is what the documentation says of the scenarios.
func table(all []scenario, outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| scenario | revisions | result | checks that fail |\n| --- | --- | --- | --- |\n")
	for i, c := range all {
		passed, ran := outcomes[i].count()
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s |\n", c.name, c.revisions, passed, ran, outcomes[i].missing())
	}
	return b.String()
}

// compare compares the table between the marks of a side in a page, or writes it.
func compare(t *testing.T, page, side, want string) {
	t.Helper()
	begin, end := "<!-- begin "+side+": written by go test ./internal/test/conformance -update -->\n", "<!-- end "+side+" -->\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(b), begin)
	got, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s has not the marks %q and %q", page, begin, end)
	case got == want:
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the suite found; go test ./internal/test/conformance -update writes it. Got:\n%s\nwant:\n%s", page, got, want)
	}
}
