package write_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the pictures in docs/files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
