package alerts_test

import (
	"testing"

	"go.uber.org/goleak"

	"legwork/internal/test/need"
)

func TestMain(m *testing.M) {
	need.Parallel(8)
	goleak.VerifyTestMain(m)
}
