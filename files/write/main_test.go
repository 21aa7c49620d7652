package write_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"legwork/files/write"
)

var update = flag.Bool("update", false, "rewrite the pictures in docs/files")

func TestMain(m *testing.M) {
	write.DropPlotFonts() // as the program does
	goleak.VerifyTestMain(m)
}
