package wire_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"legwork/internal/test/fakes/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDrain: what clients sent before they were gone has been handled, also
// what had not been accepted yet.
func TestDrain(t *testing.T) {
	var handled atomic.Int64
	s, err := wire.Serve("", 0, func(string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			handled.Add(1)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	address := strings.TrimPrefix(s.URL, "http://")
	for round := range 20 {
		for range 10 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: fake\r\nContent-Length: 4\r\n\r\nword"); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := int64(10 * (round + 1)); handled.Load() != want {
			t.Fatalf("round %d: got %d requests handled, want %d", round, handled.Load(), want)
		}
	}
}
