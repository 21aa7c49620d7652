package loopback_test

import (
	"testing"

	"legwork/internal/loopback"
)

func TestAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost:8080": true, "http://127.0.0.1/x": true, "http://127.8.8.8": true, "https://[::1]:1/": true,
		"http://0.0.0.0": false, "http://localhost.example.com": false, "http://10.0.0.1": false, "https://example.com": false, "": false, "://": false,
	} {
		if got := loopback.Address(address); got != want {
			t.Errorf("Address(%q) = %v, want %v", address, got, want)
		}
	}
}
