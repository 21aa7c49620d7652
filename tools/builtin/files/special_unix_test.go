//go:build unix

package files_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/servers"
	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/files"
)

// TestPipes: opening a pipe waits for its other end, which never comes.
func TestPipes(t *testing.T) {
	d := open(t, files.Options{Write: true})
	plant(t, d.home(), map[string]string{"a.txt": "text"})
	pipe := filepath.Join(d.home(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(d.home(), "sock")); err == nil { // its path may be too long
		defer l.Close()
		d.mustFail("read", args{"path": "sock"}, "pipe, socket or device")
	}
	const words = "pipe, socket or device"
	d.mustFail("read", args{"path": "pipe"}, words)
	d.mustFail("edit", args{"path": "pipe", "old_text": "a", "new_text": "b"}, words)
	d.mustFail("append", args{"path": "pipe", "content": "a"}, words)
	d.mustFail("write", args{"path": "pipe", "content": "a"}, words)
	d.mustFail("copy", args{"from": "pipe", "to": "x"}, words)
	d.mustFail("list", args{"path": "pipe"}, "not a folder")
	d.mustFail("read", args{"path": "pipe/x"}, "a file, not a folder")
	if got := d.must("search", args{"text": "text"}); !strings.HasPrefix(got, "a.txt:1: text") {
		t.Errorf("search beside a pipe found %q", got)
	}
	if got := d.must("list", args{}); !strings.Contains(got, "pipe (pipe)") {
		t.Errorf("list shows %q, want a pipe", got)
	}
	if got := d.must("info", args{"path": "pipe"}); !strings.Contains(got, "pipe: pipe") {
		t.Errorf("info shows %q, want a pipe", got)
	}
}

// TestSwappedPipe exchanges a file for a pipe and back while it is read: no
// call may wait for a writer.
func TestSwappedPipe(t *testing.T) {
	d := open(t, files.Options{})
	plant(t, d.home(), map[string]string{"x": "text"})
	if err := syscall.Mkfifo(filepath.Join(d.home(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		at := func(name string) string { return filepath.Join(d.home(), name) }
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, step := range [][2]string{{"x", "file"}, {"pipe", "x"}, {"x", "pipe"}, {"file", "x"}} {
				if err := os.Rename(at(step[0]), at(step[1])); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if got, failed := d.call("read", args{"path": "x"}); !failed && got != "text" {
			t.Errorf("read gave %q", got)
		}
	}
	close(stop)
	swapper.Wait()
}

func TestKernelFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the folders of the kernel are those of Linux")
	}
	for _, root := range []string{"/proc", "/sys", "/proc/self"} {
		d := openIn(t, files.Options{Root: root}, "")
		for _, tool := range []string{"list", "read", "info"} {
			r := d.result(caller.Caller{}, tool, args{"path": "version"})
			if !r.IsError || !strings.Contains(servers.Text(r), "holds no files") {
				t.Errorf("%s in %s said %q, want that it holds no files", tool, root, servers.Text(r))
			}
		}
	}
	d := openIn(t, files.Options{Root: "/"}, "")
	for _, path := range []string{"proc/version", "proc/kmsg", "proc/self/environ", "dev/zero", "dev/null", "sys/kernel/notes"} {
		if got, failed := d.call("read", args{"path": path}); !failed {
			t.Errorf("read of %s gave %.80q", path, got)
		}
	}
}
