package leaks_test

import (
	"os"
	"testing"
	"time"

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

// TestPatience: a goroutine that ends late is no leak.
func TestPatience(t *testing.T) {
	late := func() {
		stop := make(chan struct{})
		go func() { <-stop }()
		time.AfterFunc(2*time.Second, func() { close(stop) }) // longer than goleak itself waits
	}
	if code := (leaks.Runner{Tests: tests{late, 0}, Patience: time.Minute}).Run(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
