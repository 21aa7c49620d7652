package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools"
)

// TestFilesOfCalls: a remote server gets the content of a file in place of its name,
// wherever the name is a whole value, and a program gets a path. A group without the
// grant makes no such call.
func TestFilesOfCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := map[string]tools.File{"file:f1": {Path: path, Type: "text/plain"}}
	arguments := json.RawMessage(`{"name":"file:f1","n":12345678901234567890,"list":["file:f1","see file:f1"]}`)
	buy := func(m *tools.Manager, tool string) tools.Result {
		t.Helper()
		r, err := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "s." + tool, Arguments: arguments, Files: list})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	e := newEnv(t)
	e.addTool("buy", "Buys.", mcp.WithString("name"))
	cfg := e.config()
	wantText(t, "no grant", buy(run(t, cfg), "buy"), true, "may not read files")
	g := cfg.Groups["g"]
	g.Files = tools.FilesRead
	cfg.Groups["g"] = g
	wantText(t, "remote", buy(run(t, cfg), "buy"), false, "sold")
	got, err := json.Marshal(e.calls()[0].Params.Arguments)
	if want := `{"list":["data:text/plain;base64,aGVsbG8=","see file:f1"],"n":12345678901234567000,"name":"data:text/plain;base64,aGVsbG8="}`; err != nil || string(got) != want || len(e.calls()) != 1 {
		t.Errorf("the server got %s, %v; want %s", got, err, want)
	}
	g.Files = "write"
	cfg.Groups["g"] = g
	if _, err := tools.New(cfg, tools.Options{}); err == nil {
		t.Error("files: write is taken")
	}
}
