package read_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"legwork/files/read"
)

// The test binary is also the process that reads files.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == read.Command {
		if err := read.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
