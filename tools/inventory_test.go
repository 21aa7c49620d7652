package tools_test

import (
	"testing"

	"legwork/tools"
)

// TestInventory: it tells how groups are, and waits for no server.
func TestInventory(t *testing.T) {
	m := run(t, tools.Config{
		Servers: map[string]tools.ServerConfig{"files": {Builtin: "files", Options: map[string]any{"root": t.TempDir(), "write": true}}, "gone": {Command: "/nonexistent/server"}},
		Groups: map[string]tools.GroupConfig{
			"papers": {Description: "Reads and writes papers.", Servers: []string{"files"}, Tools: []string{"read", "write"}},
			"rest":   {Servers: []string{"gone"}, Approve: tools.Approve{"get_*", "put_*"}},
		},
	})
	if _, err := m.Set().Tools(t.Context(), "papers", ""); err != nil {
		t.Fatal(err)
	}
	list := m.Inventory()
	if len(list) != 2 || list[0].Name != "papers" || list[1].Name != "rest" {
		t.Fatalf("got %+v, want papers and rest", list)
	}
	papers := list[0]
	if papers.Description != "Reads and writes papers." || papers.Approve != "writes" || len(papers.Servers) != 1 || papers.Servers[0].Problem != "" {
		t.Errorf("papers: got %+v", papers)
	}
	want := []tools.ToolStatus{{Name: "files.read", ReadOnly: true}, {Name: "files.write", Asks: true}}
	got := papers.Servers[0].Tools
	for i := range got {
		if got[i].Description == "" {
			t.Errorf("%s has no description", got[i].Name)
		}
		got[i].Description = ""
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("tools: got %+v, want %+v", got, want)
	}
	if rest := list[1]; rest.Approve != "get_*,put_*" || len(rest.Servers) != 1 || rest.Servers[0].Problem == "" || len(rest.Servers[0].Tools) != 0 {
		t.Errorf("rest: got %+v, want a server with a problem", rest)
	}
}
