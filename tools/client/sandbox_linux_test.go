package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestSandbox: a real program, and a program that it starts, reads and writes in the
// folders of its sandbox and nowhere else. It still works as a server.
func TestSandbox(t *testing.T) {
	t.Parallel()
	if problem := client.SandboxProblem(); problem != "" {
		t.Skip(problem)
	}
	dir := t.TempDir()
	for _, name := range []string{"read", "write", "outside"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "file"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside", "file"), filepath.Join(dir, "read", "link")); err != nil {
		t.Fatal(err)
	}
	script := `cd "$1"
try() { if sh -c "$2" > /dev/null 2>&1; then echo "$1 yes"; else echo "$1 no"; fi >> write/report; }
try read-inside 'cat read/file'
try read-written 'cat write/file'
try write-inside 'echo new > write/file'
try rename-inside 'mkdir write/d; mv write/file write/d/file'
try write-read-only 'echo new > read/file'
try read-outside 'cat outside/file'
try read-link 'cat read/link'
try list-outside 'ls outside'
try write-outside 'echo new > outside/other'
try truncate-outside 'truncate -s 0 outside/file'
try delete-outside 'rm -f outside/file'
try move-outside 'mv write/d/file outside/file'
try read-environment "cat /proc/$PPID/environ"
try read-shadow 'cat /etc/shadow'
shift
exec "$@"`
	server := fakeServer(t)
	s := ready(t, client.Config{
		Name: "s", Command: "sh", Args: []string{"-c", script, "sh", dir, server}, Cwd: dir,
		Sandbox: &client.Sandbox{Read: []string{filepath.Join(dir, "read"), server}, Write: []string{filepath.Join(dir, "write")}},
	})
	if s.Catalog() == nil {
		t.Error("the server offers nothing")
	}
	report, err := os.ReadFile(filepath.Join(dir, "write", "report"))
	if err != nil {
		t.Fatal(err)
	}
	want := `read-inside yes
read-written yes
write-inside yes
rename-inside yes
write-read-only no
read-outside no
read-link no
list-outside no
write-outside no
truncate-outside no
delete-outside no
move-outside no
read-environment no
read-shadow no
`
	if got := string(report); got != want {
		t.Errorf("the program could:\n%s\nwant:\n%s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "outside", "file")); err != nil || string(text) != "old" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
}

// TestSandboxMissing: a server does not start when a folder of its sandbox is missing.
func TestSandboxMissing(t *testing.T) {
	t.Parallel()
	if problem := client.SandboxProblem(); problem != "" {
		t.Skip(problem)
	}
	cfg := fake(t, stdio)
	cfg.Sandbox = &client.Sandbox{Read: []string{filepath.Join(t.TempDir(), "gone")}}
	s := start(t, cfg)
	watch.Until(t, "down", func() bool { return s.Status().State == client.Down })
	if _, err := try(t, s, "lookup", "{}"); err == nil || !strings.Contains(err.Error(), `gone" of the sandbox: no such file`) {
		t.Errorf("got %v, want the missing folder", err)
	}
}
