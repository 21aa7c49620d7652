package browser_test

import (
	"flag"
	"os"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/need"
)

var update = flag.Bool("update", false, "approve what the pages look like: write the pictures in testdata")

var (
	chromium browser.Shared
	programs need.Programs
)

func TestMain(m *testing.M) { os.Exit(programs.Run(chromium.Around(m))) }
