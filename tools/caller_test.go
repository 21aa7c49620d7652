package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/tools"
)

// TestCaller: built-in servers are told for whom they are called, others only how
// often the work was handed on.
func TestCaller(t *testing.T) {
	s, root := newEnv(t), t.TempDir()
	s.addTool("pay", "Pays a bill.")
	cfg := s.config()
	cfg.Servers["files"] = tools.ServerConfig{Builtin: "files", Options: map[string]any{"root": filepath.Join("work", "{chat}"), "write": true}}
	cfg.Groups["files"] = tools.GroupConfig{Approve: tools.Approve{"never"}}
	m, _ := start(t, cfg, tools.Options{Base: root})
	do := func(group, tool, args, chat string) {
		t.Helper()
		r, err := m.Set().Call(t.Context(), tools.Call{
			Group: group, Tool: tool, Arguments: json.RawMessage(args),
			Chat: chat, Person: "telegram:1", Private: true, Hops: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, tool+" of "+chat, r, false)
	}
	do("files", "files.write", `{"path":"a.txt","content":"hi"}`, "telegram:1")
	do("files", "files.write", `{"path":"a.txt","content":"ho"}`, "telegram:-2")
	folders, err := os.ReadDir(filepath.Join(root, "work"))
	if err != nil || len(folders) != 2 {
		t.Errorf("folders of two chats: got %v, %v; want two", folders, err)
	}
	do("g", "s.pay", `{}`, "telegram:1")
	told := map[string]any{}
	if meta := s.calls()[0].Params.Meta; meta != nil {
		for key, value := range meta.AdditionalFields {
			if strings.HasPrefix(key, "legwork") {
				told[key] = value
			}
		}
	}
	if len(told) != 1 || fmt.Sprint(told[tools.HopsKey]) != "2" {
		t.Errorf("a foreign server was told %v, want two hops", told)
	}
}

// TestAdminCalls: what a model reads as "tell the person that an admin has to ..."
// an admin reads as what to do.
func TestAdminCalls(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(engine.Close)
	cfg := tools.Config{Servers: map[string]tools.ServerConfig{
		"search": {Builtin: "search", Options: map[string]any{"url": engine.URL}},
		"away":   {Builtin: "search", Options: map[string]any{"url": "http://127.0.0.1:1/search"}},
		"gone":   {Command: "no-such-program"},
	}}
	m, _ := start(t, cfg, tools.Options{})
	for _, c := range []struct {
		tool, model, admin string
	}{
		{
			"search.search", "at the configured address; work without searching and tell the person that an admin has to check the search url, which usually ends in /search",
			"at the configured address; check the search url, which usually ends in /search",
		},
		{
			"away.search", "work without searching and tell the person that an admin has to check its address, and the network of this machine",
			"connection refused); check its address, and the network of this machine",
		},
		{"gone.x", "executable file not found in $PATH. Try other tools, or go on without it.", "executable file not found in $PATH."},
	} {
		group, _, _ := strings.Cut(c.tool, ".")
		for admin, want := range map[bool]string{false: c.model, true: c.admin} {
			r, err := m.Call(t.Context(), tools.Call{Group: group, Tool: c.tool, Arguments: json.RawMessage(`{"query":"x"}`), Admin: admin})
			if err != nil || !r.Failed || !strings.HasSuffix(r.Text, want) {
				t.Errorf("%s, admin %v: got %q, %v; want it to end with %q", c.tool, admin, r.Text, err, want)
			}
		}
	}
}
