package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChosen refuses an unknown name: a figure that was never measured must
// not look like one that was reached.
func TestChosen(t *testing.T) {
	all := parts(1000)
	for only, want := range map[string]string{"": "all", "fold": "fold", "plan,fold": "plan,fold", "fold,plann": "", "fold, plan": ""} {
		list, err := chosen(all, only)
		var names []string
		for _, p := range list {
			names = append(names, p.name)
		}
		got := strings.Join(names, ",")
		if len(list) == len(all) {
			got = "all"
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("chosen(%q) = %q, %v, want %q", only, got, err, want)
		}
	}
}

// TestPromptSizes holds the sizes of the prompts of a task, which are the same on every
// machine.
func TestPromptSizes(t *testing.T) {
	w := &modelScript{chains: map[string]time.Duration{}}
	r, err := newEngineEnv(t.TempDir(), w.respond, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, answer, err := r.ask(t.Context(), "6")
	if err != nil {
		t.Fatal(err)
	}
	got := sizesOf(r.fake.Requests())
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if n := len(r.fake.Requests()); n != 14 || strings.Count(answer, "result") != 6 {
		t.Errorf("%d requests led to the answer %q; want the plan, 12 turns and the review", n, answer)
	}
	if got.prompts > maxPromptBytes || got.bodies > maxBodyBytes || got.shared < minShared {
		t.Errorf("the prompts have %d bytes, want at most %d; the bodies %d, want at most %d; the review begins with %d %% of the plan, want at least %d %%",
			got.prompts, maxPromptBytes, got.bodies, maxBodyBytes, got.shared, minShared)
	}
	t.Logf("prompts %d B, bodies %d B, shared %d %%", got.prompts, got.bodies, got.shared)
}

// TestFailedPart keeps the figures of the parts before and after one that fails.
func TestFailedPart(t *testing.T) {
	broken := errors.New("no room")
	slow := func(name string) part {
		return part{name, func(context.Context, string) ([]figure, error) {
			return []figure{within(name+" figure", time.Second, time.Millisecond, "")}, nil
		}}
	}
	var out strings.Builder
	missed, err := run(t.Context(), &out, io.Discard, []part{
		slow("first"), {"second", func(context.Context, string) ([]figure, error) { return nil, broken }}, slow("third"),
	})
	if missed != 2 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "measuring second") {
		t.Errorf("run = %d missed, %v, want 2 and what is wrong with the second", missed, err)
	}
	for _, want := range []string{"first figure", "third figure"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &out)
		}
	}
}
