package need_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"legwork/internal/test/need"
)

// witness is a test that notes how it was ended.
type witness struct {
	testing.TB
	name, end string
}

func (w *witness) Name() string { return w.name }

func (w *witness) Helper() {}

func (w *witness) Skipf(format string, a ...any) { w.end = "skipped: " + fmt.Sprintf(format, a...) }

func (w *witness) Fatal(a ...any) { w.end = "failed: " + fmt.Sprint(a...) }

func (w *witness) Fatalf(format string, a ...any) { w.end = "failed: " + fmt.Sprintf(format, a...) }

func TestCommand(t *testing.T) {
	tests := []struct{ name, required, want string }{
		{"go", "1", ""},
		{"no-such-program", "", "skipped: no-such-program is not installed: write it"},
		{"no-such-program", "1", "failed: no-such-program is not installed: write it"},
	}
	for _, test := range tests {
		t.Setenv("LEGWORK_REQUIRE_ALL", test.required)
		w := &witness{TB: t}
		path := need.Command(w, test.name, "write it")
		if w.end != test.want || (path != "") != (test.want == "") {
			t.Errorf("needing %q with LEGWORK_REQUIRE_ALL=%q gave %q and %q, want the end %q", test.name, test.required, path, w.end, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct{ required, want string }{
		{"1", ""},
		{"", "skipped: runs in make check only; here: go test -run '^TestSlow$'"},
	} {
		t.Setenv("LEGWORK_REQUIRE_ALL", test.required)
		w := &witness{TB: t, name: "TestSlow/in one way"}
		if need.Check(w); w.end != test.want {
			t.Errorf("Check with LEGWORK_REQUIRE_ALL=%q ended the test with %q, want %q", test.required, w.end, test.want)
		}
		if got, want := need.Times(2, 30), map[string]int{"1": 30, "": 2}[test.required]; got != want {
			t.Errorf("Times(2, 30) with LEGWORK_REQUIRE_ALL=%q: got %d, want %d", test.required, got, want)
		}
	}
}

func TestNode22(t *testing.T) {
	node := need.Node22(t)
	out, err := exec.CommandContext(t.Context(), node, "-p", "parseInt(process.versions.node) >= 22").CombinedOutput()
	if err != nil || string(out) != "true\n" {
		t.Errorf("Node22 gave %q, which is of Node 22 or later: %q and %v, want true", node, out, err)
	}
}

func TestRoot(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Join(need.Root(t), "internal", "test", "need"); got != here {
		t.Errorf("Root leads to %q, want %q", got, here)
	}
}
