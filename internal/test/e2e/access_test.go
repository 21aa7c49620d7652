package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/authserver"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
)

// signInStep is what came of a step of testdata/signin.mjs.
type signInStep struct {
	Step       string          `json:"step"`
	Scope      string          `json:"scope"`    // of the sign-in that was needed; empty: none was
	Resource   string          `json:"resource"` // of that
	Refused    string          `json:"refused"`
	Thrown     string          `json:"thrown"`
	Tools      []string        `json:"tools"`
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
}

// signsIn runs an official client as a person who signs in.
func signsIn(t *testing.T, era, address, login string, calls ...map[string]any) []signInStep {
	t.Helper()
	need.NPMPackage(t, "@modelcontextprotocol/sdk")
	need.NPMPackage(t, "@modelcontextprotocol/client")
	program, err := os.Open(filepath.Join("testdata", "signin.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	cmd := exec.CommandContext(t.Context(), need.Node22(t), "--input-type=module", "-")
	cmd.Dir, cmd.Stdin = filepath.Join(need.Root(t), "internal", "test", "npm"), program
	cmd.Env = append(os.Environ(), "SCRIPT="+string(asJSON(t, map[string]any{"era": era, "url": "http://" + address + "/mcp", "login": login, "calls": append([]map[string]any{}, calls...)})))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client: %v: %s%s", err, out, log.String())
	}
	var steps []signInStep
	for line := range strings.Lines(string(out)) {
		var s signInStep
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("reading %s: %v", line, err)
		}
		steps = append(steps, s)
	}
	if len(steps) != len(calls)+2 {
		t.Fatalf("the client did these steps: %s%s", out, log.String())
	}
	return steps
}

// TestSignInOfMCPClients: the official clients find out by themselves where they get
// access tokens, have the person sign in, and ask for a wider scope when a tool needs it.
func TestSignInOfMCPClients(t *testing.T) {
	t.Parallel()
	at := authserver.Start(t, authserver.Config{
		People: map[string]map[string]any{"ann": {"name": "Ann", "groups": []string{"ops"}}, "bob": {"name": "Bob"}},
		Scopes: []string{"legwork.read", "legwork.write"},
	})
	w := newEnv(t, options{
		think: func(llmfake.Request) llmfake.Response { return llmfake.Say("The answer is 42.") },
		more: fmt.Sprintf(`http:
  listen: 127.0.0.1:0
  tokens: [%s]
  oidc:
    issuer: %s
    client_id: legwork
    audience: api://legwork
    roles: {operator: ["group:ops", "scope:legwork.write"], viewer: ["group:ops", "scope:legwork.read"]}
`, tokenLine("boss", "admin"), at.URL),
	})
	s := w.serve(tokenOf("boss"))
	start := map[string]any{"name": "start_task", "arguments": map[string]any{"goal": "What is the answer?"}}
	list := map[string]any{"name": "list_tasks", "arguments": map[string]any{}}
	for _, era := range []string{"older", "newer"} {
		steps := signsIn(t, era, s.address, "ann", list, start, list)
		for i, want := range []struct{ step, scope string }{{"connect", "legwork.read"}, {"list", ""}, {"list_tasks", ""}, {"start_task", "legwork.write"}, {"list_tasks", ""}} {
			got := steps[i]
			scopes := slices.DeleteFunc(strings.Fields(got.Scope), func(scope string) bool { return scope == "offline_access" || i == 3 && scope == "legwork.read" })
			if got.Step != want.step || got.Thrown != "" || got.IsError || strings.Join(scopes, " ") != want.scope {
				t.Errorf("%s: step %d is %+v, want %+v", era, i, got, want)
			}
			if got.Scope != "" && got.Resource != "http://"+s.address+"/mcp" {
				t.Errorf("%s: %s asks for a token for %s", era, got.Step, got.Resource)
			}
		}
		if host := strings.TrimPrefix(at.URL, "http://"); !slices.Contains(steps[1].Tools, "start_task") || !strings.Contains(string(steps[3].Structured), `"from":"web:ann@`+host+`"`) {
			t.Errorf("%s: the tools are %v, and the task %s", era, steps[1].Tools, steps[3].Structured)
		}
		if steps := signsIn(t, era, s.address, "bob"); steps[0].Thrown == "" {
			t.Errorf("%s: bob, who has no role, connects: %+v", era, steps[0])
		}
	}
	boss := outsider{t, "http://" + s.address, tokenOf("boss")}
	if code, text := boss.sends(http.MethodGet, "/v1/audit", ""); code != http.StatusOK || !strings.Contains(string(text), `:ann@`) {
		t.Errorf("the audit log is %d %s, want ann in it", code, text)
	}
	s.stops()
}
