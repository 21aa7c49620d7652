package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/files"
)

type args = map[string]any

// env is a files server with a client.
type env struct {
	t      testing.TB
	base   string
	client *client.Client
}

// open starts a server whose root is seen from a fresh folder.
func open(t testing.TB, o files.Options) *env {
	t.Helper()
	return openIn(t, o, t.TempDir())
}

func openIn(t testing.TB, o files.Options, base string) *env {
	t.Helper()
	s, err := files.New(o, base)
	if err != nil {
		t.Fatal(err)
	}
	return &env{t, base, servers.Connect(t, s)}
}

// result calls a tool for somebody.
func (d *env) result(who caller.Caller, tool string, a args) *mcp.CallToolResult {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	res, err := servers.Call(ctx, d.client, tool, a, who.Meta())
	if err != nil {
		d.t.Fatalf("calling %s with %v: %v", tool, a, err)
	}
	return res
}

// call calls a tool in the chat "local".
func (d *env) call(tool string, a args) (answer string, failed bool) {
	d.t.Helper()
	r := d.result(caller.Caller{}, tool, a)
	return servers.Text(r), r.IsError
}

// must calls a tool that has to work.
func (d *env) must(tool string, a args) string {
	d.t.Helper()
	answer, failed := d.call(tool, a)
	if failed {
		d.t.Fatalf("%s with %v failed: %s", tool, a, answer)
	}
	return answer
}

// mustFail calls a tool that has to fail and to say so with some words.
func (d *env) mustFail(tool string, a args, words string) {
	d.t.Helper()
	answer, failed := d.call(tool, a)
	if !failed || !strings.Contains(answer, words) {
		d.t.Errorf("%s with %v said %q (error: %v), want an error with %q", tool, a, answer, failed, words)
	}
	if strings.Contains(answer, d.base) {
		d.t.Errorf("%s with %v shows a path of the host: %q", tool, a, answer)
	}
}

// home is the folder of the chat "local" with the default root.
func (d *env) home() string { return filepath.Join(d.base, "workspace", "local") }

// plant makes files, and folders for names that end in a slash.
func plant(t testing.TB, dir string, contents map[string]string) {
	t.Helper()
	for name, content := range contents {
		name := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot tells all about the files under a folder, but for one folder.
func snapshot(t testing.TB, dir, but string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == but {
			return fs.SkipDir
		}
		content := []byte(nil)
		if e.Type().IsRegular() {
			if content, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %q\n", name, e.Type(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
