// Package conformance_test runs the client scenarios of the official MCP
// conformance suite against legwork's own client.
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

// revision is that of the protocol which the scenarios outside auth are about.
const revision = "2025-11-25"

// suite is the official suite and the driver that it starts.
type suite struct{ node, program, driver string }

// scenario is one scenario and the revisions of the protocol that it is about.
type scenario struct{ name, revisions string }

// check is one thing that the suite looked at.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING or INFO
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// outcome are the checks of a scenario, without INFO.
type outcome struct {
	checks []check
	output string // of the driver, for a person who looks for the reason
}

func TestConformance(t *testing.T) {
	s := build(t)
	all := s.scenarios(t)
	outcomes := make([]outcome, len(all))
	// One after the other: they measure how long the client waits. Both ways of
	// connecting must do: as in the daemon, which finds out what the server
	// knows, and with the revision that the suite is about.
	for i, c := range all {
		for _, protocol := range []string{revision, ""} {
			if strings.HasPrefix(c.name, "auth/") {
				continue
			}
			t.Run(c.name+"/"+cmp.Or(protocol, "found out"), func(t *testing.T) {
				outcomes[i] = s.patiently(t, c.name, protocol)
				if !outcomes[i].passed() {
					t.Errorf("got %s, want at least one check, and each to pass; the driver said:\n%s", outcomes[i].missing(), outcomes[i].output)
				}
			})
		}
	}
	t.Run("auth", func(t *testing.T) {
		for i, c := range all {
			if !strings.HasPrefix(c.name, "auth/") {
				continue
			}
			t.Run(strings.TrimPrefix(c.name, "auth/"), func(t *testing.T) {
				t.Parallel()
				if outcomes[i] = s.run(t, c.name, ""); len(outcomes[i].checks) == 0 {
					t.Errorf("no check ran; the driver said:\n%s", outcomes[i].output)
				}
			})
		}
	})
	if !t.Failed() {
		compare(t, filepath.Join(need.Root(t), "docs", "conformance.md"), table(all, outcomes))
	}
}

// build builds the driver and finds the rest.
func build(t *testing.T) suite {
	t.Helper()
	s := suite{node: need.Node22(t), program: need.NPM(t, "conformance"), driver: filepath.Join(t.TempDir(), "driver")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.driver, "legwork/internal/test/conformance/driver").CombinedOutput(); err != nil {
		t.Fatalf("building the driver: %v: %s", err, out)
	}
	return s
}

var listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// scenarios are those that the suite has for clients.
func (s suite) scenarios(t *testing.T) []scenario {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.node, s.program, "list", "--client").Output()
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
func (s suite) patiently(t *testing.T, name, protocol string) outcome {
	t.Helper()
	for range 2 {
		o := s.run(t, name, protocol)
		if o.passed() || slices.ContainsFunc(o.checks, func(c check) bool { return c.Status == "FAILURE" }) {
			return o
		}
	}
	return s.run(t, name, protocol)
}

// run runs a scenario. What its runner says of it is of no interest: it calls
// it a pass when no check ran.
func (s suite) run(t *testing.T, name, protocol string) outcome {
	t.Helper()
	dir := t.TempDir()
	driver := s.driver // the suite splits this at spaces
	if protocol != "" {
		driver += " -protocol " + protocol
	}
	cmd := exec.CommandContext(t.Context(), s.node, s.program, "client", "--command", driver, "--scenario", name, "--output-dir", dir)
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
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		stderr, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stderr.txt"))
		o.output = string(stderr)
		return errors.Join(err, json.Unmarshal(b, &o.checks))
	})
	if err != nil || o.checks == nil {
		t.Fatalf("reading the checks of %s: %v; the suite said:\n%s", name, err, out)
	}
	o.checks = slices.DeleteFunc(o.checks, func(c check) bool { return c.Status == "INFO" })
	return o
}

func (o outcome) passed() bool {
	return len(o.checks) > 0 && !slices.ContainsFunc(o.checks, func(c check) bool { return c.Status != "SUCCESS" })
}

// missing names the checks that did not pass.
func (o outcome) missing() string {
	if len(o.checks) == 0 {
		return "no check ran"
	}
	var list []string
	for _, c := range o.checks {
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
		passed := 0
		for _, x := range outcomes[i].checks {
			if x.Status == "SUCCESS" {
				passed++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s |\n", c.name, c.revisions, passed, len(outcomes[i].checks), outcomes[i].missing())
	}
	return b.String()
}

// compare compares the table between the marks of a page, or writes it.
func compare(t *testing.T, page, want string) {
	t.Helper()
	const begin, end = "<!-- begin: written by go test ./internal/test/conformance -update -->\n", "<!-- end -->\n"
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
