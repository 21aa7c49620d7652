package read_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/files/read"
)

// testReader keeps the code of the PDF library for all tests.
var testReader read.Reader

// The test binary is also the process that reads files, and one that tries what that
// process may not do.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == read.Command:
		if err := read.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 4 && os.Args[1] == "try":
		try(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	cache, err := os.MkdirTemp("", "legwork-code-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testReader.Cache = cache
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// try gives up the rights and prints what is possible after that.
func try(dir, address string) {
	defer time.AfterFunc(time.Hour, func() {}).Stop() // as Main has one
	if err := read.Confine(read.Limits{}.Defaults()); err != nil {
		fmt.Println(err)
		return
	}
	report := func(what string, err error) {
		if err == nil {
			fmt.Println("possible:", what)
		}
	}
	dial := func(network string) error {
		c, err := net.Dial(network, address)
		if err == nil {
			_, err = c.Write([]byte("x"))
		}
		return err
	}
	_, err := os.ReadFile(filepath.Join(dir, "file"))
	report("reading another file", err)
	report("writing", os.WriteFile(filepath.Join(dir, "new"), []byte("x"), 0o600))
	report("deleting", os.Remove(filepath.Join(dir, "file")))
	report("a folder", os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	report("TCP", dial("tcp"))
	report("UDP", dial("udp"))
	report("a program", exec.Command("/bin/true").Run())
	_, _, err = os.Pipe()
	report("a descriptor", err)
	fmt.Println("tried")
}
