package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestHopLimit: work that legworks pass to each other comes to an end.
func TestHopLimit(t *testing.T) {
	e := newEnv(t)
	for hops, want := range map[string]string{`0`: `"state":"working"`, `4`: `"state":"working"`, `5`: "handed on", `1e300`: "handed on", `-1`: `"state":"working"`, `"x"`: `"state":"working"`} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_task","arguments":{"goal":"x","run":false},"_meta":{"legwork/hops":%s}}}`, hops)
		if _, got := e.post(http.MethodPost, "agent", nil, body); !strings.Contains(got, want) {
			t.Errorf("after %s hops it gave %s, want %s", hops, got, want)
		}
	}
}
