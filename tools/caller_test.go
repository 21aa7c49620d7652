package tools_test

import (
	"encoding/json"
	"fmt"
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
