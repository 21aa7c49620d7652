package control_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"legwork/app/control"
)

// asChild makes the test program a client of the socket in the folder that it names.
const asChild = "LEGWORK_TEST_CONTROL"

// TestOwnChildren: a process that the owner has started, directly or by a shell, cannot
// call it. Other processes can.
func TestOwnChildren(t *testing.T) {
	if dir := os.Getenv(asChild); dir != "" {
		if _, err := client(t, dir).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "legwork started this process") {
			t.Fatalf("Status: got %v, want a refusal", err)
		}
		return
	}
	dir, mux, reached := t.TempDir(), http.NewServeMux(), false
	control.HandleStatus(mux, func(context.Context) (control.Status, error) { reached = true; return control.Status{}, nil })
	stop := serve(t, dir, mux)
	for name, command := range map[string][]string{
		"a child":      {os.Args[0], "-test.run=^TestOwnChildren$"},
		"a grandchild": {"/bin/sh", "-c", os.Args[0] + " -test.run='^TestOwnChildren$'; exit $?"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Env = append(os.Environ(), asChild+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	stop()
	if reached {
		t.Error("a child reached the handler")
	}
}
