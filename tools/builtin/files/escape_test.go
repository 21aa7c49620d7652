package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/tools/builtin/files"
)

const secret = "what nobody here may see"

// outward are paths that try to leave the workspace. BASE stands for the folder
// around it; the links are made by TestNothingLeaves.
var outward = []string{
	"..", "../", "../.", "./..", "../..", "../../secret.txt", "../../../../../../../../etc/passwd",
	"a/../../../secret.txt", "a/b/../../../../secret.txt", "./../../secret.txt", "a/./../../../secret.txt",
	"..//..//secret.txt", "a/..", "a/../..", "../local", "../local/../../secret.txt", "../../workspace/other/theirs.txt", "../other/theirs.txt",
	"/", "//", "/..", "/etc/passwd", "//etc/passwd", "///etc///passwd", "BASE/secret.txt", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/zero", "/dev/stdin", "~", "~/secret.txt", "~root/.ssh/id_rsa",
	`..\..\secret.txt`, `..\`, `a\..\..\..\secret.txt`, `\etc\passwd`, `C:\Windows\win.ini`, "C:/Windows/win.ini", "C:secret.txt", `\\server\share\secret.txt`, "//server/share/secret.txt", `\\?\C:\secret.txt`, `\\.\PhysicalDrive0`, "//./pipe/x", "//?/C:/secret.txt",
	"CON", "con.txt", "NUL", "nul.txt", "aux", "COM1", "com1.log", "LPT9", "com¹", "CONIN$", "a/prn/b", "file.txt:stream", "file.txt::$DATA", "secret.txt.", "secret.txt ", "... ", ".. /.. /secret.txt", ".. ./secret.txt", "...", "....//....//secret.txt", "..../secret.txt",
	"%2e%2e/%2e%2e/secret.txt", "%2e%2e%2f%2e%2e%2fsecret.txt", "..%2f..%2fsecret.txt", "%252e%252e%252fsecret.txt", "..%c0%af..%c0%afsecret.txt", "..%5c..%5csecret.txt", "%00", "..%00/secret.txt", "&#46;&#46;/secret.txt",
	"．．/．．/secret.txt", "..／..／secret.txt", "..∕..∕secret.txt", "..⁄..⁄secret.txt", "‥/secret.txt", "․․/․․/secret.txt", "..\u200b/..\u200b/secret.txt", "\u202e..", "..\u0338/secret.txt", "\ufeff../secret.txt",
	"a\x00/../../../secret.txt", "\x00", "../../secret.txt\x00.png", "a\n../../secret.txt", "a\r", "\t../../secret.txt", " ../../secret.txt", "a\x7f",
	"\xc0\xae\xc0\xae/secret.txt", "\xff\xfe",
	"file:///etc/passwd", "file://../../secret.txt", "$HOME/secret.txt", "${BASE}/secret.txt", "`pwd`", "*", "../*", "{chat}", "workspace/{chat}/../../secret.txt",
	"to-secret", "to-base", "to-base/secret.txt", "to-base/workspace/other/theirs.txt", "to-etc", "to-etc/passwd", "to-proc", "to-proc/environ", "to-proc/cwd", "to-link", "to-link/secret.txt", "to-dots", "to-dots/secret.txt", "to-self/to-self/to-base/secret.txt", "to-other", "to-other/theirs.txt", "loop", "loop/a", "loop-a/loop-b", "a/up", "a/up/../../secret.txt", "new-to-outside",
	strings.Repeat("../", 300) + "etc/passwd", strings.Repeat("a/", 300) + "b", strings.Repeat("a", 5000), strings.Repeat("x", 256), strings.Repeat("文", 90),
}

// playground is a base folder with a secret around the workspace of the chat
// "local", and links that lead out of it.
func playground(t testing.TB) *env {
	t.Helper()
	d := open(t, files.Options{Write: true})
	plant(t, d.base, map[string]string{"secret.txt": secret, "workspace/other/theirs.txt": secret})
	plant(t, d.home(), map[string]string{"mine.txt": "mine", "a/b/c.txt": "c"})
	for name, target := range map[string]string{
		"to-secret": filepath.Join(d.base, "secret.txt"), "to-base": "../..", "to-etc": "/etc", "to-proc": "/proc/self", "to-link": "to-base",
		"to-dots": "a/../../..", "to-self": ".", "to-other": "../other", "loop": "loop", "loop-a": "loop-b", "loop-b": "loop-a", "a/up": "../../..",
		"new-to-outside": filepath.Join(d.base, "planted.txt"),
	} {
		if err := os.Symlink(target, filepath.Join(d.home(), name)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// attempts are all ways to use a path.
func attempts(path string) []func(d *env) (string, string) {
	use := func(tool string, a args) func(d *env) (string, string) {
		return func(d *env) (string, string) {
			answer, _ := d.call(tool, a)
			return tool, answer
		}
	}
	return []func(d *env) (string, string){
		use("read", args{"path": path}), use("read", args{"path": path, "unit": "bytes"}), use("info", args{"path": path}),
		use("list", args{"path": path}), use("list", args{"path": path, "recursive": true}), use("search", args{"text": "nobody", "path": path}), use("search", args{"text": "nobody", "glob": path}),
		use("search", args{"glob": path + "/**"}), use("edit", args{"path": path, "old_text": "nobody", "new_text": "everybody"}), use("append", args{"path": path, "content": "more"}),
		use("copy", args{"from": path, "to": "copied"}), use("read", args{"path": "copied"}), use("copy", args{"from": "mine.txt", "to": path}), use("copy", args{"from": "mine.txt", "to": path + "/new"}),
		use("make_dir", args{"path": path + "/made"}), use("write", args{"path": path, "content": "planted"}), use("write", args{"path": path + "/new.txt", "content": "planted"}),
		use("move", args{"from": "mine.txt", "to": path}), use("move", args{"from": path, "to": "moved"}), use("read", args{"path": "moved"}), use("search", args{"text": "nobody"}),
		use("delete", args{"path": path + "/secret.txt"}), use("delete", args{"path": path}), use("delete", args{"path": path, "recursive": true}),
	}
}

func TestNothingLeaves(t *testing.T) {
	t.Parallel()
	if len(outward) < 60 {
		t.Fatalf("there are %d paths, want at least 60", len(outward))
	}
	for _, path := range outward {
		d := playground(t)
		path := strings.ReplaceAll(path, "BASE", d.base)
		before := snapshot(t, d.base, d.home())
		for _, attempt := range attempts(path) {
			tool, answer := attempt(d)
			if strings.Contains(answer, secret) || strings.Contains(answer, "root:") || strings.Contains(answer, "theirs") && !strings.Contains(path, "theirs") {
				t.Errorf("%s of %q showed %q", tool, path, answer)
			}
			if strings.Contains(answer, d.base) && !strings.Contains(path, d.base) {
				t.Errorf("%s of %q showed a path of the host: %q", tool, path, answer)
			}
		}
		if after := snapshot(t, d.base, d.home()); after != before {
			t.Errorf("using %q changed what is outside of the workspace:\n%s\nwant\n%s", path, after, before)
		}
	}
}

// TestOutwardFails looks at what is said about the plainest attempts.
func TestOutwardFails(t *testing.T) {
	d := playground(t)
	for path, words := range map[string]string{
		"../../secret.txt": `contains ".."`, "/etc/passwd": "is absolute", `..\secret.txt`: "backslash", "C:/secret.txt": "drive",
		"to-secret": "outside of the workspace", "to-base/secret.txt": "outside of the workspace", "to-proc/environ": "outside of the workspace",
		"loop": "circle", "a\x00b": "control characters", "no/such.txt": "does not exist", "mine.txt/x": "a file, not a folder", "a": "it is a folder",
	} {
		d.mustFail("read", args{"path": path}, words)
	}
	d.mustFail("write", args{"path": "new-to-outside", "content": "x"}, "it is a link")
	d.mustFail("delete", args{"path": "."}, "the workspace itself")
	d.mustFail("move", args{"from": "a", "to": "a/b/d"}, "into itself")
	if got := d.must("read", args{"path": "to-self/mine.txt"}); got != "mine" {
		t.Errorf("reading through a link that stays inside gave %q, want mine", got)
	}
	if got := d.must("info", args{"path": "to-secret"}); !strings.Contains(got, "outside of the workspace") {
		t.Errorf("info of an outward link said %q", got)
	}
}

// TestSwappedFolder exchanges a folder for a link outwards and back while all
// tools use it.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	d := open(t, files.Options{Write: true})
	plant(t, d.base, map[string]string{"outside/f.txt": secret, "outside/victim.txt": secret, "outside/in/f.txt": secret})
	uses := []struct {
		tool string
		a    args
	}{
		{"read", args{"path": "d/f.txt"}},
		{"read", args{"path": "d/in/f.txt"}},
		{"list", args{"path": "d"}},
		{"list", args{"recursive": true}},
		{"search", args{"text": "nobody"}},
		{"copy", args{"from": "d/f.txt", "to": "copied"}},
		{"read", args{"path": "copied"}},
		{"edit", args{"path": "d/f.txt", "old_text": "nobody", "new_text": "you"}},
		{"write", args{"path": "d/f.txt", "content": "inside"}},
		{"append", args{"path": "d/victim.txt", "content": "x"}},
		{"make_dir", args{"path": "d/new"}},
		{"move", args{"from": "d/victim.txt", "to": "moved"}},
		{"read", args{"path": "moved"}},
		{"delete", args{"path": "d/in/f.txt"}},
		{"delete", args{"path": "d/in", "recursive": true}},
		{"delete", args{"path": "d", "recursive": true}},
		{"delete", args{"path": "copied"}},
		{"delete", args{"path": "moved"}},
	}
	worked := 0
	for _, use := range uses {
		stop := swap(t, d)
		for end := time.Now().Add(250 * time.Millisecond); time.Now().Before(end); {
			answer, failed := d.call(use.tool, use.a)
			if strings.Contains(answer, secret) || strings.Contains(answer, "victim.txt (29") {
				t.Fatalf("%s showed what is outside: %q", use.tool, answer)
			}
			if !failed {
				worked++
			}
		}
		stop()
		out := snapshot(t, filepath.Join(d.base, "outside"), "")
		if strings.Count(out, secret) != 3 || strings.Count(out, "\n") != 5 {
			t.Fatalf("%s changed what is outside:\n%s", use.tool, out)
		}
	}
	if worked == 0 {
		t.Error("no call worked: there was no race")
	}
}

// swap exchanges the folder d of the workspace for a link outwards and back,
// until it is stopped. What tools take away it makes anew.
func swap(t *testing.T, d *env) (stop func()) {
	at := func(name string) string { return filepath.Join(d.home(), name) }
	plant(t, d.home(), map[string]string{"keep/f.txt": "inside"})
	over, swapper := make(chan struct{}), sync.WaitGroup{}
	swapper.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-over:
				return
			default:
			}
			if round%32 == 0 {
				plant(t, d.home(), map[string]string{"fresh/f.txt": "inside", "fresh/victim.txt": "", "fresh/in/f.txt": "inside"})
				_ = os.RemoveAll(at("d"))
				_ = os.Rename(at("fresh"), at("d")) // fails where a tool was faster
				_ = os.RemoveAll(at("fresh"))
				_ = os.Symlink(filepath.Join(d.base, "outside"), at("link"))
			}
			for _, step := range [][2]string{{"d", "away"}, {"link", "d"}, {"d", "link"}, {"away", "d"}} {
				_ = os.Rename(at(step[0]), at(step[1]))
			}
			_ = os.RemoveAll(at("away"))
		}
	})
	stop = sync.OnceFunc(func() { close(over); swapper.Wait() })
	t.Cleanup(stop)
	return stop
}
