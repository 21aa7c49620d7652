package leaks_test

import (
	"os"
	"testing"

	"legwork/internal/test/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Runner{Tests: m}.Run()) }

// tests that end with a code, after what they do.
type tests struct {
	do   func()
	code int
}

func (t tests) Run() int {
	t.do()
	return t.code
}

func TestRunner(t *testing.T) {
	stop := make(chan struct{})
	quiet, busy := func() {}, func() { go func() { <-stop }() }
	for _, tt := range []struct {
		name string
		do   func()
		code int
		want int
	}{{"clean", quiet, 0, 0}, {"failed", quiet, 3, 3}, {"left something running", busy, 0, 1}} {
		if got := (leaks.Runner{Tests: tests{tt.do, tt.code}}).Run(); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
	close(stop)
}
