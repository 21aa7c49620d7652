package tools_test

import (
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/tools"
)

// TestServerEverything speaks to the reference server of the MCP project.
func TestServerEverything(t *testing.T) {
	program := need.NPM(t, "mcp-server-everything")
	cfg := one(tools.ServerConfig{Command: program, Args: []string{"stdio"}, TrustAnnotations: true})
	g := cfg.Groups["g"]
	g.ToolTimeout = time.Minute
	cfg.Groups["g"] = g
	m := run(t, cfg)
	list, err := m.Set().Tools(t.Context(), "g", "")
	if err != nil || len(list) < 5 {
		t.Fatalf("Tools: got %d tools, %v; want at least 5", len(list), err)
	}
	wantText(t, "echo", call(t, m, "echo", `{"message":"hello"}`), false, "hello")
	wantText(t, "echo without message", call(t, m, "echo", `{}`), true, "missing property 'message'")
	for _, x := range list {
		if strings.Contains(x.Name, "sum") {
			wantText(t, x.Name, call(t, m, strings.TrimPrefix(x.Name, "s."), `{"a":2,"b":3}`), false, "5")
		}
		if strings.Contains(strings.ToLower(x.Name), "image") && strings.Contains(strings.ToLower(x.Name), "tiny") {
			wantText(t, x.Name, call(t, m, strings.TrimPrefix(x.Name, "s."), `{}`), false, "[image: image/png, ")
		}
	}
	st := m.Status()[0]
	t.Logf("protocol %s, %d tools, listed in %v", st.Protocol, st.Tools, st.RoundTrip)
}
